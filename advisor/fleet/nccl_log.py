"""Which links NCCL used, by what it writes under ``NCCL_DEBUG=INFO``: of every machine in a log."""

from __future__ import annotations

import re
from dataclasses import replace

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.fleet.machine import FleetMachine, MachinePart, NcclUse

# A launcher may write its own words before: [1,0]<stdout>:node01:22:22 [0] NCCL INFO ...
_LINE = re.compile(
    r"(?:^|[\s:>\]|])([A-Za-z0-9_][\w.-]{0,252}):\d{1,10}:\d{1,10} \[-?\d{1,5}\] NCCL (?:INFO|WARN) (.*)$"
)
_MARKS = (b" NCCL INFO ", b" NCCL WARN ")
_VERSION = re.compile(r"NCCL version (\d[\d.]{0,20}(?:\+cuda[\d.]{1,10})?)")
_NETWORK = re.compile(r"Using network ([\w +/.-]{1,40})$")
_ADAPTERS = re.compile(r"NET/IB : Using (\[0\].{0,4000})")
_ADAPTER = re.compile(r"\[\d+\]\S")
_VIA_NETWORK = re.compile(r"Channel .{1,80} via NET/([\w +.-]{1,40})/\d+(?:\([\w-]*\))?(/GDRDMA)?")
_VIA_PEER = re.compile(r"Channel .{1,80} via (P2P|SHM)\b")
_PLAIN_NAMES = {"IB": "InfiniBand or RoCE", "Socket": "sockets"}
_PEERS = {"P2P": "peer to peer", "SHM": "shared memory"}
_MOST_HOSTS = 20_000
SOCKETS = _PLAIN_NAMES["Socket"]


def is_nccl_log(content: bytes) -> bool:
    """Return whether *content* holds lines of NCCL."""
    return any(mark in content for mark in _MARKS)


def nccl_machines(content: bytes) -> tuple[FleetMachine, ...]:
    """Return the machines that *content* names, each with the links that NCCL used there.

    Raises BadInput where no line says which.
    """
    used: dict[str, NcclUse] = {}
    chosen: dict[str, set[str]] = {}  # before a channel is made NCCL says what it means to use
    for line in content.decode("utf-8", "replace").splitlines():
        match = _LINE.search(line)
        if match is None:
            continue
        host, said = match.groups()
        if host not in used and len(used) >= _MOST_HOSTS:
            raise BadInput(f"holds lines of more than {_MOST_HOSTS:,} machines.")
        use = used.setdefault(host, NcclUse())
        used[host] = _with(use, said.rstrip())
        if network := _NETWORK.search(said.rstrip()):
            chosen.setdefault(host, set()).add(_plain(network[1]))
    machines = []
    for host, use in used.items():
        if not use.networks:
            use = replace(use, networks=tuple(sorted(chosen.get(host, ()))))
        if use.networks or use.peers:
            machines.append(FleetMachine(host=host, part=MachinePart.NCCL, nccl=use))
    if not machines:
        raise BadInput(
            "is a log of NCCL that does not say which links it used.",
            hint="Set NCCL_DEBUG=INFO, and leave NCCL_DEBUG_SUBSYS unset or with INIT, NET and P2P.",
        )
    return tuple(machines)


def _with(use: NcclUse, said: str) -> NcclUse:
    """Return *use* with what the line *said* adds to it."""
    if match := _VIA_NETWORK.search(said):
        direct = bool(match[2]) and use.gpu_direct is not False
        names = tuple(sorted({*use.networks, _plain(match[1])}))
        return use if (names, direct) == (use.networks, use.gpu_direct) else replace(
            use, networks=names, gpu_direct=direct
        )  # fmt: skip
    if match := _VIA_PEER.search(said):
        name = _PEERS[match[1]]
        return use if name in use.peers else replace(use, peers=tuple(sorted({*use.peers, name})))
    if match := _ADAPTERS.search(said):
        return replace(use, adapters=len(_ADAPTER.findall(match[1].partition(";")[0])))
    if match := _VERSION.search(said):
        return replace(use, version=match[1])
    return use


def _plain(network: str) -> str:
    return _PLAIN_NAMES.get(network.strip(), network.strip())


def joined_use(one: NcclUse, other: NcclUse) -> NcclUse:
    """Return what two logs of one machine say together: all networks, and the worse of the rest."""
    directs = {use.gpu_direct for use in (one, other)} - {None}
    counts = [use.adapters for use in (one, other) if use.adapters is not None]
    return NcclUse(
        networks=tuple(sorted({*one.networks, *other.networks})),
        adapters=min(counts, default=None),
        gpu_direct=None if not directs else False not in directs,
        peers=tuple(sorted({*one.peers, *other.peers})),
        version=other.version or one.version,
    )

"""How the GPUs are connected, as NVML tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.backends.nvml import ask
from gpuadvise.advisor.backends.pci_tree import pci_id, place
from gpuadvise.advisor.topology import NvLink, Peer, Topology

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gpuadvise.advisor.backends.nvml import Query

_MOST_LINKS = 36  # NVML_NVLINK_MAX_LINKS of nvml.h 13; 18 before
_NO_SUCH_LINK = 2  # NVML_ERROR_INVALID_ARGUMENT
_ACTIVE = 1  # NVML_NVLINK_STATE_ACTIVE
# NVML_NVLINK_STATE_SLEEP and _ACTIVE_TRAFFIC_DISABLED: neither up nor broken.
_RESTING = frozenset((2, 3))
_SPEED = 164  # NVML_FI_DEV_NVLINK_GET_SPEED, Hopper and later; the link is its scope
# NVML_FI_DEV_NVLINK_SPEED_MBPS_L0 to L5, L6 to L11.
_OLD_SPEEDS = (*range(84, 90), *range(132, 138))
_MEGABYTE = 1_000_000
# Errors of a link since the driver was loaded: fields whose scope is the link
# (NVML_FI_DEV_NVLINK_ERROR_DL_REPLAY, _RECOVERY, _CRC until Hopper; _COUNT_LINK_RECOVERY_EVENTS
# from Blackwell on), and the kinds of nvmlNvLinkErrorCounter_t that GPUs before Hopper count.
_ERROR_FIELDS: Mapping[str, tuple[int, ...]] = {
    "replays": (161,),
    "recoveries": (162, 215),
    "crc_errors": (163,),
}
_ERROR_COUNTERS: Mapping[str, tuple[int, ...]] = {
    "replays": (0,),
    "recoveries": (1,),
    "crc_errors": (2, 3),  # of flow control and of data
}
_WIDE = frozenset((2, 3))  # nvmlValueType_t of 64 bits
# nvmlNvlinkBwMode_t of nvml.h.
_BANDWIDTH_MODES = ("full", "off", "least", "half", "three quarters")
# nvmlIntNvLinkDeviceType_t of nvml.h.
_KINDS = {0: "gpu", 1: "processor", 2: "switch"}
# nvmlGpuTopologyLevel_t of nvml.h, in the words of nvidia-smi topo -m.
_LEVELS = {0: "X", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}
# nvmlGpuP2PStatus_t and nvmlGpuP2PCapsIndex_t of nvml.h.
_READ, _WRITE, _ATOMICS = 0, 1, 3
_WORDS = {
    1: "the chipset does not support it",
    2: "the GPU does not support it",
    3: "the GPUs hang on different host bridges",
    4: "a setting of the driver turns it off",
    5: "it is not supported",
    6: "the driver does not say",
}
_BITS = 64
_MOST_PROCESSORS = 4096

_HOST: Mapping[str, Query] = {
    "pcie_own_generation": lambda n, g: n.nvmlDeviceGetGpuMaxPcieLinkGeneration(g),
    "cpu_affinity": lambda n, g: ranges(n.nvmlDeviceGetCpuAffinity(g, _MOST_PROCESSORS // _BITS)),
    "numa_node": lambda n, g: _lowest(
        n.nvmlDeviceGetMemoryAffinity(g, 1, n.NVML_AFFINITY_SCOPE_NODE)
    ),
}


def topologies(
    nvml: Any, handles: Sequence[Any], pci_ids: Sequence[str | None], *, errors: bool
) -> list[Topology]:
    """Return how each of the GPUs *handles* is connected; None among them does not answer.

    With *errors* those of each NVLink are counted, which costs a question for each.
    """
    addresses = {pci_id(pci): index for index, pci in enumerate(pci_ids) if pci}
    queries: Mapping[str, Query] = {**_HOST, "nvlinks": lambda n, g: _links(n, g, errors=errors)}
    answers = [ask(nvml, handle, queries) if handle is not None else ({}, {}) for handle in handles]
    mode = _bandwidth_mode(nvml) if any("nvlinks" in facts for facts, _ in answers) else None
    links = [_at_peers(facts.get("nvlinks"), addresses) for facts, _ in answers]
    return [
        Topology(
            **{**place(pci or ""), **facts, "nvlinks": links[index]},
            nvlink_bandwidth_mode=mode if links[index] else None,
            peers=_peers(nvml, index, handles, links),
            reasons=reasons,
        )
        for index, ((facts, reasons), pci) in enumerate(zip(answers, pci_ids, strict=True))
    ]


def _bandwidth_mode(nvml: Any) -> str | None:
    """Return how many of its links the driver lets each GPU use, None where it has no such mode."""
    queries: Mapping[str, Query] = {
        "mode": lambda n, _: _BANDWIDTH_MODES[n.nvmlSystemGetNvlinkBwMode()]
    }
    return ask(nvml, None, queries)[0].get("mode")


# A link and the PCI id at its other end, until the GPUs of the machine are known.
_Ended = tuple[NvLink, str | None]


def _links(nvml: Any, handle: Any, *, errors: bool) -> list[_Ended]:
    """Return the links of a GPU; raises NVML's error where it has none."""
    links = []
    for number in range(_MOST_LINKS):
        try:
            state = nvml.nvmlDeviceGetNvLinkState(handle, number)
        except nvml.NVMLError as error:
            if not number:
                raise
            if error.value == _NO_SUCH_LINK:
                break
            continue  # a link of the chip that this GPU lacks
        links.append(_link(nvml, handle, number, state, errors=errors))
    return links


def _link(nvml: Any, handle: Any, number: int, state: int, *, errors: bool) -> _Ended:
    if state != _ACTIVE:
        return NvLink(number=number, up=False, resting=state in _RESTING), None
    queries: Mapping[str, Query] = {
        "fields": lambda n, g: _link_fields(n, g, number, errors=errors),
        "kind": lambda n, g: n.nvmlDeviceGetNvLinkRemoteDeviceType(g, number),
        "pci": lambda n, g: n.nvmlDeviceGetNvLinkRemotePciInfo(g, number).busId,
    }
    facts, _ = ask(nvml, handle, queries)
    pci = facts.get("pci")
    link = NvLink(
        number=number,
        up=True,
        bytes_per_second=_speed(facts.get("fields", {})),
        to=_KINDS.get(facts.get("kind", -1)),
        **(_errors(nvml, handle, number, facts.get("fields", {})) if errors else {}),
    )
    return link, pci.decode() if isinstance(pci, bytes) else pci


def _link_fields(nvml: Any, handle: Any, number: int, *, errors: bool) -> dict[int, int]:
    """Return the fields of a link that NVML tells, by their number."""
    counters = [field for fields in _ERROR_FIELDS.values() for field in fields] if errors else []
    questions: list[Any] = [(field, number) for field in (_SPEED, *counters)]
    if number < len(_OLD_SPEEDS):
        questions.append(_OLD_SPEEDS[number])
    return {
        value.fieldId: value.value.ullVal if value.valueType in _WIDE else value.value.uiVal
        for value in nvml.nvmlDeviceGetFieldValues(handle, questions)
        if value.nvmlReturn == 0
    }


def _speed(fields: Mapping[int, int]) -> float | None:
    """Return bytes/s of a link in one direction."""
    rates = (fields.get(field) for field in (_SPEED, *_OLD_SPEEDS))
    return next((float(rate) * _MEGABYTE for rate in rates if rate), None)


def _errors(nvml: Any, handle: Any, number: int, fields: Mapping[int, int]) -> dict[str, Any]:
    """Return the errors of a link by the name of their count, those that NVML counts."""
    counted = {
        name: fields[field]
        for name, known in _ERROR_FIELDS.items()
        for field in known
        if field in fields
    }
    queries = {name: _counter(number, kinds) for name, kinds in _ERROR_COUNTERS.items()}
    return counted or ask(nvml, handle, queries)[0]


def _counter(number: int, kinds: Sequence[int]) -> Query:
    """Return a query of the errors of these *kinds* on the link *number*."""
    return lambda n, g: sum(n.nvmlDeviceGetNvLinkErrorCounter(g, number, kind) for kind in kinds)


def _at_peers(
    links: Sequence[_Ended] | None, addresses: Mapping[str, int]
) -> tuple[NvLink, ...] | None:
    """Return *links* with the number of the GPU at the other end, where it is of this machine."""
    from dataclasses import replace

    if links is None:
        return None
    return tuple(
        replace(link, peer=addresses.get(pci_id(pci))) if pci and link.to == "gpu" else link
        for link, pci in links
    )


def _peers(
    nvml: Any, index: int, handles: Sequence[Any], links: Sequence[tuple[NvLink, ...] | None]
) -> tuple[Peer, ...]:
    if handles[index] is None:
        return ()
    return tuple(
        _peer(nvml, handles[index], index, handle, peer, links)
        for peer, handle in enumerate(handles)
        if peer != index and handle is not None
    )


def _peer(
    nvml: Any,
    handle: Any,
    index: int,
    peer_handle: Any,
    peer: int,
    links: Sequence[tuple[NvLink, ...] | None],
) -> Peer:
    queries: Mapping[str, Query] = {
        "level": lambda n, g: _LEVELS.get(n.nvmlDeviceGetTopologyCommonAncestor(g, peer_handle)),
        "read": lambda n, g: n.nvmlDeviceGetP2PStatus(g, peer_handle, _READ),
        "write": lambda n, g: n.nvmlDeviceGetP2PStatus(g, peer_handle, _WRITE),
        "atomics": lambda n, g: n.nvmlDeviceGetP2PStatus(g, peer_handle, _ATOMICS),
    }
    facts, _ = ask(nvml, handle, queries)
    both = [facts[name] for name in ("read", "write") if name in facts]
    joined = _joined(links[index], links[peer], peer)
    return Peer(
        index=peer,
        path=f"NV{joined}" if joined else facts.get("level"),
        access=not any(both) if both else None,
        atomics=facts["atomics"] == 0 if "atomics" in facts else None,
        why_not=next((_WORDS.get(status) for status in both if status), None),
    )


def _joined(
    links: tuple[NvLink, ...] | None, peer_links: tuple[NvLink, ...] | None, peer: int
) -> int:
    """Return how many NVLinks join a GPU to *peer*, directly or through switches."""
    direct = sum(link.peer == peer for link in links or ())
    switched = [sum(link.to == "switch" for link in ends or ()) for ends in (links, peer_links)]
    return direct or min(switched)


def ranges(words: Sequence[int]) -> str:
    """Return the bits set in *words*, 64 each, as ``0-15,32``."""
    bits = [
        n * _BITS + bit for n, word in enumerate(words) for bit in range(_BITS) if word >> bit & 1
    ]
    parts: list[list[int]] = []
    for bit in bits:
        if parts and parts[-1][-1] == bit - 1:
            parts[-1][1:] = [bit]
        else:
            parts.append([bit])
    return ",".join("-".join(map(str, part)) for part in parts)


def _lowest(words: Sequence[int]) -> int | None:
    """Return the number of the lowest bit set in *words*."""
    lowest = (n * _BITS + (word & -word).bit_length() - 1 for n, word in enumerate(words) if word)
    return next(lowest, None)

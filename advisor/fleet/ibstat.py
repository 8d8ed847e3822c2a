"""What ``ibstat`` says of the InfiniBand and RoCE adapters of a machine."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.fleet.machine import Fabric, FleetMachine, MachinePart

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEAD = 4096
_ADAPTER = re.compile(r"CA '([\w.:-]{1,64})'$")
_PORT = re.compile(r"[Pp]ort (\d{1,3}):$")
_FACT = re.compile(r"(State|Physical state|Rate|Link layer|Firmware version): *(.{0,60})$")
_MOST_PORTS = 1024
_UP = ("Active", "LinkUp")


def is_ibstat(content: bytes) -> bool:
    """Return whether *content* is the output of ``ibstat``."""
    head = content[:_HEAD].decode("utf-8", "replace")
    return any(_ADAPTER.match(line.strip()) for line in head.splitlines())


def fabric_machine(host: str, content: bytes) -> FleetMachine:
    """Return what *content*, for which ``is_ibstat`` holds, says of the machine *host*; raises BadInput."""
    ports = list(_ports(content.decode("utf-8", "replace")))
    if not ports:
        raise BadInput("is an output of ibstat without a port.", hint="Save: ibstat")
    up: Counter[str] = Counter()
    down = []
    for name, facts in ports:
        state, physical = facts.get("State", ""), facts.get("Physical state", "")
        if (state, physical) == _UP:
            up[f"{facts.get('Rate', '?')} Gbit/s {facts.get('Link layer', 'InfiniBand')}"] += 1
        else:
            down.append(f"{name}: {state or 'no state'}, {physical or 'no link'}")
    links = " and ".join(f"{count} x {kind}" for kind, count in sorted(up.items()))
    firmware = {facts["Firmware version"] for _, facts in ports if facts.get("Firmware version")}
    return FleetMachine(
        host=host,
        part=MachinePart.FABRIC,
        fabric=Fabric(
            links=links or "none up",
            down=tuple(down),
            firmware=" and ".join(sorted(firmware)) or None,
        ),
    )


def _ports(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield each port, as ``mlx5_0 port 1``, with what is said of it and of its adapter."""
    adapter = ""
    of_adapter: dict[str, str] = {}
    facts: dict[str, str] = {}
    count = 0
    for line in map(str.strip, text.splitlines()):
        if match := _ADAPTER.match(line):
            adapter, of_adapter = match[1], {}
            facts = of_adapter
        elif adapter and (match := _PORT.match(line)):
            count += 1
            if count > _MOST_PORTS:
                raise BadInput(f"holds more than {_MOST_PORTS:,} ports.")
            facts = dict(of_adapter)
            yield f"{adapter} port {match[1]}", facts
        elif match := _FACT.match(line):
            facts[match[1]] = match[2].split(" ", 1)[0] if match[1] == "Rate" else match[2]

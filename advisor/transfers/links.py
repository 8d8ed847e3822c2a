"""Links between host and device: what generation and lanes promise, what copies reach.

Rates are bytes/s in one direction; a link carries as much the other way at the same time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import quoted

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device

_SLOT = re.compile(r"\s*(?:gen)?\s*([0-9])(?:\.0)?\s*(?:x\s*([0-9]{1,2}))?\s*", re.IGNORECASE)
LANES = (1, 2, 4, 8, 12, 16)
# PCI Express base specifications: transfers per second and lane, and the share left by the
# line code (8b/10b, 128b/130b; from 6.0 on 242 of the 256 bytes of a flit, less CRC and FEC).
_PCIE = {
    1: (2.5e9, 8 / 10),
    2: (5e9, 8 / 10),
    3: (8e9, 128 / 130),
    4: (16e9, 128 / 130),
    5: (32e9, 128 / 130),
    6: (64e9, 242 / 256),
}
# Grace Hopper and Grace Blackwell data sheets: bytes/s, both directions together.
_C2C_BOTH_DIRECTIONS = 900e9
# Share of the theoretical rate that large pinned copies reach, packet headers taken off:
# guide, "Pinned Memory", has 6 of 8 GB/s on generation 2; 55.5 of 63.0 GB/s was measured on a
# H200 (generation 5). Packets are alike from 3 on; what is left there depends on the host.
_REACHED_OLD = 0.75
_REACHED = 0.88


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link by name, its theoretical rate and what copies usually reach (bytes/s)."""

    name: str
    theoretical: float
    attainable: float
    formula: str


def pcie(generation: int, lanes: int = 16) -> Link:
    """Return the PCI Express link of *generation* (1 to 6) with *lanes*; raises BadInput."""
    if generation not in _PCIE or lanes not in LANES:
        raise BadInput(
            f"There is no PCIe generation {generation} with {lanes} lanes.",
            hint="Generations are 1 to 6; lanes 1, 2, 4, 8, 12 or 16.",
        )
    transfers, share = _PCIE[generation]
    rate = transfers * lanes * share / 8
    return Link(
        name=f"PCIe {generation} x{lanes}",
        theoretical=rate,
        attainable=rate * (_REACHED if generation > 2 else _REACHED_OLD),
        formula=f"{transfers / 1e9:g} GT/s x {lanes} lanes x {share:.4g} / 8",
    )


def parse_pcie(text: str) -> Link:
    """Return the link that ``4x8``, ``gen4 x8`` or ``5`` (16 lanes) names; raises BadInput."""
    match = _SLOT.fullmatch(text)
    if not match:
        raise BadInput(
            f"{quoted(text)} is no PCIe link.", hint="Write generation and lanes as 4x8 or 5x16."
        )
    return pcie(int(match[1]), int(match[2] or LANES[-1]))


def host_link(device: Device) -> Link | None:
    """Return the link of *device* to its host; None for an integrated part or an unknown link.

    A part that reads its host's pages coherently is linked by NVLink-C2C, whatever its PCIe
    connector says.
    """
    if device.integrated:
        return None
    if device.coherent_host_memory:
        return nvlink(_C2C_BOTH_DIRECTIONS, "NVLink-C2C")
    generation, lanes = device.pcie_generation, device.pcie_lanes or 16
    if generation not in _PCIE or lanes not in LANES:
        return None
    return pcie(generation, lanes)


def nvlink(both_directions: float, name: str = "NVLink") -> Link:
    """Return the NVLink whose published rate counts *both_directions* together."""
    rate = both_directions / 2
    return Link(
        name=name,
        theoretical=rate,
        attainable=rate * _REACHED,
        formula="published rate of both directions / 2",
    )

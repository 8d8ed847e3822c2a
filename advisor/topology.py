"""How a GPU is connected: to its host, to other GPUs, through NVLink and PCI Express."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class NvLink:
    """One NVLink of a GPU, numbered as ``nvidia-smi nvlink -s`` does.

    ``to`` is ``gpu``, ``switch`` or ``processor``; ``peer`` the index of a GPU of this machine.
    ``resting``: not up because it sleeps or carries no traffic on purpose. Errors are counted
    since the driver was loaded.
    """

    number: int
    up: bool
    bytes_per_second: float | None = None  # in one direction
    to: str | None = None
    peer: int | None = None
    resting: bool = False
    replays: int | None = None  # packets that were sent again
    recoveries: int | None = None  # times that the link was trained anew
    crc_errors: int | None = None  # packets that arrived damaged


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """Another GPU of the machine, by its index as nvidia-smi counts.

    ``path`` is what ``nvidia-smi topo -m`` calls it: NV and the number of links, PIX, PXB, PHB,
    NODE or SYS. ``access``: programs may read and write its memory directly; ``atomics``: with
    atomic operations as well.
    """

    index: int
    path: str | None = None
    access: bool | None = None
    atomics: bool | None = None
    why_not: str | None = None  # of no access, in words


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """Where a GPU sits; ``None`` means not known, ``reasons`` says why.

    The link to the host runs at the lower of what the GPU (``own``) and its slot can.
    """

    nvlinks: tuple[NvLink, ...] | None = None
    peers: tuple[Peer, ...] = ()
    numa_node: int | None = None  # of the host's memory that is nearest
    cpu_affinity: str | None = None  # processors that are nearest: 0-15,32-47
    pcie_path: tuple[str, ...] | None = None  # bridges from the processor to the GPU, and itself
    pcie_own_generation: int | None = None
    pcie_own_lanes: int | None = None
    pcie_slot_generation: int | None = None
    pcie_slot_lanes: int | None = None
    nvlink_bandwidth_mode: str | None = None  # full, or what an administrator set instead
    reasons: Mapping[str, str] = field(default_factory=dict)


def links_up(topology: Topology) -> tuple[NvLink, ...]:
    """Return the NVLinks that work."""
    return tuple(link for link in topology.nvlinks or () if link.up)


def links_down(topology: Topology) -> tuple[NvLink, ...]:
    """Return the NVLinks that do not work and do not rest on purpose."""
    return tuple(link for link in topology.nvlinks or () if not link.up and not link.resting)


def link_errors(topology: Topology) -> tuple[NvLink, ...]:
    """Return the NVLinks that are up and have sent packets again or been trained anew."""
    return tuple(link for link in links_up(topology) if link.replays or link.recoveries)


def counts_errors(link: NvLink) -> bool:
    """Return whether NVML tells how often *link* sent packets again or was trained anew."""
    return link.replays is not None or link.recoveries is not None


def nvlinks_fitted(product_bandwidth: float, bytes_per_second: float) -> int:
    """Return how many NVLinks a product of *product_bandwidth* (both ways) has at that rate each.

    A chip may have more links than its board connects. NVML's *bytes_per_second* of a link is its
    signal rate, up to a sixteenth more than data sheets sum up (26.562 and 25 GB/s).
    """
    nominal = max(
        (rate for rate in _NOMINAL_RATES if rate <= bytes_per_second), default=bytes_per_second
    )
    return round(product_bandwidth / 2 / nominal)


# Bytes/s in one direction by generation: boards of GA102, NVLink 1, 2 to 4, and 5.
_NOMINAL_RATES = (14.0625e9, 20e9, 25e9, 50e9)


def nvlink_rate(topology: Topology) -> float | None:
    """Return the bytes/s of all NVLinks that are up, both directions together.

    None where that is not known; 0 where links are there and none is up.
    """
    rates = [link.bytes_per_second for link in links_up(topology)]
    if topology.nvlinks is None or None in rates:
        return None
    return 2 * sum(rate for rate in rates if rate is not None)

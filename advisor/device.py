"""One GPU as the rest of the product sees it, wherever its facts come from."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpuadvise.advisor.capability import Capability
    from gpuadvise.advisor.limits import Limits


class Origin(StrEnum):
    """Where a device's identity comes from."""

    CATALOGUE = "catalogue"
    CAPABILITY = "capability"  # only --cc was given: limits, no product
    LIVE = "live"
    SNAPSHOT = "snapshot"


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """Facts of one GPU in base units; ``None`` means not known, never zero.

    ``sources`` names the origin of each known field, ``reasons`` says why a field that one
    would expect is unknown. Both are keyed by field name.
    """

    name: str
    capability: Capability
    limits: Limits
    origin: Origin
    extrapolated: bool = False  # limits are those of the nearest older capability
    id: str | None = None  # catalogue id
    product_class: str | None = None  # data-centre, workstation, geforce, ...
    architecture: str | None = None
    chip: str | None = None
    sm_count: int | None = None
    sm_clock_hz: float | None = None  # boost clock: the one behind published peaks
    sm_clock_max_hz: float | None = None  # the driver's own maximum, where it was seen
    tensor_clock_hz: float | None = None  # behind published tensor peaks, where it is lower
    memory_type: str | None = None
    memory_bytes: int | None = None
    memory_bus_bits: int | None = None
    memory_clock_hz: float | None = None  # as the driver reports it
    memory_data_rate: int | None = None  # transfers per reported clock
    memory_bandwidth: float | None = None  # bytes/s: clock x width x rate, else published
    published_bandwidth: float | None = None  # bytes/s, of the data sheet
    l2_bytes: int | None = None
    persisting_l2_bytes: int | None = None
    async_engines: int | None = None
    integrated: bool | None = None
    coherent_host_memory: bool | None = None  # pageable access through host page tables
    ecc: bool | None = None
    pcie_generation: int | None = None
    pcie_lanes: int | None = None
    nvlink_bandwidth: float | None = None  # bytes/s, both directions together; 0: it has none
    power_limit_watts: float | None = None
    peaks: Mapping[str, float] = field(default_factory=dict)  # dense FLOP/s by unit and type
    notes: tuple[str, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)

"""The bag of facts: each field is something a rule can ask for by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.access import Access
    from gpuadvise.advisor.facts.application import (
        Allocations,
        HotRegion,
        Managed,
        Mapped,
        Offload,
        Pinned,
        Reuse,
        Scaling,
        Stage,
        Tile,
    )
    from gpuadvise.advisor.facts.code import Compiled, LaunchBounds, Sources
    from gpuadvise.advisor.facts.profile import Profile
    from gpuadvise.advisor.facts.timing import Pipeline, Traffic, Transfer, Work
    from gpuadvise.advisor.occupancy.answer import Occupancy
    from gpuadvise.advisor.occupancy.launch import Launch
    from gpuadvise.advisor.telemetry import Telemetry


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Everything known about one kernel; ``None`` means not known.

    A field's name is what a rule asks for by a parameter of its check; facts/supply.py says
    how a user supplies it.
    """

    kernel: str | None = None
    device: Device | None = None
    sm_count: int | None = None
    launch: Launch | None = None
    registers: int | None = None
    occupancy: Occupancy | None = None
    launch_bounds: LaunchBounds | None = None
    grid: tuple[int, int, int] | None = None
    elements: int | None = None
    barriers_used: bool | None = None
    arithmetic_latency: int | None = None  # cycles
    independent_instructions: float | None = None
    concurrent: bool | None = None
    traffic: Traffic | None = None
    work: Work | None = None
    transfers: tuple[Transfer, ...] | None = None
    pipeline: Pipeline | None = None
    run_seconds: float | None = None
    scaling: Scaling | None = None
    offload: Offload | None = None
    stages: tuple[Stage, ...] | None = None
    accesses: tuple[Access, ...] | None = None
    reuse: Reuse | None = None
    hot_region: HotRegion | None = None
    tile: Tile | None = None
    allocations: Allocations | None = None
    managed: Managed | None = None
    pinned: Pinned | None = None
    mapped: Mapped | None = None
    compile_flags: tuple[str, ...] | None = None
    compiled: Compiled | None = None
    sources: Sources | None = None
    profile: Profile | None = None
    telemetry: Telemetry | None = None
    devices: tuple[Device, ...] | None = None
    environment: Mapping[str, str] | None = None

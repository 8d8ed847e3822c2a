"""The bag of facts: each field is something a rule can ask for by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpuadvise.advisor.compatibility.drivers import Driver
    from gpuadvise.advisor.compatibility.survey import Survey
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
    from gpuadvise.advisor.facts.code import Compiled, LaunchBounds, Observation
    from gpuadvise.advisor.facts.profile import Profile
    from gpuadvise.advisor.facts.timing import Pipeline, Traffic, Transfer, Work
    from gpuadvise.advisor.occupancy.answer import Occupancy
    from gpuadvise.advisor.occupancy.launch import Launch
    from gpuadvise.advisor.roofline import Roofline
    from gpuadvise.advisor.telemetry import Telemetry
    from gpuadvise.advisor.transfers.links import LinkModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Everything known about one kernel; ``None`` means not known.

    A field's name is what a rule asks for by a parameter of its check; facts/supply.py says
    how a user supplies it.
    """

    kernel: str | None = None
    device: Device | None = None
    sm_count: int | None = None
    memory_bandwidth: float | None = None  # bytes/s, theoretical
    persisting_l2: int | None = None  # bytes
    fp64_ratio: float | None = None  # FP64 per FP32 operation at peak
    link: LinkModel | None = None
    launch: Launch | None = None
    registers: int | None = None
    launched: Occupancy | None = None  # an unknown register count sets no limit in it
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
    roofline: Roofline | None = None
    transfers: tuple[Transfer, ...] | None = None
    transfer_seconds: float | None = None  # of all copies of one run
    blocking_copies: int | None = None
    pipeline: Pipeline | None = None
    run_seconds: float | None = None
    scaling: Scaling | None = None
    offload: Offload | None = None
    stages: tuple[Stage, ...] | None = None
    accesses: tuple[Access, ...] | None = None
    global_accesses: tuple[Access, ...] | None = None
    shared_accesses: tuple[Access, ...] | None = None
    constant_accesses: tuple[Access, ...] | None = None
    row_accesses: tuple[Access, ...] | None = None
    scattered_accesses: tuple[Access, ...] | None = None
    reuse: Reuse | None = None
    hot_region: HotRegion | None = None
    tile: Tile | None = None
    allocations: Allocations | None = None
    managed: Managed | None = None
    pinned: Pinned | None = None
    mapped: Mapped | None = None
    compile_flags: tuple[str, ...] | None = None
    compiled: Compiled | None = None
    spill_bytes: int | None = None  # stores and loads per thread
    spill_requests: float | None = None  # counted by a profiler
    stack_bytes: int | None = None  # per thread
    fp64_share: float | None = None  # of all instructions
    code: Survey | None = None
    driver: Driver | None = None
    observations: tuple[Observation, ...] | None = None
    profile: Profile | None = None
    sector_efficiency: float | None = None  # sectors needed / sectors moved
    bank_efficiency: float | None = None  # wavefronts needed / wavefronts taken
    active_threads: float | None = None  # per executed instruction, of 32
    stalls: Mapping[str, float] | None = None
    telemetry: Telemetry | None = None
    sanitized: bool | None = None
    mig: bool | None = None
    devices: tuple[Device, ...] | None = None
    environment: Mapping[str, str] | None = None

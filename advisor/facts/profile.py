"""What a profiler measured for one kernel."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfilerRule:
    """What the profiler's own rules said, in its words."""

    name: str
    kind: str
    message: str
    estimated_speedup: float | None = None  # percent, as printed


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Measured facts of one kernel: fractions 0-1, seconds, counts; ``None`` is not known.

    *pipes* maps a pipe (fma, alu, tensor) to the fraction of its peak, *stalls* a reason to
    the cycles a warp waits for it per issued instruction.
    """

    seconds: float | None = None
    achieved_occupancy: float | None = None
    compute_throughput: float | None = None  # of the busiest SM resource's peak
    memory_throughput: float | None = None
    dram_throughput: float | None = None
    issue_slots_busy: float | None = None
    pipes: Mapping[str, float] = field(default_factory=dict)
    stalls: Mapping[str, float] = field(default_factory=dict)
    global_sectors: float | None = None
    global_sectors_ideal: float | None = None
    shared_wavefronts: float | None = None
    shared_wavefronts_ideal: float | None = None
    active_threads: float | None = None  # per executed instruction, of 32
    l1_hit_rate: float | None = None
    l2_hit_rate: float | None = None
    local_spill_requests: float | None = None
    rules: tuple[ProfilerRule, ...] = ()

    @property
    def busiest_pipe(self) -> tuple[str, float] | None:
        """The pipe closest to its peak, with its fraction of it."""
        return max(self.pipes.items(), key=lambda pipe: pipe[1], default=None)

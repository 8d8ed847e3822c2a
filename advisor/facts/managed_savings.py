"""What prefetching managed memory saves of a recorded run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.thresholds import number

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.application import Managed
    from gpuadvise.advisor.facts.timeline import TracedRun

FIRST_FAULTS = number(
    6,
    "first GPUs that fault on managed memory",
    "major compute capability",
    "programming guide: Pascal",
)


def saved_by_prefetching(managed: Managed, device: Device | None, run: TracedRun) -> float | None:
    """Return the seconds of *run* that page faults take at most; None where memory does not fault page by page."""
    if device is not None:
        fits = not device.memory_bytes or managed.bytes <= device.memory_bytes
        if not fits or device.integrated:
            return None
    ahead = managed.prefetched or managed.advised
    if managed.taken_back and ahead:
        return lost_to_taking_back(managed, run)
    if ahead:
        return None
    if device is not None and (
        device.capability.major < FIRST_FAULTS or device.coherent_host_memory
    ):
        return None
    return run.migration_seconds


def lost_to_taking_back(managed: Managed, run: TracedRun) -> float:
    """Return the seconds in which the GPU is idle while the host takes pages back."""
    idle, counted = run.idle_while("host-work"), managed.taken_back_seconds
    return idle if counted is None else min(idle, counted)

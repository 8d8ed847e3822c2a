"""How busy a kernel is known to keep units, and whether one so much that more warps would not help it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.facts.limiter import IMPOSSIBLE
from gpuadvise.advisor.peaks import peak
from gpuadvise.advisor.thresholds import number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.bag import Facts
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.timing import Traffic, Work


def peak_of(work: Work, device: Device) -> float | None:
    """Return the FLOP/s that *device* has for the type of *work*, None when nobody knows."""
    number_type, tensor = work.arithmetic
    try:
        return peak(device, number_type, tensor=tensor).rate
    except BadInput:
        return None


BUSY = number(0.6, "busy unit", "share", "Nsight Compute's own level")


@dataclass(frozen=True, slots=True, kw_only=True)
class Busy:
    """The unit that a kernel keeps busiest, and the share (0-1) of its peak."""

    unit: str
    share: float


def busy(
    profile: KernelProfile | None,
    traffic: Traffic | None = None,
    device: Device | None = None,
    work: Work | None = None,
) -> Busy | None:
    """Return the busiest unit at or above BUSY, or None when none is known to be."""
    units = [*_profiled(profile), *_timed(traffic, device), *_computed(work, device)]
    best = max(units, key=lambda unit: unit.share, default=None)
    return best if best and best.share >= BUSY else None


def _profiled(profile: KernelProfile | None) -> Iterator[Busy]:
    if profile is None:
        return
    for unit, share in (
        ("issue slots", profile.issue_busy),
        ("compute pipes", profile.sm_busy),
        ("memory pipes", profile.memory_busy),
        ("device memory", profile.dram_busy),
    ):
        if share is not None:
            yield Busy(unit=unit, share=share)
    if profile.busiest_pipe:
        name, share = profile.busiest_pipe
        yield Busy(unit=f"{name} pipe", share=share)


def _timed(traffic: Traffic | None, device: Device | None) -> Iterator[Busy]:
    if traffic and device and device.memory_bandwidth:
        yield Busy(unit="device memory", share=traffic.rate / device.memory_bandwidth)


def _computed(work: Work | None, device: Device | None) -> Iterator[Busy]:
    peak = peak_of(work, device) if work and device else None
    if work and work.seconds and peak:
        yield Busy(unit=f"{work.dtype} units", share=work.flops / work.seconds / peak)


DEVICE_MEMORY = "device memory"


def timed_shares(facts: Facts) -> dict[str, float]:
    """Return how busy bytes and operations in a time show device memory and the arithmetic units.

    More bytes than memory moves in that time say nothing: caches served some of them.
    """
    work, traffic, bandwidth = facts.work, facts.traffic, facts.memory_bandwidth
    shares: dict[str, float] = {}
    rates = [traffic.rate] if traffic is not None else []
    if work is not None and work.seconds:
        rates.append(work.bytes / work.seconds)
        peak = peak_of(work, facts.device) if facts.device is not None else None
        if peak and work.flops / work.seconds / peak <= IMPOSSIBLE:
            shares[f"{work.dtype} arithmetic"] = min(1.0, work.flops / work.seconds / peak)
    if bandwidth and rates and max(rates) <= bandwidth:
        shares[DEVICE_MEMORY] = max(rates) / bandwidth
    return shares

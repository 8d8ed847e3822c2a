"""What limits one launch, decided before any advice, with the number that decided it.

The order of the questions: a unit at its roof, work for a part of the device only, work that is
spread unevenly, a last wave, and then what warps wait for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from gpuadvise.advisor.facts.counters import CounterGroup
from gpuadvise.advisor.facts.lone_slice import lone_slice
from gpuadvise.advisor.facts.stalls import Stall
from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.roofline import Bound
from gpuadvise.advisor.thresholds import LaunchSet, number

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.timing import Traffic, Work
    from gpuadvise.advisor.roofline import Roofline

AT_ROOF = number(
    0.6, "unit at its roof", "share of its peak", "Nsight Compute's own level", LaunchSet.RECORDED
)
TENSOR_AT_ROOF = number(
    0.4,
    "tensor pipe at its roof",
    "share of its peak",
    "attention kernels at their published best reach 39 % to 58 % (H200, A100)",
    LaunchSet.RECORDED,
)
L2_AT_ROOF = number(
    0.75,
    "L2 at its roof",
    "share of its peak",
    "its counter runs ahead: a copy with DRAM 55 % busy shows 66 %",
    LaunchSet.RECORDED,
)
BARRIERS = number(
    0.25, "waits at barriers", "share of a warp's time", "our judgement", LaunchSet.RECORDED
)
_BARRIER_ROOF = number(
    0.8,
    "pipe that barriers may keep busy",
    "share of its peak",
    "our judgement",
    LaunchSet.RECORDED,
)
SPREAD = number(
    0.8,
    "SMs at work",
    "share of the busiest one's time",
    "our judgement: below it SMs idle, whatever their units do",
    LaunchSet.RECORDED,
)
UNEVEN = number(
    0.75,
    "uneven",
    "share of the busiest SM's time",
    "our judgement: below it a third more throughput is in sight",
    LaunchSet.RECORDED,
)
SHORT = number(
    20e-6,
    "start and end of all blocks of a launch",
    "s",
    "measured on an H200: idle shares of 5 us kernels reach a half",
    LaunchSet.RECORDED,
)
_MANY_WAVES = number(
    8, "waves of which the last counts", "waves", "our judgement", LaunchSet.RECORDED
)
BY_LOADS = number(
    0.9,
    "device memory that loads keep busy",
    "share of its peak",
    "measured: 0.9 at most",
    LaunchSet.FOURTH,
)
NEARLY_BUSY = number(
    0.75,
    "device memory nearly busy",
    "share",
    "memory reaches 90 % at its best: a fifth is left, by Little's law for more loads",
    LaunchSet.FOURTH,
)
FOR_LOADS = number(
    0.6,
    "wait for loads beside nearly busy memory",
    "share of a warp's time",
    "our judgement",
    LaunchSet.FOURTH,
)
HALF_FOR_LOADS = number(
    0.5,
    "wait for loads beside busy issue slots",
    "share of a warp's time",
    "our judgement: half of the time is the loads'",
    LaunchSet.SEVENTH,
)
SLOTS_LEFT = number(
    0.7,
    "issue slots that loads leave",
    "share",
    "our judgement: 30 % of the slots is left, a factor of 1.4",
    LaunchSet.SEVENTH,
)
FEW_WARPS = number(
    0.25,
    "few warps",
    "share of an SM's",
    "a quarter: results of arithmetic itself are waited for",
    LaunchSet.FIFTH,
)
NEAR_PEAK = number(
    0.75,
    "pipe near its peak",
    "share",
    "measured on an H200: a product at its best issues in 84 % of cycles, bodies by 2 warps in 62 %",
    LaunchSet.FIFTH,
)
# Steps of a tree between barriers also fill issue slots, somewhat above their roof.
NEAR_ROOF = number(
    0.7,
    "issue slots that barriers may keep busy",
    "share",
    "measured: 0.65 in a norm of rows by blocks of 1,024 threads on an H200",
    LaunchSet.SIXTH,
)
FITS_WAVES = number(
    0.45,
    "idle share that a last wave explains",
    "share of the time that SMs are busy / the waves that are full",
    "measured: 0.9 to 1.3 where blocks are alike, 0.3 where the last one adds up what all left (H100, H200)",
    LaunchSet.SIXTH,
)
STREAMED = number(
    1.4,
    "L2's share of its peak per DRAM's, where bytes stream through it",
    "",
    "measured on an H100 and an H200: 1.2 to 1.4",
    LaunchSet.SIXTH,
)
L2_AT_BEST = number(
    0.8,
    "L2 at its best with what streams through it",
    "share of its peak",
    "measured on an H100 and an H200: 0.8 to 0.9",
    LaunchSet.SIXTH,
)
_MOVES_DATA = (
    Unit.DRAM,
    Unit.L2,
    Unit.L1_SHARED,
    Unit.LSU,
    Unit.ADU,
    Unit.MEMORY,
    Unit.TEX,
    Unit.TMA,
    Unit.TENSOR,
)
IMPOSSIBLE = number(
    2.2,
    "operations beyond the peak",
    "factor",
    "sums in 16 bits and sparse operands double it, clocks boost a tenth more",
    LaunchSet.FOURTH,
)


# Made once: every launch asks for them, and a member of an enum is looked up each time.
_NO_NAMED_PIPE = (Unit.ISSUE, Unit.COMPUTE)
_ROOFS: dict[str, float] = {Unit.TENSOR: TENSOR_AT_ROOF, Unit.L2: L2_AT_ROOF}


@dataclass(frozen=True, slots=True, kw_only=True)
class TooLittleWork:
    """A grid of *blocks* on *sm_count* multiprocessors; *share* of what fits at once, 0 to 1."""

    blocks: int
    sm_count: int
    share: float

    name = "too-little-work"


@dataclass(frozen=True, slots=True, kw_only=True)
class LastWave:
    """SMs busy for *share* of the time, because the last of the *waves* is not full."""

    waves: float
    share: float

    name = "tail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Imbalance:
    """SMs busy for *share* of the time on average: some blocks have more work than others."""

    share: float

    name = "imbalance"


@dataclass(frozen=True, slots=True, kw_only=True)
class AtRoof:
    """A *unit* (dram, l2, l1/shared, a pipe, a type's arithmetic) at *share* of its peak.

    *for_loads* is the share of a warp's time that goes to loads where more of them under way would keep
    device memory busier, else None. *few_warps* as for `IssueBound`.
    """

    unit: str
    share: float
    for_loads: float | None = None
    few_warps: float | None = None

    @property
    def name(self) -> str:
        """The limiter in one word."""
        return f"roof:{self.unit}"


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueBound:
    """Schedulers that issue in *share* of all cycles.

    *few_warps* is the share of the warps an SM has room for, where so few leave slots that more of them
    would fill, else None. *for_loads* is the share of a warp's time that goes to loads where it is the most
    of it and slots are left, else None.
    """

    share: float
    few_warps: float | None = None
    for_loads: float | None = None

    name = "issue"


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyBound:
    """No unit at its roof: *stall* is what warps wait for, *share* of their time (None: unknown).

    *unit* is the busiest one and *busy* its share. Stall.SEVERAL stands for waits of which none is long.
    *starts* are the blocks that start per second, where no GPU of the kind starts more.
    """

    stall: str | None
    share: float | None
    unit: str
    busy: float
    starts: float | None = None

    @property
    def name(self) -> str:
        """The limiter in one word."""
        return f"latency:{self.stall or 'unknown'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownLimiter:
    """The evidence cannot tell; *wanted* would.

    *unread* are counters that the recording lacks: what they count may be the limit.
    """

    wanted: str
    unread: tuple[CounterGroup, ...] = ()

    name = "unknown"


Limiter: TypeAlias = (
    TooLittleWork | LastWave | Imbalance | AtRoof | IssueBound | LatencyBound | UnknownLimiter
)

DID_NOT_RUN = (
    "a launch that runs, for this one took no time: it failed, or the profiler could not measure it"
)
_REPORT = "a profile: `ncu --set full -o report ./app`, then give report.ncu-rep"
# Warps wait in a kernel at its roof as well: without the units a stall is no limit.
_UNITS = "how busy its units are, which `ncu --set full -o report ./app` tells beside the stalls"
_READINGS = "how busy each unit is, of which the recording lacks some"
# More bytes than device memory can move in that time: caches served a part of them.
_MOVED = "the bytes that device memory itself moved, for those given are more than it can move in the time"
_COMPUTED = (
    "operations, a type and a time that fit each other: those given are more than twice the peak"
)


# Units by the fields of their shares and of the busiest of several units that each is one of: on 258 recorded
# launches no such unit was busier than that, but L2 on 114 of them, by up to 0.3.
_READINGS_OF = (
    (CounterGroup.DRAM, "dram_busy", "memory_busy"),
    (CounterGroup.L2, "l2_busy", None),
    (CounterGroup.L1_SHARED, "l1_busy", "memory_busy"),
    (CounterGroup.ISSUE, "issue_busy", "sm_busy"),
    (CounterGroup.PIPES, "pipes", "sm_busy"),
)


def unread_units(profile: KernelProfile) -> tuple[CounterGroup, ...]:
    """Return the units that may be at their roofs, and of which the recording lacks the counters."""
    units = []
    for unit, field, several in _READINGS_OF:
        busiest = getattr(profile, several) if several else None
        roof = TENSOR_AT_ROOF if unit is CounterGroup.PIPES else roof_of(unit)
        if field in profile.missing and (busiest is None or busiest >= roof):
            units.append(unit)
    return tuple(units)


def active_share(profile: KernelProfile) -> float | None:
    """Return the share of the busiest SM's time in which an SM is busy, on average; None unknown.

    Without the busiest SM's cycles the whole launch stands for it, where it is long enough and L2 does not work on alone.
    """
    cycles = profile.sm_cycles
    if cycles.mean is None:
        return None
    if cycles.most:
        return min(1.0, cycles.mean / cycles.most)
    if profile.elapsed_cycles and (profile.seconds or 0.0) > SHORT and lone_slice(profile) is None:
        return min(1.0, cycles.mean / profile.elapsed_cycles)
    return None


def filled_share(profile: KernelProfile) -> float | None:
    """Return the share of the warps that start at once which an SM holds on average; None unknown.

    Over the time of the busiest SM: one that runs 1 of its 2 blocks is busy, and half filled.
    """
    active = active_share(profile)
    start = (profile.theoretical_occupancy or 0.0) * min(1.0, profile.waves or 1.0)
    if active is None or not start or profile.achieved_occupancy is None:
        return active
    return active * min(1.0, profile.achieved_occupancy / start)


def limiter_of(
    profile: KernelProfile | None = None,
    work: Work | None = None,
    roofline: Roofline | None = None,
    traffic: Traffic | None = None,
    memory_bandwidth: float | None = None,
    grid: tuple[int, int, int] | None = None,
    sm_count: int | None = None,
    waves: float | None = None,
) -> Limiter | None:
    """Return what limits a launch, by the best evidence there is; None without any."""
    blocks = math.prod(grid) if grid else None
    if profile is not None and profile.seconds == 0:
        return UnknownLimiter(wanted=DID_NOT_RUN)
    if profile is not None and (shares := profile.unit_shares):
        return _profiled(profile, shares, blocks, sm_count, waves)
    unread = unread_units(profile) if profile is not None else ()
    timed = _timed(work, roofline, traffic, memory_bandwidth)
    if unread and (timed is None or not _is_near_peak(timed)):
        return UnknownLimiter(wanted=_READINGS, unread=unread)
    if timed is not None:
        return timed
    if blocks is not None and sm_count and blocks < sm_count:
        return TooLittleWork(blocks=blocks, sm_count=sm_count, share=blocks / sm_count)
    if profile is not None:
        return UnknownLimiter(wanted=_UNITS)
    if work or traffic or blocks or waves:
        return UnknownLimiter(wanted=_REPORT)
    return None


def _is_near_peak(limiter: Limiter) -> bool:
    return isinstance(limiter, AtRoof) and limiter.share >= BY_LOADS


def _timed(
    work: Work | None,
    roofline: Roofline | None,
    traffic: Traffic | None,
    memory_bandwidth: float | None,
) -> AtRoof | UnknownLimiter | None:
    """Return the roof that operations or bytes in a time reach, or why they cannot tell; None: below all."""
    limits = []
    if roofline is not None and roofline.share is not None and work is not None:
        limits.append(_under_roof(roofline, work))
    if traffic is not None and memory_bandwidth:
        limits.append(_under_bandwidth(traffic.rate / memory_bandwidth))
    roofs = [limit for limit in limits if isinstance(limit, AtRoof)]
    if roofs:
        return max(roofs, key=lambda roof: roof.share)
    return next((limit for limit in limits if limit is not None), None)


def _under_bandwidth(share: float) -> AtRoof | UnknownLimiter | None:
    if share > 1:
        return UnknownLimiter(wanted=_MOVED)
    return AtRoof(unit=Unit.DRAM, share=share) if share >= AT_ROOF else None


def _under_roof(roofline: Roofline, work: Work) -> AtRoof | UnknownLimiter | None:
    share = roofline.share or 0.0
    if share > IMPOSSIBLE:
        return UnknownLimiter(wanted=_COMPUTED)
    if share < AT_ROOF:
        return None
    if roofline.bound is Bound.MEMORY and roofline.impossible:
        return UnknownLimiter(wanted=_MOVED)
    number_type, tensor = work.arithmetic
    unit = f"{number_type}_tensor" if tensor else str(number_type)
    if roofline.bound is Bound.MEMORY:
        unit = Unit.DRAM
    return AtRoof(unit=unit, share=min(1.0, share))


def _profiled(
    profile: KernelProfile,
    shares: Mapping[str, float],
    blocks: int | None,
    sm_count: int | None,
    waves: float | None,
) -> Limiter:
    waves = profile.waves if profile.waves is not None else waves
    unread = unread_units(profile)
    unit, share = _highest(shares)
    at_roof = share >= roof_of(unit) and not (unread and _may_hide(share, unit, unread))
    uneven = _uneven(profile, waves)
    if at_roof and "stalls" in profile.missing and _may_be_barriers(unit, share):
        return UnknownLimiter(wanted=_READINGS, unread=(CounterGroup.STALLS,))
    beyond_sm = unit in (Unit.DRAM, Unit.L2)
    if at_roof and (beyond_sm or uneven is None) and not _behind_barriers(profile, unit, share):
        if unit == Unit.ISSUE:
            return IssueBound(
                share=share,
                few_warps=_short_of_warps(profile, unit, share),
                for_loads=_loads_beside_issue(profile, share),
            )
        return AtRoof(
            unit=unit,
            share=share,
            for_loads=_short_of_loads(profile, unit, share),
            few_warps=_short_of_warps(profile, unit, share),
        )
    if blocks is not None and sm_count and blocks < sm_count:
        filled = blocks / sm_count
        if not unread or filled < TENSOR_AT_ROOF:  # no unit of the SM can be busier than that
            return TooLittleWork(blocks=blocks, sm_count=sm_count, share=filled)
    if unread:
        return UnknownLimiter(wanted=_READINGS, unread=unread)
    if uneven is not None:
        return uneven
    return _waiting(profile, shares)


def _may_hide(share: float, unit: str, unread: Collection[CounterGroup]) -> bool:
    """Return whether one of the *unread* units may be the limit beside *unit* at *share* of its peak.

    Near its peak no other is busier by much. L2's counter runs ahead of device memory's.
    """
    return share < BY_LOADS or (unit == Unit.L2 and CounterGroup.DRAM in unread)


def _short_of_loads(profile: KernelProfile, unit: str, share: float) -> float | None:
    """Return the part of a warp's time that goes to loads, where these leave device memory room."""
    streams = (
        unit == Unit.L2 and share < L2_AT_BEST and share <= STREAMED * (profile.dram_busy or 0.0)
    )
    if not streams and (unit != Unit.DRAM or share >= NEARLY_BUSY):
        return None
    if (profile.l2_busy or 0.0) >= L2_AT_BEST:
        return None  # what streams to device memory is at its best there already
    wait = profile.top_stall
    on_chip = max((profile.issue_busy or 0.0, profile.sm_busy or 0.0, profile.l1_busy or 0.0))
    for_loads = wait is not None and wait[0] == Stall.LONG_SCOREBOARD and wait[1] >= FOR_LOADS
    return wait[1] if wait and for_loads and on_chip < AT_ROOF else None


def _loads_beside_issue(profile: KernelProfile, share: float) -> float | None:
    """Return the part of a warp's time that goes to loads, where these leave issue slots."""
    wait = profile.top_stall
    if wait is None or wait[0] != Stall.LONG_SCOREBOARD or wait[1] < HALF_FOR_LOADS:
        return None
    return wait[1] if share < SLOTS_LEFT else None


def _short_of_warps(profile: KernelProfile, unit: str, share: float) -> float | None:
    """Return the share of an SM's warps, where these are too few to keep issuing or a pipe busy; else None."""
    warps = profile.achieved_occupancy
    if unit in _MOVES_DATA or share >= NEAR_PEAK or warps is None or warps > FEW_WARPS:
        return None
    return warps


def roof_of(unit: str) -> float:
    """Return the share of its peak from which *unit* is at its roof."""
    return _ROOFS.get(unit, AT_ROOF)


def _highest(shares: Mapping[str, float]) -> tuple[str, float]:
    """Return the unit nearest to what counts as its roof; a named pipe before issuing for it."""
    return max(
        shares.items(),
        key=lambda unit: (unit[1] / roof_of(unit[0]), unit[0] not in _NO_NAMED_PIPE),
    )


def _behind_barriers(profile: KernelProfile, unit: str, share: float) -> bool:
    """Return whether barriers, rather than work, keep the SM's pipes to memory busy."""
    waits = profile.top_stall
    return (
        _may_be_barriers(unit, share)
        and waits is not None
        and waits[0] == Stall.BARRIER
        and waits[1] >= BARRIERS
    )


def _may_be_barriers(unit: str, share: float) -> bool:
    if unit == Unit.ISSUE:
        return share < NEAR_ROOF
    to_memory = (Unit.L1_SHARED, Unit.LSU, Unit.MEMORY, Unit.COMPUTE)
    return unit == Unit.ADU or (unit in to_memory and share < _BARRIER_ROOF)


def _uneven(profile: KernelProfile, waves: float | None) -> LastWave | Imbalance | None:
    """Return why SMs idle for a fifth of the time, None where they do not."""
    active = active_share(profile)
    if active is None or active >= SPREAD or (profile.seconds or SHORT) < SHORT:
        return None
    if waves is not None and 1 < waves <= _MANY_WAVES and active >= FITS_WAVES * _filled(waves):
        return LastWave(waves=waves, share=active)
    return Imbalance(share=active) if active <= UNEVEN else None


def _filled(waves: float) -> float:
    """Return the share of the time that SMs are busy where blocks are alike and the last of *waves* is not full."""
    return waves / math.ceil(waves)


STARTS = number(
    1450000000.0,
    "block starts",
    "blocks/s",
    "measured on an H100 and an H200: 1.48 to 1.66 per ns in 32 launches whose blocks end at once, none above",
    LaunchSet.SIXTH,
)
_MANY_STARTS = number(
    30000,
    "blocks of which the rate of starts is known",
    "blocks",
    "our judgement: fewer start and end within the time of a launch",
    LaunchSet.SIXTH,
)
_STARTS_MEASURED_ON = number(
    9,
    "compute capability whose block starts are known",
    "major",
    "measured on an H100 and an H200 alone",
)


def block_starts(profile: KernelProfile) -> float | None:
    """Return the blocks that start per second where that is as fast as they can and no unit is busy; else None."""
    blocks, seconds = math.prod(profile.grid or (0,)), profile.seconds
    if blocks < _MANY_STARTS or not seconds or profile.capability is None:
        return None
    rate = blocks / seconds
    return rate if rate >= STARTS and profile.capability.major == _STARTS_MEASURED_ON else None


def _waiting(profile: KernelProfile, shares: Mapping[str, float]) -> LatencyBound:
    stall, share = profile.top_stall or (
        Stall.SEVERAL if _names_long_waits(profile) else None,
        None,
    )
    working = dict(shares)
    if stall == Stall.BARRIER and len(working) > 1:
        working.pop(Unit.ADU, None)  # the pipe that resolves addresses takes barriers as well
    unit, busy = max(working.items(), key=lambda item: item[1])
    return LatencyBound(
        stall=stall, share=share, unit=unit, busy=busy, starts=block_starts(profile)
    )


def _names_long_waits(profile: KernelProfile) -> bool:
    """Return whether the profiler's own rules looked at the waits: they name one of 30 % or more."""
    return bool(profile.rules) and profile.warp_latency is not None

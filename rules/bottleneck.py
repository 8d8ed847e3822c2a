"""What a kernel's limit lets a change win, and the limit in words."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from gpuadvise.advisor.facts.busy import peak_of
from gpuadvise.advisor.facts.counters import CounterGroup
from gpuadvise.advisor.facts.limiter import (
    AT_ROOF,
    BY_LOADS,
    IMPOSSIBLE,
    NEAR_PEAK,
    AtRoof,
    Imbalance,
    IssueBound,
    LastWave,
    LatencyBound,
    TooLittleWork,
    UnknownLimiter,
    active_share,
    unread_units,
)
from gpuadvise.advisor.facts.stalls import Stall
from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.memory.transactions import SECTOR
from gpuadvise.advisor.memory.word_size import WARP_SIZE
from gpuadvise.advisor.prose import and_list, plural
from gpuadvise.advisor.quantity import show_number, show_seconds, show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.model import Family, Gain, GainKind, Priority
from gpuadvise.rules.report import priority_of
from gpuadvise.rules.thresholds import MOST_SECTORS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from gpuadvise.advisor.facts.bag import Facts
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter
    from gpuadvise.rules.model import Advice, Rule

WORTHWHILE = number(
    1.1,
    "gain that is worth an hour: below it a finding is low",
    "factor",
    "our judgement",
    LaunchSet.RECORDED,
)
NOTABLE = number(1.05, "gain that is worth a word", "factor", "our judgement", LaunchSet.RECORDED)
_MOST = number(1000.0, "largest gain that is said", "factor", "a bound beyond says no more")

_MEMORY = frozenset({Unit.DRAM, Unit.L2, Unit.L1_SHARED, Unit.LSU, Unit.MEMORY, Unit.TEX})
_SHARED = frozenset({Unit.L1_SHARED, Unit.LSU, Unit.MEMORY})
_GLOBAL_WAITS = frozenset(
    {
        Stall.LONG_SCOREBOARD,
        Stall.LG_THROTTLE,
        Stall.DRAIN,
        Stall.MEMBAR,
        Stall.TEX_THROTTLE,
        Stall.SEVERAL,
        None,
    }
)
_SHARED_WAITS = frozenset(
    {Stall.SHORT_SCOREBOARD, Stall.MIO_THROTTLE, Stall.BARRIER, Stall.SEVERAL, None}
)
# Families that have a test of their own, whatever else limits the kernel.
_ALWAYS = frozenset({Family.GRID, Family.COPIES, Family.ROOFLINE})


def admits(limiter: Limiter, family: Family, profile: KernelProfile | None = None) -> bool:
    """Return whether a change of *family* can lift *limiter*, as far as *profile* shows."""
    if family in _ALWAYS:
        return True
    if family in (Family.RESIDENCY, Family.LATENCY) and near_roof(limiter):
        return True
    match limiter:
        case UnknownLimiter():
            return True
        case TooLittleWork() | LastWave() | Imbalance():
            # Another unit shortens each block, and so the last or the longest one.
            few = isinstance(limiter, TooLittleWork)
            last = isinstance(limiter, LastWave)  # more blocks at once also fill it
            if last and family is Family.RESIDENCY:
                return True
            if profile is not None and _holds_each_block(profile, family):
                return True
            return family in ((Family.LATENCY,) if few else (Family.ARITHMETIC, Family.PRODUCTS))
        case IssueBound():
            return family in (
                Family.DIVERGENCE,
                Family.ARITHMETIC,
                Family.PRODUCTS,
                Family.REUSE,
                Family.SPILLS,
                Family.WIDTH,  # a wide access takes one instruction for several
            )
        case AtRoof():
            issue = (profile.issue_busy if profile else None) or 0.0
            # Issue slots at their roof as well, so that fewer instructions help as far as the other unit allows.
            fewer_instructions = family is Family.ARITHMETIC and issue >= AT_ROOF
            return fewer_instructions or _lifts_roof(limiter.unit, family)
        case LatencyBound():
            return _shortens(limiter.stall, family)
        case other:
            assert_never(other)


def _holds_each_block(profile: KernelProfile, family: Family) -> bool:
    """Return whether what *family* changes keeps the blocks themselves waiting, on SMs that have some."""
    if family is Family.COALESCING:
        return at_work(profile, profile.l1_busy or 0.0) >= AT_ROOF
    wait = profile.top_stall
    return family is Family.BANKS and wait is not None and wait[0] in _SHARED_WAITS


def at_work(profile: KernelProfile, share: float) -> float:
    """Return the *share* of an SM's time that one of its units is busy, of the time that the SM works."""
    return min(1.0, share / (active_share(profile) or 1.0))


def near_roof(limiter: Limiter | None) -> bool:
    """Return whether device memory, or L2 on the way there, is the limit, but would be busier with more loads under way."""
    return isinstance(limiter, AtRoof) and limiter.for_loads is not None


def _lifts_roof(unit: str, family: Family) -> bool:
    match family:
        case Family.COALESCING | Family.SPILLS | Family.REUSE:
            return unit in _MEMORY
        case Family.BANKS:
            return unit in _SHARED
        case Family.ATOMICS:
            return unit == Unit.L2 or unit in _SHARED
        case Family.PRODUCTS:  # whole tiles of operands go to tensor cores at once
            return unit in _SHARED or unit not in (*_MEMORY, Unit.TENSOR)
        case Family.WIDTH:
            return unit in (Unit.DRAM, Unit.L1_SHARED, Unit.LSU, Unit.L2, Unit.ADU)
        case Family.DIVERGENCE | Family.ARITHMETIC:
            return unit not in _MEMORY and unit != Unit.TENSOR
        # Near a roof the first two may, and the others always do: that is asked before.
        case Family.RESIDENCY | Family.LATENCY | Family.GRID | Family.COPIES | Family.ROOFLINE:
            return False
        case other:
            assert_never(other)


def _shortens(stall: str | None, family: Family) -> bool:
    match family:
        case Family.COALESCING | Family.WIDTH | Family.SPILLS | Family.REUSE:
            return stall in _GLOBAL_WAITS
        case Family.BANKS:
            return stall in _SHARED_WAITS
        case (
            Family.RESIDENCY
            | Family.DIVERGENCE
            | Family.ARITHMETIC
            | Family.PRODUCTS
            | Family.LATENCY
            | Family.ATOMICS
            | Family.GRID
            | Family.COPIES
            | Family.ROOFLINE
        ):
            return True
        case other:
            assert_never(other)


def bounded(
    advice: Advice,
    rule: Rule,
    profile: KernelProfile | None,
    *,
    other_kernel: bool = False,
    few_warps: bool = False,
) -> Advice:
    """Return *advice* with a gain that the busiest unit left over allows, where that is known.

    *other_kernel*: what is changed is the call of a library, which then runs another one. *few_warps*: the
    grid leaves most of each SM empty.
    """
    if profile is None or rule.family is None:
        return advice
    shares = profile.unit_shares
    if not shares:
        return advice
    if rule.family is Family.GRID:
        advice = _with_coalescing(advice, profile, shares)
    if other_kernel and rule.family is Family.GRID and few_warps:
        shares, advice = _kept(shares, _OPERATIONS), replace(advice, gain=None)
    elif other_kernel and rule.family not in _SAME_KERNEL:
        shares, advice = _kept(shares, _BYTES), replace(advice, gain=None)
    elif rule.family is Family.COALESCING and few_warps:  # a warp instead of a thread per row
        advice = replace(advice, gain=None)
    if advice.gain is None and unread_units(profile):
        return advice  # what is left over is not known
    unit, share = _busiest_after(shares, advice.relief or {})
    words = (advice.left or {}).get(unit, "")
    less = share < _NOTABLY_LESS * shares.get(unit, 0.0)
    name = unit_words(unit)
    left = left_over(
        f"{name} {'stay' if ' and ' in name else 'stays'} {busy_words(share)} busy"
        f"{f' {words}' if words else ''}{f', now {show_share(shares[unit])}' if less else ''}",
        share,
    )
    if advice.gain is None or advice.gain.upper_bound > left.upper_bound:
        return replace(advice, gain=left)
    return replace(advice, gain=replace(advice.gain, kind=GainKind.KERNEL_TIME))


# Another kernel of a library moves the same bytes. It does the same operations, too, unless another size or
# layout is what changes them: rows of 1,009 points took a transform 4.6 times as long as rows of 1,024.
_BYTES = (Unit.DRAM, Unit.TENSOR)
_OPERATIONS = (*_BYTES, Unit.FMA, Unit.FP16, Unit.FP64)
# These change what any kernel has to do, or leave it as it is.
_SAME_KERNEL = (Family.PRODUCTS, Family.GRID, Family.COPIES, Family.ROOFLINE)
_L2_AHEAD = number(
    1.2,
    "L2's share per what its sectors need",
    "",
    "66 % where a copy keeps memory 55 % busy; 12.4 % in a launch that became 9.1 times as fast",
    LaunchSet.SIXTH,
)
_SCATTERED = number(
    1.5, "sectors moved for each needed, of blocks for rows", "", "our judgement", LaunchSet.SIXTH
)


def _kept(shares: Mapping[str, float], units: Collection[str]) -> dict[str, float]:
    """Return those of *shares* that are of *units*; all of them where none is."""
    return {unit: share for unit, share in shares.items() if unit in units} or dict(shares)


def _with_coalescing(advice: Advice, profile: KernelProfile, shares: Mapping[str, float]) -> Advice:
    """Return *advice* on the grid with the relief that comes with it.

    More blocks for rows that lie apart are a warp instead of a thread for each.
    """
    moved, needed = profile.global_sectors or 0.0, profile.global_sectors_ideal or 0.0
    if advice.relief:
        return advice
    kept = needed / moved if moved > _SCATTERED * needed > 0 else 1.0
    relief: dict[str, float] = {
        unit: shares[unit] * kept for unit in (Unit.L1_SHARED, Unit.LSU, Unit.L2) if unit in shares
    }
    if Unit.L2 in relief:
        relief[Unit.L2] /= _L2_AHEAD
    return replace(advice, relief=relief)


def roof_together(advices: Iterable[Advice], profile: KernelProfile) -> float:
    """Return by which factor the busiest unit has less to do, with what all *advices* take off each unit."""
    after = dict(profile.unit_shares)
    for advice in advices:
        for unit, share in (advice.relief or {}).items():
            if unit in after:
                before = profile.unit_shares[unit]
                after[unit] *= min(1.0, share / before) if before else 1.0
    busiest = max(after.values(), default=1.0)
    return min(_MOST, 1 / busiest) if busiest else _MOST


# Shares below this are noise of a counter.
_NOISE = number(1e-4, "noise of a counter", "share", "our judgement", LaunchSet.SIXTH)


def busy_words(share: float) -> str:
    """Return *share* of a unit's peak in words; what is next to nothing has no digits."""
    return f"less than {show_share(_NOISE)}" if share < _NOISE else show_share(share)


_NOTABLY_LESS = number(
    0.99,
    "share of a unit now that shows as less",
    "",
    "less does not show in a figure of three digits",
)
EMPTY = number(
    1.5e-6,
    "an empty kernel",
    "s",
    "measured on an H100 and an H200: one block that fills a few words takes 1.66 us",
    LaunchSet.FIFTH,
)
_OF_A_LAUNCH = (GainKind.KERNEL_TIME, GainKind.KERNEL_THROUGHPUT)


def bounded_by_start(advice: Advice, rule: Rule, seconds: float | None) -> Advice:
    """Return *advice* with a gain that leaves a launch of *seconds* the time of an empty kernel."""
    gain = advice.gain
    if gain is None or not seconds or rule.fewer_launches:
        return advice
    if gain.kind not in _OF_A_LAUNCH or gain.upper_bound * EMPTY <= seconds:
        return advice
    how = f"{show_seconds(seconds)} / about {show_seconds(EMPTY)}, the time of an empty kernel"
    most = max(1.0, seconds / EMPTY)
    return replace(advice, gain=Gain(kind=GainKind.KERNEL_TIME, upper_bound=most, how=how))


# What such a change takes from a kernel is bytes, or operations: these bound it no longer.
_FEWER_BYTES = frozenset({Family.COALESCING, Family.REUSE, Family.SPILLS, Family.PRODUCTS})
_FEWER_OPERATIONS = frozenset({Family.ARITHMETIC, Family.PRODUCTS})


def bounded_by_times(advice: Advice, rule: Rule, facts: Facts) -> Advice:
    """Return *advice* with a gain that bytes and operations in the given time leave, where they do.

    A roofline rule says itself what its own change leaves.
    """
    if rule.family is Family.ROOFLINE:
        return advice
    shares = timed_shares(facts)
    if rule.family in _FEWER_BYTES:
        shares.pop(_DEVICE_MEMORY, None)
    if rule.family in _FEWER_OPERATIONS:
        shares = {unit: share for unit, share in shares.items() if unit == _DEVICE_MEMORY}
    unit, share = max(shares.items(), key=lambda item: item[1], default=("", 0.0))
    if not share or (advice.gain is None and not isinstance(facts.limiter, AtRoof)):
        return advice
    left = left_over(f"{unit} is {show_share(share)} busy by the times given", share)
    gain = advice.gain
    if gain.upper_bound <= left.upper_bound if gain else priority_of(rule, advice) is Priority.LOW:
        return advice
    return replace(advice, gain=left)


_DEVICE_MEMORY = "device memory"


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
        shares[_DEVICE_MEMORY] = max(rates) / bandwidth
    return shares


def left_over(what: str, share: float) -> Gain:
    """Return the gain that *what*, which takes *share* of the time, leaves; up to where it says no more."""
    if share * _MOST < 1:
        return Gain(
            kind=GainKind.KERNEL_TIME, upper_bound=_MOST, how=f"{what}: beyond {_MOST:,.0f}"
        )
    return Gain(
        kind=GainKind.KERNEL_TIME, upper_bound=1 / share, how=f"{what}: 1 / {show_number(share)}"
    )


def _busiest_after(shares: Mapping[str, float], relief: Mapping[str, float]) -> tuple[str, float]:
    after = {unit: relief.get(unit, share) for unit, share in shares.items()}
    return max(after.items(), key=lambda item: item[1])


def relieved(profile: KernelProfile, factor: float, *units: str) -> dict[str, float]:
    """Return how busy *units* are for the same time with *factor* times less to do."""
    shares = profile.unit_shares
    return {unit: shares[unit] / factor for unit in units if unit in shares}


STARTING = number(
    5e-6,
    "start and end of a launch",
    "s",
    "measured on an H100: launches that hardly touch memory take 3.5 to 4 us",
    LaunchSet.RECORDED,
)
# L2 takes about one atomic sector per cycle for one address. Measured are 0.22 to 0.84 on an H100 and an
# H200 where atomics queue (one counter, a histogram of few bins), 1.6 to 26 where addresses are spread.
QUEUED = number(
    1.0,
    "in a queue",
    "operations per cycle",
    "measured on an H100 and an H200: 0.2 to 0.8 on few addresses, 1.6 to 26 on many",
    LaunchSet.RECORDED,
)
_QUEUED_AT_SOME = number(
    6.0,
    "in several queues, of a few hundred neighbouring words",
    "operations per cycle",
    "measured: 1.4 for histograms of 256 bins on an H100, 5.3 for 1,024 on an H200",
    LaunchSet.SIXTH,
)
# Atomics on one sector, of which a block that adds up first would send one: our judgement. Measured are 64 to
# 150,000 on few addresses, 1 to 6 where each has its own.
UPDATED_AGAIN = number(
    16.0,
    "atomics per sector written",
    "",
    "our judgement: a block that adds up first sends one of them. Measured are 64 to 150,000 on few addresses, 1 to 6 where each has its own",
    LaunchSet.RECORDED,
)
_FEWEST_QUEUED = number(
    0.2,
    "in a queue at least",
    "operations per cycle",
    "our judgement: with fewer the kernel waits for something else",
    LaunchSet.RECORDED,
)
_FEWEST_BESIDE_LOADS = number(
    0.5,
    "in a queue at least, beside waits for loads",
    "operations per cycle",
    "our judgement: loads keep warps in this wait as well",
    LaunchSet.RECORDED,
)
_FREQUENT = number(
    0.02, "frequent atomics", "share of instructions", "our judgement", LaunchSet.RECORDED
)
_IDLE = number(
    0.3,
    "busiest unit where atomics queue",
    "share of its peak",
    "our judgement: queues leave all units below 12 %",
    LaunchSet.RECORDED,
)
_STILL = number(
    0.15,
    "busiest unit that counts as still",
    "share of its peak",
    "our judgement",
    LaunchSet.RECORDED,
)
_NO_LOAD = number(
    2000.0,
    "wait that no load explains",
    "cycles per instruction",
    "a load from idle memory takes 600 to 1,000, and comes with others",
    LaunchSet.FOURTH,
)
_LONG_WAIT = number(
    300.0,
    "wait for a queue",
    "cycles per instruction",
    "measured: 370 to 35,000 where atomics queue; loads that take as long keep a unit 29 % busy",
    LaunchSet.FOURTH,
)
# Loads of a few warps, each at the address that the one before brought, take 300 cycles as well; of half of the warps
# that fit they would keep a unit busy.
_LONG_WAIT_OF_MANY = number(
    200.0,
    "wait of many warps for a queue",
    "cycles per instruction",
    "measured: 220 to 35,000 where atomics queue, with every unit below 12 %",
    LaunchSet.SIXTH,
)
_MANY_HELD = number(
    0.5,
    "many warps",
    "achieved occupancy",
    "our judgement",
    LaunchSet.SIXTH,
)


def atomics_in_queue(profile: KernelProfile) -> float | None:
    """Return the atomics that memory takes per cycle where they wait for few addresses, else None.

    Sectors are counted where the page has them: a warp whose lanes share an address, or whose
    compiler adds up first, sends one. Without them a request is as many as a warp has lanes.
    """
    kinds = (profile.global_reductions, profile.global_atomics)
    requests = sum(kind.requests or 0.0 for kind in kinds)
    if not requests or not profile.elapsed_cycles:
        return None
    sectors = sum(kind.sectors or 0.0 for kind in kinds)
    rate = (sectors or requests * WARP_SIZE) / profile.elapsed_cycles
    waits, busiest = profile.top_stall, max(profile.unit_shares.values(), default=0.0)
    too_long = (profile.warp_latency or 0.0) >= _NO_LOAD and busiest < _STILL
    frequent = too_long or requests >= _FREQUENT * (profile.instructions or 0.0)
    if not frequent and (rate < _FEWEST_BESIDE_LOADS or not _may_be_waited_for(profile)):
        return None
    beside_loads = waits is not None and waits[0] == Stall.LONG_SCOREBOARD and not too_long
    least = _FEWEST_BESIDE_LOADS if beside_loads else _FEWEST_QUEUED
    few_sectors = busiest < _STILL and (updates_per_sector(profile) or 0.0) >= UPDATED_AGAIN
    most = _QUEUED_AT_SOME if few_sectors else QUEUED
    if few_sectors and too_long:
        most = rate  # whatever their number, nothing else makes a warp wait that long
    return rate if least <= rate <= most and busiest < _IDLE else None


def _may_be_waited_for(profile: KernelProfile) -> bool:
    """Return whether atomics give results, or warps wait so long that these must fill a queue before loads."""
    reductions, atomics = profile.global_reductions.requests, profile.global_atomics.requests
    waits = profile.top_stall
    for_long = waits is not None and (profile.warp_latency or 0.0) * waits[1] >= _long_wait(profile)
    return (atomics or 0.0) >= (reductions or 0.0) or for_long


def updates_per_sector(profile: KernelProfile) -> float | None:
    """Return the atomics that each sector gets before it is written to device memory, at least."""
    kinds = (profile.global_reductions, profile.global_atomics)
    sectors = sum(kind.sectors or 0.0 for kind in kinds)
    if not sectors or profile.dram_written is None:
        return None
    return sectors * SECTOR / max(profile.dram_written, SECTOR)


_USED = number(
    0.8,
    "sectors needed of those that scattered atomics move",
    "share",
    "our judgement",
    LaunchSet.FIFTH,
)


def are_scattered_atomics(profile: KernelProfile) -> bool:
    """Return whether atomics move most of the sectors of global accesses, and use them in part."""
    kinds = (profile.global_reductions, profile.global_atomics)
    sectors, moved = sum(kind.sectors or 0.0 for kind in kinds), profile.global_sectors or 0.0
    needed = profile.global_sectors_ideal
    accesses = profile.global_loads.used_bytes or profile.global_stores.used_bytes
    return (
        not accesses
        and needed is not None
        and needed < _USED * moved
        and sectors >= MOST_SECTORS * moved > 0
    )


MEMORY_WAITS = (Stall.LONG_SCOREBOARD, Stall.LG_THROTTLE, Stall.DRAIN)


def waits_for_atomics(profile: KernelProfile) -> bool:
    """Return whether atomics queue for few addresses, by their number or by what the wait looks like.

    A page that does not count them shows waits that are too long for loads that leave memory idle.
    """
    counts = (profile.global_reductions.requests, profile.global_atomics.requests)
    if counts != (None, None):
        return atomics_in_queue(profile) is not None
    waits, busiest = profile.top_stall, max(profile.unit_shares.values(), default=1.0)
    if busiest >= _STILL:
        return False
    if waits is None:
        return (profile.warp_latency or 0.0) >= _NO_LOAD
    return waits[0] in MEMORY_WAITS and (profile.warp_latency or 0.0) * waits[1] >= _long_wait(
        profile
    )


def _long_wait(profile: KernelProfile) -> float:
    """Return the cycles per instruction from which a wait is too long for loads that leave memory idle."""
    held = profile.achieved_occupancy
    return _LONG_WAIT_OF_MANY if held is not None and held >= _MANY_HELD else _LONG_WAIT


# Sectors that stores fill in part are put together in L2, which is half busy where that costs time: measured
# on an H100 and an H200, 55 % and 75 % where transposing stores were slow, 45 % where they were not.
L2_ROOM = number(
    0.5,
    "room in L2 for stores",
    "share",
    "measured on an H100 and an H200: 45 % where such stores cost nothing, 55 % and 75 % where they did",
    LaunchSet.RECORDED,
)


def waits_for_loads_alone(profile: KernelProfile | None, limiter: Limiter | None) -> bool:
    """Return whether stores take no time of their own: no warp waits for them, and L2 has room."""
    return (
        profile is not None
        and isinstance(limiter, LatencyBound)
        and limiter.stall == Stall.LONG_SCOREBOARD
        and (profile.l2_busy or 1.0) < L2_ROOM
    )


def shared_memory_share(profile: KernelProfile, passes: float | None = None) -> float | None:
    """Return the share of the time that *passes* of shared memory (default: all) take L1.

    An SM makes one pass a cycle. None where the report does not tell.
    """
    count = profile.shared_wavefronts if passes is None else passes
    if count is None or not profile.elapsed_cycles or not profile.sm_count:
        return None
    return min(1.0, count / (profile.elapsed_cycles * profile.sm_count))


def requests_to_memory(profile: KernelProfile) -> float | None:
    """Return the instructions to memory of any kind; None where the page does not tell.

    An SM's pipe takes one in a cycle, so that its share of the cycles counts them.
    """
    cycles, busy = profile.elapsed_cycles, profile.memory_pipes_busy
    return cycles * busy * profile.sm_count if cycles and busy and profile.sm_count else None


_ALL_SECTORS = number(
    0.95,
    "sectors that are not all stores'",
    "share",
    "our judgement: a kernel that fills shared memory loads something",
    LaunchSet.FOURTH,
)


def names_no_access(profile: KernelProfile) -> bool:
    """Return whether sectors in excess are of atomics or copies to shared memory.

    A page without counts names the loads and stores that use sectors in part, where there are any; but not
    the copies, whose excess stores would explain only if no load moved a sector.
    """
    loads, stores = profile.global_loads.used_bytes, profile.global_stores.used_bytes
    if not profile.is_without_counts or loads is not None:
        return False
    if stores is None:
        return True
    if not (profile.dynamic_shared or profile.static_shared) or not profile.global_sectors:
        return False
    excess = 1 - (profile.global_sectors_ideal or 0.0) / profile.global_sectors
    return stores < SECTOR and excess >= _ALL_SECTORS * (1 - stores / SECTOR)


_HARDLY = number(
    0.1,
    "sectors of global accesses per request to memory",
    "",
    "a request moves one or more, so that nine of ten go elsewhere",
    LaunchSet.RECORDED,
)


def hardly_global(profile: KernelProfile) -> bool:
    """Return whether hardly a request to memory can be a global one, by the sectors that those move."""
    requests, moved = requests_to_memory(profile), profile.global_sectors
    return requests is not None and moved is not None and moved < _HARDLY * requests


def sm_units(profile: KernelProfile) -> tuple[str, ...]:
    """Return the units of the SM, by name."""
    return tuple(
        unit for unit in profile.unit_shares if unit not in (Unit.DRAM, Unit.L2, Unit.MEMORY)
    )


_UNITS: dict[str, str] = {
    Unit.DRAM: "device memory",
    Unit.L2: "the L2 cache",
    Unit.L1_SHARED: "L1 and shared memory",
    Unit.ISSUE: "the warp scheduler",
    Unit.LSU: "the load/store pipe",
    Unit.ADU: "the address-divergence pipe",
    CounterGroup.PIPES: "the pipes of the SM",
    CounterGroup.STALLS: "what warps wait for",
    Unit.COMPUTE: "a pipe of the SM that the page does not name",
    Unit.MEMORY: "a unit of the memory system that the page does not name",
}
_HELPS: dict[str, str] = {
    Unit.DRAM: "only fewer bytes help",
    Unit.L2: "only fewer requests to L2 help",
    Unit.L1_SHARED: "fewer or wider accesses help",
    Unit.LSU: "fewer or wider accesses help",
    Unit.TENSOR: "only fewer operations or a narrower type help",
    Unit.ADU: (
        "it resolves the addresses of accesses, indexed constants, barriers and branches, so fewer and wider accesses, "
        "constants that a warp shares, and tiles fetched by asynchronous copies help"
    ),
    Unit.XU: (
        "fewer divisions, roots, sines, exponentials and conversions of numbers help, or their fast versions (__expf(), "
        "__fdividef(), -use_fast_math) where those are precise enough"
    ),
}
_STALLS: dict[str, str] = {
    Stall.LONG_SCOREBOARD: "loads from global or local memory",
    Stall.SHORT_SCOREBOARD: "shared memory and special functions",
    Stall.LG_THROTTLE: "the queue for global and local accesses, atomics among them",
    Stall.MIO_THROTTLE: "the queue for shared memory and special functions",
    Stall.BARRIER: "barriers",
    Stall.MEMBAR: "memory fences",
    Stall.WAIT: "the fixed latency of the instruction before",
    Stall.MATH_PIPE_THROTTLE: "a busy pipe",
    Stall.DRAIN: "stores and atomics under way at the end of the kernel",
    Stall.IMC_MISS: "the constant cache",
    Stall.NO_INSTRUCTION: "the instruction cache",
    Stall.BRANCH_RESOLVING: "branches",
    Stall.DISPATCH_STALL: "the dispatcher",
    Stall.SLEEPING: "sleeping threads",
    Stall.TEX_THROTTLE: "the queue for textures",
    Stall.GMMA: "tensor products",
}


def stall_words(stall: str | None) -> str:
    """Return what a warp in *stall* waits for."""
    return _STALLS.get(stall or "", (stall or "something the page does not name").replace("_", " "))


def unit_words(unit: str) -> str:
    """Return what *unit* is called in a sentence."""
    if unit in _UNITS:
        return _UNITS[unit]
    return f"the {unit.replace('_', ' ')} pipe"


def limit_sentence(limiter: Limiter | None) -> str:
    """Return the limit in one sentence, also where nothing needs changing."""
    match limiter:
        case None:
            return "The limit is not known: nothing was said about work, time or launch."
        case UnknownLimiter(unread=units) if units:
            return (
                f"The limit is not known: the counters of {and_list(list(map(unit_words, units)))} are missing, "
                "and what they count may be the limit."
            )
        case UnknownLimiter():
            return f"The limit is not known; what would tell it: {limiter.wanted}."
        case TooLittleWork():
            return f"Too little work: {plural(limiter.blocks, 'block')} for {limiter.sm_count} SMs."
        case LastWave():
            return (
                f"The last of {limiter.waves:.2f} waves: an SM is busy "
                f"{show_share(limiter.share)} of the time."
            )
        case Imbalance():
            return f"Uneven work: an SM is busy {show_share(limiter.share)} of the time on average."
        case IssueBound(few_warps=float(warps)):
            return (
                f"Issue slots are {show_share(limiter.share)} busy{_by_few(warps)}: fewer instructions help, "
                "and so do more warps or more independent work per thread."
            )
        case IssueBound():
            return (
                f"Issue slots are {show_share(limiter.share)} busy: only fewer instructions help."
            )
        case AtRoof(unit=Unit.L2, for_loads=float(waiting)):
            return (
                f"The L2 cache is {show_share(limiter.share)} busy with what streams through it, and "
                f"{show_share(waiting)} of a warp's time goes to loads: fewer bytes help, and so do more loads under way."
            )
        case AtRoof(for_loads=float(waiting)):
            return (
                f"Device memory is {show_share(limiter.share)} busy, of about {show_share(BY_LOADS)} that loads "
                f"reach, and {show_share(waiting)} of a warp's time goes to loads: fewer bytes help, and so do "
                "more loads under way."
            )
        case AtRoof(few_warps=float(warps)):
            words = unit_words(limiter.unit)
            return (
                f"{words[0].upper()}{words[1:]} is {show_share(limiter.share)} busy{_by_few(warps)}: less work "
                "for it helps, and so do more warps or more independent work per thread."
            )
        case AtRoof(unit=Unit.TENSOR, share=share) if share < NEAR_PEAK:
            return (
                f"The tensor pipe is {show_share(share)} busy: fewer operations, a narrower type, or a kernel that "
                "keeps it busier helps (libraries reach 70 % to 90 % of it)."
            )
        case AtRoof():
            helps = _HELPS.get(limiter.unit, "only less work for it, or another unit, helps")
            words = unit_words(limiter.unit)
            return f"{words[0].upper()}{words[1:]} is {show_share(limiter.share)} busy: {helps}."
        case LatencyBound(starts=float(starts)):
            return (
                f"Block starts: {show_number(starts / 1e9)} blocks per ns, about as many as a GPU of this kind starts, and "
                f"{_wait_words(limiter)}: give each block more to do, several elements per thread."
            )
        case LatencyBound():
            return (
                f"Latency: {_wait_words(limiter)}, and no unit is at its roof "
                f"({unit_words(limiter.unit)} at {show_share(limiter.busy)})."
            )
        case other:
            assert_never(other)


def _by_few(warps: float) -> str:
    return f" by {show_share(warps)} of the warps that an SM has room for"


def _wait_words(limiter: LatencyBound) -> str:
    if limiter.stall == Stall.SEVERAL:
        return "warps wait for several things, for none of them 30 % of their time"
    words = stall_words(limiter.stall)
    if limiter.share is None:
        return f"warps wait for {words}"
    return f"{show_share(limiter.share)} of a warp's time goes to {words}"


def limit_object(limiter: Limiter | None) -> dict[str, object]:
    """Return the limit as JSON values: its name, the share that decided it (or null), in words."""
    share = None if limiter is None or isinstance(limiter, UnknownLimiter) else limiter.share
    return {
        "name": limiter.name if limiter else "unknown",
        "share": share,
        "text": limit_sentence(limiter),
    }

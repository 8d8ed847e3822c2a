"""Loads and stores of a few bytes per thread."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.limiter import (
    AT_ROOF,
    SHORT,
    AtRoof,
    IssueBound,
    LatencyBound,
    UnknownLimiter,
)
from gpuadvise.advisor.facts.stalls import Stall
from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.memory.transactions import SECTOR
from gpuadvise.advisor.memory.word_size import WARP_SIZE
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_number, show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.atomics import waits_for_atomics
from gpuadvise.rules.evidence import derived, given, profiled
from gpuadvise.rules.gain_bounds import relieved
from gpuadvise.rules.model import (
    PASSED,
    Advice,
    Examples,
    Family,
    Gain,
    GainKind,
    Kind,
    Priority,
    Rule,
    Topic,
    Verdict,
    undecided,
)
from gpuadvise.rules.sources import programming_guide
from gpuadvise.rules.thresholds import (
    KEPT_IN_L1,
    LONG_WAIT,
    MEMORY_BY_WORDS,
    MOST_OF_THE_TIME,
    WIDEST,
    WORD,
)
from gpuadvise.rules.workload import requests_to_memory, shared_memory_share

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.access import Access
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter

COALESCED = number(
    24.0, "bytes used of a sector", "bytes", "a misaligned warp uses 25.6", LaunchSet.RECORDED
)
HALF_WORD = number(2.0, "half a word", "bytes per thread", "16-bit types")
INSTRUCTIONS = number(
    0.5,
    "issue slots beside words of 4 bytes",
    "share",
    "recorded kernels that gained show 40 % at most",
    LaunchSet.RECORDED,
)
MEMORY_BUSY_OF_WAITS = number(
    0.76,
    "memory busy, beside a wait for loads alone",
    "share",
    "measured on an H100 and an H200: 4-byte words at 72 % to 75 %, 16-byte words at 85 % to 93 %",
    LaunchSet.SIXTH,
)
ONLY_LOADS = number(
    0.9,
    "wait for loads alone",
    "share of a warp's time",
    "our judgement: hardly anything else is left to shorten",
    LaunchSet.SIXTH,
)
# With one or two bytes at a time most instructions find out where those lie, and 16 bytes need an eighth of
# them: that counts even at what Nsight Compute calls a limit, where warps wait for loads half of their time.
ADDRESSES = number(
    0.7,
    "issue slots, for one or two bytes",
    "share",
    "our judgement: 16 bytes at once need an eighth of the addresses",
    LaunchSet.RECORDED,
)
HALF = number(
    0.5,
    "wait for loads, for one or two bytes",
    "share of a warp's time",
    "our judgement",
    LaunchSet.RECORDED,
)
# Loads and stores of all instructions, from which on they and their addresses are a fifth of them: each brings up
# to 6 along, and 16-byte words need a quarter of both. Softmax and a norm of rows by 4-byte words became 1.5 to 2.2
# times as fast by wider ones beside issue slots at 62 % to 80 %.
REQUESTS = number(
    0.033,
    "loads and stores",
    "share of instructions",
    "with the addresses of each a fifth of them; launches on an H200 that wider words made 1.5 to 2.2 times as fast",
    LaunchSet.FIFTH,
)
ALONG = number(
    6,
    "instructions that come with a load or store",
    "",
    "its address and a loop's counter: our judgement",
    LaunchSet.FIFTH,
)
STREAMING = number(
    0.02,
    "requests to global memory",
    "per instruction",
    "a kernel that moves data has more: our judgement",
    LaunchSet.RECORDED,
)
STAGED = number(
    0.1,
    "requests to shared memory of a kernel that stages nothing",
    "per global one",
    "our judgement",
    LaunchSet.RECORDED,
)
PASSED_ON = number(
    1.25,
    "shared requests",
    "per global load or store",
    "1 where each element is stored there and loaded once; a quarter more for the rest",
    LaunchSet.RECORDED,
)
# Transpositions of 4-byte words through shared memory keep an H200's memory 73 % busy at their best: below
# this share wider accesses still win.
STAGED_BUSY = number(
    0.65,
    "memory busy, through shared memory",
    "share",
    "transpositions of 4-byte words reach 73 % on an H200",
    LaunchSet.RECORDED,
)
# Instructions of a warp that loads one word per thread, to add it up with the others of its block: measured are 64
# to 78 in five such sums and softmaxes, 100 and more where threads compute on with it.
PER_WORD = number(
    100.0,
    "instructions per word",
    "of a warp whose threads load one word each, and add it up",
    "measured on an H100 and an H200: 64 to 78 in five kernels",
    LaunchSet.FOURTH,
)
_ONE = number(1.1, "one word, with what rounding adds", "words", "our judgement", LaunchSet.FOURTH)
FROM_DRAM = number(
    1.8,
    "L2's share per DRAM's where data stream",
    "",
    "measured: 1.1 to 1.5, more where they stay in L2",
    LaunchSet.RECORDED,
)
ENOUGH_WARPS = number(
    0.4,
    "achieved occupancy",
    "share",
    "our judgement: with fewer warps more loads per thread come before wider ones",
    LaunchSet.RECORDED,
)
ENOUGH_AT_ONCE = number(0.5, "theoretical occupancy", "share", "our judgement", LaunchSet.RECORDED)
LEAST_BUSY = number(
    0.1, "device memory at work", "share of its peak", "our judgement", LaunchSet.RECORDED
)
_FEWEST_BYTES = number(
    16.0,
    "bytes used of a request",
    "bytes",
    "our judgement: with fewer most lanes share their words, whose width nobody knows",
    LaunchSet.SIXTH,
)
_MOST_FOUND = number(
    0.75,
    "loads that L1 serves of bytes taken one after the other",
    "share",
    "3 of the 4 bytes of a word are found",
    LaunchSet.RECORDED,
)
# What a launch of 8 to 20 us writes mostly stays in L2 when it ends, and its start is a part of its time.
BRIEFEST = number(
    8e-06,
    "briefest launch",
    "s",
    "our judgement: below it the launch itself takes the time",
    LaunchSet.SIXTH,
)
FROM_DRAM_IN_BRIEF = number(
    2.5,
    "L2's share per DRAM's in a launch below 20 us",
    "",
    "measured: 1.8 in a map of a million elements",
    LaunchSet.SIXTH,
)
AT_WORK = number(
    0.3,
    "device memory at work in a launch below 20 us",
    "share of its peak",
    "our judgement",
    LaunchSet.SIXTH,
)
_BYTE_POINTER = r"\b((un)?signed char|u?int8_t)\b[^,()]{0,20}\*"
_MOST_IN_L1 = number(
    0.5, "loads that L1 serves, at most", "share of loads", "our judgement", LaunchSet.FIFTH
)
BEST = number(
    0.95,
    "what the best kernels reach of the bandwidth",
    "share",
    "recorded kernels reach 0.92 and 0.93",
    LaunchSet.FIFTH,
)
_REACHED = "16-byte loads reach 85 % to 93 %"
# A mask, a scale or an offset that all lanes share moves 1 sector for 1 word of 1 to 8 bytes.
NOTABLY_SHARED = number(0.05, "loads of one word for all lanes", "share of loads", "our judgement")
_SHARED_WORDS = (1, 8)
_FITS = number(0.01, "sectors of such loads, with what rounding takes", "share", "our judgement")
ATOMICS = number(
    0.25,
    "atomics",
    "share of requests to global memory",
    "our judgement: half as many atomics as loads keep L2 longer than the loads",
    LaunchSet.FIFTH,
)
_ACTION = (
    f"Let each thread load {WIDEST:g} bytes at once: read through float4, uint4 or a struct with "
    "__align__(16), from addresses that are multiples of 16, and give it the elements to match."
)


def check(
    profile: KernelProfile | None = None,
    limiter: Limiter | None = None,
    global_accesses: tuple[Access, ...] | None = None,
) -> Verdict:
    """Advise when a kernel that only moves data does it by 1 to 4 bytes per thread."""
    if profile is None or limiter is None:
        return tuple(_described(access) for access in global_accesses or () if _is_narrow(access))
    return _profiled(profile, limiter)


def _is_narrow(access: Access) -> bool:
    """Return whether neighbouring lanes take neighbouring elements of one or two bytes."""
    in_l1 = access.array_bytes is not None and access.array_bytes <= KEPT_IN_L1
    return (
        access.word_bytes <= HALF_WORD and access.stride == 1 and not access.indices and not in_l1
    )


def _described(access: Access) -> Advice:
    size, widest = access.word_bytes, int(WIDEST)
    return Advice(
        message=(
            f'"{access.name}" takes {plural(size, "byte")} per lane: a warp moves {WARP_SIZE * size} bytes by an '
            f"instruction that could move {WARP_SIZE * widest}."
        ),
        action=_ACTION,
        evidence=(given("element size", size, "bytes"),),
        gain=Gain(
            kind=GainKind.LOADS_AND_STORES,
            upper_bound=WIDEST / size,
            how=f"widest load / element = {widest} / {size}",
        ),
        priority=Priority.LOW,  # whether the kernel waits for memory, nobody said
    )


def _profiled(profile: KernelProfile, limiter: Limiter) -> Verdict:
    loads = profile.global_loads
    sectors = loads.sectors_per_request
    if isinstance(limiter, UnknownLimiter):
        return undecided("profile.compute_throughput")
    if isinstance(limiter, LatencyBound) and limiter.stall is None:
        return undecided("profile.stalls")
    if not _may_help(limiter, profile) or _few_warps(profile):
        return PASSED
    if waits_for_atomics(profile) or _many_atomics(profile):
        return PASSED
    if sectors is None:
        return _without_counts(profile)
    if loads.used_bytes is None:
        return undecided("profile.loads.used_bytes")
    if _used_bytes(profile) < COALESCED:
        return PASSED
    if sectors * loads.used_bytes < _FEWEST_BYTES and not _takes_bytes(profile):
        return PASSED
    width = max(1.0, sectors * loads.used_bytes / WARP_SIZE)
    whole, shared = _whole_width(sectors, loads.used_bytes, width)
    if width > WORD * _ONE or not _streams(profile):
        return PASSED
    if isinstance(limiter, IssueBound) and width > HALF_WORD * _ONE and not _many_requests(profile):
        return PASSED
    dram = profile.dram_busy or 0.0
    return Advice(
        message=(
            f"Loads of {_size_words(whole)} per thread"
            f"{f', beside {show_share(shared)} that a warp shares,' if shared else ''} keep device memory "
            f"{show_share(dram)} busy; {_REACHED}."
        ),
        action=_ACTION,
        evidence=(
            profiled("bytes per thread and load", width, "bytes"),
            profiled("device memory busy", dram, "share"),
        ),
        gain=_gain(dram),
        relief=_relief(profile, WIDEST / whole),
        priority=_priority(profile, width),
    )


def _whole_width(sectors: float, used: float, average: float) -> tuple[float, float]:
    """Return the bytes per lane of whole-warp loads, and the part of all loads that take one word for all lanes.

    An average of both would be a width that no load has.
    """
    bytes_used = sectors * used
    shared = (WORD - sectors) / (WORD - 1)
    if NOTABLY_SHARED <= shared < 1:
        whole = (1 - shared) * WARP_SIZE * WORD
        least, most = (whole + shared * size for size in _SHARED_WORDS)
        if (1 - _FITS) * least <= bytes_used <= (1 + _FITS) * most:
            return WORD, shared
    return average, 0.0


def _size_words(width: float) -> str:
    if abs(width - round(width)) <= _FITS * width:
        return plural(round(width), "byte")
    return f"{show_number(width)} bytes on average"


def _many_atomics(profile: KernelProfile) -> bool:
    """Return whether atomics are so many of the requests that the width of loads is not the matter."""
    atomics = sum(
        kind.requests or 0.0 for kind in (profile.global_reductions, profile.global_atomics)
    )
    others = (profile.global_loads.requests or 0.0) + (profile.global_stores.requests or 0.0)
    return atomics >= ATOMICS * (atomics + others) > 0


def _few_warps(profile: KernelProfile) -> bool:
    """Return whether more loads per thread come first: few warps, or half of them where no block follows."""
    all_at_once = profile.waves is not None and profile.waves < 1
    enough = ENOUGH_AT_ONCE if all_at_once else ENOUGH_WARPS
    return (profile.achieved_occupancy or 1.0) < enough


def _used_bytes(profile: KernelProfile) -> float:
    """Return how much of a sector is used in the end: what a byte leaves, the next finds in L1."""
    loads, hits = profile.global_loads, profile.l1_load_hit_rate or 0.0
    used = loads.used_bytes or 0.0
    whole_warps = (profile.active_threads or WARP_SIZE) >= WARP_SIZE - 1
    few = used * (loads.sectors_per_request or 0.0) <= HALF_WORD * WARP_SIZE
    bytewise = few and (whole_warps or _takes_bytes(profile))
    return min(SECTOR, used / (1.0 - hits)) if bytewise and hits < 1.0 else used


def _takes_bytes(profile: KernelProfile) -> bool:
    """Return whether a parameter of the kernel points to numbers of one byte."""
    return bool(re.search(_BYTE_POINTER, profile.kernel.partition("(")[2]))


def _without_counts(profile: KernelProfile) -> Verdict:
    """Return what other numbers of a page say that does not count requests and sectors."""
    loads = profile.global_loads
    if loads.requests == 0:
        return PASSED
    if loads.requests is None and _looks_narrow(profile):
        return _inferred(profile)
    unseen = loads.requests is not None or _bytes_per_request(profile) is None
    return undecided("profile.loads") if unseen else PASSED


def _looks_narrow(profile: KernelProfile) -> bool:
    """Return whether a page without counts of requests shows a kernel that streams bit by bit."""
    waits, launch = profile.top_stall, profile.launch
    if waits is None or waits[0] != Stall.LONG_SCOREBOARD or waits[1] < MOST_OF_THE_TIME:
        return False
    if launch is None or launch.static_shared or launch.dynamic_shared or profile.spill_requests:
        return False
    per_request = _bytes_per_request(profile)
    return (
        _whole_sectors(profile)
        and (profile.dram_busy or 0.0) >= LEAST_BUSY
        and per_request is not None
        and 0
        < per_request
        <= WORD * WARP_SIZE * (_ONE if _busy_below(profile, MEMORY_BY_WORDS) else 1)
        and _from_dram(profile)
    )


def _bytes_per_request(profile: KernelProfile) -> float | None:
    """Return the bytes of DRAM traffic per instruction that the SMs' pipes to memory took, at least."""
    instructions = requests_to_memory(profile)
    if instructions is None or profile.dram_bytes is None:
        return None
    return profile.dram_bytes / instructions


def _whole_sectors(profile: KernelProfile) -> bool:
    """Return whether all loads use the sectors they move, or miss some for their offset alone.

    Where the page names unused bytes but no sectors in excess, some loads are of another kind.
    """
    used, sectors = profile.global_loads.used_bytes, profile.global_sectors
    if used is None or (sectors is None and _takes_bytes(profile)):
        return sectors is None or sectors == profile.global_sectors_ideal
    hits = min(profile.l1_hit_rate or 0.0, _MOST_FOUND)
    whole = (
        used / (1 - hits) if used <= SECTOR / 2 else used
    )  # what a byte leaves, the next finds in L1
    return whole >= COALESCED and sectors is not None


def _inferred(profile: KernelProfile) -> Advice:
    traffic, dram = _bytes_per_request(profile) or 0.0, profile.dram_busy or 0.0
    return Advice(
        message=(
            f"The kernel moves {show_number(traffic)} bytes per instruction of the pipes to memory and keeps "
            f"device memory {show_share(dram)} busy: its loads and stores look narrow (the page does not "
            f"count them). {WORD:g}-byte words move at most {WARP_SIZE * WORD:g}; {_REACHED}."
        ),
        action=_ACTION,
        evidence=(
            derived("DRAM bytes per memory instruction", traffic, "bytes"),
            profiled("device memory busy", dram, "share"),
        ),
        gain=_gain(dram),
        relief=_relief(profile, WIDEST / WORD),
        priority=_priority(profile, WORD),
    )


def _gain(dram: float) -> Gain:
    how = f"{BEST:g} / {show_number(dram)} of the memory bandwidth, of which no loads reach more"
    return Gain(
        kind=GainKind.MEMORY_THROUGHPUT, upper_bound=max(1.0, BEST / max(dram, 1e-3)), how=how
    )


def _priority(profile: KernelProfile, width: float) -> Priority | None:
    """Return low where instructions of another kind keep the schedulers busy, unless they come with each thread."""
    words = width > HALF_WORD * _ONE and not (_word_per_thread(profile) or _many_requests(profile))
    return Priority.LOW if words and (profile.issue_busy or 0.0) > INSTRUCTIONS else None


def _may_help(limiter: Limiter, profile: KernelProfile) -> bool:
    match limiter:
        case IssueBound():
            if _many_requests(profile):
                return True
            wait = profile.top_stall
            for_loads = wait is not None and wait[0] == Stall.LONG_SCOREBOARD and wait[1] >= HALF
            return for_loads and limiter.share < ADDRESSES
        case LatencyBound():
            return limiter.stall in (Stall.LONG_SCOREBOARD, Stall.LG_THROTTLE, Stall.DRAIN)
        case AtRoof():
            return limiter.unit in (Unit.DRAM, Unit.L1_SHARED, Unit.LSU, Unit.ADU, Unit.L2)
        case _:
            return False


def _requests_share(profile: KernelProfile) -> float:
    """Return the loads and stores of all instructions."""
    requests = (profile.global_loads.requests or 0.0) + (profile.global_stores.requests or 0.0)
    return requests / profile.instructions if profile.instructions else 0.0


def _many_requests(profile: KernelProfile) -> bool:
    """Return whether loads and stores, with their addresses, are a notable part of the instructions.

    Those that L1 serves are the taps of a filter: neighbours keep them in registers, no wider word does.
    """
    streams = (profile.l1_load_hit_rate or profile.l1_hit_rate or 0.0) <= _MOST_IN_L1
    return streams and _requests_share(profile) >= REQUESTS


def _streams(profile: KernelProfile) -> bool:
    requests = profile.global_loads.requests or 0.0
    moved = requests + (profile.global_stores.requests or 0.0)
    shared = (profile.shared_loads.requests or 0.0) + (profile.shared_stores.requests or 0.0)
    atomics = profile.shared_atomics or 0.0
    if _word_per_thread(profile):
        return _from_dram(profile)
    if shared + atomics > STAGED * requests and not _may_be_wider(profile):
        return False
    return (
        requests >= STREAMING * (profile.instructions or 0.0)
        and shared + atomics <= PASSED_ON * moved
        and _from_dram(profile)
    )


def _word_per_thread(profile: KernelProfile) -> bool:
    """Return whether each thread of a block that meets in shared memory waits for one word.

    That costs the block's start, addresses and a part of the sum. Four words per thread are added in registers first, and cost a quarter of that each.
    """
    wait, requests = profile.top_stall, profile.global_loads.requests or 0.0
    meets = bool(profile.shared_loads.requests)
    threads = math.prod(profile.grid or ()) * math.prod(profile.block or ())
    instructions = (profile.instructions or 0.0) * WARP_SIZE
    return (
        meets
        and wait is not None
        and wait[0] == Stall.LONG_SCOREBOARD
        and 0 < requests * WARP_SIZE <= _ONE * threads
        and instructions <= PER_WORD * threads
    )


def _may_be_wider(profile: KernelProfile) -> bool:
    """Return whether a kernel that goes through shared memory waits for memory, and not for that."""
    l1, wait = profile.l1_busy or 0.0, profile.top_stall
    if wait is not None and wait[1] < LONG_WAIT:
        return False
    passes = shared_memory_share(profile) or 0.0
    return (profile.dram_busy or 0.0) < STAGED_BUSY and not (l1 >= AT_ROOF and passes > l1 / 2)


def _from_dram(profile: KernelProfile) -> bool:
    dram, seconds = profile.dram_busy or 0.0, profile.seconds or SHORT
    ahead = FROM_DRAM if seconds >= SHORT else FROM_DRAM_IN_BRIEF
    return (
        dram < _most_busy(profile)
        and (profile.l2_busy or 0.0) <= ahead * (dram or 1.0)
        and (seconds >= SHORT or (seconds >= BRIEFEST and dram >= AT_WORK))
    )


def _busy_below(profile: KernelProfile, share: float) -> bool:
    return (profile.dram_busy or 0.0) < share


def _most_busy(profile: KernelProfile) -> float:
    """Return how busy device memory may be for wider loads to keep it busier still."""
    wait = profile.top_stall
    only_loads = wait is not None and wait[0] == Stall.LONG_SCOREBOARD and wait[1] >= ONLY_LOADS
    return MEMORY_BUSY_OF_WAITS if only_loads else MEMORY_BY_WORDS


def _relief(profile: KernelProfile, factor: float) -> dict[str, float]:
    left = relieved(
        profile,
        factor,
        Unit.ISSUE,
        Unit.LSU,
        Unit.ADU,
        Unit.L1_SHARED,
        Unit.ALU,
        Unit.FMA,
        Unit.CBU,
        Unit.COMPUTE,
    )
    shares = profile.unit_shares
    if _many_requests(profile) and (busy := profile.issue_busy):
        fewer = _requests_share(profile) * (1 + ALONG) * (1 - 1 / factor)
        left[Unit.ISSUE] = max(left.get(Unit.ISSUE, 0.0), busy * (1 - fewer))
    if Unit.DRAM in shares:
        left[Unit.L2] = shares[Unit.DRAM]  # fewer requests for the same bytes
    return left


RULE = Rule(
    id="narrow-loads",
    title="Load 16 bytes per thread",
    topic=Topic.MEMORY,
    priority=Priority.MEDIUM,
    kinds=(Kind.PROFILE, Kind.PATTERN),
    family=Family.WIDTH,
    why=(
        "A warp has few loads under way at a time, so wide ones keep more bytes in flight: on an H200 a copy "
        "by 4-byte words reaches 54 % of the bandwidth, a kernel that reads two arrays 69 %, and 16-byte words 88 %."
    ),
    when=(
        "A profile shows coalesced loads of at most 4 bytes per thread in a kernel that only moves data, "
        "and device memory below 71 % of its bandwidth, 76 % beside a wait for loads of 90 % of a warp's time; below 65 % where data pass through shared memory on their way, "
        "once, or where each thread loads one word to add it up in its block. At 60 % or more of the issue slots only where loads and stores are 3.3 % of the instructions and L1 serves no more than half of them, or (up to 70 %) for one or two bytes, where loads are half of a warp's wait. Not where "
        "few warps are resident, or a quarter of the requests are atomics. Without a profile where neighbouring lanes take neighbouring elements of one or two bytes (low)."
    ),
    citations=(programming_guide("Device Memory Accesses"),),
    silenced_by=(
        "uncoalesced-access",
        "redundant-global-loads",
        "atomic-contention",
        "underfilled-device",
        "launch-bound",
        "register-spills",
    ),
    author_only=True,
    check=check,
    either=("profile", "global_accesses"),
    examples=Examples(
        fires={
            "profile": {
                "dram_throughput": 0.55,
                "stalls": {"long_scoreboard": 90, "wait": 4},
                "loads": {"requests": 1e6, "sectors": 4e6, "used_bytes": 32},
            }
        },
        quiet={
            "profile": {
                "dram_throughput": 0.55,
                "stalls": {"long_scoreboard": 90, "wait": 4},
                "loads": {"requests": 1e6, "sectors": 16e6, "used_bytes": 32},
            }
        },
        edges=(
            {
                "profile": {
                    "dram_throughput": 0.7,
                    "stalls": {"long_scoreboard": 85, "wait": 15},
                    "loads": {"requests": 1e6, "sectors": 4e6, "used_bytes": 32},
                }
            },
            {
                "profile": {
                    "dram_throughput": 0.71,
                    "stalls": {"long_scoreboard": 85, "wait": 15},
                    "loads": {"requests": 1e6, "sectors": 4e6, "used_bytes": 32},
                }
            },
        ),
    ),
)

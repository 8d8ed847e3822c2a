"""Loads of a few bytes per thread in a kernel that streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.levels import COALESCED
from gpuadvise.advisor.facts.limiter import IssueBound, LatencyBound, UnknownLimiter
from gpuadvise.advisor.facts.load_width import (
    HALF_WORD,
    ONE_WORD,
    WIDEST,
    WORD,
    few_lanes_load,
    size_words,
    used_in_the_end,
    width_of_whole_warps,
)
from gpuadvise.advisor.facts.shared_memory import shared_memory_share
from gpuadvise.advisor.facts.special_functions import instructions_of_divisions
from gpuadvise.advisor.facts.streaming import (
    ALONG,
    adds_words_up,
    loads_word_per_thread,
    many_requests,
    requests_share,
    streams_from_dram,
    wider_loads_may_help,
)
from gpuadvise.advisor.facts.uncounted import looks_narrow
from gpuadvise.advisor.facts.units import ISSUED, Unit
from gpuadvise.advisor.facts.workload import bytes_per_load, dram_bytes_per_request, relieved
from gpuadvise.advisor.memory.word_size import WARP_SIZE
from gpuadvise.advisor.quantity import show_number, show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Evidence, Gain, GainKind, Verdict, undecided
from gpuadvise.rules.evidence import derived, profiled
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import programming_guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter

INSTRUCTIONS = number(
    0.5,
    "issue slots beside words of 4 bytes",
    "share",
    "recorded kernels that gained show 40 % at most",
    LaunchSet.RECORDED,
)
BEST = number(
    0.95,
    "what the best kernels reach of the bandwidth",
    "share",
    "recorded kernels reach 0.92 and 0.93",
    LaunchSet.FIFTH,
)
_REACHED = "16-byte loads reach 85 % to 93 %"
WIDE_LOADS = (
    f"Let each thread load {WIDEST:g} bytes at once: read through float4, uint4 or a struct with "
    "__align__(16), from addresses that are multiples of 16, and give it the elements to match."
)


def check(profile: KernelProfile, limiter: Limiter) -> Verdict:
    """Advise when a kernel that only moves data does it by 1 to 4 bytes per thread."""
    if isinstance(limiter, UnknownLimiter):
        return undecided("profile.compute_throughput")
    if isinstance(limiter, LatencyBound) and limiter.stall is None:
        return undecided("profile.stalls")
    if not wider_loads_may_help(limiter, profile):
        return PASSED
    loads = profile.global_loads
    if loads.sectors_per_request is None:
        return _without_counts(profile)
    if loads.used_bytes is None:
        return undecided("profile.loads.used_bytes")
    used, width = bytes_per_load(profile), max(1.0, bytes_per_load(profile) / WARP_SIZE)
    if few_lanes_load(profile) or width > WORD * ONE_WORD or used_in_the_end(profile) < COALESCED:
        return PASSED
    words_fill_slots = isinstance(limiter, IssueBound) and width > HALF_WORD * ONE_WORD
    if not streams_from_dram(profile) or (words_fill_slots and not many_requests(profile)):
        return PASSED
    whole, shared = width_of_whole_warps(loads.sectors_per_request, used, width)
    beside = f", beside {show_share(shared)} that a warp shares," if shared else ""
    dram = show_share(profile.dram_busy or 0.0)
    return _advice(
        profile,
        f"Loads of {size_words(whole)} per thread{beside} keep device memory {dram} busy; {_REACHED}.",
        profiled("bytes per thread and load", width, "bytes"),
        width,
        WIDEST / whole,
    )


def _without_counts(profile: KernelProfile) -> Verdict:
    """Return what other numbers of a page say that does not count requests and sectors."""
    requests, per_request = profile.global_loads.requests, dram_bytes_per_request(profile)
    if requests is not None or per_request is None:
        return PASSED if requests == 0 else undecided("profile.loads")
    if not looks_narrow(profile):
        return PASSED
    return _advice(
        profile,
        f"The kernel moves {show_number(per_request)} bytes per instruction of the pipes to memory and keeps "
        f"device memory {show_share(profile.dram_busy or 0.0)} busy: its loads and stores look narrow (the page "
        f"does not count them). {WORD:g}-byte words move at most {WARP_SIZE * WORD:g}; {_REACHED}.",
        derived("DRAM bytes per memory instruction", per_request, "bytes"),
        WORD,
        WIDEST / WORD,
    )


def _advice(
    profile: KernelProfile, message: str, seen: Evidence, width: float, fewer: float
) -> Advice:
    """Return advice on loads of *width* bytes per thread, where wide ones are *fewer* by a factor.

    Low where instructions of another kind keep the schedulers busy, unless they come with each thread.
    """
    dram = profile.dram_busy or 0.0
    come_along = loads_word_per_thread(profile) or many_requests(profile)
    others = width > HALF_WORD * ONE_WORD and not come_along
    return Advice(
        message=message,
        action=WIDE_LOADS,
        evidence=(seen, profiled("device memory busy", dram, "share")),
        gain=Gain(
            kind=GainKind.MEMORY_THROUGHPUT,
            upper_bound=max(1.0, BEST / max(dram, 1e-3)),
            how=f"{BEST:g} / {show_number(dram)} of the memory bandwidth, of which no loads reach more",
        ),
        relief=_relief(profile, fewer),
        priority=Priority.LOW if others and (profile.issue_busy or 0.0) > INSTRUCTIONS else None,
    )


def _relief(profile: KernelProfile, fewer: float) -> dict[str, float]:
    left = relieved(profile, fewer, *ISSUED, Unit.LSU, Unit.ADU, Unit.L1_SHARED, Unit.COMPUTE)
    by_index = instructions_of_divisions(profile)  # of an index, once for 16 bytes
    if many_requests(profile) and (busy := profile.issue_busy):
        saved = (requests_share(profile) * (1 + ALONG) + by_index) * (1 - 1 / fewer)
        left[Unit.ISSUE] = max(left.get(Unit.ISSUE, 0.0), busy * (1 - saved))
    if Unit.L1_SHARED in left and not adds_words_up(profile):  # others leave its passes
        left[Unit.L1_SHARED] = max(left[Unit.L1_SHARED], shared_memory_share(profile) or 0.0)
    if by_index:
        left |= relieved(profile, fewer, Unit.XU)
    if Unit.DRAM in profile.unit_shares:
        left[Unit.L2] = profile.unit_shares[Unit.DRAM]  # fewer requests for the same bytes
    return left


def _at(dram: float, sectors: float, wait: float = 90) -> dict[str, object]:
    return {
        "profile": {
            "dram_throughput": dram,
            "stalls": {"long_scoreboard": wait, "wait": 100 - wait},
            "loads": {"requests": 1e6, "sectors": sectors, "used_bytes": 32},
        }
    }


RULE = Rule(
    id="narrow-loads",
    title="Load 16 bytes per thread",
    topic=Topic.MEMORY,
    priority=Priority.MEDIUM,
    kinds=(Kind.PROFILE,),
    family=Family.WIDTH,
    why=(
        "A warp has few loads under way at a time, so wide ones keep more bytes in flight: on an H200 a copy "
        "by 4-byte words reaches 54 % of the bandwidth, a kernel that reads two arrays 69 %, and 16-byte words 88 %."
    ),
    when=(
        "Coalesced loads of at most 4 bytes per thread in a kernel that only moves data, and device memory below "
        "71 % of its bandwidth (76 % beside a wait for loads of 80 % of a warp's time; 65 % where data pass through "
        "shared memory once). At 60 % or more of the issue slots only where loads and stores are 3.3 % of the "
        "instructions and L1 serves no more than half of them, or (up to 70 %) for one or two bytes, where loads are "
        "half of a warp's wait. Not where few warps are resident, or a quarter of the requests are atomics."
    ),
    citations=(programming_guide("Device Memory Accesses"),),
    silenced_by=(
        "uncoalesced-access",
        "redundant-global-loads",
        "atomic-contention",
        "underfilled-device",
        "launch-bound",
        "register-spills",
        "divergent-constant-reads",
    ),
    author_only=True,
    check=check,
    examples=Examples(
        fires=_at(0.55, 4e6),
        quiet=_at(0.55, 16e6),
        edges=(_at(0.7, 4e6, wait=75), _at(0.71, 4e6, wait=75)),
    ),
)

"""Sums of a block that halve the threads at work in each step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.limiter import AtRoof, UnknownLimiter
from gpuadvise.advisor.facts.workload import blocks_of
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_number
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Undecided, Verdict, undecided
from gpuadvise.rules.evidence import profiled
from gpuadvise.rules.libraries import INSIDE_SM, left_to_same_bytes, may_be_replaced
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter
    from gpuadvise.advisor.occupancy.launch import Launch

LANES_AT_WORK = number(
    0.65,
    "lanes at work",
    "share",
    "measured: trees of sums on an H200 show 0.53 to 0.57",
    LaunchSet.RECORDED,
)
LANES_OF_A_SUM = number(
    0.8,
    "lanes at work where a block stores one result",
    "share",
    "measured: 0.71 where threads first load two words each",
    LaunchSet.FOURTH,
)
ONE_WORD = number(
    8.0,
    "bytes that stores use of a sector, where a block stores one sum",
    "bytes",
    "our judgement",
    LaunchSet.RECORDED,
)
OF_INPUTS = number(
    40.0,
    "requests to shared memory of a tree of sums, at most",
    "per request for its inputs",
    "ten steps of a block of 1,024 threads, each two loads and a store; measured in ten trees: 2 to 19, 430 where a block "
    "works on in shared memory",
    LaunchSet.NINTH,
)
_OF_BYTES = number(
    4.0,
    "instructions of warps of a tree of sums, on a page that counts no requests",
    "per byte of device memory, at most",
    "measured: 0.25 to 0.8 in ten trees; 5,000 where a block works on in shared memory",
    LaunchSet.NINTH,
)
_WORD_SIZES = (4, 8)


def check(kernel: str, profile: KernelProfile, launch: Launch, limiter: Limiter) -> Verdict:
    """Advise on blocks that add up in shared memory, a word per thread, step by step."""
    words = tree_words(profile, launch, limiter)
    active, working = profile.active_threads or 0.0, profile.unpredicated_threads or 0.0
    stored = profile.global_stores.used_bytes or 0.0
    if words is None or not may_be_replaced(kernel, profile, limiter):
        return PASSED
    if isinstance(words, Undecided):
        return words
    return Advice(
        message=(
            f"Each block keeps {plural(words, 'byte')} of shared memory per thread, stores "
            f"{show_number(stored)} of a sector's 32 bytes, and {show_number(working)} of its "
            f"{show_number(active)} active lanes work: a tree of sums in shared memory."
        ),
        action=(
            "Add 4 to 16 elements per thread in registers, then by __shfl_down_sync() within the warp, or "
            "time cub::DeviceReduce (cub::DeviceSegmentedReduce for rows) on the same data."
        ),
        evidence=(
            profiled("lanes at work", working / active, "share"),
            profiled("bytes used per stored sector", stored, "bytes"),
        ),
        gain=left_to_same_bytes(profile),
    )


def tree_words(
    profile: KernelProfile, launch: Launch, limiter: Limiter | None
) -> int | Undecided | None:
    """Return the bytes of each thread in shared memory where a block's sums halve its lanes; else None."""
    sizes = (size for size in _WORD_SIZES if launch.shared_memory == size * launch.threads)
    words = next(sizes, None)
    if words is None:
        return None
    if isinstance(limiter, UnknownLimiter):
        return undecided("profile.compute_throughput")
    if limiter is None or not (
        limiter.name in ("latency:barrier", "latency:unknown")
        or (isinstance(limiter, AtRoof) and limiter.unit in INSIDE_SM)
    ):
        return None
    active, working = profile.active_threads, profile.unpredicated_threads
    stored = profile.global_stores.used_bytes
    if stored is None and profile.global_stores.requests != 0:
        return undecided("profile.stores.used_bytes")
    if not active or working is None:
        return undecided("profile.unpredicated_threads")
    if not _adds_inputs_up(profile):
        return None
    most = LANES_OF_A_SUM if _stores_once(profile) else LANES_AT_WORK
    return words if 0 < (stored or 0.0) <= ONE_WORD and working <= most * active else None


def _stores_once(profile: KernelProfile) -> bool:
    """Return whether each block stores once: the one result of what its threads keep."""
    stores = profile.global_stores.requests
    return stores is not None and 0 < stores <= blocks_of(profile)


def _adds_inputs_up(profile: KernelProfile) -> bool:
    """Return whether what is in shared memory may be sums of what was loaded, as far as is counted."""
    inputs = profile.global_loads.requests
    steps = (profile.shared_loads.requests or 0.0) + (profile.shared_stores.requests or 0.0)
    if inputs is None:
        moved = profile.dram_bytes
        return moved is None or (profile.instructions or 0.0) <= _OF_BYTES * moved
    return steps <= OF_INPUTS * inputs


def _block(working: float) -> dict[str, object]:
    return {
        "name": "row_sums",
        "gpu": "h200",
        "regs": 16,
        "block": 256,
        "dynamic_smem": 1024,
        "profile": {
            "dram_throughput": 0.1,
            "stalls": {"barrier": 6, "wait": 4},
            "active_threads": 32,
            "unpredicated_threads": working,
            "stores": {"used_bytes": 4},
        },
    }


RULE = Rule(
    id="tree-reduction",
    formerly="library-available",
    title="Add up in registers and by shuffles",
    topic=Topic.EXECUTION,
    priority=Priority.MEDIUM,
    kinds=(Kind.PROFILE,),
    why="A tree of sums in shared memory keeps half of the lanes idle, and meets at a barrier in each step.",
    when=(
        "A profiled kernel, no library's own, keeps one word per thread in shared memory, stores no more than 8 bytes "
        "of a sector, and predicates leave 65 % of its active lanes at work, 80 % where a block stores one result; "
        "and the SM is at its roof, or warps wait at barriers."
    ),
    citations=guide("5.1", "4.1"),
    folds_into="library-available",
    check=check,
    examples=Examples(fires=_block(17), quiet=_block(31), edges=(_block(20.8), _block(20.9))),
)

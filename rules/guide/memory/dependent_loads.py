"""Loads whose address is what the load before brought: lists, trees, chains of a hash table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.stalls import Stall
from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.facts.workload import l1_hits, relieved, waits_for
from gpuadvise.advisor.memory.transactions import SECTOR
from gpuadvise.advisor.quantity import show_number, show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Verdict, undecided
from gpuadvise.rules.evidence import profiled
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide
from gpuadvise.rules.thresholds import STARTING

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile

_LINKS = number(
    2.0, "words loaded per word of data, one of them a link", "words", "a node of a list"
)


CHAINED = number(
    0.22,
    "loads of chains whose addresses are loaded",
    "share of instructions",
    "measured in eight kernels that walk lists or chains on an H100 and H200s: 0.24 to 0.47",
    LaunchSet.SEVENTH,
)
_CHAINED_WAIT = number(
    0.95,
    "wait for such loads",
    "share of a warp's time",
    "measured in eight such kernels: 0.967 to 0.99",
    LaunchSet.SEVENTH,
)
_ONE_WORD = number(
    4.5,
    "bytes used of a sector by such loads, at most",
    "bytes",
    "measured in eight such kernels: 4 to 4.3. Indices that are read in order beside what they point to use more",
    LaunchSet.SEVENTH,
)
CHAINED_HITS = number(
    0.6,
    "such loads that L1 has, at most",
    "share",
    "measured in eight such kernels: 0 to 0.49, for a node has its link beside its value; 0.82 or more where threads walk rows",
    LaunchSet.SEVENTH,
)
_APART = number(
    4.0, "sectors per request of lanes that each walk a chain", "sectors", "our judgement"
)


def follows_chains(profile: KernelProfile) -> bool | None:
    """Return whether the address of a load seems to be what the one before brought: lists, trees, chains.

    Hardly an instruction stands between loads, each uses a word of a sector of which L1 has nothing else
    that is asked for, and warps wait for nothing but them. None where the page does not tell.
    """
    wait = profile.top_stall
    if wait is not None and not waits_for(profile, Stall.LONG_SCOREBOARD, share=_CHAINED_WAIT):
        return False
    loads, hits = profile.global_loads, l1_hits(profile)
    instructions = profile.instructions or 0.0
    counted = loads.requests is not None and instructions > 0
    every = (loads.requests or 0.0) / instructions if counted else None
    signs = (
        every is None or every >= CHAINED,
        loads.used_bytes is None or 0 < loads.used_bytes <= _ONE_WORD,
        loads.sectors_per_request is None or loads.sectors_per_request >= _APART,
        hits is None or hits <= CHAINED_HITS,
    )
    if not all(signs):
        return False
    return None if None in (every, loads.used_bytes, hits, wait) else True


def check(profile: KernelProfile) -> Verdict:
    """Advise where warps wait for nothing but loads of single words, with hardly an instruction between them."""
    follows = follows_chains(profile)
    if follows is None:
        return undecided(_lacking(profile))
    if not follows:
        return PASSED
    loads, hits = profile.global_loads, l1_hits(profile) or 0.0
    used = loads.used_bytes or SECTOR
    every = (loads.requests or 0.0) / (profile.instructions or 1.0)
    wait = (profile.top_stall or ("", 0.0))[1]
    return Advice(
        message=(
            f"{show_share(every)} of the instructions are loads that use {show_number(used)} of a sector's {SECTOR} bytes, "
            f"L1 has {show_share(hits)} of them, and {show_share(wait)} of a warp's time goes to waiting for them: the "
            "address of a load seems to be what the one before brought (a list, a tree, a chain of a hash table)."
        ),
        action=(
            "Store what is walked in the order of the walk: an array and offsets instead of links (CSR), keys of one bucket "
            "side by side, several steps in one 32-byte sector. Where the links must stay, give each thread two to four "
            "walks at once and start the next loads before the first is used, and keep the table small enough for L2."
        ),
        evidence=(
            profiled("loads / instructions", every, "share"),
            profiled("bytes used of a sector", used, "bytes"),
            profiled("L1 hit rate", hits, "share"),
        ),
        relief=relieved(
            profile,
            _LINKS * SECTOR / used,
            Unit.DRAM,
            Unit.L2,
            Unit.MEMORY,
            Unit.L1_SHARED,
            Unit.LSU,
            Unit.ADU,
            Unit.ISSUE,
            Unit.ALU,
        ),
        left={Unit.DRAM: "with the data alone", Unit.L2: "with the data alone"},
        priority=Priority.LOW if (profile.seconds or STARTING) < STARTING else None,
    )


def _lacking(profile: KernelProfile) -> str:
    """Return the first value that tells such loads and is not there."""
    if profile.global_loads.requests is None or profile.global_loads.used_bytes is None:
        return "profile.loads"
    if profile.instructions is None:
        return "profile.instructions"
    return "profile.l1_hit_rate" if l1_hits(profile) is None else "profile.stalls"


_WALK = {
    "time": "100us",
    "instructions": 1_000_000,
    "dram_throughput": 0.4,
    "l1_hit_rate": 0.3,
    "stalls": {"long_scoreboard": 97, "wait": 3},
}


def _walk(used: float, loads: float = 300_000) -> dict[str, object]:
    each = {"requests": loads, "sectors": loads * 31, "used_bytes": used}
    return {"gpu": "h200", "profile": {**_WALK, "loads": each}}


RULE = Rule(
    id="dependent-loads",
    formerly="uncoalesced-access",
    title="Store lists and chains in the order in which they are walked",
    topic=Topic.MEMORY,
    priority=Priority.MEDIUM,
    kinds=(Kind.PROFILE,),
    family=Family.COALESCING,
    why="Each step waits for a whole trip to memory, and uses one word of the 32 bytes that come.",
    when=(
        "A profile with counts shows that 22 % of the instructions or more are global loads which use at most 4.5 of a sector's 32 "
        "bytes and lie in 4 sectors or more per request, that L1 has at most 60 % of them, and that warps spend 95 % of their time "
        "waiting for them; low below 5 us. uncoalesced-access is then silent."
    ),
    citations=guide("10.2.1", "11.1"),
    check=check,
    examples=Examples(fires=_walk(4.1), quiet=_walk(32.0), edges=(_walk(4.5), _walk(4.6))),
)

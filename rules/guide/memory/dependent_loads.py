"""Loads whose address is what the load before brought: lists, trees, chains of a hash table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.memory.transactions import SECTOR
from gpuadvise.advisor.quantity import show_number, show_share
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.advice import PASSED, Advice, Verdict, undecided
from gpuadvise.rules.evidence import profiled
from gpuadvise.rules.gain_bounds import relieved
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide
from gpuadvise.rules.thresholds import STARTING
from gpuadvise.rules.workload import follows_chains, l1_hits

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile

_LINKS = number(
    2.0, "words loaded per word of data, one of them a link", "words", "a node of a list"
)


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

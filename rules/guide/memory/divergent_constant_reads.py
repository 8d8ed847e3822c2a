"""Constant memory read at several addresses by one warp."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.stalls import Stall
from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.facts.workload import relieved, waits_for
from gpuadvise.advisor.quantity import show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import Advice, Gain, GainKind, Verdict
from gpuadvise.rules.evidence import given, profiled
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.access import Access
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile

ONE = number(1, "distinct addresses", "addresses", "guide 10.2.6")
BUSY = number(
    0.8,
    "address-divergence pipe busy",
    "share of its peak",
    "measured on an H200: barriers and branches alone keep it at 73 % at most",
    LaunchSet.RECORDED,
)
RARELY = number(
    0.08,
    "issue slots of a page that names no pipe",
    "share",
    "special functions, the slowest other pipe, take an eighth of the slots at their peak",
    LaunchSet.RECORDED,
)
# The unit takes one address per cycle of an SM, which issues up to four instructions: reads of one address
# each fill it only where issue slots are this busy. Measured are 2 % with 32 addresses, 82 % with one.
AT_ONE_ADDRESS = number(
    0.4,
    "issue slots beside reads of one address",
    "share; from here on reads of one address each fill the pipe as well",
    "one address per cycle of an SM against four instructions; measured on an H100 and an H200",
    LaunchSet.FOURTH,
)
AT_WORK = number(
    0.5,
    "address-divergence pipe at work, beside fewer instructions than addresses",
    "share of its peak",
    "our judgement: half of the time is the reads' then",
    LaunchSet.SEVENTH,
)
SLOTS = number(
    4,
    "instructions that an SM issues in a cycle, in which the unit takes one address",
    "instructions",
    "programming guide, compute capabilities 5.0 and later",
)
_WAITS = (Stall.MIO_THROTTLE, Stall.SHORT_SCOREBOARD, Stall.IMC_MISS)


def check(
    constant_accesses: tuple[Access, ...] | None = None, profile: KernelProfile | None = None
) -> Verdict:
    """Advise for constant reads that are not the same for all lanes."""
    found = [
        _advice(access.name, access.distinct_addresses or ONE)
        for access in constant_accesses or ()
        if (access.distinct_addresses or ONE) > ONE
    ]
    if profile is not None and _serialised(profile):
        found.append(_profiled(profile))
    return tuple(found)


def _serialised(profile: KernelProfile) -> bool:
    """Return whether the unit that resolves indexed constants is what the kernel waits for.

    Barriers and branches use it too, but leave warps in other stalls. Where it takes more addresses than
    there are instructions, some of these have several each, however idle it is.
    """
    share, issued = _unit_share(profile), profile.issue_busy or 0.0
    if not waits_for(profile, *_WAITS, share=0.0):
        return False
    return share >= AT_WORK if share > SLOTS * issued else share >= BUSY and issued < AT_ONE_ADDRESS


def _unit_share(profile: KernelProfile) -> float:
    """Return how busy the unit is; a page that names no pipe leaves none other that issues so little."""
    if Unit.ADU in profile.pipes:
        return profile.pipes[Unit.ADU]
    unnamed = not profile.pipes and profile.issue_busy is not None
    if unnamed and (profile.issue_busy or 0) < RARELY:
        return profile.sm_busy or 0.0
    # The pipes to memory, while L1 idles: what is left of them resolves addresses.
    uncounted = profile.global_loads.requests is None
    return profile.unit_shares.get(Unit.ADU, 0.0) if uncounted else 0.0


def _profiled(profile: KernelProfile) -> Advice:
    share = _unit_share(profile)
    return Advice(
        message=(
            f"The address-divergence unit is {show_share(share)} busy: indexed reads of constant memory "
            "go to several addresses per warp, one after the other."
        ),
        action=(
            "Index constant memory by values that are the same for the whole warp; put tables "
            "with an index per thread into shared memory, or into global memory."
        ),
        evidence=(profiled("address-divergence pipe", share, "share"),),
        relief=relieved(profile, 1e6, Unit.ADU, Unit.COMPUTE),
    )


def _advice(name: str, addresses: int) -> Advice:
    return Advice(
        message=(
            f'A warp reads {addresses} different addresses of constant memory at "{name}": '
            f"{addresses} reads one after the other."
        ),
        action=(
            "Index constant memory by values that are the same for the whole warp; put tables "
            "with an index per thread into shared memory, or into global memory."
        ),
        evidence=(given("distinct addresses per warp", addresses, "addresses"),),
        gain=Gain(kind=GainKind.CONSTANT_TIME, upper_bound=addresses, how="distinct addresses / 1"),
    )


RULE = Rule(
    id="divergent-constant-reads",
    title="Read constant memory uniformly",
    topic=Topic.MEMORY,
    priority=Priority.MEDIUM,
    kinds=(Kind.PATTERN, Kind.PROFILE),
    family=Family.DIVERGENCE,
    why="The constant cache broadcasts one address at a time to a warp.",
    when=(
        "The lanes of a warp read more than one address of constant memory, or a profile shows the "
        "address-divergence pipe at 80 % or more and warps waiting for it, while issue slots are below 40 %, or at 50 % where the pipe takes more addresses than instructions are issued; a page that names no such pipe shows the pipes to memory busy while L1 idles."
    ),
    citations=guide("10.2.6", "9.2.5"),
    check=check,
    either=("constant_accesses", "profile"),
    examples=Examples(
        fires={
            "accesses": [
                {"name": "table[threadIdx.x]", "space": "constant", "word": 4, "distinct": 32}
            ]
        },
        quiet={
            "accesses": [{"name": "coefficients[k]", "space": "constant", "word": 4, "distinct": 1}]
        },
        edges=(
            {
                "accesses": [
                    {"name": "table[lane / 16]", "space": "constant", "word": 4, "distinct": 2}
                ]
            },
            {"accesses": [{"name": "table[0]", "space": "constant", "word": 4, "distinct": 1}]},
        ),
    ),
)

"""The same work in the same report, launched otherwise and done sooner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.library_kernels import without_parameters
from gpuadvise.advisor.prose import plural, quoted
from gpuadvise.advisor.quantity import show_number, show_seconds
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Gain, GainKind, Verdict, undecided
from gpuadvise.rules.evidence import derived, profiled
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.report_launches import OtherLaunch
    from gpuadvise.advisor.occupancy.launch import Launch

SLOWER = number(
    1.1,
    "slower by",
    "time / time of the faster one",
    "our judgement: from here on worth an hour; times in a profiler differ by some per cent",
    LaunchSet.SIXTH,
)
HARDLY = number(
    1.05, "slower at all", "time / time of the faster one", "our judgement: noise", LaunchSet.SIXTH
)


def check(
    launch: Launch, profile: KernelProfile, faster_launches: tuple[OtherLaunch, ...]
) -> Verdict:
    """Advise to take the block size or the version that took less time here."""
    if not faster_launches:
        return PASSED  # the launches of its report were looked at
    if profile.seconds is None:
        return undecided("profile.time")
    best = min(faster_launches, key=lambda launch: launch.seconds)
    ratio = profile.seconds / best.seconds if best.seconds else 1.0
    if ratio < HARDLY:
        return PASSED
    return Advice(
        message=(
            f"{_what(best, launch)} took {show_number(best.seconds / profile.seconds)} of the time of this launch for the "
            f"same bytes: {show_seconds(best.seconds)} instead of {show_seconds(profile.seconds)}."
        ),
        action=_action(best),
        evidence=(
            profiled("time of this launch", profile.seconds, "s"),
            profiled("time of the faster one", best.seconds, "s"),
            derived("threads per block of the faster one", best.threads, "threads"),
        ),
        gain=Gain(
            kind=GainKind.KERNEL_TIME,
            upper_bound=max(1.0, ratio),
            how=f"time of this launch / time of the faster one = {show_seconds(profile.seconds)} / {show_seconds(best.seconds)}",
        ),
        priority=Priority.LOW if ratio < SLOWER else None,
    )


def _what(best: OtherLaunch, launch: Launch) -> str:
    if best.name is not None:
        return f"The version {quoted(without_parameters(best.name))}"
    if best.threads != launch.threads:
        return f"{plural(best.threads, 'thread')} per block, instead of {launch.threads},"
    return f"A block of {_shape(best.block)}, instead of {_shape(launch.block_dim or (launch.threads, 1, 1))},"


def _shape(block: tuple[int, int, int]) -> str:
    return " x ".join(map(str, block))


def _action(best: OtherLaunch) -> str:
    if best.name is not None:
        return f"Use that version where its results are those you want, with blocks of {_shape(best.block)}."
    return (
        f"Launch blocks of {_shape(best.block)} in a grid of {_shape(best.grid)}, and time both once more without a profiler, "
        "which flushes caches between launches."
    )


RULE = Rule(
    id="slower-version",
    title="Take the version that was faster here",
    topic=Topic.EXECUTION,
    priority=Priority.MEDIUM,
    kinds=(Kind.PROFILE,),
    why="What was measured on this GPU beats any model of it.",
    when=(
        "The same report holds a kernel of this name, no library's, in another block size or version that reads and stores as many bytes "
        "(within 5 %, on a page without counts moves as many) in at most 1 / 1.05 of the time; low below 1.1."
    ),
    citations=guide("11.3", "10.5"),
    check=check,
    examples=Examples(
        fires={
            "block": 1024,
            "profile": {"time": "357us"},
            "faster_launches": [{"block": 256, "grid": 4096, "time": "289us"}],
        },
        quiet={
            "block": 1024,
            "profile": {"time": "290us"},
            "faster_launches": [{"block": 256, "grid": 4096, "time": "289us"}],
        },
        edges=(
            {
                "block": 1024,
                "profile": {"time": "106us"},
                "faster_launches": [{"block": 256, "grid": 4096, "time": "100us"}],
            },
            {
                "block": 1024,
                "profile": {"time": "104us"},
                "faster_launches": [{"block": 256, "grid": 4096, "time": "100us"}],
            },
        ),
    ),
)

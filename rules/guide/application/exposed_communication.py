"""Communication between GPUs that no computing hides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.communication_savings import (
    MUCH_EXPOSED,
    hidden_among_ranks,
    hidden_of_one,
    sending_seconds,
)
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_seconds, show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Gain, GainKind, Verdict, undecided
from gpuadvise.rules.evidence import traced
from gpuadvise.rules.judged_span import of_span
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import cited
from gpuadvise.rules.traced import span_gain

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.ranks import RankWaits
    from gpuadvise.advisor.facts.timeline import TracedRun

_MOST_OF_IT = number(
    0.3, "communication that nothing hides, urgent", "share", "our judgement", LaunchSet.RECORDED
)
_HIDE = (
    "Communicate while kernels compute: gradients in buckets, all-gathers a layer ahead (prefetch of FSDP), "
    "tensor parallelism in pieces. Send 16-bit numbers, and fewer, larger messages; keep the ranks that send most to each "
    "other where NVLink joins them."
)


def check(ranks: RankWaits | None = None, timeline: TracedRun | None = None) -> Verdict:
    """Advise when communication that nothing hides takes 15 % of the span, waits for other ranks not counted."""
    if ranks is not None:
        return _of_ranks(ranks)
    return PASSED if timeline is None else _of_one(timeline)


def _of_ranks(ranks: RankWaits) -> Verdict:
    exposed, seconds = ranks.exposed_seconds, ranks.sending_seconds
    if exposed is None or seconds is None:
        return undecided("ranks.exposed")
    share, hidden = ranks.share_of_span(seconds), hidden_among_ranks(ranks)
    if hidden is None:
        return PASSED
    return Advice(
        message=(
            f"Communication takes {show_seconds(seconds)} of {show_seconds(ranks.span_seconds)} ({show_share(share)}, the "
            f"mean of {ranks.count} ranks) while no kernel computes, waits for the last rank not counted."
        ),
        action=_HIDE,
        evidence=(
            traced("communication, nothing computing, mean", exposed, "s"),
            traced("of it waited for the last rank, mean", ranks.waited_seconds, "s"),
            traced("span, mean of the ranks", ranks.span_seconds, "s"),
        ),
        gain=Gain(
            kind=GainKind.RUN_TIME,
            upper_bound=1 / (1 - ranks.share_of_span(hidden)),
            how="span / (span - communication, as far as computing could hide it)",
        ),
        priority=_priority(share),
    )


def _of_one(run: TracedRun) -> Verdict:
    exposed = run.exposed_communication_seconds
    seconds, hidden = sending_seconds(run), hidden_of_one(run)
    if hidden is None:
        return PASSED
    waits = "not counted" if run.rank_wait_seconds else "included, which one rank alone cannot tell"
    return Advice(
        message=(
            f"Communication takes {show_seconds(seconds)}, {of_span(run, seconds)}, while no kernel "
            f"computes: {plural(run.collectives, 'collective')} that nothing hides, waits for other "
            f"ranks {waits}."
        ),
        action=f"{_HIDE} Record all ranks, and give the folder, to see whether they wait for one.",
        evidence=(
            traced("communication, nothing computing", exposed, "s"),
            traced("of it waiting for other ranks (estimate)", run.rank_wait_seconds, "s"),
            traced("span", run.span_seconds, "s"),
        ),
        gain=span_gain(
            run,
            hidden,
            "communication, as far as the rest of the GPU's work could hide it",
        ),
        priority=_priority(run.lasting_share(seconds)),
    )


def _priority(share: float) -> Priority:
    if share >= _MOST_OF_IT:
        return Priority.HIGH
    return Priority.MEDIUM if share >= MUCH_EXPOSED else Priority.LOW


def _ranks(exposed: str) -> dict[str, object]:
    given = {"count": 8, "span": "100ms", "waited": "2ms", "computing": "60ms"}
    return {"ranks": {**given, "exposed": exposed}}


RULE = Rule(
    id="exposed-communication",
    title="Communicate while kernels compute",
    topic=Topic.APPLICATION,
    priority=Priority.MEDIUM,
    kinds=(Kind.TIMING,),
    why="Links and SMs work at the same time where what is sent is ready before it is needed.",
    when=(
        "Communication takes 15 % of a recorded run while no kernel computes: of one rank, "
        "or of the mean of several, their waits for the last one not counted (high from three tenths on, low where it is less than 15 % of all that was recorded)."
    ),
    citations=(
        cited(
            "Holistic Trace Analysis: Trace Collection, Analysis and Visualization",
            "Communication Computation Overlap",
            "https://hta.readthedocs.io/",
        ),
    ),
    check=check,
    either=("ranks", "timeline"),
    examples=Examples(
        fires=_ranks("40ms"), quiet=_ranks("10ms"), edges=(_ranks("17.1ms"), _ranks("16.9ms"))
    ),
)

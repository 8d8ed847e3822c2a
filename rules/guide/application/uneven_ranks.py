"""Ranks of a distributed program that wait for each other in collectives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.communication_savings import (
    MUCH_WAITED,
    saved_by_even_rank,
    saved_by_even_ranks,
)
from gpuadvise.advisor.prose import capitalized, plural
from gpuadvise.advisor.quantity import show_seconds, show_share
from gpuadvise.rules.advice import PASSED, Advice, Gain, GainKind, Verdict
from gpuadvise.rules.evidence import traced
from gpuadvise.rules.judged_span import of_span
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import cited
from gpuadvise.rules.traced import LOUD, span_gain

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.ranks import RankWaits
    from gpuadvise.advisor.facts.timeline import TracedRun


def check(ranks: RankWaits | None = None, timeline: TracedRun | None = None) -> Verdict:
    """Advise when ranks wait for each other for 5 % of their time or more, or one of them seems to."""
    if ranks is None:
        return PASSED if timeline is None else _alone(timeline)
    saved = saved_by_even_ranks(ranks)
    if saved is None:
        return PASSED
    waited = f"{show_seconds(ranks.waited_seconds)} of {show_seconds(ranks.span_seconds)}"
    return Advice(
        message=(
            f"The {ranks.count} ranks wait {waited} ({show_share(ranks.share)}, the mean of them) for "
            f"the last to come to a collective, and no kernel runs meanwhile. {_who(ranks)}"
        ),
        action=_action(ranks),
        evidence=(
            traced("ranks", ranks.count, "ranks"),
            traced("waited, mean of the ranks", ranks.waited_seconds, "s"),
            traced("span, mean of the ranks", ranks.span_seconds, "s"),
        ),
        gain=Gain(
            kind=GainKind.RUN_TIME,
            upper_bound=1 / (1 - ranks.share_of_span(saved)),
            how="span / (span - mean wait for other ranks), as if each had the mean of the work",
        ),
        priority=_priority(ranks.share),
    )


def _priority(share: float) -> Priority:
    if share >= MUCH_WAITED:
        return Priority.HIGH
    return Priority.MEDIUM if share >= LOUD else Priority.LOW


def _alone(run: TracedRun) -> Verdict:
    """Advise on a rank whose collectives take much longer at times than they need."""
    waited, exposed = saved_by_even_rank(run), run.exposed_communication_seconds
    if waited is None:
        return PASSED
    return Advice(
        message=(
            f"Communication takes {show_seconds(exposed)}, {of_span(run, exposed)}, while no "
            f"kernel computes. {plural(run.collectives, 'collective')} of like kinds differ so much in time that about "
            f"{show_seconds(waited)} of it may be waiting for ranks that come late, or for links that are shared: an "
            "estimate, since this rank was recorded alone."
        ),
        action=(
            "Record all ranks of one step, and give the folder: gpuadvise advise traces/ names the ranks that the "
            "others wait for. What is left after that hides behind computing: gradients in buckets, "
            "all-gathers a layer ahead."
        ),
        evidence=(
            traced("communication, nothing computing", exposed, "s"),
            traced("of it beyond what like ones need (estimate)", waited, "s"),
            traced("span", run.span_seconds, "s"),
        ),
        gain=span_gain(run, waited, "time of collectives beyond that of like ones"),
        priority=Priority.MEDIUM,
    )


def _who(ranks: RankWaits) -> str:
    if not ranks.late:
        return "They take turns in being the last."
    return f"{capitalized(ranks.late_words)} came last where the others waited longest."


def _action(ranks: RankWaits) -> str:
    if not ranks.late:
        return (
            "Make the work of each step even: batches of samples of like length, the same number of "
            "tokens on each rank, shards of tables by their use instead of their number."
        )
    return (
        f"Look at what {ranks.late_words} does between collectives: a larger share of the data, longer "
        "samples, a shard of hot rows, work of one rank alone such as logging and checkpoints. The same "
        "work there, yet slower, is the machine: gpuadvise doctor on its host compares clocks and links."
    )


RULE = Rule(
    id="uneven-ranks",
    title="Give all ranks the same work",
    topic=Topic.APPLICATION,
    priority=Priority.MEDIUM,
    kinds=(Kind.TIMING,),
    why="A collective ends when the last rank has come, so the slowest rank sets the pace of all.",
    when=(
        "The mean rank of a recorded run waits in collectives for 5 % of its span or more, while no kernel computes; "
        "or collectives of a rank that was recorded alone take 15 % of the span beyond what like ones do (medium). "
        "Waits of less than a tenth are low."
    ),
    citations=(
        cited(
            "Holistic Trace Analysis: Trace Collection, Analysis and Visualization",
            "Potential stragglers",
            "https://hta.readthedocs.io/",
        ),
    ),
    check=check,
    either=("ranks", "timeline"),
    examples=Examples(
        fires={"ranks": {"count": 8, "span": "100ms", "waited": "30ms", "late": [7]}},
        quiet={"ranks": {"count": 8, "span": "100ms", "waited": "3ms", "late": [7]}},
        edges=(
            {"ranks": {"count": 8, "span": "100ms", "waited": "5.1ms"}},
            {"ranks": {"count": 8, "span": "100ms", "waited": "4.9ms"}},
        ),
    ),
)

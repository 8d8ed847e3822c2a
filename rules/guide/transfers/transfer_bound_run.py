"""A run that spends much of its time copying between host and device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_seconds, show_share
from gpuadvise.advisor.transfers.copies import WORTHWHILE
from gpuadvise.advisor.transfers.savings import (
    MUCH_COPIED,
    is_bound_by_copies,
    saved_by_fewer_copies,
    staged_pipeline,
)
from gpuadvise.rules.advice import PASSED, Advice, Gain, GainKind, Verdict
from gpuadvise.rules.evidence import derived, given, traced
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide
from gpuadvise.rules.traced import span_gain

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.timeline import TracedRun
    from gpuadvise.advisor.facts.timing import Pipeline, Transfer
    from gpuadvise.advisor.transfers.links import LinkModel
    from gpuadvise.advisor.transfers.overlap import Overlap


def check(
    transfer_seconds: float,
    run_seconds: float,
    pipeline: Pipeline | None = None,
    link: LinkModel | None = None,
    timeline: TracedRun | None = None,
    transfers: tuple[Transfer, ...] | None = None,
    device: Device | None = None,
) -> Verdict:
    """Advise when copies that nothing hides take more than 30 % of the end-to-end time, or a tenth of a recorded run."""
    if timeline is not None:
        saved = saved_by_fewer_copies(
            timeline, transfer_seconds, transfers or (), device, link, pipeline
        )
        most = is_bound_by_copies(timeline, transfer_seconds)
        staged = pipeline is not None and pipeline.streams > 1
        return PASSED if saved is None else _recorded(timeline, saved, most=most, staged=staged)
    if pipeline is not None and pipeline.streams > 1:
        return _staged(transfer_seconds, run_seconds, pipeline, link)
    share = transfer_seconds / run_seconds if run_seconds else 0.0
    if share <= MUCH_COPIED:
        return PASSED
    rest = max(0.0, run_seconds - transfer_seconds)
    hidden = min(transfer_seconds, rest)
    both_ways = bool(pipeline and pipeline.to_device_seconds and pipeline.to_host_seconds)
    return Advice(
        message=(
            f"Copies take {show_seconds(transfer_seconds)} of {show_seconds(run_seconds)}: "
            f"{show_share(min(1.0, share))} of the run."
        ),
        action=(
            f"{_overlap(rest, hidden, both_ways=both_ways)} To win more, copy less: keep intermediate data on the "
            "device, copy only what changed, use narrower types, and move a step to the device "
            "even if it runs badly there."
        ),
        evidence=(
            derived("copy time", transfer_seconds, "s"),
            given("end-to-end time", run_seconds, "s"),
            derived("share of copies", min(1.0, share), "share"),
        ),
        gain=Gain(
            kind=GainKind.RUN_TIME,
            upper_bound=run_seconds / rest,
            how="run time / time without copies",
        )
        if rest
        else None,
    )


def _recorded(run: TracedRun, seconds: float, *, most: bool, staged: bool) -> Advice:
    """Advise on copies that were recorded beside no kernel: loud where kernels cannot hide them, or streams do not."""
    much = staged and run.share(seconds) > MUCH_COPIED
    return Advice(
        message=(
            f"Copies take {show_seconds(seconds)}, {show_share(run.share(seconds))} of the span, while no kernel runs."
        ),
        action=(
            "Copy less: keep intermediate data on the device, copy only what changed, use narrower types, and move a step to "
            "the device even if it runs badly there. Copy the rest while kernels run: from pinned memory, in a stream of its own."
        ),
        evidence=(
            traced("copies, no kernel running", seconds, "s"),
            traced("span", run.span_seconds, "s"),
        ),
        gain=span_gain(run, seconds, "copies while no kernel runs"),
        priority=None if most else Priority.MEDIUM if much else Priority.LOW,
    )


def _staged(copies: float, run: float, pipeline: Pipeline, link: LinkModel | None) -> Verdict:
    """Return advice on what streams leave exposed: the run without the kernel.

    Copies and kernel one after the other are no run of several streams: the model of overlap says
    what that takes, unless the time given is less.
    """
    kernel = pipeline.kernel_seconds
    staged = staged_pipeline(pipeline, link) if link is not None else None
    now = staged.requested.seconds if staged and staged.requested else copies + kernel
    predicted = run >= copies + kernel
    run = now if predicted else run
    exposed = max(0.0, run - kernel)
    if exposed <= MUCH_COPIED * run:
        return PASSED
    source = derived if predicted else given
    return Advice(
        message=(
            f"Copies take {show_seconds(copies)}, of which {pipeline.streams} streams leave "
            f"{'about ' if predicted else ''}{show_seconds(exposed)} of {show_seconds(run)} exposed: "
            f"{show_share(exposed / run)} of the run."
        ),
        action=(
            f"{_finer(staged, run) if pipeline.divisible else ''}Beyond that copy less: keep intermediate "
            "data on the device, copy only what changed, and use narrower types."
        ),
        evidence=(derived("exposed copy time", exposed, "s"), source("end-to-end time", run, "s")),
        gain=Gain(
            kind=GainKind.RUN_TIME, upper_bound=run / kernel, how="run time / time of the kernel"
        )
        if kernel
        else None,
        priority=Priority.LOW
        if predicted and _hidden_already(staged, pipeline)
        else Priority.MEDIUM,
    )


def _hidden_already(staged: Overlap | None, pipeline: Pipeline) -> bool:
    """Return whether the streams hide most copies if they take several pieces each, which nobody said."""
    if staged is None or not pipeline.divisible or staged.best.streams > pipeline.streams:
        return False
    return staged.best.seconds * (1 - MUCH_COPIED) <= pipeline.kernel_seconds


def _finer(staged: Overlap | None, run: float) -> str:
    """Return the cut that wins clearly over the present one, where the model knows one."""
    if staged is None or staged.best.seconds > run * (1 - WORTHWHILE):
        return ""
    best = staged.best
    return (
        f"Cut the data finer, if it is not yet: {best.pieces} pieces over {plural(best.streams, 'stream')} take about "
        f"{show_seconds(best.seconds)}. "
    )


def _overlap(rest: float, hidden: float, *, both_ways: bool) -> str:
    """Return what overlapping can win; without other work there is nothing to hide behind."""
    if not hidden:
        return "Nothing else runs that copies could hide behind, except copies the other way."
    return (
        f"Overlapping copies with the other {show_seconds(rest)} can hide at most "
        f"{show_seconds(hidden)}{'; copies both ways at once hide each other as well' if both_ways else ''}."
    )


RULE = Rule(
    id="transfer-bound-run",
    title="Minimise transfers between host and device",
    topic=Topic.TRANSFERS,
    priority=Priority.HIGH,
    kinds=(Kind.TIMING,),
    family=Family.COPIES,
    recommendation=True,
    why="The link to the host is tens of times slower than the memory of the device.",
    when=(
        "Copies take more than 30 % of the end-to-end time; of copies in several streams, what these leave exposed by "
        "the overlap model with a piece for each, and then medium, or low where more pieces over as many streams hide enough. "
        "In a recorded run, copies that were seen beside no kernel: high where at the rate of the link they take more than 30 % of the run "
        "beyond all of its kernels, medium where several streams leave as much, and low from a tenth on, where no other rule is about them."
    ),
    citations=guide("10.1", "9.1"),
    folds_into="blocking-copies",
    check=check,
    examples=Examples(
        fires={"pipeline": {"h2d": "6ms", "kernel": "4ms", "d2h": "2ms"}},
        quiet={"pipeline": {"h2d": "1ms", "kernel": "20ms", "d2h": "1ms"}},
        edges=(
            {"pipeline": {"h2d": "31ms", "kernel": "69ms"}},
            {"pipeline": {"h2d": "30ms", "kernel": "70ms"}},
        ),
    ),
)

"""A run that spends much of its time copying between host and device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.quantity import show_seconds, show_share
from gpuadvise.rules.evidence import derived, given
from gpuadvise.rules.model import (
    PASSED,
    Advice,
    Examples,
    Family,
    Gain,
    Kind,
    Priority,
    Rule,
    Threshold,
    Topic,
    Verdict,
)
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.timing import Pipeline

MUCH = 0.3


def check(transfer_seconds: float, run_seconds: float, pipeline: Pipeline | None = None) -> Verdict:
    """Advise when copies that nothing hides take more than 30 % of the end-to-end time."""
    if pipeline is not None and pipeline.streams > 1:
        return _staged(transfer_seconds, run_seconds, pipeline)
    share = transfer_seconds / run_seconds if run_seconds else 0.0
    if share <= MUCH:
        return PASSED
    rest = max(0.0, run_seconds - transfer_seconds)
    hidden = min(transfer_seconds, rest)
    return Advice(
        message=(
            f"Copies take {show_seconds(transfer_seconds)} of {show_seconds(run_seconds)}: "
            f"{show_share(min(1.0, share))} of the run."
        ),
        action=(
            f"{_overlap(rest, hidden)} To win more, copy less: keep intermediate data on the "
            "device, copy only what changed, use narrower types, and move a step to the device "
            "even if it runs badly there."
        ),
        evidence=(
            derived("copy time", transfer_seconds, "s"),
            given("end-to-end time", run_seconds, "s"),
            derived("share of copies", min(1.0, share), "share"),
        ),
        gain=Gain(
            kind="run time", upper_bound=run_seconds / rest, how="run time / time without copies"
        )
        if rest
        else None,
    )


def _staged(copies: float, run: float, pipeline: Pipeline) -> Verdict:
    """Return advice on what streams leave exposed: the run without the kernel."""
    run = min(run, copies + pipeline.kernel_seconds)
    exposed = max(0.0, run - pipeline.kernel_seconds)
    if exposed <= MUCH * run:
        return PASSED
    return Advice(
        message=(
            f"Copies take {show_seconds(copies)}, of which {pipeline.streams} streams leave "
            f"{show_seconds(exposed)} of {show_seconds(run)} exposed: {show_share(exposed / run)} of the run."
        ),
        action=(
            f"The kernel's {show_seconds(pipeline.kernel_seconds)} cannot hide more: copy less. Keep intermediate "
            "data on the device, copy only what changed, and use narrower types."
        ),
        evidence=(
            derived("exposed copy time", exposed, "s"),
            given("end-to-end time", run, "s"),
        ),
        gain=Gain(
            kind="run time",
            upper_bound=run / pipeline.kernel_seconds,
            how="run time / time of the kernel",
        ),
    )


def _overlap(rest: float, hidden: float) -> str:
    """Return what overlapping can win; without other work there is nothing to hide behind."""
    if not hidden:
        return "Nothing else runs that copies could hide behind, except copies the other way."
    return (
        f"Overlapping copies with the other {show_seconds(rest)} can hide at most "
        f"{show_seconds(hidden)}."
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
    when="Copies take more than 30 % of the end-to-end time.",
    thresholds=(
        Threshold(
            name="share of copies",
            value=MUCH,
            unit="share",
            source="our judgement of the guide's 'avoid transfers', 10.1",
        ),
    ),
    citations=guide("10.1", "9.1"),
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

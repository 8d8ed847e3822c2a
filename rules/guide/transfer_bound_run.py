"""A run that spends much of its time copying between host and device."""

from __future__ import annotations

from gpuadvise.advisor.quantity import show_seconds, show_share
from gpuadvise.rules.evidence import derived, given
from gpuadvise.rules.model import (
    PASSED,
    Advice,
    Examples,
    Gain,
    Kind,
    Priority,
    Rule,
    Threshold,
    Topic,
    Verdict,
)
from gpuadvise.rules.sources import guide

MUCH = 0.3


def check(transfer_seconds: float, run_seconds: float) -> Verdict:
    """Advise when copies take more than 30 % of the end-to-end time."""
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

"""A step on the host between two on the device, for which data travel down and up again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.application import StagePlace
from gpuadvise.advisor.quantity import show_bytes, show_seconds
from gpuadvise.advisor.transfers.copies import Direction, copy_seconds
from gpuadvise.rules.advice import Advice, Gain, GainKind, Verdict
from gpuadvise.rules.evidence import derived, given
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.application import Stage
    from gpuadvise.advisor.transfers.links import LinkModel


def check(stages: tuple[Stage, ...], link: LinkModel) -> Verdict:
    """Advise for each host step between device steps that need not run on the host."""
    return tuple(
        _advice(stage, link)
        for before, stage, after in zip(stages, stages[1:], stages[2:], strict=False)
        if before.place is StagePlace.DEVICE
        and after.place is StagePlace.DEVICE
        and _avoidable(stage, link)
    )


def _copies(stage: Stage, link: LinkModel) -> float:
    down = copy_seconds(stage.input_bytes, link, Direction.D2H)
    return down + copy_seconds(stage.output_bytes, link, Direction.H2D)


def _avoidable(stage: Stage, link: LinkModel) -> bool:
    if stage.place is not StagePlace.HOST or stage.host_needed:
        return False
    there = stage.device_seconds or stage.seconds or 0.0
    return there < _copies(stage, link) + (stage.seconds or 0.0)


def _advice(stage: Stage, link: LinkModel) -> Advice:
    moved, time = stage.input_bytes + stage.output_bytes, _copies(stage, link)
    return Advice(
        message=(
            f'For the step "{stage.name}" on the host, {show_bytes(stage.input_bytes)} come down '
            f"and {show_bytes(stage.output_bytes)} go back up: {show_seconds(time)} of copies."
        ),
        action=f"Run this step on the device, {_times(stage, time)}: {show_bytes(moved)} per pass need not move.",
        evidence=(
            given("bytes moved", moved, "bytes"),
            derived(f"copy time ({link.source})", time, "s"),
        ),
        gain=_gain(stage, time),
    )


def _times(stage: Stage, copies: float) -> str:
    """Return how the step's time there compares, as far as it is known."""
    here, there = stage.seconds, stage.device_seconds
    if here is None or there is None:
        return f"even if it is up to {show_seconds(copies)} slower there"
    return (
        f"where it takes {show_seconds(there)} instead of {show_seconds(here)} on the host and "
        f"{show_seconds(copies)} for the copies"
    )


def _gain(stage: Stage, time: float) -> Gain | None:
    there = stage.device_seconds or stage.seconds
    if there is None or stage.seconds is None:
        return None
    return Gain(
        kind=GainKind.STEP_TIME,
        upper_bound=(stage.seconds + time) / there,
        how="(host time + copies) / device time",
    )


RULE = Rule(
    id="host-round-trip",
    title="Keep intermediate data on the device",
    topic=Topic.APPLICATION,
    priority=Priority.HIGH,
    kinds=(Kind.APPLICATION, Kind.TIMING),
    why="Copies over the link cost more than most steps that run badly on the device.",
    when=(
        "A step on the host lies between two on the device, need not run there, and would take "
        "less than host time plus copies on the device."
    ),
    citations=guide("10.1", "9.1"),
    check=check,
    examples=Examples(
        fires={
            "gpu": "h200",
            "stages": [
                {"name": "filter", "on": "device", "in": "0", "out": "64MiB"},
                {"name": "threshold", "on": "host", "in": "64MiB", "out": "64MiB", "time": "2ms"},
                {"name": "label", "on": "device", "in": "64MiB", "out": "1MiB"},
            ],
        },
        quiet={
            "gpu": "h200",
            "stages": [
                {"name": "filter", "on": "device", "in": "0", "out": "64MiB"},
                {"name": "save", "on": "host", "in": "64MiB", "out": "1KiB", "host_needed": True},
                {"name": "label", "on": "device", "in": "64MiB", "out": "1MiB"},
            ],
        },
    ),
)

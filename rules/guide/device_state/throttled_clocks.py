"""Clocks that heat or the power supply hold back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import and_list
from gpuadvise.advisor.quantity import show_hertz, show_share
from gpuadvise.rules.advice import PASSED, Advice, Gain, GainKind, Verdict
from gpuadvise.rules.evidence import measured, unread
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.telemetry import Telemetry

# Words of the clock events that mean a fault; the power limit and idling are none.
_FAULTS = ("slowdown", "power brake")


def check(telemetry: Telemetry) -> Verdict:
    """Advise when clocks are held back by heat or the power supply under load."""
    events = telemetry.clock_event_reasons or ()
    held = [event for event in events if any(word in event for word in _FAULTS)]
    if telemetry.clock_event_reasons is None or (held and telemetry.gpu_utilisation is None):
        return unread(telemetry, "clock_event_reasons", "gpu_utilisation")
    if not held or not telemetry.gpu_utilisation:
        return PASSED
    now, most = telemetry.sm_clock_hz, telemetry.sm_clock_max_hz
    clocks = f" The SM clock is {show_hertz(now)} of {show_hertz(most)}." if now and most else ""
    return Advice(
        message=(
            f"At {show_share(telemetry.gpu_utilisation)} load the clocks are held back: "
            f"{and_list(held)}.{clocks}"
        ),
        action=(
            "Check airflow, fans, dust and the power cables; until then do not compare times with "
            "those of other machines."
        ),
        evidence=(
            measured("clock events", and_list(held)),
            measured("GPU utilisation", telemetry.gpu_utilisation, "share"),
        ),
        gain=Gain(
            kind=GainKind.SM_CLOCK,
            upper_bound=max(1.0, most / now),
            how="highest clock / clock now",
        )
        if now and most
        else None,
    )


RULE = Rule(
    id="throttled-clocks",
    title="Free the clocks",
    topic=Topic.DEVICE_STATE,
    priority=Priority.HIGH,
    kinds=(Kind.NVML,),
    why="Everything on the GPU runs slower in proportion, and unevenly.",
    when=(
        "Under load NVML names heat, the power brake or a hardware slowdown as the reason for lower clocks. "
        "Clocks at the power limit are none: so runs a GPU that is fully used."
    ),
    citations=guide("18.1.1", "16.1.1"),
    check=check,
    examples=Examples(
        fires={
            "telemetry": {
                "gpu_utilisation": 0.98,
                "sm_clock_hz": 1_200_000_000,
                "sm_clock_max_hz": 1_980_000_000,
                "clock_event_reasons": [
                    "software thermal slowdown: the GPU or its memory is too hot"
                ],
            }
        },
        quiet={
            "telemetry": {
                "gpu_utilisation": 0.98,
                "clock_event_reasons": ["the power limit is reached"],
            }
        },
    ),
)

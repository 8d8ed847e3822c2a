"""A GPU that is about to slow down for its temperature."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.advice import PASSED, Advice, Verdict
from gpuadvise.rules.evidence import measured, unread
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.telemetry import Telemetry

MARGIN = number(5, "margin", "°C", "our judgement; guide 18.1.1 says to watch it")


def check(telemetry: Telemetry) -> Verdict:
    """Advise within 5 degrees of the temperature at which clocks are lowered."""
    now, limit = telemetry.temperature_celsius, telemetry.temperature_slowdown_celsius
    if now is None or limit is None:
        return unread(telemetry, "temperature_celsius", "temperature_slowdown_celsius")
    if limit - now > MARGIN:
        return PASSED
    return Advice(
        message=f"The GPU is at {now} °C and slows down at {limit} °C.",
        action="Improve the cooling or lower the power limit (nvidia-smi -pl WATTS) before long runs.",
        evidence=(
            measured("temperature", now, "°C"),
            measured("slowdown temperature", limit, "°C"),
        ),
    )


RULE = Rule(
    id="hot-device",
    title="Cool the GPU",
    topic=Topic.DEVICE_STATE,
    priority=Priority.MEDIUM,
    kinds=(Kind.NVML,),
    why="At the slowdown temperature the clocks drop, and times no longer repeat.",
    when="The temperature is within 5 degrees of the slowdown temperature.",
    citations=guide("18.1.1", "16.1.1"),
    check=check,
    examples=Examples(
        fires={"telemetry": {"temperature_celsius": 88, "temperature_slowdown_celsius": 90}},
        quiet={"telemetry": {"temperature_celsius": 60, "temperature_slowdown_celsius": 90}},
        edges=(
            {"telemetry": {"temperature_celsius": 85, "temperature_slowdown_celsius": 90}},
            {"telemetry": {"temperature_celsius": 84, "temperature_slowdown_celsius": 90}},
        ),
    ),
)

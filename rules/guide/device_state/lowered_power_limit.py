"""A power limit below the one that the GPU is delivered with."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.quantity import show_hertz, show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Gain, GainKind, Verdict
from gpuadvise.rules.evidence import derived, measured, unread
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide, power_manual

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.telemetry import Telemetry
    from gpuadvise.rules.advice import Evidence

LOWERED = number(
    0.99,
    "limit in force",
    "of the default",
    "our judgement: readings are rounded",
    LaunchSet.RECORDED,
)
# Their limit follows battery, charger and processor.
_PORTABLE = r"laptop|mobile|notebook|max-q|\bmx\d"


def check(telemetry: Telemetry, device: Device | None = None) -> Verdict:
    """Advise when the limit in force is below the default, unless the machine sets it as it goes."""
    from gpuadvise.advisor.telemetry import POWER_REASON

    now, default = telemetry.power_limit_watts, telemetry.power_limit_default_watts
    if now is None or default is None:
        return unread(telemetry, "power_limit_watts", "power_limit_default_watts")
    if not now or not default or now >= LOWERED * default:
        return PASSED
    requested = telemetry.power_limit_requested_watts
    chosen = requested is None or requested < LOWERED * default
    if device is not None and _varies(device, chosen=chosen):
        return PASSED
    reached = (
        POWER_REASON in (telemetry.clock_event_reasons or ()) and telemetry.gpu_utilisation != 0
    )
    return Advice(
        message=(
            f"The power limit is {now:.0f} W, {show_share(now / default)} of the default {default:.0f} W"
            f"{_effect(telemetry, reached=reached)}."
        ),
        action=_action(default, chosen=chosen),
        evidence=(
            measured("power limit", now, "W"),
            measured("default power limit", default, "W"),
            derived("share of the default", now / default, "share"),
            *_held(telemetry),
        ),
        gain=_gain(telemetry) if reached else None,
        priority=None if reached else Priority.LOW,
    )


def _varies(device: Device, *, chosen: bool) -> bool:
    """Return whether the limit moves by itself: of laptops, and of modules that share it with a CPU."""
    shared = bool(device.coherent_host_memory) and not chosen
    return shared or re.search(_PORTABLE, device.name, flags=re.IGNORECASE) is not None


def _effect(telemetry: Telemetry, *, reached: bool) -> str:
    now, most = telemetry.sm_clock_hz, telemetry.sm_clock_max_hz
    if not reached:
        return ", and does not hold the clocks back now"
    clocks = f": the SM clock is {show_hertz(now)} of {show_hertz(most)}" if now and most else ""
    return f", and holds the clocks back now{clocks}"


def _held(telemetry: Telemetry) -> tuple[Evidence, ...]:
    seconds = telemetry.clock_limit_seconds.get("power")
    if seconds is None:
        return ()
    return (measured("held back by power since the driver was loaded", seconds, "s"),)


def _gain(telemetry: Telemetry) -> Gain | None:
    """Return what the clock tells; the share of power is no share of speed."""
    now, most = telemetry.sm_clock_hz, telemetry.sm_clock_max_hz
    if not now or not most:
        return None
    return Gain(
        kind=GainKind.SM_CLOCK, upper_bound=max(1.0, most / now), how="highest clock / clock now"
    )


def _action(default: float, *, chosen: bool) -> str:
    unless = "unless the limit is meant: the share of power says nothing of the speed, so time both"
    if chosen:
        return f"Set it back with nvidia-smi -pl {default:.0f} (as root), {unless}."
    return (
        f"Nobody set it through the driver, so nvidia-smi -pl {default:.0f} will not raise it: look at the "
        f"server's power management (BMC) and the power supplies, {unless}."
    )


RULE = Rule(
    id="lowered-power-limit",
    title="Know what the lowered power limit costs",
    topic=Topic.DEVICE_STATE,
    priority=Priority.MEDIUM,
    kinds=(Kind.NVML,),
    why="At its power limit the GPU lowers its clocks, so its times are not those of other machines.",
    when="The power limit in force is below 99 % of the default; low where it does not hold the clocks back now. "
    "Laptops, and modules whose limit a processor shares, are left out.",
    citations=(*power_manual(), *guide("18.1.1", "16.1.1")),
    check=check,
    examples=Examples(
        fires={
            "telemetry": {
                "power_limit_watts": 500,
                "power_limit_default_watts": 700,
                "gpu_utilisation": 1.0,
                "clock_event_reasons": ["the power limit is reached"],
                "sm_clock_hz": 1_500_000_000,
                "sm_clock_max_hz": 1_980_000_000,
            }
        },
        quiet={"telemetry": {"power_limit_watts": 700, "power_limit_default_watts": 700}},
        edges=(
            {"telemetry": {"power_limit_watts": 692, "power_limit_default_watts": 700}},
            {"telemetry": {"power_limit_watts": 693, "power_limit_default_watts": 700}},
        ),
    ),
)

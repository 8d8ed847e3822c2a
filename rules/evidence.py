"""Shorter ways to write the evidence of a finding, by where its numbers come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.rules.advice import Evidence, Undecided

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.telemetry import Telemetry


def given(label: str, value: float | str, unit: str = "") -> Evidence:
    """Return evidence that the user typed."""
    return Evidence(label=label, value=value, unit=unit, source="you")


def derived(label: str, value: float | str, unit: str = "") -> Evidence:
    """Return evidence that was computed from other facts."""
    return Evidence(label=label, value=value, unit=unit, source="derived")


def profiled(label: str, value: float | str, unit: str = "") -> Evidence:
    """Return evidence that a profiler measured."""
    return Evidence(label=label, value=value, unit=unit, source="profile")


def compiler_said(label: str, value: float, unit: str = "") -> Evidence:
    """Return evidence that the compiler printed, or that its code holds."""
    return Evidence(label=label, value=value, unit=unit, source="compiler")


def traced(label: str, value: float | str, unit: str = "") -> Evidence:
    """Return evidence that a recorded run shows."""
    return Evidence(label=label, value=value, unit=unit, source="timeline")


def measured(label: str, value: float | str, unit: str = "") -> Evidence:
    """Return evidence that NVML reported."""
    return Evidence(label=label, value=value, unit=unit, source="NVML")


def logged(label: str, value: float | str, unit: str = "") -> Evidence:
    """Return evidence that the driver wrote into the kernel's log."""
    return Evidence(label=label, value=value, unit=unit, source="kernel log")


def of_device(
    device: Device, field: str, label: str, value: float | str, unit: str = ""
) -> Evidence:
    """Return evidence about *device*, with the source that the device names for *field*."""
    source = device.sources.get(field, str(device.origin))
    return Evidence(label=label, value=value, unit=unit, source=source)


def unread(telemetry: Telemetry, *names: str) -> Undecided:
    """Return that a rule cannot decide, for those of *names* that NVML did not tell.

    All of them where it told each, but nothing that can be (no memory at all).
    """
    unknown = [name for name in names if getattr(telemetry, name) is None] or names
    why = next((telemetry.reasons[name] for name in unknown if name in telemetry.reasons), "")
    return Undecided(tuple(f"telemetry.{name}" for name in unknown), why)

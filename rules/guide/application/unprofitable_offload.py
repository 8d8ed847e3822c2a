"""Work whose transfers cost more than the GPU saves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.quantity import show_bytes, show_number, show_seconds
from gpuadvise.rules.advice import PASSED, Advice, Gain, GainKind, Verdict
from gpuadvise.rules.evidence import given
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Threshold, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.application import Offload


def check(offload: Offload) -> Verdict:
    """Advise when transfers take at least the time that the kernel saves."""
    saved = offload.host_seconds - offload.kernel_seconds
    if offload.transfer_seconds < saved:
        return PASSED
    total = offload.kernel_seconds + offload.transfer_seconds
    return Advice(
        message=(
            f"The kernel takes {show_seconds(offload.kernel_seconds)} and its transfers "
            f"{show_seconds(offload.transfer_seconds)}, together {show_seconds(total)}; the host "
            f"needs {show_seconds(offload.host_seconds)}.{_intensity(offload)}"
        ),
        action=(
            "Keep the data on the device across several kernels, so that they are copied once: "
            f"with {_passes(offload)} kernels per transfer the GPU wins{_break_even(offload, saved)}."
            if saved > 0
            else "Leave this step on the host, where it is faster, or merge it with the kernels "
            "around it, so that its data are on the device already."
        ),
        evidence=(
            given("time on the host", offload.host_seconds, "s"),
            given("kernel time", offload.kernel_seconds, "s"),
            given("transfer time", offload.transfer_seconds, "s"),
        ),
        gain=_gain(offload, total),
    )


def _gain(offload: Offload, total: float) -> Gain:
    """Return what the faster of the two places wins, on the device without its transfers."""
    if offload.host_seconds > offload.kernel_seconds:
        how = "(kernel + transfers) / kernel"
        return Gain(kind=GainKind.RUN_TIME, upper_bound=total / offload.kernel_seconds, how=how)
    how = "(kernel + transfers) / time on the host"
    return Gain(kind=GainKind.RUN_TIME, upper_bound=total / offload.host_seconds, how=how)


def _passes(offload: Offload) -> int:
    return int(offload.transfer_seconds / (offload.host_seconds - offload.kernel_seconds)) + 1


def _break_even(offload: Offload, saved: float) -> str:
    """Return how much could be copied in the time that the kernel saves."""
    if offload.bytes is None:
        return ""
    most = int(offload.bytes * saved / offload.transfer_seconds)
    return f", and so it does with less than {show_bytes(most)} to copy instead of {show_bytes(offload.bytes)}"


def _intensity(offload: Offload) -> str:
    if offload.operations is None or offload.elements is None:
        return ""
    ratio = offload.operations / offload.elements
    return f" Each transferred element is used in {show_number(ratio)} operations."


RULE = Rule(
    id="unprofitable-offload",
    title="Offload work only where it pays for its transfers",
    topic=Topic.APPLICATION,
    priority=Priority.HIGH,
    kinds=(Kind.TIMING, Kind.APPLICATION),
    why="Adding two N x N matrices does one operation per three elements moved; multiplying them does N.",
    when="Transfers take at least as long as the kernel saves against the host.",
    thresholds=(
        Threshold(name="transfers / time saved", value=1, unit="", source="guide 2.2: break-even"),
    ),
    citations=guide("2.2", "2.2"),
    check=check,
    examples=Examples(
        fires={"offload": {"host_time": "10ms", "kernel_time": "1ms", "transfer_time": "20ms"}},
        quiet={"offload": {"host_time": "100ms", "kernel_time": "1ms", "transfer_time": "20ms"}},
        edges=(
            {"offload": {"host_time": "3ms", "kernel_time": "1ms", "transfer_time": "2ms"}},
            {"offload": {"host_time": "3ms", "kernel_time": "1ms", "transfer_time": "1.9ms"}},
        ),
    ),
)

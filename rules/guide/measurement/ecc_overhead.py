"""Error correction that costs bandwidth on GDDR memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.memory.bandwidth import ECC_FACTOR_GDDR, is_gddr
from gpuadvise.advisor.quantity import show_rate
from gpuadvise.rules.advice import PASSED, Advice, Gain, GainKind, Verdict, undecided
from gpuadvise.rules.evidence import measured, of_device, unread
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.telemetry import Telemetry


def check(device: Device, telemetry: Telemetry, memory_bandwidth: float) -> Verdict:
    """Advise when ECC is on and the memory is GDDR."""
    if device.memory_type is not None and not is_gddr(device):
        return PASSED
    if telemetry.ecc_enabled is None:
        return unread(telemetry, "ecc_enabled")
    if not telemetry.ecc_enabled:
        return PASSED
    if device.memory_type is None:
        return undecided("device.memory_type")
    left = memory_bandwidth * ECC_FACTOR_GDDR
    return Advice(
        message=(
            f"ECC is on, and {device.name} has {device.memory_type}: about {show_rate(left)} of "
            f"the theoretical {show_rate(memory_bandwidth)} can be reached."
        ),
        action=(
            f"Compare measured rates with {show_rate(left)}. Switch ECC off (nvidia-smi -e 0, "
            "then reboot) only where a wrong bit does no harm."
        ),
        evidence=(
            measured("ECC enabled", "yes"),
            of_device(
                device, "memory_bandwidth", "theoretical bandwidth", memory_bandwidth, "bytes/s"
            ),
        ),
        gain=Gain(kind=GainKind.BANDWIDTH, upper_bound=1 / ECC_FACTOR_GDDR, how="1 / (1 - 20 %)"),
    )


RULE = Rule(
    id="ecc-overhead",
    title="Expect less bandwidth with ECC on GDDR",
    topic=Topic.MEASUREMENT,
    priority=Priority.LOW,
    kinds=(Kind.DEVICE, Kind.NVML),
    why="GDDR keeps its check bits in the same memory, so reading them takes bandwidth; HBM does not.",
    when="ECC is enabled on a GPU with GDDR memory.",
    citations=guide("9.2.1", "8.2.1"),
    check=check,
    examples=Examples(
        fires={"gpu": "a40", "telemetry": {"ecc_enabled": True}},
        quiet={"gpu": "h200", "telemetry": {"ecc_enabled": True}},
    ),
)

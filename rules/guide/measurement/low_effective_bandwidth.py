"""A kernel that moves its data far below the bandwidth of the device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.busy import busy
from gpuadvise.advisor.memory.bandwidth import attainable_with_ecc
from gpuadvise.advisor.quantity import show_number, show_rate, show_seconds, show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Gain, GainKind, Verdict
from gpuadvise.rules.evidence import derived, of_device
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide
from gpuadvise.rules.thresholds import STARTING

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.timing import Traffic, Work

POOR = number(
    0.6, "poor", "share", "bands of `gpuadvise bandwidth`: below 40 % bad, 60 % poor, 80 % fair"
)
BAD = number(
    0.4,
    "bad",
    "share",
    "the same bands: from here on a good copy is at most twice as fast",
    LaunchSet.FIFTH,
)


def check(
    device: Device,
    traffic: Traffic,
    memory_bandwidth: float,
    concurrent: bool | None = None,
    profile: KernelProfile | None = None,
    work: Work | None = None,
) -> Verdict:
    """Advise when effective bandwidth is below 60 % and no compute unit is known to be busy."""
    most = attainable_with_ecc(device, memory_bandwidth)
    ratio, moved = traffic.rate / most, traffic.read_bytes + traffic.written_bytes
    if concurrent or moved / most < STARTING:
        return PASSED
    if ratio >= POOR or busy(profile, device=device, work=work):
        return PASSED
    return Advice(
        message=(
            f"The kernel moves {_size(moved)} in {show_seconds(traffic.seconds)}: {show_rate(traffic.rate)}, "
            f"{show_share(ratio)} of the {show_rate(most)} of {device.name}. "
            "Copies reach 85 % to 92 %."
        ),
        action=(
            "Look for the gap in this order: accesses that do not coalesce (gpuadvise access), "
            "too few warps or blocks in flight (gpuadvise occupancy), words narrower than 16 "
            "bytes, too little work per launch."
        ),
        evidence=(
            derived("effective bandwidth", traffic.rate, "bytes/s"),
            of_device(
                device, "memory_bandwidth", "theoretical bandwidth", memory_bandwidth, "bytes/s"
            ),
            derived("effective / attainable", ratio, "share"),
        ),
        gain=Gain(
            kind=GainKind.KERNEL_TIME,
            upper_bound=1 / ratio,
            how="theoretical / effective bandwidth",
        ),
        priority=None if ratio < BAD else Priority.MEDIUM,
    )


def _size(count: int) -> str:
    """Return *count* bytes in powers of 1000, as rates are given."""
    return f"{show_number(count / 1e9)} GB" if count >= 1e9 else f"{show_number(count / 1e6)} MB"


RULE = Rule(
    id="low-effective-bandwidth",
    title="Raise effective bandwidth",
    topic=Topic.MEASUREMENT,
    priority=Priority.HIGH,
    kinds=(Kind.TIMING, Kind.DEVICE),
    recommendation=True,
    why="A kernel that only moves data is as good as its share of the theoretical bandwidth.",
    when=(
        "Bytes read and written per second are below 60 % of the theoretical bandwidth (medium from 40 % on), nothing "
        "runs beside the kernel, and no compute unit is known to be busy."
    ),
    citations=guide("9.2", "8.2"),
    check=check,
    examples=Examples(
        fires={"gpu": "h200", "traffic": {"read": "1GB", "write": "1GB", "time": "2ms"}},
        quiet={"gpu": "h200", "traffic": {"read": "1GB", "write": "1GB", "time": "480us"}},
        edges=(
            {"gpu": "h200", "traffic": {"read": "1GB", "write": "1GB", "time": "693us"}},
            {"gpu": "h200", "traffic": {"read": "1GB", "write": "1GB", "time": "692us"}},
        ),
    ),
)

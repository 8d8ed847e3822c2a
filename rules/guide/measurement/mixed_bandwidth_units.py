"""Bandwidth figures that cannot be: impossible, or off by a power of 1.024."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.quantity import show_rate
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.advice import PASSED, Advice, Verdict, undecided
from gpuadvise.rules.evidence import derived, given
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.timing import Traffic

CLOSE = number(0.005, "agreement", "share", "well below the 2.4 % between two powers")
_NAMES = {1: "kilo", 2: "mega", 3: "giga", 4: "tera"}


def check(
    traffic: Traffic, memory_bandwidth: float | None = None, device: Device | None = None
) -> Verdict:
    """Advise when a rate was divided by powers of 1024, or exceeds what the memory can do."""
    power = _binary_power(traffic)
    if power:
        return _mixed(traffic, power)
    if memory_bandwidth is None and traffic.reported_rate is None:
        return undecided(
            "traffic.reported_rate", why="Give the rate that was reported, or name the GPU."
        )
    if memory_bandwidth is None or (device and _cached(traffic, device)):
        return PASSED
    if traffic.rate > memory_bandwidth:
        return _impossible(traffic, memory_bandwidth)
    return PASSED


def _binary_power(traffic: Traffic) -> int | None:
    if traffic.reported_rate is None:
        return None
    ratio = traffic.rate / traffic.reported_rate
    for power in _NAMES:
        for wanted in (1.024**power, 1.024**-power):
            if abs(ratio / wanted - 1) < CLOSE:
                return power
    return None


def _cached(traffic: Traffic, device: Device) -> bool:
    """Return whether L2 can hold it all: then no byte needs to come from device memory."""
    return traffic.read_bytes + traffic.written_bytes <= (device.l2_bytes or 0)


def _mixed(traffic: Traffic, power: int) -> Advice:
    reported = traffic.reported_rate or 0.0
    prefix = _NAMES[power]
    return Advice(
        message=(
            f"{show_rate(reported)} was reported, but the bytes and the time give "
            f"{show_rate(traffic.rate)}: a factor of {1.024**power:.4f}, which is 1024^{power} / "
            f"1000^{power}."
        ),
        action=(
            f"Divide by 10^{3 * power} for {prefix}bytes and by 2^{10 * power} for "
            f"{prefix[:2]}bibytes, write the unit beside the figure, and compare like with like: "
            "data sheets use powers of 1000."
        ),
        evidence=(
            given("reported rate", reported, "bytes/s"),
            derived("rate from bytes and time", traffic.rate, "bytes/s"),
        ),
    )


def _impossible(traffic: Traffic, most: float) -> Advice:
    return Advice(
        message=(
            f"{show_rate(traffic.rate)} from the given bytes and time is more than the "
            f"{show_rate(most)} that the memory can move."
        ),
        action=(
            "Check the bytes (count what reaches device memory, not what a cache serves), the "
            "unit of the time, and that the timer stops only after the kernel has finished."
        ),
        evidence=(
            derived("rate from bytes and time", traffic.rate, "bytes/s"),
            derived("theoretical bandwidth", most, "bytes/s"),
        ),
    )


RULE = Rule(
    id="mixed-bandwidth-units",
    title="Use one unit for bandwidth",
    topic=Topic.MEASUREMENT,
    priority=Priority.MEDIUM,
    kinds=(Kind.TIMING, Kind.DEVICE),
    why="A wrong unit or count spoils every comparison: 177.6 GB/s and 165.4 GiB/s are the same rate.",
    when=(
        "A reported rate differs from bytes / time by a power of 1.024 (within 0.5 %), or bytes / "
        "time exceed the theoretical bandwidth although they do not fit in L2."
    ),
    correctness=True,
    citations=guide("9.2.1", "8.2.1"),
    check=check,
    examples=Examples(
        fires={
            "gpu": "m2090",
            "traffic": {
                "read": "88.8GB",
                "write": "88.8GB",
                "time": "1s",
                "reported_rate": "165.4GB/s",
            },
        },
        quiet={
            "gpu": "h200",
            "traffic": {"read": "1GB", "write": "1GB", "time": "1ms", "reported_rate": "2TB/s"},
        },
        edges=(
            {"gpu": "h200", "traffic": {"read": "2.5GB", "write": "2.5GB", "time": "1ms"}},
            {"gpu": "h200", "traffic": {"read": "2.4GB", "write": "2.4GB", "time": "1ms"}},
        ),
    ),
)

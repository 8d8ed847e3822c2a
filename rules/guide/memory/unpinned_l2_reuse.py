"""Data read again and again that L2 does not keep."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.quantity import show_bytes
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Verdict
from gpuadvise.rules.evidence import given, of_device
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.application import HotRegion

FIRST = number(8, "first capability with L2 windows", "", "guide 10.2.2")
LARGEST_WINDOW = number(
    134_217_728, "largest accessPolicyWindow", "bytes", "attribute of an H200", LaunchSet.RECORDED
)


def check(device: Device, hot_region: HotRegion, persisting_l2: int) -> Verdict:
    """Advise an access-policy window for a region that is read more than once."""
    known = device.capability.major >= FIRST and persisting_l2
    if hot_region.pinned or hot_region.passes <= 1 or not known:
        return PASSED
    if hot_region.bytes > LARGEST_WINDOW:
        return PASSED  # no window covers it, and next to nothing of it would stay
    streamed, l2 = hot_region.streamed_bytes, device.l2_bytes
    if streamed is not None and l2 is not None and hot_region.bytes + streamed <= l2:
        return PASSED  # nothing pushes it out
    ratio = min(1.0, persisting_l2 / hot_region.bytes)
    return Advice(
        message=(
            f"{show_bytes(hot_region.bytes)} are read {hot_region.passes:g} times; {device.name} "
            f"can set {show_bytes(persisting_l2)} of L2 aside for such data."
        ),
        action=(
            f"Call cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, {persisting_l2}) and set an "
            f"accessPolicyWindow of {hot_region.bytes} bytes with hitRatio {ratio:.2g} on the "
            "stream; reset it afterwards with cudaCtxResetPersistingL2Cache()."
        ),
        evidence=(
            given("region", hot_region.bytes, "bytes"),
            given("passes", hot_region.passes, "passes"),
            of_device(device, "persisting_l2_bytes", "persisting L2", persisting_l2, "bytes"),
        ),
    )


RULE = Rule(
    id="unpinned-l2-reuse",
    title="Keep reused data in L2",
    topic=Topic.MEMORY,
    priority=Priority.LOW,
    kinds=(Kind.DEVICE, Kind.APPLICATION),
    why="Streaming traffic pushes reused data out of L2 unless a part of it is set aside for them.",
    when="A region is read more than once, without an access-policy window, on compute capability 8.0 or later.",
    citations=guide("10.2.2"),
    check=check,
    examples=Examples(
        fires={
            "gpu": "h200",
            "persisting_l2": 39_321_600,
            "hot_region": {"bytes": "30MiB", "passes": 10},
        },
        quiet={
            "gpu": "h200",
            "persisting_l2": 39_321_600,
            "hot_region": {"bytes": "30MiB", "passes": 10, "pinned": True},
        },
        edges=(
            {
                "gpu": "a100-sxm4-80",
                "persisting_l2": 31_457_280,
                "hot_region": {"bytes": "30MiB", "passes": 2},
            },
            {
                "gpu": "v100-sxm2-32",
                "persisting_l2": 31_457_280,
                "hot_region": {"bytes": "30MiB", "passes": 2},
            },
        ),
    ),
)

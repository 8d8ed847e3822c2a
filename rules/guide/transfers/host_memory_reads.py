"""Host memory that a profiled kernel reads over the link: mapped, or managed and not moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.beyond_device import reads_beyond_device_memory
from gpuadvise.advisor.memory.transactions import SECTOR
from gpuadvise.advisor.quantity import show_bytes, show_number, show_rate, show_seconds, show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Gain, GainKind, Verdict, undecided
from gpuadvise.rules.evidence import derived, profiled
from gpuadvise.rules.gain_bounds import EMPTY
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile

LEAST = number(
    250_000,
    "bytes that come from the host's memory",
    "bytes",
    "our judgement: PCIe 5 moves them in 5 us",
    LaunchSet.NINTH,
)
MOSTLY = number(
    0.5,
    "bytes of the host's among those that the caches load",
    "share",
    "our judgement; of 1,700 recorded launches one reads any, and all of its bytes",
    LaunchSet.NINTH,
)


def check(profile: KernelProfile) -> Verdict:
    """Advise when most of what a kernel loads comes from the memory of the host."""
    if profile.seconds is None:
        return undecided("profile.time")
    if reads_beyond_device_memory(profile):
        return _unseen(profile, profile.seconds)
    if profile.host_sectors_read is None:
        return undecided("profile.host_sectors_read")
    size, seconds = profile.host_sectors_read * SECTOR, profile.seconds
    loaded = size + (profile.dram_read or 0.0)
    if size < LEAST or size < MOSTLY * loaded:
        return PASSED
    return Advice(
        message=(
            f"{show_bytes(round(size))}, {show_share(size / loaded)} of what the kernel's caches load, come from the host's "
            f"memory, over the link, at {show_rate(size / seconds)}: mapped memory, or managed memory that was not moved."
        ),
        action=_COPY,
        evidence=(
            profiled("bytes read from the host's memory", size, "bytes"),
            derived("of what the caches load", size / loaded, "share"),
            profiled("time of the launch", seconds, "s"),
        ),
        gain=_to_an_empty_kernel(seconds),
    )


_COPY = (
    "Copy them to device memory before the kernel (cudaMemcpyAsync from pinned memory; cudaMemPrefetchAsync for managed "
    "memory) and read them there. The copy takes about as long as reading them once, so it pays where they are read "
    "again, by this kernel or a later one, or where it runs beside other work."
)


def _unseen(profile: KernelProfile, seconds: float) -> Advice:
    hits, wait = profile.l2_hit_rate or 0.0, profile.warp_latency or 0.0
    return Advice(
        message=(
            f"L2 has {show_share(hits)} of what it is asked for, and device memory moves {show_bytes(round(profile.dram_bytes or 0))}: "
            f"the rest comes from elsewhere, as reads of the host's memory do, and a warp waits {show_number(wait)} cycles per "
            "instruction. This page does not count them; the raw page does."
        ),
        action=_COPY,
        evidence=(
            profiled("hits in L2", hits, "share"),
            profiled("bytes of device memory", profile.dram_bytes or 0.0, "bytes"),
            profiled("cycles between two instructions of a warp", wait, "cycles"),
        ),
        gain=_to_an_empty_kernel(seconds),
    )


def _to_an_empty_kernel(seconds: float) -> Gain:
    return Gain(
        kind=GainKind.KERNEL_TIME,
        upper_bound=max(1.0, seconds / EMPTY),
        how=f"{show_seconds(seconds)} / about {show_seconds(EMPTY)}, the time of an empty kernel",
    )


def _reading(sectors: float, dram: float = 0) -> dict[str, object]:
    return {
        "gpu": "h200",
        "profile": {"time": "85us", "host_sectors_read": sectors, "dram_read": dram},
    }


RULE = Rule(
    id="host-memory-reads",
    title="Copy to device memory what a kernel reads from the host",
    topic=Topic.TRANSFERS,
    priority=Priority.MEDIUM,
    kinds=(Kind.PROFILE,),
    why="The link moves a hundredth of what device memory does, and each read waits for it.",
    when=(
        "In a report with all metrics 250 kB or more, and half or more of what the caches load, come from the host's memory. "
        "On a page that does not count them: L2 lacks a tenth or more, device memory is still, and warps wait 1,000 cycles per instruction, for loads."
    ),
    citations=guide("10.1.3", "9.1.3"),
    check=check,
    examples=Examples(
        fires=_reading(131_072),
        quiet=_reading(0, 4e6),
        edges=(_reading(7_813), _reading(7_812)),
    ),
)

"""Managed memory that reaches the device page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.managed_savings import FIRST_FAULTS, lost_to_taking_back
from gpuadvise.advisor.quantity import show_bytes
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.advice import PASSED, Advice, Gain, Verdict, undecided
from gpuadvise.rules.evidence import given, of_device, traced
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import programming_guide
from gpuadvise.rules.traced import span_gain

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.application import Managed
    from gpuadvise.advisor.facts.timeline import TracedRun

_MUCH_TAKEN_BACK = number(
    0.1,
    "time that faults of the host on managed memory take at most, of more than low priority",
    "s",
    "our judgement: a thousand faults; less is a look at a result",
)


def check(
    managed: Managed, device: Device | None = None, timeline: TracedRun | None = None
) -> Verdict:
    """Advise where managed memory faults page by page, or does not fit the device."""
    if device is not None and device.memory_bytes and managed.bytes > device.memory_bytes:
        return _oversubscribed(managed, device, device.memory_bytes)
    if device is not None and device.integrated:
        return PASSED  # one memory: nothing moves
    if managed.taken_back and (managed.prefetched or managed.advised):
        return _taken_back(managed, timeline)
    if managed.prefetched or managed.advised:
        fits = device is not None and device.memory_bytes
        return PASSED if fits else undecided("device.memory_bytes")
    if device is not None and device.capability.major < FIRST_FAULTS:
        return PASSED  # the driver moves everything before each launch
    coherent = device is not None and device.coherent_host_memory
    return _coherent(managed) if coherent else _faulting(managed, timeline)


def _faulting(managed: Managed, timeline: TracedRun | None) -> Advice:
    return Advice(
        message=(
            f"{show_bytes(managed.bytes)} of managed memory are used without a prefetch or an "
            "advice: the kernel's first touch of each page stops and fetches it."
        ),
        action=(
            "Call cudaMemPrefetchAsync(ptr, bytes, device, stream) before the launch, and back to "
            "the host after it; for data that are only read add cudaMemAdvise "
            "with cudaMemAdviseSetReadMostly."
        ),
        evidence=(
            (given if timeline is None else traced)("managed memory", managed.bytes, "bytes"),
        ),
        gain=None if timeline is None else _gain(timeline),
    )


def _taken_back(managed: Managed, timeline: TracedRun | None) -> Advice:
    """Advise on a program that prefetches one way only."""
    counted = managed.taken_back_seconds
    return Advice(
        message=(
            f"{show_bytes(managed.taken_back)} of managed memory come back page by page: the host's first touch "
            "of each page stops and fetches it."
        ),
        action=(
            "Call cudaMemPrefetchAsync(ptr, bytes, cudaCpuDeviceId, stream) behind the last kernel, and wait for "
            "the stream before the host reads; or copy what it needs with cudaMemcpyAsync."
        ),
        evidence=(
            (given if timeline is None else traced)("taken back", managed.taken_back, "bytes"),
        ),
        gain=None
        if timeline is None
        else span_gain(
            timeline, lost_to_taking_back(managed, timeline), "idle time that its faults take"
        ),
        priority=Priority.MEDIUM if counted and counted >= _MUCH_TAKEN_BACK else Priority.LOW,
    )


def _gain(timeline: TracedRun) -> Gain:
    how = "kernels' time beyond that of the bytes on the link"
    return span_gain(timeline, timeline.migration_seconds, how)


def _coherent(managed: Managed) -> Advice:
    return Advice(
        message=(
            f"{show_bytes(managed.bytes)} of managed memory are used without a prefetch: this GPU reads "
            "the host's memory in place, at the rate of the link, until pages have moved."
        ),
        action=(
            "For data that are read more than once call cudaMemPrefetchAsync(ptr, bytes, device, stream) "
            "before the launch; leave what is read once where it is."
        ),
        evidence=(given("managed memory", managed.bytes, "bytes"),),
        priority=Priority.LOW,
    )


# What becomes of managed memory that the device has no room for, and what to do.
_FAILS = (
    "more than can be allocated there",
    "Work in tiles that fit, copied with cudaMemcpyAsync: cudaMallocManaged of more than the memory fails on this "
    "GPU, which takes no page faults and knows no prefetch.",
)
_SHARED = (
    "more than the host and the GPU share",
    "Work in tiles that fit: host and GPU have one memory here, and there is no other to move pages to.",
)
_STAYS = (
    "which stay in the memory of the host and are read there at the rate of the link",
    "Say which: cudaMemPrefetchAsync what is read often before the launch, and keep what is read once on the host "
    "with cudaMemAdviseSetPreferredLocation.",
)
_PUSHED_OUT = (
    "so that pages push each other out",
    "Work in tiles that fit: cudaMemPrefetchAsync the next tile while the present one is computed, "
    "and let data that are read once stay on the host with cudaMemAdviseSetPreferredLocation. "
    "Prefetching 1 range larger than the memory only moves it twice.",
)


def _fate(device: Device) -> tuple[str, str]:
    if device.integrated:
        return _SHARED
    if device.capability.major < FIRST_FAULTS:
        return _FAILS
    return _STAYS if device.coherent_host_memory else _PUSHED_OUT


def _oversubscribed(managed: Managed, device: Device, memory: int) -> Advice:
    fate, action = _fate(device)
    return Advice(
        message=(
            f"{show_bytes(managed.bytes)} of managed memory for the {show_bytes(memory)} of {device.name}: "
            f"{show_bytes(managed.bytes - memory)} too many, {fate}."
        ),
        action=action,
        broken=fate in (_FAILS[0], _SHARED[0]),
        evidence=(
            given("managed memory", managed.bytes, "bytes"),
            of_device(device, "memory_bytes", "device memory", memory, "bytes"),
        ),
        reasoned=fate in (_FAILS[0], _SHARED[0]),  # nothing faults there, and nothing is prefetched
    )


RULE = Rule(
    id="unprefetched-managed-memory",
    title="Prefetch managed memory",
    topic=Topic.TRANSFERS,
    priority=Priority.MEDIUM,
    kinds=(Kind.APPLICATION, Kind.SOURCE),
    why="A page fault costs tens of microseconds, and a prefetch moves the same data at the rate of the link.",
    when=(
        "Managed memory is used with neither cudaMemPrefetchAsync nor cudaMemAdvise (low where the GPU "
        "reads host memory coherently, or where only the host takes pages back one by one, medium where that takes up to a tenth of a second or more; not on integrated GPUs, nor before compute capability 6.0), or there "
        "is more of it than device memory, which fails on those two."
    ),
    citations=(programming_guide("Unified Memory Programming"),),
    check=check,
    examples=Examples(
        fires={"managed": {"bytes": "2GiB", "prefetched": False}},
        quiet={"gpu": "h200", "managed": {"bytes": "2GiB", "prefetched": True}},
        edges=(
            {"gpu": "h200", "managed": {"bytes": "200GB", "prefetched": True}},
            {"gpu": "h200", "managed": {"bytes": "100GB", "prefetched": True}},
        ),
    ),
)

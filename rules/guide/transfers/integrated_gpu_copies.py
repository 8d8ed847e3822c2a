"""Copies on a GPU that shares its memory with the host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.device import Origin
from gpuadvise.advisor.facts.timing import HostMemory
from gpuadvise.advisor.prose import capitalized
from gpuadvise.advisor.quantity import show_bytes
from gpuadvise.rules.advice import PASSED, Advice, Verdict, undecided
from gpuadvise.rules.evidence import given, of_device
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.timing import Transfer

_COPIED = (None, HostMemory.PAGEABLE, HostMemory.PINNED)


def check(device: Device, transfers: tuple[Transfer, ...]) -> Verdict:
    """Advise when an integrated GPU copies data that it could read in place."""
    copied = sum(copy.bytes * copy.count for copy in transfers if copy.memory in _COPIED)
    if copied and device.integrated is None and device.origin is Origin.CAPABILITY:
        return undecided("device.integrated")
    if not device.integrated or not copied:
        return PASSED
    return Advice(
        message=(
            f"{capitalized(device.name)} shares its memory with the host, and {show_bytes(copied)} are copied "
            "within it."
        ),
        action=(
            "Allocate by cudaHostAlloc with cudaHostAllocMapped and let kernels use "
            "cudaHostGetDevicePointer(), or use managed memory: no copy is needed."
        ),
        evidence=(
            given("bytes copied", copied, "bytes"),
            of_device(device, "integrated", "integrated GPU", "yes"),
        ),
    )


RULE = Rule(
    id="integrated-gpu-copies",
    title="Use zero-copy on integrated GPUs",
    topic=Topic.TRANSFERS,
    priority=Priority.LOW,
    kinds=(Kind.DEVICE, Kind.TIMING),
    recommendation=True,
    why="Host and device see the same memory, so every copy only moves data to where they already are.",
    when="The GPU is integrated and data are copied explicitly.",
    citations=guide("10.1.3", "9.1.3"),
    check=check,
    examples=Examples(
        fires={"gpu": "jetson-agx-orin-64", "transfers": [{"direction": "h2d", "bytes": "64MiB"}]},
        quiet={"gpu": "h200", "transfers": [{"direction": "h2d", "bytes": "64MiB"}]},
    ),
)

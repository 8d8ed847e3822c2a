"""The device of an answer: which it is, and how JSON and text name it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.errors import Unavailable
from gpuadvise.advisor.prose import inert

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.gpu import Gpu

_SHOWN = ("sm_count", "sm_clock_hz", "memory_bytes", "memory_bandwidth")


def source_words(source: str) -> str:
    """Return where a number comes from as a person reads it; JSON says ``you`` for what was typed."""
    return "your input" if source == "you" else source


def device_block(device: Device) -> dict[str, Any]:
    """Return the ``device`` object of an answer: identity and the facts most answers rest on.

    Base units; ``gpuadvise device`` gives every field.
    """
    names = ("compute_capability", *_SHOWN)
    sources = {**device.sources, "compute_capability": device.sources.get("capability")}
    return {
        "name": device.name,
        "catalogue_id": device.id,
        "compute_capability": str(device.capability),
        "origin": str(device.origin),
        "extrapolated": device.extrapolated,
        **{name: getattr(device, name) for name in _SHOWN},
        "sources": {name: sources[name] for name in names if sources.get(name)},
        "reasons": {name: device.reasons[name] for name in names if name in device.reasons},
    }


def device_line(device: Device) -> str:
    """Return *device* as people read it: ``NVIDIA H200 (compute capability 9.0, live)``."""
    named = f"compute capability {device.capability}"
    if device.name == named:
        return named
    return f"{device.name} ({named}, {device.origin})"


def live_gpu(device: str | None) -> Gpu:
    """Return the GPU of this machine that *device* names; raises Unavailable where there is none."""
    from gpuadvise.advisor.backends.choose import Depth, choose

    choice = choose(
        device=device,
        depth=Depth.TELEMETRY,  # the CUDA driver's numbers of the GPUs, and who else uses them
        environ={k: v for k, v in os.environ.items() if k != "GPUADVISE_GPU"},
    )
    if choice.gpu is None:
        raise Unavailable(
            "Measuring needs a live GPU, and this machine has none that a program can use.",
            hint="gpuadvise bandwidth, access, overlap and roofline predict without one.",
        )
    return choice.gpu


def cuda_ordinal(gpu: Gpu) -> int:
    """Return CUDA's number of *gpu*; raises Unavailable where a program cannot use it."""
    ordinal = gpu.identity.cuda_index
    if ordinal is None:
        raise Unavailable(
            f"CUDA programs started here cannot use {inert(gpu.device.name)}.",
            hint="CUDA_VISIBLE_DEVICES or MIG may hide it: gpuadvise device --all says more.",
        )
    return ordinal

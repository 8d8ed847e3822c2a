"""A claimed time held against the roof of a GPU."""

from __future__ import annotations

import gpuadvise
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.quantity import show_seconds, show_share

# Timers and clocks vary by a few per cent.
_IMPOSSIBLE = 1.05
_AT_THE_ROOF = 0.8
_PLAUSIBLE = 0.3


def verdict(*, time: str, flops: str, bytes: str, dtype: str, gpu: str) -> str:
    """Return whether a kernel of *flops* operations and *bytes* of device memory can take *time*.

    Either of the two may be empty; raises GpuAdviseError without both.
    """
    if not flops and not bytes:
        raise BadInput(
            "Nothing says what the kernel has to do.", hint="Give flops, bytes, or both."
        )
    answer = gpuadvise.roofline(
        flops=flops or "1", bytes=bytes or "1", time=time, dtype=dtype or None, gpu=gpu or None
    )
    (kernel, *_) = answer.result.kernels
    name = answer.device.name if answer.device else "the GPU"
    least, share = kernel.least_seconds, kernel.share or 0.0
    roof = "its memory" if kernel.bound == "memory" else f"its {kernel.unit} peak"
    text = (
        f"{_word(share)}: the roof of {name} ({roof}) allows {show_seconds(least)} at best; "
        f"{show_seconds(kernel.seconds or 0.0)} is {show_share(share)} of that rate."
    )
    return "\n".join([text, *_remarks(share, bytes)])


def _word(share: float) -> str:
    if share > _IMPOSSIBLE:
        return "Impossible"
    if share >= _AT_THE_ROOF:
        return "At the roof"
    return "Plausible" if share >= _PLAUSIBLE else "Slow"


def _remarks(share: float, bytes: str) -> list[str]:
    if share > _IMPOSSIBLE:
        return [
            "Look for: work that was skipped or cached, a timer that did not wait for the GPU "
            "(synchronise before both readings), another dtype than named, sparsity, or bytes that "
            "stayed in L2 between runs."
        ]
    if share < _PLAUSIBLE:
        return ["More than three times the least time: next_command says what to record."]
    if share >= _AT_THE_ROOF:
        return ["Only fewer bytes or operations make it faster."]
    return [] if bytes else ["Bytes were not given: memory may allow less than the peak does."]

"""Idle time of a recorded run by its cause: what the host does meanwhile, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.timeline import IdleCause


@dataclass(frozen=True, slots=True)
class IdleAction:
    """What the host did in idle time of one cause, and what to do about it; whether it was in a call."""

    meanwhile: str
    action: str
    in_call: bool = False
    by_program: bool = True


_PREPARE = (
    "Give the GPU more work at a time: larger batches, fewer and fused kernels "
    "(torch.compile(), jax.jit), a CUDA graph where shapes stay; and do the rest of the host's work "
    "beside it, in another thread or process."
)
IDLE_TIMES = {
    "host-work": IdleAction("the host works between two launches", _PREPARE),
    "launch": IdleAction("the next kernel is launched, or begins", _PREPARE),
    "profiler": IdleAction(
        "recording holds the host up, as it does at each launch",
        "Time the program without the profiler before you change it: much of this may not be "
        "there. Record less: no record_shapes, no with_stack, or Nsight Systems.",
        by_program=False,
    ),
    "synchronization": IdleAction(
        "the host waits in a call, for another GPU or stream too, or gives work again after a wait",
        "Wait less often: queue what comes next before the wait, and read results of several steps "
        "at once.",
        in_call=True,
    ),
    "queued": IdleAction(
        "the host waits for work that it had queued and that does not begin",
        "Look for what was not recorded: other processes on this GPU, other GPUs or ranks that this one "
        "waits for, kernels that the recorder left out. Record all ranks, and the whole system "
        "(nsys profile --gpu-metrics-devices=all).",
        in_call=True,
        by_program=False,
    ),
    "copy": IdleAction(
        "the host is inside of calls that copy",
        "Copy small results at once instead of one by one, from and to pinned memory, with "
        "cudaMemcpyAsync() (non_blocking=True) in a stream of their own, and look at them a step later.",
        in_call=True,
    ),
    "allocation": IdleAction(
        "the host allocates or frees memory",
        "Allocate before the loop and reuse, or from a pool that keeps its memory.",
        in_call=True,
    ),
    "other-call": IdleAction(
        "the host is inside of other calls of CUDA",
        "Create streams, events, graphs and handles once, before the loop.",
        in_call=True,
    ),
}


def in_pytorch(cause: IdleCause | None, *, calls: bool | None = None) -> str:
    """Return what to do in PyTorch: workers only for a loader that has none. Nothing where none of it *calls*."""
    if calls is False:
        return ""
    if cause is not None and cause.communicates:
        return (
            "In PyTorch: the backend nccl for tensors of the GPU, gloo only for what lies on the host; asynchronous "
            "collectives (async_op=True), and fewer, larger ones. "
        )
    if cause is not None and cause.loader == "files":
        return "Read the next part on a thread meanwhile, in large pieces, as binary data. "
    if cause is not None and cause.loader == "workers":
        return (
            "In PyTorch: the loader has workers already, and they are too slow: more of them, "
            "prefetch_factor, or less work for each sample (decoded once, resized on the GPU). "
        )
    workers = ""
    if cause is not None and cause.loader == "itself":
        workers = "DataLoader(num_workers=4, prefetch_factor=2, persistent_workers=True), "
    return f"In PyTorch: {workers}no torch.cuda.synchronize() before it. "

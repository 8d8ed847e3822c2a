"""What a staging needs, and when there is something better than staging."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.quantity import show_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.transfers.link_model import LinkModel
    from gpuadvise.advisor.transfers.overlap import Overlap
    from gpuadvise.advisor.transfers.work import Work


def remarks(device: Device, work: Work, model: LinkModel, found: Overlap) -> list[str]:
    """Return the sentences that belong to the prediction, the most important first."""
    return [*_shared_memory(device, work, found), *_obstacles(work, model), *_gain(found)]


def _shared_memory(device: Device, work: Work, found: Overlap) -> Iterator[str]:
    copies = found.sequential - work.kernel_seconds
    if device.integrated:
        yield (
            "Host and device share one memory: map pinned memory (cudaHostAlloc with "
            "cudaHostAllocMapped) and leave the copies out altogether, which saves up to "
            f"{show_seconds(copies)}."
        )
    elif device.coherent_host_memory:
        yield (
            "The device reads the host's pages directly over a coherent link: data that are "
            "read once need no copy, and pageable memory is no obstacle to that."
        )


def _obstacles(work: Work, model: LinkModel) -> Iterator[str]:
    if work.pageable:
        yield "Pageable copies block the host and overlap with nothing: allocate pinned memory."
    elif model.engines == 0:
        yield "This device has no engine that copies while kernels run (asyncEngineCount 0)."
    elif model.engines == 1 and _both(work):
        yield "One engine copies both ways in turn (asyncEngineCount 1)."


def _gain(found: Overlap) -> Iterator[str]:
    if found.worthwhile:
        yield "Needed: pinned memory, one non-blocking stream per piece, cudaMemcpyAsync."
    else:
        yield "Staging saves less than 5 %: it is not worth the code."


def _both(work: Work) -> bool:
    h2d, d2h = work.h2d_bytes or work.h2d_seconds, work.d2h_bytes or work.d2h_seconds
    return bool(h2d and d2h)

"""Copies between host and device, and within the device, by size."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from gpuadvise.advisor.backends.measure.calls import call
from gpuadvise.advisor.backends.measure.session import fill
from gpuadvise.advisor.backends.measure.timing import WARM_UPS
from gpuadvise.advisor.measurement import Sample, sample
from gpuadvise.advisor.transfers.links import default_link_model

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gpuadvise.advisor.backends.measure.session import Session
    from gpuadvise.advisor.device import Device

KIB = 1024
SIZES = tuple(KIB * 4**power for power in range(11))  # 1 KiB to 1 GiB
QUICK_SIZES = tuple(KIB * 16**power for power in range(5))  # 1 KiB to 64 MiB
# Copies go up to this, so that the host need not pin more than it can spare.
PAGEABLE_LARGEST = 256 << 20


class CopyKind(StrEnum):
    """What is copied where, from which kind of host memory."""

    PINNED_H2D = "pinned h2d"
    PINNED_D2H = "pinned d2h"
    PINNED_BOTH = "pinned both"  # both directions at once
    PAGEABLE_H2D = "pageable h2d"
    PAGEABLE_D2H = "pageable d2h"
    D2D = "d2d"


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """Copies of *bytes* each; *moved* counts both directions, or a read and a write."""

    kind: CopyKind
    bytes: int
    moved: int
    seconds: Sample

    @property
    def rate(self) -> float:
        """Bytes per second of the median."""
        return self.moved / self.seconds.median


def sizes(*, quick: bool, free_bytes: int) -> tuple[int, ...]:
    """Return the sizes to copy: two buffers of each must fit half the free memory."""
    wanted = QUICK_SIZES if quick else SIZES
    return tuple(size for size in wanted if 4 * size <= free_bytes)


def repeats(size: int, *, quick: bool) -> int:
    """Return how often a copy of *size* bytes is repeated: small ones vary more."""
    often, rarely = (10, 3) if quick else (40, 7)
    return often if size <= 1 << 20 else rarely


def measure_copies(session: Session, *, quick: bool = False) -> Iterator[Copy]:
    """Yield copies of every kind and size, small ones first; device events time them.

    Pageable copies are timed by the host's clock: they return when the host may go on.
    """
    for size in sizes(quick=quick, free_bytes=session.free_bytes()):
        with session.scope():
            yield from _pinned(session, size, repeats(size, quick=quick))
        if size <= PAGEABLE_LARGEST:
            with session.scope():
                yield from _pageable(session, size, repeats(size, quick=quick))


def _pinned(session: Session, size: int, n: int) -> Iterator[Copy]:
    host, other_host = session.pinned_bytes(size), session.pinned_bytes(size)
    device = session.device_bytes(size, like=host)
    target = session.device_bytes(size, like=host)
    down, up = session.stream(), session.stream()

    def h2d() -> None:
        call("cuMemcpyHtoDAsync", device, host, size, down)

    def d2h() -> None:
        call("cuMemcpyDtoHAsync", other_host, target, size, up)

    def both() -> None:
        h2d()
        d2h()

    def d2d() -> None:
        call("cuMemcpyDtoDAsync", target, device, size, down)

    yield _copy(CopyKind.PINNED_H2D, size, 1, session.timed(h2d, [down], n))
    yield _copy(CopyKind.PINNED_D2H, size, 1, session.timed(d2h, [up], n))
    yield _copy(CopyKind.PINNED_BOTH, size, 2, session.timed(both, [down, up], n))
    yield _copy(CopyKind.D2D, size, 2, session.timed(d2d, [down], n))


def _pageable(session: Session, size: int, n: int) -> Iterator[Copy]:
    import ctypes

    buffer = ctypes.create_string_buffer(size)
    host = ctypes.addressof(buffer)
    fill(host, size)
    device = session.device_bytes(size)
    h2d = _wall(lambda: call("cuMemcpyHtoD", device, host, size), n)
    yield _copy(CopyKind.PAGEABLE_H2D, size, 1, h2d)
    d2h = _wall(lambda: call("cuMemcpyDtoH", host, device, size), n)
    yield _copy(CopyKind.PAGEABLE_D2H, size, 1, d2h)


def _wall(copy: Callable[[], None], n: int) -> Sample:
    seconds = []
    for _ in range(WARM_UPS + n):
        call("cuCtxSynchronize")
        start = time.perf_counter()
        copy()
        call("cuCtxSynchronize")
        seconds.append(time.perf_counter() - start)
    return sample(seconds[WARM_UPS:])


def _copy(kind: CopyKind, size: int, ways: int, seconds: Sample) -> Copy:
    return Copy(kind=kind, bytes=size, moved=ways * size, seconds=seconds)


def expected_rate(copy: Copy, device: Device) -> float | None:
    """Return bytes/s that the link model of an unmeasured machine, or the memory, promises.

    Pageable copies depend on the host alone: None.
    """
    model = default_link_model(device)
    match copy.kind:
        case CopyKind.PINNED_H2D:
            return copy.bytes / (model.copy_latency + copy.bytes / model.h2d_rate)
        case CopyKind.PINNED_D2H:
            return copy.bytes / (model.copy_latency + copy.bytes / model.d2h_rate)
        case CopyKind.PINNED_BOTH:
            lag = model.copy_latency + model.duplex_latency
            return copy.moved / (lag + copy.bytes / model.h2d_rate * model.duplex_slowdown)
        case CopyKind.D2D if device.memory_bandwidth:
            return copy.moved / (model.kernel_latency + copy.moved / device.memory_bandwidth)
    return None

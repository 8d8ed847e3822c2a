"""One GPU taken for measuring: context, streams, events and memory, all given back."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from gpuadvise.advisor.backends.measure.calls import DriverFault, call, driver, give_back
from gpuadvise.advisor.backends.measure.timing import in_turns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gpuadvise.advisor.backends.measure.timing import Trial
    from gpuadvise.advisor.measurement import Sample


# Random bytes repeated over a buffer: memory systems may be faster on zeros than on real data.
_PATTERN = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceProperties:
    """What the measurements need to know of the GPU: counts, bytes, capability."""

    name: str
    capability: tuple[int, int]
    sm_count: int
    l2_bytes: int
    async_engines: int
    threads_per_sm: int

    def grid(self, threads: int) -> int:
        """Return how many blocks of *threads* fill the device once."""
        return self.sm_count * self.threads_per_sm // threads


class Session:
    """The primary context of GPU *ordinal* (CUDA's numbering), for one ``with`` block.

    Raises Unavailable where there is no such GPU.
    """

    def __init__(self, ordinal: int = 0) -> None:
        self._ordinal = ordinal
        self._owned = ExitStack()

    def __enter__(self) -> Self:
        call("cuInit", 0)
        self.device = call("cuDeviceGet", self._ordinal)
        self.context = call("cuDevicePrimaryCtxRetain", self.device)
        self._owned.callback(give_back, "cuDevicePrimaryCtxRelease", self.device)
        self.use()
        return self

    def use(self) -> None:
        """Let the calls that follow be about this GPU."""
        call("cuCtxSetCurrent", self.context)

    def __exit__(self, *exc: object) -> None:
        self._owned.close()

    def properties(self) -> DeviceProperties:
        """Return what the driver says of the GPU."""
        name = call("cuDeviceGetName", 256, self.device)
        return DeviceProperties(
            name=name.split(b"\0")[0].decode("utf-8", "replace"),
            capability=(
                self._attribute("COMPUTE_CAPABILITY_MAJOR"),
                self._attribute("COMPUTE_CAPABILITY_MINOR"),
            ),
            sm_count=self._attribute("MULTIPROCESSOR_COUNT"),
            l2_bytes=self._attribute("L2_CACHE_SIZE"),
            async_engines=self._attribute("ASYNC_ENGINE_COUNT"),
            threads_per_sm=self._attribute("MAX_THREADS_PER_MULTIPROCESSOR"),
        )

    def _attribute(self, name: str) -> int:
        attribute = getattr(driver().CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(call("cuDeviceGetAttribute", attribute, self.device))

    def free_bytes(self) -> int:
        """Return the bytes of device memory that nobody uses now."""
        free, _ = call("cuMemGetInfo")
        return int(free)

    def device_bytes(self, size: int, *, like: int | None = None) -> Any:
        """Return new device memory, filled from host memory *like* where given."""
        memory = call("cuMemAlloc", size)
        self._owned.callback(give_back, "cuMemFree", memory)
        if like is not None:
            call("cuMemcpyHtoD", memory, like, size)
        return memory

    def random_device_bytes(self, size: int) -> Any:
        """Return new device memory filled with random bytes, doubled up on the device."""
        memory = self.device_bytes(size)
        with self.scope():
            done = min(size, _PATTERN)
            call("cuMemcpyHtoD", memory, self.pinned_bytes(done), done)
        return self._doubled(memory, done, size)

    def filled_device_bytes(self, size: int, content: bytes) -> Any:
        """Return new device memory that holds *content* again and again."""
        memory = self.device_bytes(size)
        done = min(size, len(content))
        call("cuMemcpyHtoD", memory, content, done)
        return self._doubled(memory, done, size)

    def _doubled(self, memory: Any, done: int, size: int) -> Any:
        """Copy the first *done* bytes of *memory* over the rest of it."""
        while done < size:
            more = min(done, size - done)
            call("cuMemcpyDtoD", int(memory) + done, memory, more)
            done += more
        return memory

    def pinned_bytes(self, size: int) -> int:
        """Return the address of new page-locked host memory, filled with random bytes."""
        address = int(call("cuMemHostAlloc", size, 0))
        self._owned.callback(give_back, "cuMemFreeHost", address)
        fill(address, size)
        return address

    def stream(self) -> Any:
        """Return a new stream that does not wait for the default stream."""
        stream = call("cuStreamCreate", 1)  # CU_STREAM_NON_BLOCKING
        self._owned.callback(give_back, "cuStreamDestroy", stream)
        return stream

    def event(self) -> Any:
        """Return a new event that can be timed."""
        event = call("cuEventCreate", 0)
        self._owned.callback(give_back, "cuEventDestroy", event)
        return event

    def scope(self) -> Scope:
        """Return a context manager: what is made inside is freed at its end."""
        return Scope(self)

    def by_events(self, work: Callable[[], None], streams: Sequence[Any]) -> Trial:
        """Return the trial of the device's seconds from *work*'s start to the end of *streams*."""
        start, ends = self.event(), [self.event() for _ in streams]

        def trial() -> tuple[float]:
            call("cuCtxSynchronize")
            call("cuEventRecord", start, streams[0])
            work()
            for end, stream in zip(ends, streams, strict=True):
                call("cuEventRecord", end, stream)
            call("cuCtxSynchronize")
            return (max(float(call("cuEventElapsedTime", start, end)) for end in ends) * 1e-3,)

        return trial

    def timed(self, work: Callable[[], None], streams: Sequence[Any], repeats: int) -> Sample:
        """Return the device seconds of *work*, from its start to the end of all *streams*."""
        return in_turns([self.by_events(work, streams)], repeats)[0][0]


class Scope:
    """A part of a session whose memory, streams and events go at its end."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def __enter__(self) -> Session:
        self._outer = self._session._owned
        self._session._owned = ExitStack()
        return self._session

    def __exit__(self, *exc: object) -> None:
        inner, self._session._owned = self._session._owned, self._outer
        inner.close()


def fill(address: int, size: int) -> None:
    """Write random bytes over *size* bytes of host memory at *address*."""
    import ctypes
    import os

    pattern = os.urandom(min(size, _PATTERN))
    for offset in range(0, size, _PATTERN):
        ctypes.memmove(address + offset, pattern, min(len(pattern), size - offset))


T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected(Generic[T]):
    """What was measured; *interrupted* by the user, or *fault*: the driver's last words."""

    items: tuple[T, ...]
    interrupted: bool = False
    fault: str | None = None

    @property
    def partial(self) -> bool:
        """Whether more had been asked for."""
        return self.interrupted or self.fault is not None


def collect(items: Iterable[T], report: Callable[[T], None]) -> Collected[T]:
    """Return *items* as far as they come, each *report* as soon as it is there.

    Raises DriverFault when nothing could be measured at all.
    """
    collected: list[T] = []
    try:
        for item in items:
            collected.append(item)
            report(item)
    except KeyboardInterrupt:
        return Collected(items=tuple(collected), interrupted=True)
    except DriverFault as fault:
        if not collected:
            raise
        return Collected(items=tuple(collected), fault=fault.message)
    return Collected(items=tuple(collected))

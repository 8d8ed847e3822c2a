"""Copies from GPU to GPU: every pair, one way and both ways, with and without peer access."""

from __future__ import annotations

import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.backends.measure.calls import DriverFault, call, driver
from gpuadvise.advisor.backends.measure.session import Session
from gpuadvise.advisor.backends.measure.timing import in_turns
from gpuadvise.advisor.errors import Unavailable
from gpuadvise.advisor.transfers.links import host_link, nvlink

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.measurement import Sample

_BYTES = 1 << 30
_QUICK_BYTES = 256 << 20
_REPEATS = 11
_QUICK_REPEATS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerCopy:
    """Copies of *bytes* from one GPU to another, by CUDA's numbers.

    *both*: as much came back at the same time. *access*: programs on each may reach the memory
    of the other; without it the driver stages the copy through the host's memory. *atomics*: they
    may with atomic operations too, which takes NVLink.
    """

    source: int
    target: int
    both: bool
    access: bool
    atomics: bool
    bytes: int
    seconds: Sample

    @property
    def moved(self) -> int:
        """Bytes both ways."""
        return self.bytes * (2 if self.both else 1)

    @property
    def rate(self) -> float:
        """Bytes per second of the median, both ways together."""
        return self.moved / self.seconds.median


def gpus() -> int:
    """Return how many GPUs programs see; raises Unavailable below two."""
    call("cuInit", 0)
    count = int(call("cuDeviceGetCount"))
    if count < 2:
        raise Unavailable(
            f"Copies between GPUs need two of them; programs started here see {count}.",
            hint="gpuadvise device --all shows which GPUs are hidden, and why.",
        )
    return count


def copies(count: int) -> int:
    """Return how many measurements *count* GPUs have at most."""
    return 6 * (count * (count - 1) // 2)


def measure_peers(session: Session, *, quick: bool = False) -> Iterator[PeerCopy]:
    """Yield the copies of each pair of GPUs; *session* is of one of them and stays current."""
    wanted = _QUICK_BYTES if quick else _BYTES
    try:
        for first, second in combinations(range(gpus()), 2):
            with ExitStack() as held:
                pair = [held.enter_context(Session(number)) for number in (first, second)]
                ends = [held.enter_context(_End(of_gpu)) for of_gpu in pair]
                size = min([wanted, *(end.session.free_bytes() // 4 for end in ends)])
                for end in ends:
                    end.allocate(size)
                yield from _measured(ends, (first, second), size, quick, access=False)
                if _reach(ends):
                    with _access(ends):
                        yield from _measured(ends, (first, second), size, quick, access=True)
    finally:
        session.use()


class _End:
    """One GPU of a pair, with a buffer to send from, one to receive in, and a stream."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def __enter__(self) -> _End:
        self.session.use()
        self._scope = self.session.scope()
        self._scope.__enter__()
        self.stream = self.session.stream()
        return self

    def __exit__(self, *exc: object) -> None:
        self.session.use()
        self._scope.__exit__(*exc)

    def allocate(self, size: int) -> None:
        """Take the buffers."""
        self.session.use()
        self.sent, self.received = (
            self.session.random_device_bytes(size),
            self.session.device_bytes(size),
        )

    def send(self, target: _End, size: int) -> None:
        """Copy to *target*, in this GPU's stream."""
        call("cuMemcpyPeerAsync", target.received, target.session.context, self.sent,
             self.session.context, size, self.stream)  # fmt: skip


def _reach(ends: list[_End]) -> bool:
    first, second = (end.session.device for end in ends)
    return bool(
        call("cuDeviceCanAccessPeer", first, second)
        and call("cuDeviceCanAccessPeer", second, first)
    )


def _atomics(ends: list[_End]) -> bool:
    attribute = driver().CUdevice_P2PAttribute.CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED
    first, second = (end.session.device for end in ends)
    return bool(call("cuDeviceGetP2PAttribute", attribute, first, second))


@contextmanager
def _access(ends: list[_End]) -> Iterator[None]:
    """Let each of the two GPUs reach the other's memory meanwhile."""
    pairs = (ends, ends[::-1])
    for own, peer in pairs:
        own.session.use()
        _enable(peer.session.context)
    try:
        yield
    finally:
        for own, peer in pairs:
            with suppress(DriverFault):
                own.session.use()
                call("cuCtxDisablePeerAccess", peer.session.context)


def _enable(context: Any) -> None:
    try:
        call("cuCtxEnablePeerAccess", context, 0)
    except DriverFault as fault:
        if fault.name != "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED":
            raise


def _measured(
    ends: list[_End], numbers: tuple[int, int], size: int, quick: bool, *, access: bool
) -> Iterator[PeerCopy]:
    first, second = ends
    ways = (((first, second), False), ((second, first), False), ((first, second), True))
    trials = [partial(_trial, from_, to, size, both) for (from_, to), both in ways]
    samples = in_turns(trials, _QUICK_REPEATS if quick else _REPEATS)
    places = (numbers, numbers[::-1], numbers)
    atomics = _atomics(ends)
    for (source, target), (_, both), (seconds,) in zip(places, ways, samples, strict=True):
        yield PeerCopy(source=source, target=target, both=both, access=access,
                       atomics=atomics, bytes=size, seconds=seconds)  # fmt: skip


def _trial(source: _End, target: _End, size: int, both: bool) -> tuple[float]:
    """Return the host's seconds for one copy, or one each way; events cannot span two GPUs."""
    _wait(source, target)
    start = time.perf_counter()
    source.session.use()
    source.send(target, size)
    if both:
        target.session.use()
        target.send(source, size)
    _wait(source, target)
    return (time.perf_counter() - start,)


def _wait(*ends: _End) -> None:
    for end in ends:
        end.session.use()
        call("cuStreamSynchronize", end.stream)


def expected_rate(pair: PeerCopy, device: Device) -> float | None:
    """Return bytes/s that the link between two GPUs such as *device* promises.

    Atomic operations between GPUs take NVLink; without them copies take PCIe. Without peer access
    the host's memory decides, which nothing here knows: None.
    """
    if not pair.access:
        return None
    rate = device.nvlink_bandwidth if pair.atomics else None
    link = nvlink(rate) if rate else host_link(device)
    return link.attainable * (2 if pair.both else 1) if link else None

"""What strides, offsets and word sizes cost: kernels over memory far larger than L2."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from gpuadvise.advisor.backends.measure.kernels import THREADS, WORDS_PER_THREAD, Kernels
from gpuadvise.advisor.memory.coalescing import coalesce
from gpuadvise.advisor.memory.pattern import strided

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.backends.measure.session import DeviceProperties, Session
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.measurement import Sample

STRIDES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
OFFSETS = (0, 1, 2, 4, 8, 16, 31, 32)
WORDS = (4, 8, 16)
QUICK_STRIDES = (1, 2, 4, 8, 16, 32)
QUICK_OFFSETS = (0, 1, 8)
# Useful bytes per buffer, as multiples of L2: caches must not answer.
_TIMES_L2 = 4
_REPEATS = 11
_QUICK_REPEATS = 5


class AccessKind(StrEnum):
    """What the kernel does with its words."""

    LOAD = "load"
    STORE = "store"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedPattern:
    """Words of *word* bytes, *stride* words apart, the first *offset* words off alignment."""

    move: AccessKind
    word: int
    stride: int
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessTiming:
    """One pattern, the useful bytes it moved, and the seconds."""

    pattern: TimedPattern
    moved: int
    seconds: Sample

    @property
    def rate(self) -> float:
        """Useful bytes per second."""
        return self.moved / self.seconds.median


def patterns(*, quick: bool) -> tuple[TimedPattern, ...]:
    """Return the patterns to run: words, then offsets, then strides of 4-byte words."""
    strides = QUICK_STRIDES if quick else STRIDES
    offsets = QUICK_OFFSETS if quick else OFFSETS
    shapes = (
        *((word, 1, 0) for word in WORDS),
        *((4, 1, offset) for offset in offsets[1:]),
        *((4, stride, 0) for stride in strides[1:]),
    )
    return tuple(
        TimedPattern(move=move, word=word, stride=stride, offset=offset)
        for move in AccessKind
        for word, stride, offset in shapes
    )


# Words that one block copies.
_BLOCK_WORDS = THREADS * WORDS_PER_THREAD


def words(properties: DeviceProperties, *, free_bytes: int, widest_stride: int) -> int:
    """Return the words that each pattern copies: two strided buffers must fit."""
    wanted = _TIMES_L2 * properties.l2_bytes // WORDS[0]
    fitting = free_bytes // 4 // (widest_stride * WORDS[0])
    return max(_BLOCK_WORDS, min(wanted, fitting) // _BLOCK_WORDS * _BLOCK_WORDS)


def measure_access(session: Session, *, quick: bool = False) -> Iterator[AccessTiming]:
    """Yield every pattern's useful rate; all patterns move the same number of words."""
    measured = patterns(quick=quick)
    widest = max(pattern.stride for pattern in measured)
    count = words(session.properties(), free_bytes=session.free_bytes(), widest_stride=widest)
    size = (count * max(widest, WORDS[-1] // WORDS[0]) + max(OFFSETS)) * WORDS[0]
    with session.scope():
        kernels, stream = Kernels(session), session.stream()
        source, target = session.random_device_bytes(size), session.device_bytes(size)
        for pattern in measured:
            launch = kernels.launcher(
                f"{pattern.move}{pattern.word}", count // _BLOCK_WORDS, stream,
                target, source, pattern.stride, pattern.offset,
            )  # fmt: skip
            seconds = session.timed(launch, [stream], _QUICK_REPEATS if quick else _REPEATS)
            yield AccessTiming(pattern=pattern, moved=pattern.word * count, seconds=seconds)


def expected_efficiency(access: AccessTiming, device: Device) -> float:
    """Return used / moved bytes of a warp whose neighbours share the sectors at its ends."""
    word, stride = access.pattern.word, access.pattern.stride
    return coalesce(strided(word, stride_bytes=stride * word), device.capability).efficiency

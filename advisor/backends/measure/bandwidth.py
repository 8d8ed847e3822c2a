"""What kernels read, write and copy per second, by the size of their words."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from gpuadvise.advisor.backends.measure.kernels import THREADS, WORDS_PER_THREAD, Kernels

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpuadvise.advisor.backends.measure.session import Session
    from gpuadvise.advisor.measurement import Sample

WORDS = (4, 8, 16)
_BUFFER = 1 << 30  # far more than any L2; smaller where memory is short
_REPEATS = 21
_QUICK_REPEATS = 7
_BLOCK = THREADS * WORDS_PER_THREAD


class WordTraffic(StrEnum):
    """What the kernel does with memory."""

    LOAD = "load"
    STORE = "store"
    COPY = "copy"


@dataclass(frozen=True, slots=True, kw_only=True)
class Streamed:
    """Neighbouring words of *word* bytes: the bytes that moved, and the seconds."""

    traffic: WordTraffic
    word: int
    moved: int
    seconds: Sample

    @property
    def rate(self) -> float:
        """Bytes per second of the median; a copied byte counts twice."""
        return self.moved / self.seconds.median


def measure_bandwidth(
    session: Session, words: Sequence[int] = WORDS, *, quick: bool = False
) -> Iterator[Streamed]:
    """Yield the rate of loads, stores and copies for each size of *words*."""
    largest = _BLOCK * WORDS[-1]
    size = max(largest, min(_BUFFER, session.free_bytes() // 4) // largest * largest)
    with session.scope():
        kernels, stream = Kernels(session), session.stream()
        source, target = session.random_device_bytes(size), session.device_bytes(size)
        for word in words:
            for traffic in WordTraffic:
                launch = kernels.launcher(
                    f"{traffic}{word}", size // (_BLOCK * word), stream, target, source, 1, 0
                )
                seconds = session.timed(launch, [stream], _QUICK_REPEATS if quick else _REPEATS)
                ways = 2 if traffic is WordTraffic.COPY else 1
                yield Streamed(traffic=traffic, word=word, moved=ways * size, seconds=seconds)

"""Trials in turns: each once, and again, so that a slow moment of the machine meets them all."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gpuadvise.advisor.backends.measure.calls import call
from gpuadvise.advisor.measurement import Sample, sample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    # Does something once and returns what it took, in one or several kinds of seconds.
    Trial = Callable[[], tuple[float, ...]]

# Rounds thrown away: first touches, clock ramps, lazy loading.
WARM_UPS = 2


def in_turns(trials: Sequence[Trial], repeats: int) -> list[tuple[Sample, ...]]:
    """Return the samples of each trial, one per kind of seconds it tells.

    What other users of the machine slow down for a while then is a part of every sample, not
    the whole of one.
    """
    rounds: list[list[tuple[float, ...]]] = [[] for _ in trials]
    with undisturbed():
        for _ in range(WARM_UPS + repeats):
            for readings, trial in zip(rounds, trials, strict=True):
                readings.append(trial())
    return [tuple(map(sample, zip(*readings[WARM_UPS:], strict=True))) for readings in rounds]


def by_clock(work: Callable[[], None]) -> Trial:
    """Return the trial of the host's seconds until *work* is done, and until it is issued.

    For work over many streams: an event in each of them would cost the device as much as a
    small copy.
    """

    def trial() -> tuple[float, float]:
        call("cuCtxSynchronize")
        start = time.perf_counter()
        work()
        issued = time.perf_counter() - start
        call("cuCtxSynchronize")
        return time.perf_counter() - start, issued

    return trial


@contextmanager
def undisturbed() -> Iterator[None]:
    """Keep the garbage collector out of what is timed."""
    import gc

    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()

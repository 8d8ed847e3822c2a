"""What the host spends on issuing one copy and one launch."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import TYPE_CHECKING

from gpuadvise.advisor.backends.measure.calls import call
from gpuadvise.advisor.backends.measure.kernels import WORK_WORD, Kernels
from gpuadvise.advisor.backends.measure.turns import undisturbed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gpuadvise.advisor.backends.measure.session import Session

# Streams used in turn, and pieces issued: few enough that no queue fills and makes the host wait.
_STREAMS = 16
_PIECES = 32
_REPEATS = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueCosts:
    """Host seconds per launch and per copy."""

    launch: float
    copy: float


def issue_costs(session: Session) -> IssueCosts:
    """Return what the host spends now: its pace changes with its clock and its neighbours."""
    with session.scope():
        kernels, streams = Kernels(session), [session.stream() for _ in range(_STREAMS)]
        memory, host = session.device_bytes(WORK_WORD), session.pinned_bytes(WORK_WORD)
        staged: list[Callable[[], object]] = []
        copied: list[Callable[[], object]] = []
        for stream in streams * (_PIECES // _STREAMS):
            h2d = partial(call, "cuMemcpyHtoDAsync", memory, host, WORK_WORD, stream)
            d2h = partial(call, "cuMemcpyDtoHAsync", host, memory, WORK_WORD, stream)
            staged += [h2d, kernels.launcher("work", 1, stream, memory, 1, 1), d2h]
            copied += [h2d, d2h]
        with_launches, without = _issue_seconds(staged), _issue_seconds(copied)
    launch = max(0.0, with_launches - without) / _PIECES
    return IssueCosts(launch=launch, copy=without / len(copied))


def _issue_seconds(operations: Sequence[Callable[[], object]]) -> float:
    """Return the host's seconds for issuing *operations*, the device idle before."""
    seconds = []
    with undisturbed():
        for _ in range(_REPEATS):
            call("cuCtxSynchronize")
            start = time.perf_counter()
            for operation in operations:
                operation()
            seconds.append(time.perf_counter() - start)
    return median(seconds)

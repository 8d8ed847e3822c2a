"""Annotations of a program in a trace of PyTorch: the GPU's time that was launched inside of each.

``record_function("name")``, and what PyTorch annotates itself: optimizers, collectives, compiled
regions. A kernel counts to the annotation that its launch stands in. What another thread launches,
as autograd's does, counts to the one that the program's own thread stands in meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.timelines.scopes import OUTSIDE, Questions, ScopeLog, ScopePaths, with_match
from gpuadvise.advisor.timelines.sorted_runs import SortedRuns

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_NS = 1e9
_STEP = "ProfilerStep#"  # steps have a table of their own
_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatedTime:
    """An annotation, as it stands in those around it, and the kernels launched inside of it."""

    path: tuple[str, ...]  # its name behind those of the annotations around it
    kernels: int  # with those of annotations inside of it
    total_ns: int  # likewise
    own_ns: int  # without those

    @property
    def seconds(self) -> float:
        """Time of all its kernels."""
        return self.total_ns / _NS

    @property
    def own_seconds(self) -> float:
        """Time of the kernels that stand in no annotation inside of it."""
        return self.own_ns / _NS


class AnnotationLog:
    """Annotations that are being read."""

    def __init__(self) -> None:
        self._opened = ScopeLog(ScopePaths())
        self._threads: set[int] = set()  # of annotations
        self._stepping: set[int] = set()  # of steps

    def add(self, thread: int, interval: tuple[int, int], name: str) -> None:
        """Add an annotation of the host."""
        if name.startswith(_STEP):
            self._stepping.add(thread)
            return
        self._threads.add(thread)
        self._opened.open(thread, *interval, name[:_LONGEST_NAME])

    def times(
        self, launches: Questions, kernels: Iterable[Sequence[int]]
    ) -> tuple[AnnotatedTime, ...]:
        """Return the annotations by the time of the *kernels* whose *launches* they hold.

        Rows of kernels are correlation, id, start, duration and more.
        """
        if not self._opened:
            return ()
        placed = SortedRuns(width=2)  # correlation, scope
        elsewhere = Questions()
        threads = self._stepping or self._threads
        main = next(iter(threads)) if len(threads) == 1 else None
        for number, thread, time, scope, _ in self._opened.innermost(launches):
            if scope != OUTSIDE:
                placed.add(number, scope)
            elif main is not None and thread != main:
                elsewhere.add(main, time, number)
        for number, _, _, scope, _ in self._opened.innermost(elsewhere):
            if scope != OUTSIDE:
                placed.add(number, scope)
        paths = self._opened.paths
        sums: dict[int, list[int]] = {}  # kernels, time, own time
        for kernel, place in with_match(kernels, placed):
            if place is None:
                continue
            for scope in paths.around(place[1]):
                one = sums.setdefault(scope, [0, 0, 0])
                one[0] += 1
                one[1] += kernel[3]
                one[2] += kernel[3] if scope == place[1] else 0
        times = [
            AnnotatedTime(path=paths.names(scope), kernels=kernels, total_ns=total, own_ns=own)
            for scope, (kernels, total, own) in sums.items()
        ]
        return tuple(sorted(times, key=lambda one: (-one.total_ns, one.path)))

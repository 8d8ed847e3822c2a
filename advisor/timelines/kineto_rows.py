"""Kernels and calls in the layout of PyTorch's profiler, text by text.

Nearly all events of a large trace are kernels and calls that differ from an earlier one in their
times, their correlation and the number of their operator alone. The rest of such a text tells whose
runs they are, so that a few numbers are parsed instead of the whole event.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from operator import add
from typing import TYPE_CHECKING

from gpuadvise.advisor.timelines.activities import CallRuns, KernelRuns
from gpuadvise.advisor.timelines.calls import LAUNCHES, CallKind
from gpuadvise.advisor.timelines.chrome import EMPTY

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpuadvise.advisor.timelines.chrome import Event
    from gpuadvise.advisor.timelines.launch_log import LaunchLog

# Up to 15 digits: what is longer could be out of range. What stands before the correlation is
# spelled out for most events: looking for its end letter by letter takes as long as all the rest.
_EVENT = re.compile(
    rb'\n  \{\r?\n[ \t]*+("ph": "X", "cat": "(?:kernel|cuda_runtime|cuda_driver)", "name": "[^\n]*+\n\s*+)'
    rb'"ts": (\d{1,15}+(?:\.\d{1,9}+)?+), "dur": (\d{1,15}+(?:\.\d{1,9}+)?+),\s*+"args": \{\s*+'
    rb'(?:"External id": \d{1,19}+,\s*+)?+'
    rb'("queued": \d++, "device": \d++, "context": \d++,\s*+"stream": \d++, |"cbid": \d++, |[^\n]*?)'
    rb'"correlation": (\d{1,18}+)([^\n]*+\n\s*+)\}\s*+\}'
)
_MOST_TEXTS = 100_000
# Texts that hardly ever come again cost more than they save.
_TRIED = 20_000


@dataclass(slots=True)
class _Runs:
    """Runs that wait to be handed on: of a kernel's shape or of a function."""

    target: KernelRuns | CallRuns
    in_graph: bool
    place: int  # GPU of a kernel, thread of a call
    starts: list[bytes] = field(default_factory=list)  # as written: microseconds
    durations: list[bytes] = field(default_factory=list)
    numbers: list[bytes] = field(default_factory=list)  # correlations

    def hand_on(self, log: LaunchLog) -> None:
        """Give them to whose they are, and to the *log* of launches."""
        starts, durations = _nanoseconds(self.starts), _nanoseconds(self.durations)
        ends = list(map(add, starts, durations))
        if isinstance(self.target, KernelRuns):
            self.target.extend(starts, ends, durations)
            self.target.in_graphs += len(starts) if self.in_graph else 0
            if log.wanted:
                log.add_kernels(list(map(int, self.numbers)), starts, ends, self.place)
        else:
            self.target.durations.extend(durations)
            slow = self.target.prompt_ns
            long = [at for at, time in enumerate(durations) if time > slow]
            if long:
                self.target.add_times([starts[at] for at in long], [ends[at] for at in long])
            if self.target.kind in LAUNCHES:
                graph = self.target.kind is CallKind.GRAPH_LAUNCH
                numbers = list(map(int, self.numbers))
                log.add_launches(numbers, starts, ends, self.place, graph=graph)
        self.starts.clear()
        self.durations.clear()
        self.numbers.clear()


def _nanoseconds(microseconds: list[bytes]) -> list[int]:
    """Return numbers that are written in microseconds, many at once, as parsing the event would."""
    return list(map(round, map((1000.0).__mul__, map(float, microseconds))))


class RepeatedEvents:
    """Texts of events whose runs are known, and what came of them since."""

    def __init__(self, log: LaunchLog) -> None:
        self.taken = 0  # events
        self._log = log
        self._misses = 0
        self._runs: list[_Runs] = []
        # Where starts, durations and numbers go, by what is the same in the texts of such events.
        self._appends: dict[tuple[bytes, ...], tuple[Callable[[bytes], None], ...]] = {}

    def take(self, block: bytes) -> bytes:
        """Take the known events out of *block*, and return it with these emptied."""
        if self._misses > _TRIED and self.taken < self._misses:
            return block
        known = self._appends.get

        def take(match: re.Match[bytes]) -> bytes:
            head, begin, duration, between, number, behind = match.groups()
            appends = known((head, between, behind))
            if appends is None:
                self._misses += 1
                return match[0]
            add_start, add_duration, add_number = appends
            add_start(begin)
            add_duration(duration)
            add_number(number)
            return EMPTY

        left = _EVENT.sub(take, block)
        self.finish()
        return left

    def learn(self, target: KernelRuns | CallRuns | None, event: Event, text: bytes) -> None:
        """Remember whose runs the *text* is of, which *event* was parsed of."""
        if target is None or len(self._runs) >= _MOST_TEXTS:
            return
        match = _EVENT.match(text)
        if match is None:
            return
        in_graph = isinstance(target, KernelRuns) and bool(event["args"].get("graph node id"))
        head, _, _, between, _, behind = match.groups()
        of_kernel = isinstance(target, KernelRuns)
        args = event["args"]
        place = args.get("device", event.get("pid")) if of_kernel else event.get("tid")
        if type(place) is not int:
            return
        runs = _Runs(target, in_graph, place)
        self._runs.append(runs)
        self._appends[head, between, behind] = (
            runs.starts.append,
            runs.durations.append,
            runs.numbers.append,
        )

    def finish(self) -> None:
        """Hand on the runs that wait."""
        for runs in self._runs:
            if runs.starts:
                self.taken += len(runs.starts)
                runs.hand_on(self._log)

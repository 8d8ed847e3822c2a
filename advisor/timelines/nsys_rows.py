"""Kernels and calls of an export of Nsight Systems, row by row.

Nearly all the time that is not the database's goes into the three loops here, so they do nothing
but keep times, which are handed on some ten thousand rows at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.timelines.activities import (
    LATEST,
    Activities,
    CallRuns,
    KernelShape,
)
from gpuadvise.advisor.timelines.collectives import Collective, collective_named
from gpuadvise.advisor.timelines.communication import communicates
from gpuadvise.advisor.timelines.sorted_runs import RUN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchShape:
    """On which GPU and stream kernels ran, in which shape, and whether as nodes of a graph."""

    gpu: int
    stream: int
    in_graph: bool
    kernel: KernelShape


def gathered_kernels(
    rows: Iterator[tuple[Any, ...]], shapes: Mapping[Any, LaunchShape]
) -> dict[int, Activities]:
    """Return what each GPU did of the kernels in *rows* of (start, end, ...).

    *shapes* are the launch shapes by the column behind the times, by a tuple where these are
    several. Raises TypeError or OverflowError for times that are no whole numbers or out of range.
    """
    kernels = _Kernels(shapes)
    several = any(isinstance(columns, tuple) for columns in shapes)
    add = kernels.add_by_columns if several else kernels.add
    while add(islice(rows, max(RUN, len(shapes)))):
        kernels.hand_on()
    return kernels.gpus


class _Kernels:
    """Kernels that are being gathered."""

    def __init__(self, shapes: Mapping[Any, LaunchShape]) -> None:
        self.gpus: dict[int, Activities] = {}
        self._shapes = shapes
        # By GPU and by what they communicate, where they do: starts and ends.
        self._intervals: dict[tuple[int, Collective | None], tuple[list[int], list[int]]] = {}
        # By the columns of a shape: durations; starts and ends of its GPU.
        self._times: dict[Any, tuple[list[int], list[int], list[int]]] = {
            columns: (
                [],
                *self._intervals.setdefault((shape.gpu, _collective(shape)), ([], [])),
            )
            for columns, shape in shapes.items()
        }

    def add(self, rows: Iterable[tuple[int, int, Any]]) -> bool:
        """Add kernels of (start, end, column); return whether there were any."""
        times = self._times
        for start, end, column in rows:
            durations, starts, ends = times[column]
            durations.append(end - start)
            starts.append(start)
            ends.append(end)
        return any(starts for starts, _ in self._intervals.values())

    def add_by_columns(self, rows: Iterable[tuple[Any, ...]]) -> bool:
        """Add kernels of (start, end, column, column, ...); return whether there were any."""
        times = self._times
        for row in rows:
            durations, starts, ends = times[row[2:]]
            start, end = row[0], row[1]
            durations.append(end - start)
            starts.append(start)
            ends.append(end)
        return any(starts for starts, _ in self._intervals.values())

    def hand_on(self) -> None:
        """Give the times that were gathered to the GPUs and launch shapes that they are of."""
        for (gpu, collective), (starts, ends) in self._intervals.items():
            if starts:
                _check(min(starts) > -LATEST and max(ends) < LATEST)
                activities = self.gpus.setdefault(gpu, Activities())
                if collective is None:
                    activities.kernel_times.extend(starts, ends)
                else:
                    activities.communication_times.extend(starts, ends)
                    for start, end in zip(starts, ends, strict=True):
                        activities.collectives.add(collective, start, end)
                starts.clear()
                ends.clear()
        for columns, (durations, _, _) in self._times.items():
            if durations:
                _check(min(durations) >= 0)
                shape = self._shapes[columns]
                runs = self.gpus[shape.gpu].runs_of(shape.kernel)
                runs.durations.extend(durations)
                runs.streams.add(shape.stream)
                runs.in_graphs += len(durations) if shape.in_graph else 0
                durations.clear()


def _collective(shape: LaunchShape) -> Collective | None:
    """Return what a kernel communicates, None where it computes."""
    name = shape.kernel.name
    return collective_named(name) if communicates(name) else None


def gathered_calls(
    rows: Iterator[tuple[int, int, Any]], names: Mapping[Any, str]
) -> dict[str, CallRuns]:
    """Return the host's calls in *rows* of (start, end, number of the name).

    Raises TypeError or OverflowError for times that are no whole numbers or out of range; when a
    call was is looked at only where it is kept.
    """
    functions: dict[str, CallRuns] = {}
    calls = _Calls({key: functions.setdefault(name, CallRuns(name)) for key, name in names.items()})
    while calls.add(islice(rows, RUN)):
        calls.hand_on()
    return functions


class _Calls:
    """Calls that are being gathered."""

    def __init__(self, functions: Mapping[Any, CallRuns]) -> None:
        self._functions = functions
        # By the number of the name: durations, up to which of them it is not kept when a
        # call was, and starts and ends of the longer ones.
        self._times: dict[Any, tuple[list[int], int, list[int], list[int]]] = {
            number: ([], runs.prompt_ns, [], []) for number, runs in functions.items()
        }

    def add(self, rows: Iterable[tuple[int, int, Any]]) -> bool:
        """Add calls of (start, end, number of the name); return whether there were any."""
        times = self._times
        for start, end, number in rows:
            durations, prompt_ns, starts, ends = times[number]
            duration = end - start
            durations.append(duration)
            if duration > prompt_ns:
                starts.append(start)
                ends.append(end)
        return any(durations for durations, _, _, _ in times.values())

    def hand_on(self) -> None:
        """Give the times that were gathered to their functions."""
        for number, (durations, _, starts, ends) in self._times.items():
            if durations:
                _check(min(durations) >= 0)
                self._functions[number].durations.extend(durations)
                durations.clear()
            if starts:
                _check(min(starts) > -LATEST and max(ends) < LATEST)
                self._functions[number].add_times(starts, ends)
                starts.clear()
                ends.clear()


def _check(usable: bool) -> None:
    """Raise OverflowError unless *usable*."""
    if not usable:
        raise OverflowError

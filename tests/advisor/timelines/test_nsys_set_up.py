"""Contexts and libraries that set themselves up: the program's start, not its own work."""

from __future__ import annotations

import sqlite3
from bisect import bisect_left, bisect_right
from contextlib import closing
from itertools import pairwise
from typing import TYPE_CHECKING

import exports
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.timelines.gaps import GapCause
from gpuadvise.advisor.timelines.nsys_set_up import SET_UP_NS, around_marks, runs_of_look_ups
from gpuadvise.advisor.timelines.read import read_recordings
from gpuadvise.advisor.timelines.timeline import timelines_of

if TYPE_CHECKING:
    from pathlib import Path

    from gpuadvise.advisor.timelines.timeline import Timeline

MS = 1_000_000
THREAD = (9 << 24) | 9
NAMES = {
    "add": 1,
    "gemm": 2,
    "cudaLaunchKernel_v7000": 3,
    "cudaMalloc_v3020": 4,
    "cuModuleGetLoadingMode": 5,
    "cuGetProcAddress_v2": 6,
    "cuModuleLoadDataEx": 7,
    "cuLibraryUnload": 8,
    "cudaGetDeviceProperties_v2_v12000": 9,
    "CUPTI Resource Management": 10,
    "dlopen(libcudnn_engines_precompiled.so.9)": 11,
    "CUDA profiling data flush on context created": 12,
    "cudaMemPrefetchAsync_v8000": 13,
}
Rows = list[tuple[float, float, str]]  # start and end in milliseconds, and a name


def recorded(
    folder: Path, kernels: Rows, calls: Rows, taken: Rows = (), system: Rows = ()
) -> Timeline:
    """Return the timeline of one thread's *calls*, of *kernels*, and of what the recorder *took*."""

    def times(start: float, end: float) -> tuple[int, int]:
        return round(start * MS), round(end * MS)

    shape = (32, 264, 1, 1, 256, 1, 1, 1024, 0, 16, None)
    rows = {
        "CUPTI_ACTIVITY_KIND_KERNEL": [
            (*times(start, end), 0, 7, at, NAMES[name], *shape)
            for at, (start, end, name) in enumerate(kernels, 100)
        ],
        "CUPTI_ACTIVITY_KIND_MEMCPY": [],
        "CUPTI_ACTIVITY_KIND_MEMSET": [],
        "CUPTI_ACTIVITY_KIND_RUNTIME": [
            (*times(start, end), THREAD, at, NAMES[name], 0)
            for at, (start, end, name) in enumerate(calls)
        ],
        "StringIds": [(number, name) for name, number in NAMES.items()],
    }
    path = exports.export(folder / "report.sqlite", rows=rows)
    with closing(sqlite3.connect(path)) as database:
        for table, events in (("PROFILER_OVERHEAD", taken), ("OSRT_API", system)):
            if events:
                database.execute(f"CREATE TABLE {table} (start, end, globalTid, nameId)")
            for start, end, name in events:
                event = (*times(start, end), THREAD, NAMES[name])
                database.execute(f"INSERT INTO {table} VALUES (?, ?, ?, ?)", event)
        database.commit()
    (recording,) = read_recordings(str(path))
    (line,) = timelines_of(recording)
    return line


def idle_ms(line: Timeline) -> dict[GapCause, int]:
    return {idle.cause: round(idle.total_ns / MS) for idle in line.idle if idle.total_ns >= MS}


def launched(*kernels: tuple[float, float, str]) -> Rows:
    """Return the call that launches each of *kernels* just before it."""
    return [(start - 0.01, start - 0.005, "cudaLaunchKernel_v7000") for start, _, _ in kernels]


@pytest.mark.parametrize(
    "mark", ["CUPTI Resource Management", "CUDA profiling data flush on context created"]
)
def test_a_context_that_is_made_between_calls_is_start_up(tmp_path: Path, mark: str) -> None:
    """The properties are asked for, then 0.2 s of host code, then 0.3 s in which a context is made."""
    kernels = [(600.0, 700.0, "add")]
    calls = [
        (0.0, 1.0, "cudaGetDeviceProperties_v2_v12000"),
        (200.0, 201.0, "cudaGetDeviceProperties_v2_v12000"),
        (500.0, 501.0, "cudaMalloc_v3020"),
        *launched(*kernels),
    ]
    outside = recorded(tmp_path, kernels, calls, [(450.0, 450.1, mark)]).outside
    assert round(outside.before_code_ns / MS) == 199 + 99
    assert round(outside.once_ns / MS) == 1 + 300 + 1
    assert outside.call is None  # no call took most of it
    path = tmp_path / "without"
    path.mkdir()
    plain = recorded(path, kernels, calls).outside
    assert round(plain.before_code_ns / MS) == 199 + 299 + 99


def test_a_context_takes_no_more_than_half_a_second_on_each_side(tmp_path: Path) -> None:
    kernels = [(5_000.0, 5_100.0, "add")]
    calls = [(0.0, 1.0, "cuModuleGetLoadingMode"), *launched(*kernels)]
    outside = recorded(
        tmp_path, kernels, calls, [(4_500.0, 4_500.1, "CUPTI Resource Management")]
    ).outside
    assert round(outside.before_code_ns / MS) == 5_000 - 1 - 2 * SET_UP_NS // MS


LOOK_UPS = [(110.0 + at / 1e3, 110.0 + at / 1e3, "cuGetProcAddress_v2") for at in range(100)]
LOADS = [(150.0, 150.1, "cuModuleLoadDataEx")]
LIBRARY = [(120.0, 125.0, "dlopen(libcudnn_engines_precompiled.so.9)")]


@pytest.mark.parametrize(
    ("calls", "taken", "name", "starts"),
    [
        ([], [], "gemm", False),
        (LOOK_UPS, [], "gemm", True),
        (LOOK_UPS[:20], [], "gemm", False),  # a program may ask for some of the driver's functions
        ([(at + 60, until + 60, name) for at, until, name in LOOK_UPS], [], "gemm", False),  # late
        ([], LIBRARY, "gemm", True),
        (LOADS, [], "gemm", True),
        (LOADS, [], "add", False),  # it ran before: not its first use
    ],
)
def test_a_library_that_loads_in_the_middle_is_start_up(
    tmp_path: Path, calls: Rows, taken: Rows, name: str, *, starts: bool
) -> None:
    """Kernels of 10 ms, of which the sixth begins 100 ms late."""
    kernels = [(10.0 * at, 10.0 * at + 10, "add") for at in range(10)]
    kernels += [(200.0 + 10 * at, 210.0 + 10 * at, name) for at in range(10)]
    line = recorded(tmp_path, kernels, [*launched(*kernels), *calls], taken)
    cause = GapCause.START_UP if starts else GapCause.HOST_WORK
    assert idle_ms(line) == {cause: 100}


def test_a_long_gap_is_no_librarys(tmp_path: Path) -> None:
    """Two seconds in which a library loads, too: the program does something else."""
    kernels = [(0.0, 100.0, "add"), (2_100.0, 2_200.0, "gemm")]
    line = recorded(tmp_path, kernels, [*launched(*kernels), *LOOK_UPS])
    assert idle_ms(line)[GapCause.HOST_WORK] > 1_000


def test_first_launches_of_a_short_run_are_start_up_however_many(tmp_path: Path) -> None:
    """Ten kernels, each launched for the first time in 5 ms: no shorter launch tells what is usual."""
    names = [f"kernel{at}" for at in range(10)]
    NAMES.update({name: 100 + at for at, name in enumerate(names)})
    kernels = [(6.0 * at, 6.0 * at + 1, name) for at, name in enumerate(names, 1)]
    calls = [(start - 5, start, "cudaLaunchKernel_v7000") for start, _, _ in kernels]
    assert idle_ms(recorded(tmp_path, kernels, calls)) == {GapCause.START_UP: 45}


def test_prefetches_are_no_start(tmp_path: Path) -> None:
    """A prefetch that takes 50 ms of the host between two kernels moves pages: it comes again."""
    kernels = [(0.0, 10.0, "add"), (60.0, 70.0, "add")]
    calls = [(10.0, 60.0, "cudaMemPrefetchAsync_v8000"), *launched(*kernels[:1])]
    assert idle_ms(recorded(tmp_path, kernels, calls)) == {GapCause.OTHER_CALL: 50}


def test_what_is_unloaded_at_the_end_tells_of_no_work_before_it(tmp_path: Path) -> None:
    kernels = [(0.0, 100.0, "add")]
    calls = [*launched(*kernels), (600.0, 614.0, "cuLibraryUnload")]
    line = recorded(tmp_path, kernels, calls, system=[(0.0, 614.0, "add")])
    assert (line.outside.after_ns, round(line.outside.silent_after_ns / MS)) == (0, 514)


@given(
    st.lists(st.integers(0, 10**10), max_size=20),
    st.lists(st.integers(0, 10**10), min_size=2, max_size=40, unique=True),
)
def test_what_is_around_marks_lies_apart_and_in_no_call(marks: list[int], times: list[int]) -> None:
    ordered = sorted(times)
    calls = list(zip(ordered[::2], ordered[1::2], strict=False))
    ends, starts = [end for _, end in calls], [start for start, _ in calls]

    def neighbours(time: int) -> tuple[int | None, int | None]:
        before, behind = bisect_right(ends, time), bisect_left(starts, time)
        return (
            ends[before - 1] if before else None,
            starts[behind] if behind < len(starts) else None,
        )

    found = list(around_marks(marks, neighbours))
    assert all(start <= end for start, end in found)
    assert all(one[1] <= other[0] for one, other in pairwise(found))
    assert all(end - start <= 2 * SET_UP_NS * max(1, len(marks)) for start, end in found)


def test_look_ups_with_calls_between_are_no_librarys() -> None:
    assert list(runs_of_look_ups(range(1_000), [])) == [0]
    assert list(runs_of_look_ups(range(1_000), range(0, 1_000, 40))) == []
    assert list(runs_of_look_ups(range(100), [50])) == [0, 50]

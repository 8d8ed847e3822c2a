"""Exports of Nsight Systems: what is read, what may be missing, and what breaks nothing."""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import exports
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuadvise.advisor.capability import Capability
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.timelines import nsys
from gpuadvise.advisor.timelines.activities import CopyPath, MemoryKind, Recorder
from gpuadvise.advisor.timelines.gaps import GapCause
from gpuadvise.advisor.timelines.read import read_recordings
from gpuadvise.advisor.timelines.timeline import timelines_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gpuadvise.advisor.timelines.timeline import Timeline


def timeline(path: Path) -> Timeline:
    (recording,) = read_recordings(str(path))
    (line,) = timelines_of(recording)
    return line


def test_where_the_time_went(tmp_path: Path) -> None:
    line = timeline(exports.export(tmp_path / "report"))
    assert line.recorder is Recorder.NSIGHT_SYSTEMS
    assert line.device is not None
    assert line.device.sm_count == 132
    assert (line.span_ns, line.kernel_ns, line.copy_ns) == (100_000, 30_500, 30_000)
    assert (line.overlapped_copy_ns, line.memset_ns, line.idle_ns) == (10_000, 1_000, 48_500)
    assert [gap.cause for gap in line.gaps] == [GapCause.COPY, GapCause.SYNCHRONIZATION]


def test_kernels_and_copies(tmp_path: Path) -> None:
    line = timeline(exports.export(tmp_path / "report"))
    (kernel,) = line.kernels
    assert (kernel.shape.name, kernel.shape.local_memory) == ("add(float *)", 16)
    assert (kernel.shape.static_shared, kernel.calls) == (1024, 2)
    assert kernel.occupancy is not None
    assert kernel.occupancy.occupancy == 1.0
    copies = {one.kind.path: one for one in line.copies}
    assert copies[CopyPath.H2D].kind.source is MemoryKind.PAGEABLE
    assert copies[CopyPath.H2D].kind.asynchronous
    assert copies[CopyPath.D2H].kind.asynchronous is False
    assert [call.name for call in line.synchronizations] == ["cudaDeviceSynchronize"]


MISSING = [
    *(name for name in exports.TABLES if name != "CUPTI_ACTIVITY_KIND_KERNEL"),
    *(
        f"{table}.{column}"
        for table, columns in exports.TABLES.items()
        for column in columns
        if column not in ("start", "end")
    ),
]


@pytest.mark.parametrize("missing", MISSING)
def test_what_is_missing_is_not_known(tmp_path: Path, missing: str) -> None:
    line = timeline(exports.export(tmp_path / "report", without=(missing,)))
    assert line.launches.kernels == 2
    assert line.kernel_ns == 30_500


def test_no_gpu_work_gets_a_sentence(tmp_path: Path) -> None:
    without = tuple(name for name in exports.TABLES if "CUPTI" in name)
    with pytest.raises(BadInput, match="no work of a GPU"):
        timeline(exports.export(tmp_path / "report", without=without))
    sqlite3.connect(tmp_path / "other").execute("CREATE TABLE songs (title)").connection.close()
    with pytest.raises(BadInput, match="no export"):
        timeline(tmp_path / "other")


def test_a_view_in_place_of_a_table_is_not_asked(tmp_path: Path) -> None:
    path = exports.export(tmp_path / "report", without=("CUPTI_ACTIVITY_KIND_MEMCPY",))
    database = sqlite3.connect(path)
    database.execute(
        "CREATE VIEW CUPTI_ACTIVITY_KIND_MEMCPY AS WITH RECURSIVE n(start) AS "
        "(SELECT 1 UNION ALL SELECT start + 1 FROM n) SELECT start, start AS end FROM n"
    )
    database.commit()
    database.close()
    assert timeline(path).copies == ()


def test_the_file_is_not_written(tmp_path: Path) -> None:
    path = exports.export(tmp_path / "report")
    before = path.read_bytes()
    timeline(path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["report"]


ODD = (None, "soon", b"\xff\x00", math.inf, -1, 2**62, 1.5, -(2**63), 2**63 - 1)


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_rows_of_wrong_types_are_skipped(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    rows = {table: [list(row) for row in some] for table, some in exports.ROWS.items()}
    for _ in range(data.draw(st.integers(1, 6))):
        some = rows[data.draw(st.sampled_from(sorted(rows)))]
        row = data.draw(st.sampled_from(some))
        row[data.draw(st.integers(0, len(row) - 1))] = data.draw(st.sampled_from(ODD))
    path = tmp_path_factory.mktemp("odd") / "report"
    exports.export(path, rows={table: [tuple(row) for row in some] for table, some in rows.items()})
    try:
        line = timeline(path)
    except BadInput as error:
        assert error.message
    else:
        assert line.span_ns == line.busy_ns + sum(gap.length_ns for gap in line.gaps)


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_any_bytes_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = exports.export(tmp_path_factory.mktemp("bytes") / "report")
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(16, len(content) - 1))
        content[at : at + 4] = data.draw(st.binary(max_size=6))
    path.write_bytes(content)
    try:
        timeline(path)
    except BadInput as error:
        assert error.message


@pytest.mark.parametrize("shapes", [1, 2, 30])
def test_times_by_shape_are_those_of_the_rows(shapes: int, tmp_path: Path) -> None:
    rows = [
        (100 * i, 100 * i + i % 7, 0, 7, i, 1, 32, 1 + i % shapes, 1, 1, 32, 1, 1, 0, 0, 0, None)
        for i in range(300)
    ]
    path = tmp_path / "report"
    exports.export(path, rows={**exports.ROWS, "CUPTI_ACTIVITY_KIND_KERNEL": rows})
    kernels = timeline(path).kernels
    assert {kernel.shape.grid: (kernel.calls, kernel.total_ns) for kernel in kernels} == {
        (1 + kind, 1, 1): (300 // shapes, sum(i % 7 for i in range(kind, 300, shapes)))
        for kind in range(shapes)
    }


def test_more_functions_than_there_can_be_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = [(10 * i, 10 * i + 5, 1, i, 1000 + i, 0) for i in range(20)]
    path = tmp_path / "report"
    exports.export(path, rows={**exports.ROWS, "CUPTI_ACTIVITY_KIND_RUNTIME": calls})
    monkeypatch.setattr(nsys, "MOST_SHAPES", 20)
    assert timeline(path).kernels
    monkeypatch.setattr(nsys, "MOST_SHAPES", 19)
    with pytest.raises(BadInput, match="more than 19"):
        timeline(path)


def test_each_process_may_call_its_gpu_0(tmp_path: Path) -> None:
    """As with a CUDA_VISIBLE_DEVICES of its own; correlations begin anew in each process."""
    path = exports.export(tmp_path / "report")
    database = sqlite3.connect(path)
    processes = [(1 << 48) + (process << 24) for process in (4001, 4002)]
    for table in ("KERNEL", "MEMCPY", "MEMSET"):
        database.execute(f"ALTER TABLE CUPTI_ACTIVITY_KIND_{table} ADD COLUMN globalPid")
    for table in ("MEMCPY", "MEMSET"):
        database.execute(f"UPDATE CUPTI_ACTIVITY_KIND_{table} SET globalPid = ?", processes[:1])
    kernels = "CUPTI_ACTIVITY_KIND_KERNEL"
    database.execute(f"UPDATE {kernels} SET globalPid = ? WHERE start < 50000", processes[:1])
    database.execute(f"UPDATE {kernels} SET globalPid = ? WHERE start > 50000", processes[1:])
    calls = "CUPTI_ACTIVITY_KIND_RUNTIME"
    database.execute(f"UPDATE {calls} SET globalTid = ?", [processes[0] + 4001])
    # The blocking copy of the other process has the number of this one's asynchronous copy.
    row = (70_000, 80_000, processes[1] + 9, 2, 4, 0)
    database.execute(f"INSERT INTO {calls} VALUES (?, ?, ?, ?, ?, ?)", row)
    database.execute("CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId, cudaId, pid)")
    database.executemany(
        "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (?, 0, ?)", [(5, 4001), (6, 4002)]
    )
    database.commit()
    database.close()
    (recording,) = read_recordings(str(path))
    first, second = timelines_of(recording)
    assert [(line.gpu, line.launches.kernels) for line in (first, second)] == [(5, 1), (6, 1)]
    assert (first.copy_ns, first.memset_ns, second.copy_ns) == (30_000, 1_000, 0)
    into = next(copies for copies in first.copies if copies.kind.path is CopyPath.H2D)
    assert into.kind.asynchronous


def test_an_old_export_names_its_gpu_and_no_capability(tmp_path: Path) -> None:
    path = exports.export(tmp_path / "report.sqlite")
    with sqlite3.connect(path) as database:
        database.execute("DROP TABLE TARGET_INFO_GPU")
        database.execute("CREATE TABLE TARGET_INFO_GPU (vmId, deviceId, name, busLocation)")
        database.execute("INSERT INTO TARGET_INFO_GPU VALUES (0, 0, 'NVIDIA GeForce RTX 3080', '')")
    database.close()
    (recording,) = read_recordings(str(path))
    assert recording.devices == {}  # two boards of that name
    with sqlite3.connect(path) as database:
        database.execute("UPDATE TARGET_INFO_GPU SET name = 'NVIDIA GeForce GTX 1050'")
    database.close()
    (recording,) = read_recordings(str(path))
    assert recording.devices[0].capability == Capability(6, 1)
    columns = "deviceId, name, computeCapabilityMajor, computeCapabilityMinor, numMultiprocessors, globalMemorySize"
    with sqlite3.connect(path) as database:
        database.execute(f"CREATE TABLE TARGET_INFO_CUDA_GPU ({columns})")
        row = (0, "NVIDIA GeForce RTX 3080", 8, 6, 68, 10495524864)
        database.execute("INSERT INTO TARGET_INFO_CUDA_GPU VALUES (?, ?, ?, ?, ?, ?)", row)
    database.close()
    (recording,) = read_recordings(str(path))
    device = recording.devices[0]
    assert (device.capability, device.sm_count) == (Capability(8, 6), 68)


MS = 1_000_000
WORK: dict[str, list[tuple[object, ...]]] = {
    "CUPTI_ACTIVITY_KIND_KERNEL": [
        (at * MS, (at + 1) * MS, 0, 7, at, 1, 32, 264, 1, 1, 256, 1, 1, 0, 0, 0, None)
        for at in (0, 11)
    ],
    "CUPTI_ACTIVITY_KIND_MEMCPY": [],
    "CUPTI_ACTIVITY_KIND_MEMSET": [],
    "CUPTI_ACTIVITY_KIND_RUNTIME": [(0, 5_000, 1, 0, 2, 0), (10_990_000, 10_995_000, 1, 11, 2, 0)],
    "StringIds": [(1, "add"), (2, "cudaLaunchKernel_v7000"), (3, "MPI_Recv"), (4, "poll")],
}


@pytest.mark.parametrize(
    ("table", "column", "name"),
    [
        ("MPI_P2P_EVENTS", "textId", 3),
        ("MPI_COLLECTIVES_EVENTS", "textId", 3),
        ("OSRT_API", "nameId", 4),
    ],
)
def test_calls_of_mpi_and_of_the_system_name_what_fills_a_gap(
    tmp_path: Path, table: str, column: str, name: int
) -> None:
    path = exports.export(tmp_path / "report.sqlite", rows=WORK)
    with sqlite3.connect(path) as database:
        database.execute(f"CREATE TABLE {table} (start, end, globalTid, {column})")
        database.execute(f"INSERT INTO {table} VALUES (?, ?, 1, ?)", (2 * MS, 10 * MS, name))
        database.execute("CREATE TABLE MPI_RANKS (globalPid, rank)")
        database.execute("INSERT INTO MPI_RANKS VALUES (1, 3)")
    database.close()
    (recording,) = read_recordings(str(path))
    (line,) = timelines_of(recording)
    assert line.rank == 3
    (gap,) = line.gaps
    assert gap.culprit is not None
    assert gap.culprit.name == ("MPI_Recv" if name == 3 else "poll")


@pytest.mark.parametrize(("thread", "name"), [(2, 4), (1, 5)])
def test_calls_of_other_threads_and_of_the_driver_name_nothing(
    tmp_path: Path, thread: int, name: int
) -> None:
    rows = {**WORK, "StringIds": [*WORK["StringIds"], (5, "ioctl")]}
    path = exports.export(tmp_path / "report.sqlite", rows=rows)
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE OSRT_API (start, end, globalTid, nameId)")
        database.execute(
            "INSERT INTO OSRT_API VALUES (?, ?, ?, ?)", (2 * MS, 10 * MS, thread, name)
        )
    database.close()
    (recording,) = read_recordings(str(path))
    (line,) = timelines_of(recording)
    assert [gap.culprit for gap in line.gaps] == [None]


def test_a_database_of_rocprof_is_of_amd(tmp_path: Path) -> None:
    path = tmp_path / "results.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE rocpd_kernel_dispatch_0 (id INTEGER)")
        database.commit()
    with pytest.raises(BadInput, match="AMD GPU"):
        nsys.read_nsys(path)


_MS = 1_000_000
_THREAD = (5 << 24) | 1  # of process 5, as Nsight Systems numbers both


def loop(
    path: Path,
    bounds_ms: list[int],
    *,
    launched_ms: list[int] | None = None,
    ranges: Sequence[tuple[str, int, int]] = (),
) -> Path:
    """Write an export of steps that begin at *bounds_ms*, of two kernels of 1 ms and 2 ms each.

    They are launched as they begin, or at *launched_ms*; *ranges* are those of NVTX, in milliseconds.
    """
    kernels, calls = [], []
    for at, begin in enumerate(bounds_ms):
        launched = (launched_ms or bounds_ms)[at]
        for part, (start, end) in enumerate(((0, 1), (1, 3))):
            number = 2 * at + part + 1
            shape = (1 + part, 32, 264, 1, 1, 256, 1, 1, 0, 0, 0, None)
            times = ((begin + start) * _MS, (begin + end) * _MS)
            kernels.append((*times, 0, 7, number, *shape))
            begun = launched * _MS - 10_000
            calls.append((begun, begun + 5_000, _THREAD, number, 9, 0))
    names = [(1, "norm"), (2, "gemm"), (9, "cudaLaunchKernel_v7000")]
    tables = {
        "CUPTI_ACTIVITY_KIND_KERNEL": kernels,
        "CUPTI_ACTIVITY_KIND_RUNTIME": calls,
        "CUPTI_ACTIVITY_KIND_MEMCPY": [],
        "CUPTI_ACTIVITY_KIND_MEMSET": [],
        "StringIds": names,
    }
    exports.export(path, rows=tables)
    with closing(sqlite3.connect(path)) as database:
        database.execute("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN globalPid")
        database.execute("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET globalPid = ?", (5 << 24,))
        database.execute("CREATE TABLE NVTX_EVENTS (start, end, text, globalTid)")
        database.executemany(
            "INSERT INTO NVTX_EVENTS VALUES (?, ?, ?, ?)",
            [(begin * _MS, end * _MS, name, _THREAD) for name, begin, end in ranges],
        )
        database.commit()
    return path


def test_kernels_that_repeat_tell_the_steps_of_an_export(tmp_path: Path) -> None:
    line = timeline(loop(tmp_path / "report", [0, 90, 95, 100, 105, 110]))
    assert line.steps is not None
    assert [step.length_ns for step in line.steps.steps] == [90 * _MS, *([5 * _MS] * 4)]
    # In the first the GPU waits for what the host does once.
    assert line.first_steps_ns == 3 * _MS
    assert line.steady_ns == 23 * _MS


def test_a_range_names_the_steps_that_it_marks(tmp_path: Path) -> None:
    begins = [5 * at for at in range(6)]
    marks = [(f"step {begin}", begin, begin + 4) for begin in begins]
    steps = timeline(loop(tmp_path / "report", begins, ranges=marks)).steps
    assert steps is not None
    assert (steps.name, len(steps.steps)) == ("step #", 6)
    assert steps.slowest.length_ns == 5 * _MS  # the last one is as long as the others


def test_ranges_that_hold_little_of_what_is_computed_are_parts_of_a_step(tmp_path: Path) -> None:
    begins = [5 * at for at in range(6)]
    marks = [("attention", at, at + 1) for at in range(3)]
    steps = timeline(loop(tmp_path / "report", begins, ranges=marks)).steps
    assert steps is not None
    assert steps.name is None


@pytest.mark.parametrize(("launched", "queued_ms"), [(2, 47), (30, 20), (50, 0)])
def test_what_was_launched_and_does_not_begin_is_no_work_of_the_host(
    tmp_path: Path, launched: int, queued_ms: int
) -> None:
    """The GPU is idle from 3 to 50 ms; until the next launch the host works, then the GPU is waited for."""
    line = timeline(loop(tmp_path / "report", [0, 50], launched_ms=[0, launched]))
    assert line.account.idle_of(GapCause.QUEUED) == pytest.approx(queued_ms * _MS, rel=1e-3)
    assert line.long_host_gaps.total_ns == pytest.approx((47 - queued_ms) * _MS, rel=1e-3)


def test_code_that_a_framework_loads_for_a_first_run_is_the_start(tmp_path: Path) -> None:
    """70 ms before a kernel of PyTorch that comes again promptly; 70 ms before each run of another one are work."""
    gaps = {"once": [70, 1], "each": [70, 70]}
    for case, lengths in gaps.items():
        rows, time = [(0, _MS, 0, 7, 1, 1, 32, 264, 1, 1, 256, 1, 1, 0, 0, 0, None)], 1
        for gap in lengths:
            time += gap
            begin = time * _MS
            rows.append((begin, begin + _MS, 0, 7, 1, 2, 32, 264, 1, 1, 256, 1, 1, 0, 0, 0, None))
            time += 1
        names = [(1, "first"), (2, "void at::native::softmax()")]
        tables = {
            "CUPTI_ACTIVITY_KIND_KERNEL": rows,
            "CUPTI_ACTIVITY_KIND_RUNTIME": [],
            "CUPTI_ACTIVITY_KIND_MEMCPY": [],
            "CUPTI_ACTIVITY_KIND_MEMSET": [],
            "StringIds": names,
        }
        account = timeline(exports.export(tmp_path / case, rows=tables)).account
        assert account.start_up_ns == (70 * _MS if case == "once" else 0)


@pytest.mark.parametrize(
    ("kernel", "gap_ms", "starts"),
    [
        ("void at::native::softmax()", 3_000, True),
        ("void at::native::softmax()", 12_000, False),  # no compiler takes so long
        ("mine", 3_000, False),  # the host's own work, behind which its code is loaded
        ("mine", 800, True),
    ],
)
def test_what_a_framework_compiles_before_code_is_loaded_is_the_start(
    tmp_path: Path, kernel: str, gap_ms: int, *, starts: bool
) -> None:
    shape = (32, 264, 1, 1, 256, 1, 1, 0, 0, 0, None)
    begin = (1 + gap_ms) * _MS
    tables = {
        "CUPTI_ACTIVITY_KIND_KERNEL": [
            (0, _MS, 0, 7, 1, 1, *shape),
            (begin, begin + _MS, 0, 7, 2, 2, *shape),
        ],
        "CUPTI_ACTIVITY_KIND_RUNTIME": [(begin - 3 * _MS, begin - _MS, _THREAD, 3, 9, 0)],
        "CUPTI_ACTIVITY_KIND_MEMCPY": [],
        "CUPTI_ACTIVITY_KIND_MEMSET": [],
        "StringIds": [(1, "first"), (2, kernel), (9, "cuLibraryLoadData")],
    }
    account = timeline(exports.export(tmp_path / "report", rows=tables)).account
    assert account.idle_of(GapCause.START_UP) == ((gap_ms - 2) * _MS if starts else 0)

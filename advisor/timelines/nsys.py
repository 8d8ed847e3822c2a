"""SQLite exports of Nsight Systems, schemas 3.x, read without trusting them.

A table is made only when something of its kind was recorded, and columns come and go between
versions: both are asked for. Only tables of GPU work are read, never those of the environment,
the processes or the machine.
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import contextmanager
from operator import sub
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import quoted_path
from gpuadvise.advisor.timelines.activities import (
    LATEST,
    LONGEST_NAME,
    MOST_ACTIVITIES,
    MOST_SHAPES,
    CopyPath,
    CopyRoute,
    CopyRuns,
    KernelRuns,
    KernelShape,
    MemoryKind,
    Recorder,
    Recording,
)
from gpuadvise.advisor.timelines.calls import CallKind, blocks_host, call_kind, plain_name
from gpuadvise.advisor.timelines.gpus import traced_device
from gpuadvise.advisor.timelines.intervals import Intervals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
COPIES = "CUPTI_ACTIVITY_KIND_MEMCPY"
MEMSETS = "CUPTI_ACTIVITY_KIND_MEMSET"
CALLS = "CUPTI_ACTIVITY_KIND_RUNTIME"
GRAPHS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
_TABLES = (
    KERNELS,
    COPIES,
    MEMSETS,
    CALLS,
    GRAPHS,
    "StringIds",
    "TARGET_INFO_GPU",
    "META_DATA_EXPORT",
    "ENUM_CUDA_MEMCPY_OPER",
    "ENUM_CUDA_MEM_KIND",
)
_USABLE = (
    "typeof(start) = 'integer' AND typeof(end) = 'integer' "
    f"AND start > {-LATEST} AND end < {LATEST} AND end >= start"
)
_LARGEST_VALUE = 1 << 20
_SHAPE = (
    "registersPerThread",
    "staticSharedMemory",
    "dynamicSharedMemory",
    "gridX",
    "gridY",
    "gridZ",
    "blockX",
    "blockY",
    "blockZ",
    "clusterX",
    "clusterY",
    "clusterZ",
    "localMemoryPerThread",
)
# Enumerations as schema 3.20 has them, for exports without the tables of their names.
_OPERATIONS = {
    1: "CUDA_MEMCPY_KIND_HTOD",
    2: "CUDA_MEMCPY_KIND_DTOH",
    8: "CUDA_MEMCPY_KIND_DTOD",
    9: "CUDA_MEMCPY_KIND_HTOH",
    10: "CUDA_MEMCPY_KIND_PTOP",
    11: "CUDA_MEMCPY_KIND_UVM_HTOD",
    12: "CUDA_MEMCPY_KIND_UVM_DTOH",
    13: "CUDA_MEMCPY_KIND_UVM_DTOD",
}
_MEMORY_KINDS = {
    0: "PAGEABLE",
    1: "PINNED",
    2: "DEVICE",
    3: "ARRAY",
    4: "MANAGED",
    5: "DEVICE_STATIC",
    6: "MANAGED_STATIC",
}


def read_nsys(path: Path) -> Recording:
    """Return the recording of the export *path*; raises BadInput where it is none."""
    with _opened(path) as database:
        export = _Export(database)
        if not export.columns:
            raise BadInput(
                f"{quoted_path(path.name)} is a database, but no export of Nsight Systems."
            )
        recording = Recording(recorder=Recorder.NSIGHT_SYSTEMS, version=export.version())
        export.read_gpus(recording)
        export.read_kernels(recording)
        export.read_copies(recording)
        export.read_memsets(recording)
        export.read_calls(recording)
        export.read_graphs(recording)
    if not recording.gpus:
        raise BadInput(
            f"{quoted_path(path.name)} holds no work of a GPU.",
            hint="Record with nsys profile --trace=cuda.",
        )
    return recording


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Give the database, which can be read and nothing else; what is broken becomes BadInput."""
    try:
        database = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
    except (sqlite3.Error, ValueError):
        raise BadInput(f"{quoted_path(path.name)} cannot be opened as a database.") from None
    database.text_factory = lambda raw: raw.decode("utf-8", "replace")
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LARGEST_VALUE)
    try:
        database.execute("PRAGMA trusted_schema=OFF")
        database.set_authorizer(_allowed)
        yield database
    except (sqlite3.Error, OverflowError, UnicodeDecodeError):
        # The engine's words can hold text of the file, and need not be text at all.
        raise BadInput(f"{quoted_path(path.name)} is a broken database.") from None
    finally:
        database.close()


def _allowed(action: int, first: str | None, *_: object) -> int:
    """Let statements read, name columns and call SQL's own functions."""
    plain = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION)
    if action in plain or (action == sqlite3.SQLITE_PRAGMA and first == "table_info"):
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


class _Export:
    """The tables of one export: those that are there, with the columns they have."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self.database = database
        # A view or a virtual table could compute without end; real tables have a root page.
        real = {
            row[0]
            for row in database.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0"
            )
        }
        self.columns = {
            table: {row[1] for row in database.execute(f"PRAGMA table_info({table})")}
            for table in _TABLES
            if table in real
        }

    def rows(self, table: str, wanted: tuple[str, ...], where: str = "1") -> sqlite3.Cursor:
        """Return the columns *wanted* of a table, NULL for those it does not have."""
        return self.database.execute(
            f"SELECT {self.listed(table, wanted)} FROM {table} WHERE {where} "
            f"LIMIT {MOST_ACTIVITIES}"
        )

    def listed(self, table: str, wanted: tuple[str, ...]) -> str:
        """Return the columns *wanted* as SQL lists them."""
        have = self.columns[table]
        return ", ".join(name if name.split(" ")[0] in have else "NULL" for name in wanted)

    def times(
        self, recording: Recording, table: str, wanted: tuple[str, ...]
    ) -> dict[tuple[Any, ...], Intervals]:
        """Return the usable times of all rows by what *wanted* holds; count the other rows.

        Nearly always all are usable: looking at them together costs less than a condition of each.
        """
        columns = ("start", "end", *wanted)
        try:
            times = _by_key(self.rows(table, columns))
            if all(map(_usable, times.values())):
                return times
        except (TypeError, OverflowError):  # something else than a whole number of 64 bits
            pass
        times = _by_key(self.rows(table, columns, _USABLE))
        self.skip_others(recording, table, sum(map(len, times.values())))
        return times

    def timed(
        self, recording: Recording, table: str, wanted: tuple[str, ...]
    ) -> Iterator[tuple[Any, ...]]:
        """Yield (start, end, *wanted*) of the rows with usable times; count the others."""
        if not {"start", "end"} <= self.columns.get(table, set()):
            return
        count = 0
        for row in self.rows(table, ("start", "end", *wanted), _USABLE):
            count += 1
            yield row
        self.skip_others(recording, table, count)

    def skip_others(self, recording: Recording, table: str, count: int) -> None:
        """Count the rows of *table* that are not usable, where it has more than *count*."""
        ((every,),) = self.database.execute(f"SELECT count(*) FROM {table}")
        if every == count:
            return
        for (row,) in self.database.execute(f"SELECT rowid FROM {table} WHERE NOT ({_USABLE})"):
            recording.skip(row, f"the times of this row of {table} are not usable")

    def texts(self, table: str, key: str, value: str) -> dict[int, str]:
        """Return a table of names by their numbers."""
        if not {key, value} <= self.columns.get(table, set()):
            return {}
        return {
            number: text[:LONGEST_NAME]
            for number, text in self.rows(table, (key, value))
            if isinstance(number, int) and isinstance(text, str)
        }

    def names(self, numbers: Iterable[object]) -> dict[int, str]:
        """Return the texts of StringIds that these *numbers* point at."""
        if not {"id", "value"} <= self.columns.get("StringIds", set()):
            return {}
        wanted = set(numbers)
        return {
            number: text[:LONGEST_NAME]
            for number, text in self.rows("StringIds", ("id", "value"))
            if number in wanted and isinstance(number, int) and isinstance(text, str)
        }

    def version(self) -> str | None:
        """Return the schema's version, such as 3.20.3."""
        if not {"name", "value"} <= self.columns.get("META_DATA_EXPORT", set()):
            return None
        for name, value in self.rows("META_DATA_EXPORT", ("name", "value")):
            if name == "EXPORT_SCHEMA_VERSION" and re.fullmatch(r"[\d.]{1,20}", str(value)):
                return str(value)
        return None

    def read_gpus(self, recording: Recording) -> None:
        """Take what the export says of each GPU."""
        wanted = ("id", "name", "computeMajor", "computeMinor", "smCount", "totalMemory")
        if "id" not in self.columns.get("TARGET_INFO_GPU", set()):
            return
        for number, name, major, minor, sms, memory in self.rows("TARGET_INFO_GPU", wanted):
            device = traced_device(
                name=name, major=major, minor=minor, sm_count=sms, memory_bytes=memory
            )
            if device is not None and isinstance(number, int) and len(recording.devices) < 64:
                recording.devices[number] = device

    def read_kernels(self, recording: Recording) -> None:
        """Add every kernel."""
        column = next(
            (
                name
                for name in ("demangledName", "shortName", "mangledName")
                if name in self.columns.get(KERNELS, set())
            ),
            "demangledName",
        )
        if not {"start", "end"} <= self.columns.get(KERNELS, set()):
            return
        wanted = ("streamId", "graphNodeId IS NOT NULL", "deviceId", column, *_SHAPE)
        shapes = self.distinct(KERNELS, wanted)
        names = self.names(shape[wanted.index(column)] for shape in shapes)
        telling = _telling(shapes)
        few = tuple(wanted[at] for at in telling)
        times = self.times(recording, KERNELS, few)
        for shape in shapes:
            stream, node, *key = shape
            runs = times.get(tuple([shape[at] for at in telling]))
            if runs is not None:
                _add_runs(
                    _kernel_runs(recording, names, tuple(key)),
                    runs,
                    _number(stream),
                    in_graph=bool(node),
                )

    def distinct(self, table: str, wanted: tuple[str, ...]) -> list[tuple[Any, ...]]:
        """Return the different values that some columns have together."""
        columns = self.listed(table, wanted)
        shapes = self.database.execute(
            f"SELECT DISTINCT {columns} FROM {table} LIMIT {MOST_SHAPES + 1}"
        ).fetchall()
        if len(shapes) > MOST_SHAPES:
            raise BadInput(f"There are more than {MOST_SHAPES:,} kernels and launch shapes.")
        return shapes

    def read_copies(self, recording: Recording) -> None:
        """Add every copy, and whether the call that began it blocked."""
        if COPIES not in self.columns:
            return
        operations = self.texts("ENUM_CUDA_MEMCPY_OPER", "id", "name") or _OPERATIONS
        memories = self.texts("ENUM_CUDA_MEM_KIND", "id", "name") or _MEMORY_KINDS
        asynchronous = self._asynchronous()
        wanted = (
            "deviceId",
            "streamId",
            "bytes",
            "copyKind",
            "srcKind",
            "dstKind",
            "correlationId",
        )
        for start, end, gpu, stream, size, path, source, target, call in self.timed(
            recording, COPIES, wanted
        ):
            if not isinstance(size, int) or not 0 <= size < LATEST:
                recording.skip(start, "the bytes of a copy are not a count")
                continue
            kind = CopyRoute(
                path=_path(operations.get(path, "")),
                source=_memory(memories.get(source, ""), operations.get(path, "")),
                target=_memory(memories.get(target, ""), operations.get(path, "")),
                asynchronous=asynchronous.get(call),
            )
            runs = recording.gpu(_number(gpu)).copies.setdefault(kind, CopyRuns())
            runs.runs.add(start, end)
            runs.sizes.append(size)
            runs.streams.add(_number(stream))

    def _asynchronous(self) -> dict[int, bool]:
        """Return for each copying call, by its correlation, whether it returned at once."""
        if not {"correlationId", "nameId"} <= self.columns.get(CALLS, set()):
            return {}
        numbers = self.database.execute(f"SELECT DISTINCT nameId FROM {CALLS}")
        copying = {
            number: not blocks_host(name)
            for number, name in self.names(row[0] for row in numbers).items()
            if call_kind(name) is CallKind.COPY
        }
        if not copying:
            return {}
        where = f"nameId IN ({', '.join(map(str, copying))})"
        return {
            call: copying[name]
            for call, name in self.rows(CALLS, ("correlationId", "nameId"), where)
            if isinstance(call, int)
        }

    def read_memsets(self, recording: Recording) -> None:
        """Add every memset."""
        for start, end, gpu, size in self.timed(recording, MEMSETS, ("deviceId", "bytes")):
            activities = recording.gpu(_number(gpu))
            activities.memsets.add(start, end)
            activities.memset_bytes += size if isinstance(size, int) and 0 <= size < LATEST else 0

    def read_graphs(self, recording: Recording) -> None:
        """Add the replays of graphs that were recorded as one row each."""
        for start, end, gpu in self.timed(recording, GRAPHS, ("deviceId",)):
            recording.gpu(_number(gpu)).graph_runs.add(start, end)

    def read_calls(self, recording: Recording) -> None:
        """Add every call of the host."""
        if not {"start", "end"} <= self.columns.get(CALLS, set()):
            return
        by_name = self.times(recording, CALLS, ("nameId",))
        names = self.names(name for (name,) in by_name)
        for (name,), times in by_name.items():
            plain = plain_name(names.get(name, "unknown call"))
            calls = recording.calls.setdefault(plain, Intervals())
            calls.starts.extend(times.starts)
            calls.ends.extend(times.ends)


class _Adders(dict[Any, Any]):
    """What adds a start and an end to the times of each key."""

    def __init__(self) -> None:
        super().__init__()
        self.times: dict[Any, Intervals] = {}

    def __missing__(self, key: Any) -> tuple[Callable[[int], None], Callable[[int], None]]:
        if len(self) >= MOST_SHAPES:
            raise BadInput(f"There are more than {MOST_SHAPES:,} kernels or functions of CUDA.")
        times = self.times[key] = Intervals()
        self[key] = adders = (times.starts.append, times.ends.append)
        return adders


def _by_key(rows: sqlite3.Cursor) -> dict[tuple[Any, ...], Intervals]:
    """Return the (start, end) of *rows* by the columns that follow."""
    adders = _Adders()
    if len(rows.description) > 3:
        for start, end, *key in rows:
            add_start, add_end = adders[tuple(key)]
            add_start(start)
            add_end(end)
        return adders.times
    # A key alone, as nearly always, needs no tuple.
    for start, end, key in rows:
        add_start, add_end = adders[key]
        add_start(start)
        add_end(end)
    return {(key,): times for key, times in adders.times.items()}


def _usable(times: Intervals) -> bool:
    """Return whether no interval ends before it starts or lies further out than sums allow."""
    return (
        min(times.starts) > -LATEST
        and max(times.ends) < LATEST
        and min(map(sub, times.ends, times.starts)) >= 0
    )


def _telling(shapes: list[tuple[Any, ...]]) -> list[int]:
    """Return a few places whose values tell all *shapes* apart: fewer columns read faster."""
    if not shapes:
        return []
    kinds = [len(set(column)) for column in zip(*shapes, strict=True)]
    telling: list[int] = []
    for at in sorted(range(len(kinds)), key=lambda place: -kinds[place]):
        told = {tuple([shape[place] for place in telling]) for shape in shapes}
        if telling and len(told) == len(shapes):
            break
        telling.append(at)
    return telling


def _add_runs(kernel: KernelRuns, runs: Intervals, stream: int, *, in_graph: bool) -> None:
    kernel.runs.starts.extend(runs.starts)
    kernel.runs.ends.extend(runs.ends)
    kernel.streams.add(stream)
    kernel.in_graphs += len(runs) if in_graph else 0


def _kernel_runs(recording: Recording, names: dict[int, str], key: tuple[Any, ...]) -> KernelRuns:
    """Return where the runs of a kernel shape are gathered; unusable values are not known."""
    gpu, name, registers, static, dynamic, *sizes = key
    grid, block, cluster = (_dimensions(sizes[at : at + 3]) for at in (0, 3, 6))
    shape = KernelShape(
        name=names.get(name, "unknown kernel"),
        grid=grid,
        block=block,
        cluster=cluster or (1, 1, 1),
        registers=_number(registers) or None,
        static_shared=_number(static),
        dynamic_shared=_number(dynamic) if dynamic is not None else None,
        local_memory=_number(sizes[9]) if sizes[9] is not None else None,
    )
    return recording.gpu(_number(gpu)).kernels.setdefault(shape, KernelRuns())


def _number(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value < 2**31 else 0


def _dimensions(sizes: list[Any]) -> tuple[int, int, int] | None:
    x, y, z = map(_number, sizes)
    return (x, y, z) if x and y and z else None


def _path(operation: str) -> CopyPath:
    for ending, path in (
        ("HTOD", CopyPath.H2D),
        ("DTOH", CopyPath.D2H),
        ("DTOD", CopyPath.D2D),
        ("HTOH", CopyPath.H2H),
        ("PTOP", CopyPath.P2P),
        ("HTOA", CopyPath.H2D),
        ("ATOH", CopyPath.D2H),
    ):
        if operation.endswith(ending):
            return path
    return CopyPath.UNKNOWN


def _memory(kind: str, operation: str) -> MemoryKind:
    """Return a kind of memory by its word; pages that move by themselves are managed."""
    if "UVM" in operation:
        return MemoryKind.MANAGED
    for word in MemoryKind:
        if word.upper() in kind.upper():
            return word
    return MemoryKind.UNKNOWN

"""SQLite exports of Nsight Systems, schemas 3.x, read without trusting them.

A table is made only when something of its kind was recorded, and columns come and go between
versions: both are asked for. Only tables of GPU work are read, never those of the environment,
the processes or the machine.
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import contextmanager, suppress
from functools import cached_property
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import quoted_path
from gpuadvise.advisor.timelines.activities import (
    LATEST,
    LONGEST_NAME,
    MOST_ACTIVITIES,
    MOST_SHAPES,
    OF_AMD,
    CopyPath,
    CopyRoute,
    KernelShape,
    MemoryKind,
    Recorder,
    Recording,
)
from gpuadvise.advisor.timelines.calls import LAUNCHES, CallKind, blocks_host, call_kind, plain_name
from gpuadvise.advisor.timelines.copy_calls import CopyCalls
from gpuadvise.advisor.timelines.gpus import named_device, traced_device
from gpuadvise.advisor.timelines.host_events import LEAST_NS, EventKind
from gpuadvise.advisor.timelines.nsys_rows import (
    LaunchShape,
    gathered_calls,
    gathered_kernels,
)
from gpuadvise.advisor.timelines.nsys_set_up import LOADED, SetUps, named
from gpuadvise.advisor.timelines.pace import FEWEST_FRAMES
from gpuadvise.advisor.timelines.steps import MOST_STARTS, RepeatedRanges

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from gpuadvise.advisor.timelines.copy_calls import UnjoinedCopies

    _Gathered = TypeVar("_Gathered")

KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
COPIES = "CUPTI_ACTIVITY_KIND_MEMCPY"
MEMSETS = "CUPTI_ACTIVITY_KIND_MEMSET"
CALLS = "CUPTI_ACTIVITY_KIND_RUNTIME"
GRAPHS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
RANGES = "NVTX_EVENTS"
SYSTEM_CALLS = "OSRT_API"
OVERHEAD = "PROFILER_OVERHEAD"
RANKS = "MPI_RANKS"
MPI_CALLS = (
    "MPI_P2P_EVENTS",
    "MPI_COLLECTIVES_EVENTS",
    "MPI_START_WAIT_EVENTS",
    "MPI_OTHER_EVENTS",
)
_TABLES = (
    KERNELS,
    COPIES,
    MEMSETS,
    CALLS,
    GRAPHS,
    RANGES,
    SYSTEM_CALLS,
    OVERHEAD,
    RANKS,
    *MPI_CALLS,
    "StringIds",
    "TARGET_INFO_GPU",
    "TARGET_INFO_CUDA_GPU",
    "TARGET_INFO_CUDA_DEVICE",
    "META_DATA_EXPORT",
    "ENUM_CUDA_MEMCPY_OPER",
    "ENUM_CUDA_MEM_KIND",
)
# A GPU's number, name, capability, SMs and memory, as newer and older exports call them.
_GPU_TABLES = (
    ("TARGET_INFO_GPU", ("id", "name", "computeMajor", "computeMinor", "smCount", "totalMemory")),
    (
        "TARGET_INFO_CUDA_GPU",
        (
            "deviceId",
            "name",
            "computeCapabilityMajor",
            "computeCapabilityMinor",
            "numMultiprocessors",
            "globalMemorySize",
        ),
    ),
)
_USABLE = (
    "typeof(start) = 'integer' AND typeof(end) = 'integer' "
    f"AND start > {-LATEST} AND end < {LATEST} AND end >= start"
)
_LARGEST_VALUE = 1 << 20
_BY_DRIVER = ("ioctl",)  # calls of the system that CUDA's driver makes inside of its own
_THREAD_BITS = 24
_PROCESS = (1 << 24) - 1  # of a serialized id, behind the 24 bits of a thread
_MOST_NUMBERS = 1 << 16  # GPUs of processes
_MOST_WITH_STARTS = 1 << 15  # kernels of a recording of which is kept when each began
_MOST_LAUNCHES = 1 << 16  # likewise of calls that launch
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


# Tables of rocprofv3's databases.
_ROCPD = "SELECT 1 FROM sqlite_master WHERE name GLOB 'rocpd_*'"


def read_nsys(path: Path) -> Recording:
    """Return the recording of the export *path*; raises BadInput where it is none."""
    with _opened(path) as database:
        export = _Export(database)
        if not export.columns:
            if database.execute(_ROCPD).fetchone():
                raise BadInput(OF_AMD)
            raise BadInput(
                f"{quoted_path(path.name)} is a database, but no export of Nsight Systems."
            )
        recording = Recording(recorder=Recorder.NSIGHT_SYSTEMS, version=export.version())
        export.read_gpus(recording)
        export.read_kernels(recording)
        export.read_longest_starts(recording)
        export.read_copies(recording)
        export.read_memsets(recording)
        export.read_calls(recording)
        export.read_graphs(recording)
        export.read_ranges(recording)
        export.read_host_calls(recording)
        export.read_rank(recording)
        export.read_overhead(recording)
        export.read_window(recording)
        export.read_launches(recording)
        export.read_first_launches(recording)
        export.read_set_up(recording)
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
        self.has_names = {"id", "value"} <= self.columns.get("StringIds", set())
        self.has_processes = "globalPid" in self.columns.get(
            COPIES, ()
        ) and "globalTid" in self.columns.get(CALLS, ())
        self.gpu_numbers = self.read_gpu_numbers()

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

    def gathered(
        self,
        recording: Recording,
        table: str,
        wanted: tuple[str, ...],
        gather: Callable[[Iterator[Any]], _Gathered],
    ) -> _Gathered:
        """Return what *gather* makes of the usable rows (start, end, *wanted*); count the others.

        Nearly always all are usable: looking at them together costs less than a condition of each.
        """
        columns = ("start", "end", *wanted)
        with suppress(TypeError, OverflowError):  # some row is not usable
            return gather(self.rows(table, columns))
        self.skip_unusable(recording, table)
        return gather(self.rows(table, columns, _USABLE))

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
        ((rows,),) = self.database.execute(f"SELECT count(*) FROM {table}")
        if rows > count:
            self.skip_unusable(recording, table)

    def skip_unusable(self, recording: Recording, table: str) -> None:
        """Count the rows of *table* whose times are not usable."""
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
        for table, columns in _GPU_TABLES:
            if set(columns[:3]) <= self.columns.get(table, set()):
                self._read_gpus(recording, table, columns)
                return
        # The oldest have names alone.
        have = self.columns.get("TARGET_INFO_GPU", set())
        number = next((column for column in ("id", "deviceId") if column in have), None)
        if number is not None:
            self._read_gpus(recording, "TARGET_INFO_GPU", (number, "name"))

    def _read_gpus(self, recording: Recording, table: str, columns: tuple[str, ...]) -> None:
        for number, name, *properties in self.rows(table, columns):
            device = named_device(name)
            if properties:
                major, minor, sms, memory = properties
                device = traced_device(
                    name=name, major=major, minor=minor, sm_count=sms, memory_bytes=memory
                )
            if device is not None and isinstance(number, int) and len(recording.devices) < 64:
                recording.devices[number] = device

    def read_gpu_numbers(self) -> dict[tuple[int, int], int]:
        """Return the GPU's number by the process and the number that CUDA has for it there.

        They differ where CUDA_VISIBLE_DEVICES is set: each process of a node may call its GPU 0.
        """
        wanted = ("pid", "cudaId", "gpuId")
        if not set(wanted) <= self.columns.get("TARGET_INFO_CUDA_DEVICE", set()):
            return {}
        return {
            (process, number): gpu
            for process, number, gpu in islice(
                self.rows("TARGET_INFO_CUDA_DEVICE", wanted), _MOST_NUMBERS
            )
            if isinstance(gpu, int)
        }

    def gpu(self, number: object, process: object) -> int:
        """Return the number of the GPU that a process, by its serialized id, calls *number*."""
        cuda_number = _number(number)
        return _number(self.gpu_numbers.get((_process(process), cuda_number), cuda_number))

    def read_kernels(self, recording: Recording) -> None:
        """Add every kernel."""
        column = self.name_column()
        if not {"start", "end"} <= self.columns.get(KERNELS, set()):
            return
        # The name first: it differs soonest where the database compares rows.
        wanted = (column, "streamId", "graphNodeId IS NOT NULL", "deviceId", "globalPid", *_SHAPE)
        rows = self.distinct(KERNELS, wanted)
        names = self.names(row[0] for row in rows)
        telling = _telling(rows)
        pick = itemgetter(*telling) if telling else None
        shapes = {pick(row): self.launch_shape(names, row) for row in rows if pick}
        columns = tuple(wanted[place] for place in telling)
        recording.gpus.update(
            self.gathered(
                recording, KERNELS, columns, lambda kernels: gathered_kernels(kernels, shapes)
            )
        )
        if shapes:
            self.read_starts(recording, columns, shapes)

    @cached_property
    def is_short(self) -> bool:
        """Whether it has so few kernels that it costs little to look at each."""
        ((rows,),) = self.database.execute(f"SELECT count(*) FROM {KERNELS}")
        return bool(rows <= _MOST_WITH_STARTS)

    def read_starts(
        self, recording: Recording, columns: tuple[str, ...], shapes: dict[Any, LaunchShape]
    ) -> None:
        """Take when kernels began, by the *columns* that tell their *shapes*, and each for the first time.

        Of a recording so short that its first launches tell.
        """
        if not self.is_short:
            return
        wanted = self.listed(KERNELS, ("start", *columns))
        starts = self.database.execute(
            f"SELECT {wanted} FROM {KERNELS} WHERE {_USABLE} ORDER BY start"
        )
        firsts: dict[tuple[int, str], int] = {}
        for start, *told in starts:
            shape = shapes[tuple(told) if len(told) > 1 else told[0]]
            runs = recording.gpus[shape.gpu].kernels[shape.kernel]
            if len(runs.starts) <= MOST_STARTS:
                runs.starts.append(start)
                runs.first_start = firsts.setdefault((shape.gpu, shape.kernel.name), start)

    def read_longest_starts(self, recording: Recording) -> None:
        """Take the first starts of the kernel that takes the longest on each GPU: they tell a pace."""
        column = self.name_column()
        for activities in recording.gpus.values():
            longest = max(
                (
                    (summary.total, shape.name)
                    for shape, runs in activities.kernels.items()
                    if (summary := runs.durations.summary()).count > FEWEST_FRAMES
                ),
                default=None,
            )
            if longest is None or len(recording.gpus) > 1 or column not in self.columns[KERNELS]:
                continue
            numbers = [
                number
                for number, text in self.texts("StringIds", "id", "value").items()
                if text == longest[1]
            ]
            if len(numbers) == 1:
                where = f"{_USABLE} AND {column} = {numbers[0]}"
                starts = self.database.execute(
                    f"SELECT start FROM {KERNELS} WHERE {where} LIMIT {MOST_STARTS}"
                )
                activities.longest_starts = [start for (start,) in starts]

    def name_column(self) -> str:
        """Return which column names a kernel."""
        have = self.columns.get(KERNELS, set())
        named = ("demangledName", "shortName", "mangledName")
        return next((name for name in named if name in have), named[0])

    def launch_shape(self, names: dict[int, str], row: tuple[Any, ...]) -> LaunchShape:
        """Return the launch shape that *row* tells."""
        name, stream, node, number, process, *columns = row
        return LaunchShape(
            gpu=self.gpu(number, process),
            stream=_number(stream),
            in_graph=bool(node),
            kernel=_kernel_shape(names.get(name, "unknown kernel"), columns),
        )

    def distinct(self, table: str, wanted: tuple[str, ...]) -> list[tuple[Any, ...]]:
        """Return the different values that some columns have together; raises BadInput for too many."""
        columns = self.listed(table, wanted)
        shapes = self.database.execute(
            f"SELECT DISTINCT {columns} FROM {table} LIMIT {MOST_SHAPES + 1}"
        ).fetchall()
        if len(shapes) > MOST_SHAPES:
            raise BadInput(f"{table} has more than {MOST_SHAPES:,} names and launch shapes.")
        return shapes

    def read_copies(self, recording: Recording) -> None:
        """Add every copy, and whether the call that began it blocked; raises BadInput for too many kinds."""
        if COPIES not in self.columns:
            return
        operations = self.texts("ENUM_CUDA_MEMCPY_OPER", "id", "name") or _OPERATIONS
        memories = self.texts("ENUM_CUDA_MEM_KIND", "id", "name") or _MEMORY_KINDS
        copies = CopyCalls(recording)
        self._add_copy_calls(copies)
        kinds: dict[tuple[Any, ...], UnjoinedCopies] = {}
        wanted = (
            "bytes",
            self.correlation("globalPid"),
            "globalPid",
            "deviceId",
            "streamId",
            "copyKind",
            "srcKind",
            "dstKind",
        )
        for start, end, size, call, *key in self.timed(recording, COPIES, wanted):
            if not isinstance(size, int) or not 0 <= size < LATEST:
                recording.skip(start, "the bytes of a copy are not a count")
                continue
            kind = kinds.get(tuple(key))
            if kind is None:
                if len(kinds) >= MOST_SHAPES:
                    raise BadInput(f"There are more than {MOST_SHAPES:,} kinds of copies.")
                process, number, stream, path, source, target = key
                operation = operations.get(path, "")
                route = CopyRoute(
                    path=_path(operation),
                    source=_memory(memories.get(source, ""), operation),
                    target=_memory(memories.get(target, ""), operation),
                )
                kind = kinds[tuple(key)] = copies.kind(self.gpu(number, process), route)
                kind.streams.add(_number(stream))
            copies.add_copy(kind, start, end, size, call if isinstance(call, int) else None)
        copies.finish()

    def _add_copy_calls(self, copies: CopyCalls) -> None:
        """Add the calls that copy."""
        if not {"correlationId", "nameId"} <= self.columns.get(CALLS, set()):
            return
        copying = {
            number: not blocks_host(name)
            for number, name in self.call_names().items()
            if call_kind(name) is CallKind.COPY
        }
        if copying:
            where = f"nameId IN ({', '.join(map(str, copying))})"
            wanted = (self.correlation("globalTid"), "nameId")
            for call, name in self.rows(CALLS, wanted, where):
                if isinstance(call, int):
                    copies.add_call(call, asynchronous=copying[name])

    def correlation(self, process: str) -> str:
        """Return what a copy and its call share, as SQL: each process counts from 1 by itself.

        *process* is the column with the serialized id of the process or of a thread in it.
        """
        return _numbered(process) if self.has_processes else "correlationId"

    def call_names(self) -> dict[int, str]:
        """Return the names of the functions that were called, by their numbers."""
        if "nameId" not in self.columns.get(CALLS, set()):
            return {}
        return self.names(name for (name,) in self.distinct(CALLS, ("nameId",)))

    def read_memsets(self, recording: Recording) -> None:
        """Add every memset."""
        wanted = ("deviceId", "globalPid", "bytes")
        for start, end, number, process, size in self.timed(recording, MEMSETS, wanted):
            activities = recording.gpu(self.gpu(number, process))
            activities.memset_times.add(start, end)
            activities.memset_bytes += size if isinstance(size, int) and 0 <= size < LATEST else 0

    def read_graphs(self, recording: Recording) -> None:
        """Add the replays of graphs that were recorded as one row each."""
        for start, end, number, process in self.timed(recording, GRAPHS, ("deviceId", "globalPid")):
            activities = recording.gpu(self.gpu(number, process))
            activities.kernel_times.add(start, end)
            activities.graph_replays += 1

    def read_ranges(self, recording: Recording) -> None:
        """Add the long ranges of NVTX, and the steps that one of them marks."""
        if not {"start", "end", "globalTid"} <= self.columns.get(RANGES, set()):
            return
        threads = self.calling_threads()
        for thread in threads:
            recording.host_events.called_from(thread)
        long = f"{_USABLE} AND end - start >= {LEAST_NS}"
        names = {}
        if "textId" in self.columns[RANGES]:
            names = self.names(row[0] for row in self.distinct(RANGES, ("textId",)))
        repeated = RepeatedRanges()
        wanted = ("start", "end", "text", "textId", "globalTid")
        for start, end, text, number, thread in self.rows(RANGES, wanted, long):
            name = text[:LONGEST_NAME] if isinstance(text, str) else names.get(number)
            if name is None or not isinstance(thread, int):
                continue
            recording.host_events.add(EventKind.RANGE, name, start, end, thread)
            if thread in threads:
                repeated.add(name, thread, start, end)
        for number, (start, end) in enumerate(repeated.steps(), 1):
            recording.ranges.add(number, start, end)
        recording.range_name = repeated.name

    def read_host_calls(self, recording: Recording) -> None:
        """Add the long calls of MPI, and of the system where no range says what they are for."""
        threads = self.calling_threads()
        for thread in threads:
            recording.host_events.called_from(thread)
        tables = [(table, "textId") for table in MPI_CALLS]
        if RANGES not in self.columns:
            tables.append((SYSTEM_CALLS, "nameId"))
        for table, column in tables:
            if not {"start", "end", "globalTid", column} <= self.columns.get(table, set()):
                continue
            long = f"{_USABLE} AND end - start >= {LEAST_NS}"
            rows = self.rows(table, ("start", "end", column, "globalTid"), long).fetchall()
            names = self.names(row[2] for row in rows)
            for start, end, number, thread in rows:
                if table == SYSTEM_CALLS and threads and thread not in threads:
                    continue  # a thread that gives the GPU no work may wait for anything
                if names.get(number) in _BY_DRIVER:
                    continue
                if number in names and isinstance(thread, int):
                    recording.host_events.add(EventKind.OPERATOR, names[number], start, end, thread)

    def calling_threads(self) -> set[int]:
        """Return the threads that called CUDA; none where the export does not say."""
        if "globalTid" not in self.columns.get(CALLS, set()):
            return set()
        return {row[0] for row in self.distinct(CALLS, ("globalTid",)) if isinstance(row[0], int)}

    def read_overhead(self, recording: Recording) -> None:
        """Take when the profiler held up the threads that called CUDA; libraries are loaded by the program itself."""
        if not {"start", "end", "globalTid", "nameId"} <= self.columns.get(OVERHEAD, set()):
            return
        where = _USABLE
        if self.has_names:
            where += f" AND nameId NOT IN ({named(LOADED)})"
        threads = self.calling_threads()
        for start, end, thread in self.rows(OVERHEAD, ("start", "end", "globalTid"), where):
            if thread in threads:
                recording.profiler_times.add(start, end)

    def read_window(self, recording: Recording) -> None:
        """Take from when to when the processes that called CUDA were seen to run.

        Until when is for the threads that call it and the first of a process to say: others wait for its end.
        """
        threads = self.calling_threads()
        processes = {thread >> _THREAD_BITS for thread in threads}
        if not processes:
            return
        tell_end = threads | {process << _THREAD_BITS | process & _PROCESS for process in processes}
        began, over = [], []
        for table in (SYSTEM_CALLS, RANGES):
            if not {"start", "end", "globalTid"} <= self.columns.get(table, set()):
                continue
            by_thread = (
                f"SELECT globalTid, min(start), max(end) FROM {table} WHERE {_USABLE} GROUP BY 1"
            )
            for thread, begin, end in self.database.execute(by_thread):
                if isinstance(thread, int) and thread >> _THREAD_BITS in processes:
                    began.append(begin)
                    over += [end] if thread in tell_end else []
        recording.began_ns = min(began, default=None)
        recording.over_ns = max(over, default=None)

    def read_launches(self, recording: Recording) -> None:
        """Join kernels with the calls that launched them, where there are so few that it costs little."""
        columns = {"start", "end", "correlationId"}
        if not columns | {"globalPid"} <= self.columns.get(KERNELS, set()):
            return
        if not columns | {"globalTid", "nameId"} <= self.columns.get(CALLS, set()):
            return
        kinds = {number: call_kind(plain_name(name)) for number, name in self.call_names().items()}
        launching = {number: kind for number, kind in kinds.items() if kind in LAUNCHES}
        if not launching or not self.is_short:
            return
        where = f"{_USABLE} AND nameId IN ({', '.join(map(str, launching))})"
        wanted = (_numbered("globalTid"), "start", "end", "globalTid", "nameId")
        calls = self.database.execute(
            f"SELECT {', '.join(wanted)} FROM {CALLS} WHERE {where} LIMIT {_MOST_LAUNCHES}"
        )
        log = recording.launch_log
        for (thread, name), times in _by_place(calls).items():
            graph = launching[name] is CallKind.GRAPH_LAUNCH
            log.add_launches(*times, thread & _PROCESS, graph=graph)
        wanted = (_numbered("globalPid"), "start", "end", "deviceId", "globalPid")
        kernels = self.database.execute(
            f"SELECT {', '.join(wanted)} FROM {KERNELS} WHERE {_USABLE}"
        )
        for (device, process), times in _by_place(kernels).items():
            log.add_kernels(*times, self.gpu(device, process))

    def read_first_launches(self, recording: Recording) -> None:
        """Take when the call came back that launched the first kernel of each GPU."""
        if not {"start", "end", "correlationId"} <= self.columns.get(KERNELS, set()):
            return
        if "correlationId" not in self.columns.get(CALLS, set()):
            return
        wanted = ("deviceId", "globalPid", "correlationId")
        firsts = self.database.execute(
            f"SELECT {self.listed(KERNELS, wanted)}, min(start) FROM {KERNELS} WHERE {_USABLE} "
            f"GROUP BY {self.listed(KERNELS, wanted[:2])} LIMIT {_MOST_NUMBERS}"
        ).fetchall()
        for number, process, call, _ in firsts:
            gpu = recording.gpus.get(self.gpu(number, process))
            if gpu is None or not isinstance(call, int):
                continue
            where = f"{_USABLE} AND correlationId = {call}"
            if self.has_processes and isinstance(process, int):
                where += f" AND globalTid >> {_THREAD_BITS} = {process >> _THREAD_BITS}"
            (end,) = self.database.execute(f"SELECT max(end) FROM {CALLS} WHERE {where}").fetchone()
            if end is not None and (gpu.launched_ns is None or end < gpu.launched_ns):
                gpu.launched_ns = end

    def read_set_up(self, recording: Recording) -> None:
        """Take when the threads that called CUDA made a context, and when libraries set themselves up."""
        needed = {"start", "end", "globalTid", "nameId"}
        if not needed <= self.columns.get(CALLS, set()) or not self.has_names:
            return
        told = needed <= self.columns.get(OVERHEAD, set())
        set_ups = SetUps(
            self.database,
            calls=CALLS,
            overhead=OVERHEAD if told else None,
            usable=_USABLE,
            first_call_ns=recording.first_call_ns or 0,
        )
        for thread in self.calling_threads() if set_ups else ():
            libraries = set_ups.libraries(thread)
            recording.library_starts += libraries
            for start, end in set_ups.around(thread, libraries):
                recording.set_up_times.add(start, end)
        recording.library_starts.sort()

    def read_rank(self, recording: Recording) -> None:
        """Take the rank of a recording of one process of MPI."""
        if "rank" in self.columns.get(RANKS, set()):
            ranks = {rank for (rank,) in self.distinct(RANKS, ("rank",))}
            rank = ranks.pop() if len(ranks) == 1 else None
            recording.rank = rank if isinstance(rank, int) and 0 <= rank < 2**31 else None

    def read_calls(self, recording: Recording) -> None:
        """Add every call of the host."""
        if not {"start", "end"} <= self.columns.get(CALLS, set()):
            return
        numbers = [number for (number,) in self.distinct(CALLS, ("nameId",))]
        known = self.names(numbers)
        names = {number: plain_name(known.get(number, "unknown call")) for number in numbers}
        recording.calls = self.gathered(
            recording, CALLS, ("nameId",), lambda calls: gathered_calls(calls, names)
        )
        first = self.database.execute(f"SELECT min(start) FROM {CALLS} WHERE {_USABLE}")
        (recording.first_call_ns,) = first.fetchone()


def _numbered(process: str) -> str:
    """Return the number of a call among those of all processes, as SQL; *process* is the column with an id."""
    return f"correlationId + (({process} >> {_THREAD_BITS} & {_PROCESS}) << 32)"


def _by_place(
    rows: Iterable[tuple[Any, ...]],
) -> dict[tuple[int, int], tuple[list[int], list[int], list[int]]]:
    """Return numbers, starts and ends of *rows* by the two columns behind these."""
    places: dict[tuple[int, int], tuple[list[int], list[int], list[int]]] = {}
    for number, start, end, *place in rows:
        numbers, starts, ends = places.setdefault((place[0], place[1]), ([], [], []))
        numbers.append(number)
        starts.append(start)
        ends.append(end)
    return places


def _telling(shapes: list[tuple[Any, ...]]) -> list[int]:
    """Return a few places whose values tell all *shapes* apart: fewer columns read faster."""
    if not shapes:
        return []
    kinds = [len(set(column)) for column in zip(*shapes, strict=True)]
    telling: list[int] = []
    for at in sorted(range(len(kinds)), key=lambda place: -kinds[place]):
        different = {tuple([shape[place] for place in telling]) for shape in shapes}
        if telling and len(different) == len(shapes):
            break
        telling.append(at)
    return telling


def _kernel_shape(name: str, columns: list[Any]) -> KernelShape:
    """Return the shape that *columns* tell; unusable values are not known."""
    registers, static, dynamic, *sizes, local = columns
    grid, block, cluster = (_dimensions(sizes[at : at + 3]) for at in (0, 3, 6))
    return KernelShape(
        name=name,
        grid=grid,
        block=block,
        cluster=cluster or (1, 1, 1),
        registers=_number(registers) or None,
        static_shared=_number(static),
        dynamic_shared=_number(dynamic) if dynamic is not None else None,
        local_memory=_number(local) if local is not None else None,
    )


def _process(serialized: object) -> int:
    """Return the process of a serialized id of a process or thread; 0 where it is none."""
    return serialized >> 24 & _PROCESS if isinstance(serialized, int) else 0


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

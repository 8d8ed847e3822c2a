"""Launches of a report file with what their own code says: spills, stack, launch bounds, lines."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import IO, TYPE_CHECKING

from gpuadvise.advisor.binaries.cubin.code import code_of
from gpuadvise.advisor.binaries.cubin.instruction_mix import integer_divisions_at
from gpuadvise.advisor.binaries.cubin.line_table import has_lines, line_tables
from gpuadvise.advisor.binaries.cubin.sass import doubles_at
from gpuadvise.advisor.facts.counted_lines import LineCount
from gpuadvise.advisor.profiles.metrics import report_profile
from gpuadvise.advisor.profiles.ncu_report import ReportedCode, ReportedLaunch, read_ncu_report
from gpuadvise.advisor.profiles.source_counters import (
    SOURCE_COUNTERS,
    counted_lines,
    executed_shares,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.binaries.cubin.line_table import LineTable
    from gpuadvise.advisor.binaries.model import Kernel
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile

# Code is held until its launches have come; a report keeps each module once.
_MOST_CODE = 2**30


def report_kernels(file: IO[bytes], name: str) -> Iterator[tuple[KernelProfile, Kernel | None]]:
    """Yield each launch of the report *file* with its kernel out of the code that ran.

    The kernel is None where the report has no code for it, or code that cannot be read.
    Raises BadInput as `read_ncu_report` does.
    """
    modules = _Modules(name)
    numbers = count()
    counters: set[str] = set()
    for entry in read_ncu_report(file, name, instances=counters):
        match entry:
            case ReportedCode():
                modules.add(entry)
                if entry.cubin and has_lines(entry.cubin):
                    counters |= SOURCE_COUNTERS
            case ReportedLaunch():
                kernel = modules.kernel(entry)
                profile = report_profile(entry, next(numbers))
                table = modules.lines(entry) if entry.instances else None
                if table is not None and kernel is not None:
                    operations = modules.operations(entry)
                    profile = replace(
                        profile,
                        lines=counted_lines(entry.instances, table, kernel.code_bytes, operations),
                        executed=executed_shares(entry.instances, table, kernel.code_bytes),
                    )
                yield profile, kernel
            case _:
                continue  # a range has no kernel of its own


class _Modules:
    """The modules of a report by reference, each read when a launch first asks for it."""

    __slots__ = ("_bytes", "_code", "_kernels", "_lines", "_name", "_operations")

    def __init__(self, name: str) -> None:
        self._name = name
        self._code: dict[int, bytes] = {}
        self._kernels: dict[int, dict[str, Kernel]] = {}
        self._lines: dict[int, dict[str, LineTable]] = {}
        self._operations: dict[int, dict[str, dict[LineCount, list[int]]]] = {}
        self._bytes = 0

    def add(self, code: ReportedCode) -> None:
        """Keep *code*, within what all of a report's code may take."""
        content = code.cubin  # PTX states no registers and no spills
        if content and self._bytes + len(content) <= _MOST_CODE:
            self._code[code.reference] = content
            self._kernels.pop(code.reference, None)
            self._bytes += len(content)

    def kernel(self, launch: ReportedLaunch) -> Kernel | None:
        """Return the kernel that *launch* ran."""
        if launch.code is None:
            return None
        if launch.code not in self._kernels:
            content = self._code.pop(launch.code, b"")
            self._bytes -= len(content)
            kernels = self._read(content) if content else {}
            tables = line_tables(content) if has_lines(content) else {}
            for name in kernels.keys() & tables.keys():
                kernels[name] = kernels[name]._replace(defined_at=tables[name].first)
            self._kernels[launch.code], self._lines[launch.code] = kernels, tables
            self._operations[launch.code] = {
                name: _operations(content, kernels[name]) for name in kernels.keys() & tables.keys()
            }
        return self._kernels[launch.code].get(launch.mangled)

    def lines(self, launch: ReportedLaunch) -> LineTable | None:
        """Return the lines of the kernel that *launch* ran, after `kernel` has read it."""
        return self._lines.get(launch.code or 0, {}).get(launch.mangled)

    def operations(self, launch: ReportedLaunch) -> dict[LineCount, list[int]]:
        """Return where the kernel of *launch* computes in double precision and divides integers."""
        return self._operations.get(launch.code or 0, {}).get(launch.mangled, {})

    def _read(self, content: bytes) -> dict[str, Kernel]:
        """Return the kernels in *content* by mangled name; none where it cannot be read."""
        from gpuadvise.advisor.binaries.cubin.reader import read_cubin
        from gpuadvise.advisor.binaries.model import Kernel, Place
        from gpuadvise.advisor.binaries.span import MemorySpan

        items = read_cubin(MemorySpan(content), Place(path=self._name))
        return {item.name: item for item in items if isinstance(item, Kernel)}


def _operations(image: bytes, kernel: Kernel) -> dict[LineCount, list[int]]:
    """Return the offsets of the instructions of *kernel* in *image* that a line may be named for."""
    code = code_of(image, kernel.name)
    if code is None or kernel.capability is None:
        return {}
    sm = 10 * kernel.capability.major + kernel.capability.minor
    return {
        LineCount.DOUBLES: doubles_at(code, sm),
        LineCount.DIVISIONS: integer_divisions_at(code, sm),
    }

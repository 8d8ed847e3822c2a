"""Nsight Compute reports from files: pages as CSV, and the report itself, told by content."""

from __future__ import annotations

import sys
from typing import IO, TYPE_CHECKING

from gpuadvise.advisor.backends.user_files import opened
from gpuadvise.advisor.profiles.ncu_report import is_ncu_report
from gpuadvise.advisor.prose import inert

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.binaries.model import Damage, Kernel
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile

# A line of a raw page has some thousand columns; nothing honest is longer.
_LONGEST_LINE = 2**20
_SNIFFED = 16


def read_profiles(
    path: str, damage: list[Damage] | None = None
) -> Iterator[tuple[KernelProfile, Kernel | None]]:
    """Yield the profiled launches of the file *path* (``-``: a page on stdin).

    Beside a launch stands its kernel where the report holds the code that ran. What of a page
    could not be read is added to *damage*. Raises BadInput.
    """
    damage = [] if damage is None else damage
    if path == "-":
        yield from _pages(_lines(sys.stdin.buffer), "stdin", damage)
        return
    with opened(path) as file:
        start = file.read(_SNIFFED)
        file.seek(0)
        if is_ncu_report(start):
            from gpuadvise.advisor.profiles.ncu_report_kernels import report_kernels

            yield from report_kernels(file, inert(path))
        else:
            yield from _pages(_lines(file), inert(path), damage)


def _pages(
    lines: Iterator[str], name: str, damage: list[Damage]
) -> Iterator[tuple[KernelProfile, None]]:
    from gpuadvise.advisor.binaries.model import Damage, Place
    from gpuadvise.advisor.profiles.metrics import page_profile
    from gpuadvise.advisor.profiles.ncu_csv import read_launches

    for record in read_launches(
        lines, name, lambda message: damage.append(Damage(place=Place(name), message=message))
    ):
        yield page_profile(record), None


def _lines(file: IO[bytes]) -> Iterator[str]:
    while line := file.readline(_LONGEST_LINE):
        yield line.decode("utf-8", errors="replace")

"""Nsight Compute reports from files."""

from __future__ import annotations

import sys
from typing import IO, TYPE_CHECKING

from gpuadvise.advisor.backends.user_files import opened
from gpuadvise.advisor.profiles.ncu_csv import read_launches
from gpuadvise.advisor.profiles.ncu_facts import profiled_kernel
from gpuadvise.advisor.prose import inert

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.profiles.ncu_facts import ProfiledKernel

# A line of a raw page has some thousand columns; nothing honest is longer.
_LONGEST_LINE = 2**20


def read_profiles(path: str) -> Iterator[ProfiledKernel]:
    """Yield the profiled launches of the CSV file *path* (``-``: stdin); raises BadInput."""
    if path == "-":
        yield from map(profiled_kernel, read_launches(_lines(sys.stdin.buffer), "stdin"))
        return
    with opened(path) as file:
        yield from map(profiled_kernel, read_launches(_lines(file), inert(path)))


def _lines(file: IO[bytes]) -> Iterator[str]:
    while line := file.readline(_LONGEST_LINE):
        yield line.decode("utf-8", errors="replace")

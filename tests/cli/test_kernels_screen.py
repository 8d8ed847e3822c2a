"""The first kernels that a person sees are those of the whole list in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from nvidia_wheels import LIBRARIES, present

from gpuadvise.advisor.binaries.fatbin import containers
from gpuadvise.advisor.binaries.first_kernels import Screen
from gpuadvise.advisor.binaries.kernel_counts import counts_of
from gpuadvise.advisor.binaries.kernel_occupancy import Residencies
from gpuadvise.advisor.binaries.kernel_order import ListedKernel, in_order
from gpuadvise.advisor.binaries.kernel_table import KernelTable
from gpuadvise.advisor.binaries.model import Kernel
from gpuadvise.advisor.binaries.options import ReadOptions
from gpuadvise.advisor.binaries.parallel import batches
from gpuadvise.advisor.binaries.read import read

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.binaries.model import Item


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> str:
    """A library that is read in several batches."""
    monkeypatch.setattr(containers, "_WORTH_ARRAYS", 1)
    monkeypatch.setattr(batches, "_BATCH_BYTES", 1 << 20)
    return str(present(LIBRARIES / "libnvjpeg.so.13"))


def seen(items: Sequence[Item | KernelTable], size: int, *, functions: bool) -> Screen:
    screen = Screen(size, Residencies(), functions=functions)
    for item in items:
        if isinstance(item, KernelTable):
            screen.see_table(item)
        elif isinstance(item, Kernel) and (item.entry or functions):
            screen.see(item)
    return screen


@pytest.mark.parametrize("functions", [False, True])
def test_the_first_of_tables_are_the_first_of_all(library: str, functions: bool) -> None:
    items: list[Item | KernelTable] = list(read(library, ReadOptions(tables=True)))
    assert sum(isinstance(item, KernelTable) for item in items) > 3
    residencies = Residencies()
    every = [
        ListedKernel(kernel, residencies.of(kernel))
        for kernel in read(library)
        if isinstance(kernel, Kernel) and (kernel.entry or functions)
    ]
    expected = in_order(every, None)
    for size in (1, 2, 7, 40, 500, len(every), len(every) + 1):
        screen = seen(items, size, functions=functions)
        first = screen.first()
        assert [listed.kernel for listed in first] == [listed.kernel for listed in expected[:size]]
        assert screen.counts == counts_of(every)


def test_kernels_beside_tables_keep_their_place(library: str) -> None:
    items: list[Item | KernelTable] = list(read(library, ReadOptions(tables=True)))
    mixed: list[Item | KernelTable] = []
    for number, item in enumerate(items):
        if number % 2 and isinstance(item, KernelTable):
            mixed += item.kernels(range(len(item.resources)))
        else:
            mixed.append(item)
    assert len(mixed) > len(items)
    first = [seen(which, 60, functions=False).first() for which in (items, mixed)]
    assert [listed.kernel for listed in first[0]] == [listed.kernel for listed in first[1]]

from __future__ import annotations

import pytest

from gpuadvise.advisor.compatibility.releases import (
    NEWEST,
    RELEASES,
    branch_for_cuda,
    cuda_for_ptx,
    last_driver,
    last_toolkit,
    show_driver,
)


@pytest.mark.parametrize(
    ("ptx", "cuda"),
    [
        ((7, 8), (11, 8)),
        ((8, 4), (12, 4)),
        ((8, 5), (12, 5)),  # 12.6 brought no new version
        ((8, 6), (12, 7)),
        ((8, 8), (12, 9)),
        ((9, 0), (13, 0)),
        ((9, 5), (13, 5)),
        ((3, 2), (7, 0)),  # older than the table: its first release reads it
        ((9, 9), None),
    ],
)
def test_ptx_names_the_cuda_it_needs(ptx: tuple[int, int], cuda: tuple[int, int] | None) -> None:
    assert cuda_for_ptx(ptx) == cuda


def test_the_table_only_grows() -> None:
    assert list(RELEASES) == sorted(RELEASES, key=lambda r: r.cuda)
    assert [r.ptx for r in RELEASES] == sorted(r.ptx for r in RELEASES)
    branches = [r.branch for r in RELEASES if r.branch]
    assert branches == sorted(set(branches))


def test_a_driver_is_named_by_both_its_numbers() -> None:
    assert show_driver((12, 4)) == "CUDA 12.4 (driver 550 or later)"
    assert show_driver(NEWEST.cuda) == "CUDA 13.5"  # its driver is not published
    assert branch_for_cuda((99, 0)) is None


@pytest.mark.parametrize(
    ("number", "toolkit", "driver"),
    [
        ((1, 3), (6, 5), (6, 5)),
        ((2, 1), (8, 0), (9, 1)),
        ((3, 0), (10, 2), (11, 4)),
        ((3, 7), (11, 8), (11, 4)),
        ((6, 1), (12, 9), (13, 0)),
        ((7, 0), (12, 9), (13, 0)),
        ((7, 5), None, None),
        ((10, 1), (12, 9), None),
        ((12, 0), None, None),
    ],
)
def test_what_ended_with_a_generation(
    number: tuple[int, int], toolkit: tuple[int, int] | None, driver: tuple[int, int] | None
) -> None:
    assert last_toolkit(number) == toolkit
    assert last_driver(number) == driver

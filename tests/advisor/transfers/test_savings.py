"""Copies that are worth merging: mostly latency, and a twentieth of the run."""

from __future__ import annotations

import pytest

from gpuadvise.advisor.catalogue.lookup import find
from gpuadvise.advisor.facts.timing import Transfer
from gpuadvise.advisor.transfers.copies import Direction
from gpuadvise.advisor.transfers.links import default_link_model
from gpuadvise.advisor.transfers.savings import saved_by_merging, seconds_merged, worth_merging


@pytest.mark.parametrize(
    ("direction", "size", "count", "run_seconds", "worth"),
    [
        (Direction.H2D, 4096, 1000, 0.01, True),
        (Direction.H2D, 4096, 1000, None, True),
        (Direction.H2D, 4096, 1, 0.01, False),
        (Direction.H2D, 1 << 24, 1000, 0.01, False),
        (Direction.D2H, 4, 30, 0.067, False),  # a value read in each step: the wait is what costs
    ],
)
def test_only_copies_that_take_a_part_of_the_run_are_merged(
    direction: Direction, size: int, count: int, run_seconds: float | None, worth: bool
) -> None:
    link = default_link_model(find("h200"))
    copies = Transfer(direction=direction, bytes=size, count=count)
    assert worth_merging(copies, link, run_seconds) is worth
    assert saved_by_merging(copies, link) >= 0
    assert seconds_merged(copies, link) > 0

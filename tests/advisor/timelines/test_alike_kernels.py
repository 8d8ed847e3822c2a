"""Launches of one kernel that differ in their grids: one finding, of all of their time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gpuadvise.advisor.timelines.evidence import facts_of_timeline, traced_run
from gpuadvise.advisor.timelines.what_if import Change, what_if
from gpuadvise.advisor.transfers.links import default_link_model
from tests.advisor.timelines.test_account import line_of
from tests.support import traces

if TYPE_CHECKING:
    from pathlib import Path

    from gpuadvise.advisor.timelines.timeline import Timeline


def run_of(path: Path, grids: list[int], **args: object) -> Timeline:
    """Return a run of a kernel of 100 us in each of *grids*, and of one that takes 1 ms."""
    events = [
        traces.kernel(200 * at, 100, "mine", grid=[grid, 1, 1], **args)
        for at, grid in enumerate(grids)
    ]
    events.append(traces.kernel(200 * len(grids), 1000, "other", grid=[1320, 1, 1]))
    return line_of(path, events)


def test_grids_of_one_kernel_are_told_once_with_all_of_their_time(tmp_path: Path) -> None:
    """Forty grids of some blocks each, none of which takes 2 % of the span alone."""
    line = run_of(tmp_path / "trace", [10 + at for at in range(80)])
    mine = [facts for facts in facts_of_timeline(line) if facts.kernel == "mine"]
    assert len(mine) == 1
    assert mine[0].run_share == pytest.approx(80 * 100e-6 / line.span_seconds)


def test_grids_that_fill_the_gpu_and_that_do_not_are_told_apart(tmp_path: Path) -> None:
    """On 132 multiprocessors with eight resident blocks each."""
    line = run_of(tmp_path / "trace", [10, 20, 500, 600, 5000, 6000])
    blocks = [
        facts.launch.grid_dim[0]
        for facts in facts_of_timeline(line)
        if facts.kernel == "mine" and facts.launch and facts.launch.grid_dim
    ]
    assert sorted(blocks) == [10, 500, 5000]


def test_a_kernel_has_one_row_of_what_could_be_won(tmp_path: Path) -> None:
    line = run_of(tmp_path / "trace", [10, 20, 500, 600, 5000, 6000])
    model = default_link_model(line.device)
    rows = [
        (row.subject, row.saved_ns)
        for row in what_if(line, model, traced_run(line, model))
        if row.change is Change.FASTEN_KERNEL
    ]
    assert rows == [("other", 1_000_000), ("mine", 600_000)]

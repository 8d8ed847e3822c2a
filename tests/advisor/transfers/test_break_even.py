from __future__ import annotations

from dataclasses import replace

from gpuadvise.advisor.transfers.copies import WORTHWHILE
from gpuadvise.advisor.transfers.links import LinkModel
from gpuadvise.advisor.transfers.overlap import (
    break_even_bytes,
    sequential_seconds,
    stage,
)
from gpuadvise.advisor.transfers.pipeline import StagedWork

MODEL = LinkModel(
    h2d_rate=1e10,
    d2h_rate=1e10,
    pageable_h2d_rate=1e10,
    pageable_d2h_rate=1e10,
    copy_latency=4e-6,
    kernel_latency=2e-6,
    copy_cost=3e-6,
    launch_cost=3e-6,
)
WORK = StagedWork(kernel_seconds=1e-3, h2d_bytes=10**7, d2h_bytes=10**6)


def saves(size: int) -> bool:
    factor = size / WORK.h2d_bytes
    work = replace(
        WORK,
        h2d_bytes=size,
        d2h_bytes=round(WORK.d2h_bytes * factor),
        kernel_seconds=2e-6 + (1e-3 - 2e-6) * factor,
    )
    best = min(stage(work, MODEL, streams).seconds for streams in (2, 3, 4))
    return best <= sequential_seconds(work, MODEL) * (1 - WORTHWHILE)


def test_it_pays_there_and_not_well_below() -> None:
    size = break_even_bytes(WORK, MODEL)
    assert size is not None
    assert saves(size)
    assert not saves(size // 2)


def test_where_there_is_none() -> None:
    assert break_even_bytes(replace(WORK, pageable=True), MODEL) is None
    assert break_even_bytes(StagedWork(kernel_seconds=1.0, h2d_bytes=1), MODEL) is None
    assert break_even_bytes(StagedWork(kernel_seconds=1.0, h2d_seconds=1.0), MODEL) is None


def test_without_costs_any_size_pays() -> None:
    free = replace(MODEL, copy_latency=0.0, kernel_latency=0.0, copy_cost=0.0, launch_cost=0.0)
    assert break_even_bytes(WORK, free) == 2  # one byte cannot be cut


def test_a_copy_given_as_its_time_grows_with_the_other() -> None:
    back = WORK.d2h_bytes / MODEL.d2h_rate + MODEL.copy_latency
    timed = replace(WORK, d2h_bytes=0, d2h_seconds=back)
    size, same = break_even_bytes(timed, MODEL), break_even_bytes(WORK, MODEL)
    assert size is not None
    assert same is not None
    assert abs(size / same - 1) < 0.03

"""Clusters on a whole GPU: the recorded chip exactly, every other at most."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from gpuadvise.advisor.capability import Capability
from gpuadvise.advisor.catalogue import by_capability, find
from gpuadvise.advisor.occupancy.answer import Resource
from gpuadvise.advisor.occupancy.clusters import (
    Clusters,
    ClusterSource,
    clusters_upper_bound,
    resident_clusters,
)
from gpuadvise.advisor.occupancy.grid import waves
from gpuadvise.advisor.occupancy.launch import Launch
from gpuadvise.advisor.occupancy.model import occupancy

H200, H100 = find("h200"), find("h100-sxm")
RECORDED = Path(__file__).parent / "recorded" / "h200_clusters.csv"


def test_the_recorded_chip_is_answered_exactly() -> None:
    """A row for every number of blocks per SM and size of cluster that the driver was asked about."""
    with RECORDED.open(newline="", encoding="utf-8") as file:
        rows = [{key: int(text) for key, text in row.items()} for row in csv.DictReader(file)]
    assert len(rows) >= 300
    for row in rows:
        found = resident_clusters(row["blocks_per_sm"], row["size"], H200)
        assert found == Clusters(count=row["clusters"], source=ClusterSource.MEASURED)
        most = clusters_upper_bound(row["blocks_per_sm"], row["size"], H200)
        assert most is not None
        assert most >= row["clusters"]


@pytest.mark.parametrize(("size", "count"), [(2, 66), (4, 33), (8, 16), (16, 8)])
def test_another_chip_has_a_bound(size: int, count: int) -> None:
    assert resident_clusters(1, size, H100) == Clusters(count=count, source=ClusterSource.BOUND)


def test_a_slice_is_not_the_chip_that_was_measured() -> None:
    part = replace(H200, sm_count=60)
    found = resident_clusters(1, 4, part)
    assert found == Clusters(count=15, source=ClusterSource.BOUND)


def test_an_sm_holds_eight_blocks_of_clusters_where_that_was_measured() -> None:
    small = Launch(threads=64, registers=28, cluster_dim=(4, 1, 1))
    answer = occupancy(H200.limits, small)
    assert (answer.blocks_per_sm, answer.occupancy) == (8, 0.25)
    assert answer.limiters == (Resource.BLOCKS,)
    assert occupancy(H200.limits, small.but(cluster_dim=(1, 1, 1))).occupancy == 1
    assert occupancy(H200.limits, small.but(threads=512)).blocks_per_sm == 4
    assert occupancy(find("b200").limits, small).blocks_per_sm == 32  # of others nothing is known
    assert clusters_upper_bound(32, 4, H100) == 264


def test_without_clusters_or_sms_there_is_no_count() -> None:
    assert resident_clusters(8, 1, H200) is None
    assert resident_clusters(8, 2, by_capability(Capability(9, 0))) is None


def test_waves_of_clusters() -> None:
    launch = Launch(threads=1024, registers=32, dynamic_shared=200 << 10, cluster_dim=(16, 1, 1),
                    nonportable_cluster=True)  # fmt: skip
    result = occupancy(H200.limits, launch)
    measured = waves(result, 132, 128, resident_clusters(1, 16, H200))
    assert measured is not None
    assert (measured.waves, measured.tail_efficiency) == (128 / 112, 4 / 7)
    assert (measured.idle_sms, measured.bound, measured.cooperative) == (20, False, False)
    bound = waves(result, 132, 128, resident_clusters(1, 16, H100))
    assert bound is not None
    assert (bound.waves, bound.idle_sms, bound.bound, bound.cooperative) == (1, 4, True, None)
    counted = Clusters(count=8, source=ClusterSource.DRIVER)
    by_driver = waves(result, 132, 128, counted)
    assert by_driver is not None
    assert (by_driver.bound, by_driver.cooperative) == (False, True)
    assert waves(result, 132, 128, Clusters(count=0, source=ClusterSource.DRIVER)) is None

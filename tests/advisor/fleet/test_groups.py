"""Groups of equal machines: what is usual in one, what differs, and whom nobody accuses."""

from __future__ import annotations

from dataclasses import replace
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.fleet.groups import (
    LEAST_RATES,
    STEADY,
    differences,
    grouped,
    median_rate,
    slow_copies,
)
from gpuadvise.advisor.fleet.machine import CopyRate, FleetGpu, FleetMachine


def box(host: str, *, model: str = "NVIDIA H200", driver: str | None = "580", **facts):
    """Return a machine with one GPU of these *facts*."""
    return FleetMachine(
        host=host, driver_version=driver, gpus=(FleetGpu(index=0, model=model, **facts),)
    )


def copying(host: str, rate: float, spread: float = 0.0):
    return replace(box(host), copies=(CopyRate(direction="h2d", rate=rate, spread=spread),))


def odd(machines) -> list[tuple[str, str, object]]:
    """Return what differs among *machines*, which are one group."""
    (group,) = grouped(machines)
    return [(item.host, item.fact, item.value) for item in differences(group)[0]]


def test_machines_are_grouped_by_their_gpus_and_the_largest_group_comes_first() -> None:
    eight = FleetMachine(
        host="e", gpus=tuple(FleetGpu(index=n, model="NVIDIA H200") for n in range(8))
    )
    mixed = FleetMachine(
        host="m",
        gpus=(
            FleetGpu(index=0, model="B"),
            FleetGpu(index=1, model="A"),
            FleetGpu(index=2, model="B"),
        ),
    )
    slice_ = FleetGpu(index=0, model="NVIDIA H200 MIG", mig="1/0")
    sliced = FleetMachine(host="s", gpus=(FleetGpu(index=0, model="NVIDIA H200"), slice_))
    groups = grouped([eight, mixed, box("a"), sliced, FleetMachine(host="none")])
    assert (groups[0].kind, groups[0].gpus) == ("1 x NVIDIA H200", 2)  # slices are no GPUs
    assert {group.kind for group in groups} == {
        "1 x NVIDIA H200", "8 x NVIDIA H200", "1 x A and 2 x B",
    }  # fmt: skip


def test_one_of_many_differs() -> None:
    fleet = [box(f"n{n}", pcie_lanes=16) for n in range(9)]
    assert odd([*fleet, box("n9", pcie_lanes=8)]) == [("n9", "pcie_lanes", 8)]
    assert odd([*fleet, box("n9", pcie_lanes=None)]) == []  # not known is no difference
    assert odd([*fleet, box("n9", driver="575", pcie_lanes=16)]) == [
        ("n9", "driver_version", "575")
    ]


def test_half_and_half_is_a_split_and_accuses_nobody() -> None:
    (group,) = grouped([box(f"n{n}", pcie_lanes=8 + 8 * (n % 2)) for n in range(10)])
    different, splits = differences(group)
    assert different == ()
    assert [(split.fact, dict(split.counts)) for split in splits] == [("pcie_lanes", {8: 5, 16: 5})]


def test_sizes_of_memory_a_hundredth_apart_are_the_same() -> None:
    fleet = [box(f"n{n}", memory_total_bytes=1_000_000) for n in range(4)]
    assert odd([*fleet, box("near", memory_total_bytes=990_000)]) == []
    assert odd([*fleet, box("far", memory_total_bytes=989_999)]) == [
        ("far", "memory_total_bytes", 989_999)
    ]


def test_slices_are_not_compared() -> None:
    whole = FleetGpu(index=0, model="NVIDIA H200", pcie_lanes=16)
    part = FleetGpu(index=0, model="slice", mig="1/0", pcie_lanes=1)
    assert odd([FleetMachine(host=f"n{n}", gpus=(whole, part)) for n in range(3)]) == []


@given(st.lists(st.floats(1e9, 1e11), min_size=LEAST_RATES, max_size=40))
def test_nobody_is_slow_who_is_near_the_median(rates: list[float]) -> None:
    (group,) = grouped([copying(f"n{n}", rate) for n, rate in enumerate(rates)])
    usual = median(rates)
    assert median_rate(group, "h2d") == usual
    for item in slow_copies(group, "h2d"):
        assert item.value < usual * (1 - STEADY)
        assert (item.usual, item.of) == (usual, len(rates))


def test_a_slow_link_is_found_unless_it_repeats_badly_or_few_were_measured() -> None:
    fleet = [copying(f"n{n}", 50e9 + n * 1e7) for n in range(9)]
    assert odd([*fleet, copying("slow", 40e9)]) == [("slow", "h2d", 40e9)]
    assert odd([*fleet, copying("unsteady", 40e9, spread=0.3)]) == []
    assert odd([*fleet[: LEAST_RATES - 2], copying("slow", 40e9)]) == []
    (group,) = grouped(fleet)
    assert median_rate(group, "d2h") is None


@pytest.mark.parametrize("order", [1, -1])
def test_the_order_of_machines_changes_nothing(order: int) -> None:
    fleet = [box(f"n{n}", pcie_lanes=16 if n else 8) for n in range(5)][::order]
    assert odd(fleet) == [("n0", "pcie_lanes", 8)]

from __future__ import annotations

import pytest

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.transfers.links import (
    default_link_model,
    host_link,
    nvlink,
    parse_pcie,
    pcie,
)


@pytest.mark.parametrize(
    ("generation", "gigabytes"),
    [(1, 4.0), (2, 8.0), (3, 15.754), (4, 31.508), (5, 63.015), (6, 121.0)],
)
def test_sixteen_lanes(generation: int, gigabytes: float) -> None:
    assert pcie(generation).theoretical == pytest.approx(gigabytes * 1e9, rel=1e-4)


def test_what_copies_reach() -> None:
    assert pcie(2).attainable == 6e9  # the guide's figure for pinned memory
    assert pcie(5).attainable == pytest.approx(55.5e9, rel=0.01)  # measured on a H200


def test_fewer_lanes_carry_less() -> None:
    assert pcie(4, 8).theoretical == pcie(4).theoretical / 2
    assert pcie(4, 8).name == "PCIe 4 x8"
    assert pcie(4, 8).formula == "16 GT/s x 8 lanes x 0.9846 / 8"


@pytest.mark.parametrize(("generation", "lanes"), [(0, 16), (7, 16), (4, 3), (4, 32)])
def test_what_is_no_link(generation: int, lanes: int) -> None:
    with pytest.raises(BadInput):
        pcie(generation, lanes)


def test_the_link_of_a_device(make_device) -> None:
    assert host_link(make_device(pcie_generation=5, pcie_lanes=8)) == pcie(5, 8)
    assert host_link(make_device(pcie_generation=5)) == pcie(5)
    assert host_link(make_device()) is None
    assert host_link(make_device(pcie_generation=9)) is None
    assert host_link(make_device(pcie_generation=5, integrated=True)) is None


def test_nvlink_is_published_for_both_directions() -> None:
    assert nvlink(900e9).theoretical == 450e9


def test_a_coherent_link_is_no_pcie(make_device) -> None:
    grace = make_device(pcie_generation=5, coherent_host_memory=True)
    link = host_link(grace)
    assert link is not None
    assert (link.name, link.theoretical) == ("NVLink-C2C", 450e9)
    model = default_link_model(grace)
    assert model.pageable_h2d_rate == model.h2d_rate == link.attainable


@pytest.mark.parametrize("text", ["4x8", "gen4x8", " 4 X8 ", "Gen 4.0 x8"])
def test_links_people_write(text: str) -> None:
    assert parse_pcie(text) == pcie(4, 8)


def test_sixteen_lanes_are_usual() -> None:
    assert parse_pcie("5") == pcie(5, 16)


@pytest.mark.parametrize("text", ["", "x8", "8x3", "4x", "4x99", "fast", "4y8"])
def test_what_names_no_link(text: str) -> None:
    with pytest.raises(BadInput):
        parse_pcie(text)

from __future__ import annotations

import pytest

from gpuadvise.advisor.capability import Capability
from gpuadvise.advisor.catalogue.capabilities import limits_of
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.latency import (
    REACHED,
    WELL_USED,
    hide_arithmetic,
    hide_memory,
    issue_width,
    reached_share,
    well_used_bytes,
)


def hide(cc: tuple[int, int], **options: float):
    capability = Capability(*cc)
    return hide_arithmetic(capability, limits_of(capability)[0], **options)


def test_the_guides_fermi_with_24_cycles() -> None:
    found = hide((2, 0), latency_cycles=24)
    assert (found.warps, found.threads) == (24, 768)


def test_the_guides_volta() -> None:
    found = hide((7, 0))
    assert (found.latency_cycles, found.warps) == (4, 16)


def test_the_older_guides_192_threads() -> None:
    found = hide((1, 0), latency_cycles=24)
    assert (found.warps, found.threads) == (6, 192)


@pytest.mark.parametrize(
    ("cc", "factor"), [((5, 0), 4), ((6, 0), 2), ((6, 1), 4), ((7, 5), 4), ((8, 0), 4), ((9, 0), 4)]
)
def test_instructions_per_cycle_of_latency(cc: tuple[int, int], factor: int) -> None:
    assert hide(cc, latency_cycles=10).instructions == 10 * factor


def test_kepler_needs_pairs_of_independent_instructions() -> None:
    found = hide((3, 5), latency_cycles=11)
    assert (found.instructions, found.warps) == (88, 44)
    assert hide((2, 1), latency_cycles=22).warps == 22
    assert issue_width(Capability(2, 1), limits_of(Capability(2, 1))[0]) == (2.0, 2)


def test_independent_instructions_need_fewer_warps() -> None:
    assert hide((7, 0), parallel_instructions=2).warps == 8
    assert hide((7, 0), parallel_instructions=3).warps == 6


def test_an_unknown_latency_is_unknown() -> None:
    capability = Capability(9, 0)
    from dataclasses import replace

    limits = replace(limits_of(capability)[0], arithmetic_latency_cycles=None)
    assert hide_arithmetic(capability, limits) is None


@pytest.mark.parametrize("options", [{"latency_cycles": 0}, {"parallel_instructions": 0.5}])
def test_what_hides_nothing(options: dict[str, float]) -> None:
    with pytest.raises(BadInput):
        hide((7, 0), **options)


def test_littles_law() -> None:
    found = hide_memory(4.8e12, 500e-9, 132, bytes_per_thread=16)
    assert found.bytes_in_flight == pytest.approx(2.4e6)
    assert found.bytes_per_sm == pytest.approx(2.4e6 / 132)
    assert found.warps_per_sm == 36
    assert hide_memory(4.8e12, 500e-9, 132).warps_per_sm == 143  # more than an SM holds


def test_memory_that_needs_nothing_is_refused() -> None:
    with pytest.raises(BadInput):
        hide_memory(0, 1, 1)


def test_the_share_that_is_reached_follows_the_measured_points() -> None:
    for multiple, share in REACHED:
        assert reached_share(multiple * 1000, 1000) == pytest.approx(share)
    shares = [reached_share(multiple, 1000) for multiple in range(1, 8000, 50)]
    assert shares == sorted(shares)
    assert max(shares) == REACHED[-1][1]
    assert reached_share(well_used_bytes(1000), 1000) == pytest.approx(WELL_USED)

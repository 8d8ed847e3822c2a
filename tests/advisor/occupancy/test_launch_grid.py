"""A grid of launches: its order, its pieces, and the same answers from arrays and one by one."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuadvise.advisor.capability import Capability
from gpuadvise.advisor.catalogue.capabilities import known_capabilities, limits_of
from gpuadvise.advisor.occupancy import launch_grid
from gpuadvise.advisor.occupancy.launch import CachePreference, GlobalCaching, Launch
from gpuadvise.advisor.occupancy.launch_grid import LaunchGrid, best_engine
from gpuadvise.advisor.occupancy.model import occupancy
from gpuadvise.advisor.occupancy.tiers import decoded

CAPABILITIES = [limits_of(cc)[0] for cc in known_capabilities()]
HOPPER = limits_of(Capability(9, 0))[0]

values = {
    "threads": st.integers(1, 1100),
    "registers": st.integers(1, 300),
    "dynamic_shared": st.integers(0, 240_000),
    "static_shared": st.integers(0, 50_000),
    "barriers": st.integers(0, 18),
}
some_axes = st.lists(st.sampled_from(sorted(values)), min_size=1, max_size=3, unique=True).flatmap(
    lambda names: st.tuples(
        *(
            st.tuples(
                st.just(name),
                st.lists(values[name], min_size=1, max_size=5, unique=True).map(sorted),
            )
            for name in names
        )
    )
)
templates = st.builds(
    Launch,
    threads=st.sampled_from([32, 100, 256, 2048]),
    registers=st.none() | st.integers(1, 255),
    optin=st.just(True),
    dynamic_shared=st.sampled_from([0, 1024, 90_000]),
    dynamic_per_thread=st.sampled_from([0, 0, 4, 100]),
    max_dynamic_shared=st.none() | st.integers(0, 240_000),
    carveout=st.none() | st.integers(0, 100),
    cache=st.sampled_from(CachePreference),
    caching=st.sampled_from(GlobalCaching),
    max_threads=st.none() | st.integers(1, 1024),
    cluster_dim=st.sampled_from([(1, 1, 1), (2, 1, 1), (4, 4, 1)]),
    nonportable_cluster=st.booleans(),
)


@given(st.sampled_from(CAPABILITIES), templates, some_axes)
def test_arrays_and_the_scalar_model_agree(limits, launch, axes) -> None:
    grid = LaunchGrid(limits=limits, launch=launch, axes=axes)
    arrays = replace(grid, arrays=True)
    assert arrays.codes() == grid.codes()
    assert arrays.tiers() == grid.tiers()


@given(st.sampled_from(CAPABILITIES), templates, some_axes)
def test_a_code_says_what_the_model_says(limits, launch, axes) -> None:
    grid = LaunchGrid(limits=limits, launch=launch, axes=axes)
    for drawn, code in zip(grid.launches(), grid.codes(), strict=True):
        changed = dict(zip(grid.names, drawn, strict=True))
        if "threads" in changed:
            total = changed.get("dynamic_shared", launch.dynamic_shared)
            total += launch.dynamic_per_thread * (changed["threads"] - launch.threads)
            changed["dynamic_shared"] = max(0, total)
        found = occupancy(limits, replace(launch, **changed))
        limiters = found.limiters if found.launchable else ()
        assert decoded(code) == (found.blocks_per_sm, found.warps_per_sm, limiters)


@settings(max_examples=30)
@given(st.integers(1, 40), some_axes)
def test_pieces_are_the_whole_in_order(most: int, axes) -> None:
    grid = LaunchGrid(limits=HOPPER, launch=Launch(threads=64), axes=axes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(launch_grid, "_PIECE", most)
        pieces = list(grid.pieces())
        tiers = grid.tiers()
    assert all(len(piece) <= most for piece in pieces)
    assert list(chain(*(piece.launches() for piece in pieces))) == list(
        product(*(span for _, span in axes))
    )
    assert tiers == grid.tiers()


def test_arrays_are_for_large_grids() -> None:
    small = LaunchGrid(limits=HOPPER, launch=Launch(threads=64), axes=(("registers", range(1, 9)),))
    large = replace(small, axes=(("registers", range(1, 256)), ("threads", range(1, 1025))))
    assert [best_engine(each).arrays for each in (small, large)] == [False, True]


def test_without_numpy_a_large_grid_is_answered_one_by_one(monkeypatch) -> None:
    monkeypatch.setattr(launch_grid, "find_spec", lambda name: None)
    axes = (("registers", range(1, 256)), ("threads", range(1, 129)))
    assert not best_engine(LaunchGrid(limits=HOPPER, launch=Launch(threads=1), axes=axes)).arrays


def test_the_roomiest_launch_prefers_the_guides_blocks() -> None:
    axes = (("threads", (64, 128, 256, 512)), ("registers", (24, 32, 40)))
    best = LaunchGrid(limits=HOPPER, launch=Launch(threads=1), axes=axes).tiers()[0]
    assert best.warps_per_sm == 64
    assert best.launches == 8
    assert best.spans == [(64, 512), (24, 32)]
    assert best.roomiest == {"registers": (128, 32)}

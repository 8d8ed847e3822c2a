"""The vectorised model equals the scalar one, everywhere."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.capability import Capability
from gpuadvise.advisor.catalogue.capabilities import known_capabilities, limits_of
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.occupancy.launch import CachePreference, GlobalCaching, Launch
from gpuadvise.advisor.occupancy.model import occupancy
from gpuadvise.advisor.occupancy.vectorized import sweep

if TYPE_CHECKING:
    from gpuadvise.advisor.limits import Limits

CAPABILITIES = [limits_of(cc)[0] for cc in (*known_capabilities(), Capability(10, 1))]
HOPPER = limits_of(Capability(9, 0))[0]

templates = st.builds(
    Launch,
    threads=st.just(1),
    optin=st.just(True),
    max_dynamic_shared=st.none() | st.integers(0, 250_000),
    carveout=st.none() | st.integers(0, 100),
    cache=st.sampled_from(CachePreference),
    caching=st.sampled_from(GlobalCaching),
    max_threads=st.none() | st.integers(1, 1024),
    cluster_dim=st.just((1, 1, 1)) | st.just((2, 2, 4)),
    nonportable_cluster=st.booleans(),
) | st.just(Launch(threads=1, optin=False))

rows = st.lists(
    st.tuples(
        st.integers(1, 1200),
        st.integers(1, 300),
        st.just(0) | st.integers(0, 60_000),
        st.just(0) | st.integers(0, 250_000),
        st.integers(0, 20),
    ),
    min_size=1,
    max_size=40,
)


@given(st.sampled_from(CAPABILITIES), templates, rows)
def test_rows_of_anything_equal_the_scalar_model(
    limits: Limits, launch: Launch, drawn: list[tuple[int, ...]]
) -> None:
    threads, registers, static, dynamic, barriers = np.array(drawn).T
    answers = sweep(
        limits,
        launch,
        threads=threads,
        registers=registers,
        static_shared=static,
        dynamic_shared=dynamic,
        barriers=barriers,
    )
    for row, (blocks, warps) in enumerate(
        zip(answers.blocks_per_sm, answers.warps_per_sm, strict=True)
    ):
        single = replace(
            launch,
            threads=int(threads[row]),
            registers=int(registers[row]),
            static_shared=int(static[row]),
            dynamic_shared=int(dynamic[row]),
            barriers=int(barriers[row]),
        )
        scalar = occupancy(limits, single)
        assert (blocks, warps) == (scalar.blocks_per_sm, scalar.warps_per_sm)
        assert answers.occupancy[row] == scalar.occupancy


@given(st.sampled_from(CAPABILITIES), templates)
def test_an_open_grid_equals_the_scalar_model(limits: Limits, launch: Launch) -> None:
    threads, registers, dynamic = [32, 100, 512, 1024], [16, 21, 37, 64, 255], [0, 1000, 50_000]
    open_grid = np.ix_(threads, registers, dynamic)
    answers = sweep(
        limits,
        launch,
        threads=open_grid[0],
        registers=open_grid[1],
        dynamic_shared=open_grid[2],
    )
    assert answers.blocks_per_sm.shape == (4, 5, 3)
    for (i, j, k), blocks in np.ndenumerate(answers.blocks_per_sm):
        single = replace(
            launch, threads=threads[i], registers=registers[j], dynamic_shared=dynamic[k]
        )
        assert blocks == occupancy(limits, single).blocks_per_sm


def test_every_configuration_of_the_published_sweep() -> None:
    """Registers 16-255 by blocks 32-1024 by 0-227 KiB: each axis whole, the others thinned."""
    registers, threads = np.arange(16, 256), np.arange(32, 1025, 32)
    dynamic = np.arange(228) * 1024
    answers = sweep(
        HOPPER,
        Launch(threads=32),
        registers=registers[:, None, None],
        threads=threads[None, :, None],
        dynamic_shared=dynamic[None, None, :],
    )
    assert answers.blocks_per_sm.size == 240 * 32 * 228
    for i, j, k in [
        *((i, 7, 20) for i in range(240)),
        *((40, j, 100) for j in range(32)),
        *((16, 3, k) for k in range(228)),
    ]:
        single = Launch(
            threads=int(threads[j]), registers=int(registers[i]), dynamic_shared=int(dynamic[k])
        )
        assert answers.blocks_per_sm[i, j, k] == occupancy(HOPPER, single).blocks_per_sm


def test_fields_that_are_no_axis_are_the_launchs() -> None:
    launch = Launch(threads=256, registers=64, dynamic_shared=56 * 1024)
    assert sweep(HOPPER, launch).blocks_per_sm == occupancy(HOPPER, launch).blocks_per_sm
    assert sweep(HOPPER, launch, registers=[32, 128]).blocks_per_sm.tolist() == [4, 2]


def test_an_empty_axis_has_no_answers() -> None:
    none = np.array([], dtype=np.int64)
    assert sweep(HOPPER, Launch(threads=32), threads=none).blocks_per_sm.shape == (0,)


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ({"threads": [0]}, "Threads per block must be from 1"),
        ({"registers": [32, -1]}, "Registers per thread must be from 1"),
        ({"registers": [10**9]}, "Registers per thread must be from 1"),
        ({"threads": [1.5]}, "The axis threads takes whole numbers"),
        ({"threads": [float("nan")]}, "The axis threads takes whole numbers"),
        ({"carveout": [1]}, "carveout is no axis"),
    ],
)
def test_nonsense_is_refused(axes: dict[str, list[float]], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        sweep(HOPPER, Launch(threads=32), **axes)

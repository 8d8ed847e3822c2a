from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.binaries.kernel_occupancy import BlockFrom, Residencies
from gpuadvise.advisor.binaries.kernel_table import Resources
from gpuadvise.advisor.binaries.model import Kernel, Place, Source
from gpuadvise.advisor.capability import Capability
from gpuadvise.advisor.catalogue.capabilities import limits_of

HOPPER = Capability(9, 0, "a")


def kernel(**facts: object) -> Kernel:
    known = {"capability": HOPPER, "registers": 32, "static_smem": 0, "source": Source.CUBIN}
    return Kernel(name="k", place=Place(path="k"), **{**known, **facts})


@pytest.mark.parametrize(
    ("residencies", "facts", "threads", "block_from"),
    [
        (Residencies(block=96), {"max_block": (256, 1, 1)}, 96, BlockFrom.GIVEN),
        (Residencies(), {"required_block": (16, 8, 1)}, 128, BlockFrom.REQUIRED),
        (Residencies(), {"max_block": (16, 16, 1)}, 256, BlockFrom.LAUNCH_BOUNDS),
        (Residencies(), {}, 1024, BlockFrom.BEST),
    ],
)
def test_the_block_is_the_best_known(residencies, facts, threads, block_from) -> None:
    answer = residencies.of(kernel(**facts))
    assert (answer.block_threads, answer.block_from) == (threads, block_from)
    assert answer.occupancy
    assert answer.occupancy.occupancy > 0
    assert answer.reason is None


def test_registers_decide() -> None:
    answer = Residencies(block=1024).of(kernel(registers=40))
    assert answer.occupancy
    assert answer.occupancy.blocks_per_sm == 1
    assert answer.occupancy.occupancy == 0.5


def test_dynamic_shared_memory_counts() -> None:
    answer = Residencies(block=128, dynamic_smem=100 << 10).of(kernel())
    assert answer.occupancy
    assert answer.occupancy.blocks_per_sm == 2


def test_the_gpu_named_counts_and_not_the_target() -> None:
    turing, _ = limits_of(Capability(7, 5))
    answer = Residencies(limits=turing, block=1024).of(kernel(capability=None))
    assert answer.occupancy
    assert answer.occupancy.occupancy == 1  # 1,024 threads fill an SM of 7.5


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"entry": False}, "device function"),
        ({"source": Source.PTX}, "PTX"),
        ({"registers": None}, "not known"),
        ({"capability": None}, "target"),
        ({"capability": Capability(4, 7)}, "4.7"),
        ({"static_smem": 10 << 20}, "no block"),
        ({"required_block": (2**31, 2**31, 1)}, "must be from 1"),
        ({"required_block": (0, 1, 1)}, "must be from 1"),
        ({"registers": 255, "required_block": (1024, 1, 1)}, "registers"),
    ],
)
def test_what_has_no_occupancy_says_why(facts, reason: str) -> None:
    answer = Residencies().of(kernel(**facts))
    assert answer.reason
    assert reason in answer.reason


def test_answers_are_kept() -> None:
    residencies = Residencies()
    assert residencies.of(kernel()) is residencies.of(kernel())
    assert residencies.of(kernel()) is not residencies.of(kernel(registers=33))


_TARGETS = [Capability(*numbers) for numbers in ((1, 3), (2, 1), (5, 2), (7, 5), (8, 6), (9, 0))]
_BLOCKS = st.none() | st.tuples(
    st.integers(0, 1100), st.integers(1, 2), st.integers(1, 1) | st.just(2**31)
)


@given(
    residencies=st.builds(
        Residencies,
        limits=st.none() | st.sampled_from(_TARGETS).map(lambda target: limits_of(target)[0]),
        block=st.none() | st.integers(1, 2000),
        dynamic_smem=st.sampled_from([0, 1000, 100_000]),
    ),
    kernels=st.lists(
        st.builds(
            Resources,
            entry=st.sampled_from([True, True, False]),
            capability=st.none() | st.sampled_from([*_TARGETS, Capability(12, 9)]),
            registers=st.none() | st.integers(0, 300) | st.just(1 << 20),
            static_smem=st.none() | st.integers(0, 250_000) | st.integers(48_000, 50_000),
            barriers=st.none() | st.integers(0, 20),
            max_block=_BLOCKS,
            required_block=_BLOCKS,
            cluster=st.none() | st.just((4, 2, 1)),
            spill_stores=st.none(),
            spill_loads=st.none(),
        ),
        max_size=20,
    ),
)
def test_similar_kernels_start_and_share_alike(
    residencies: Residencies, kernels: list[Resources]
) -> None:
    for resources in kernels:
        own = Residencies(
            limits=residencies.limits,
            block=residencies.block,
            dynamic_smem=residencies.dynamic_smem,
        ).of(kernel(**resources._asdict()))
        similar = residencies.similar(resources)
        assert (similar.share, similar.stuck) == (own.share, own.stuck)

"""What holds for every launch on every compute capability."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.capability import Capability
from gpuadvise.advisor.catalogue.capabilities import known_capabilities, limits_of
from gpuadvise.advisor.occupancy.allocation import blocks as blocks_by_registers
from gpuadvise.advisor.occupancy.answer import Resource
from gpuadvise.advisor.occupancy.batch import BatchModel
from gpuadvise.advisor.occupancy.block_sizes import (
    blocks_at,
    helper_block,
    sizes,
    suggest_block,
)
from gpuadvise.advisor.occupancy.budget import dynamic_shared_budget, register_budget
from gpuadvise.advisor.occupancy.checks import first_fault
from gpuadvise.advisor.occupancy.fixes import fixes
from gpuadvise.advisor.occupancy.headroom import headroom
from gpuadvise.advisor.occupancy.launch import CachePreference, GlobalCaching, Launch
from gpuadvise.advisor.occupancy.model import occupancy
from gpuadvise.advisor.occupancy.next_steps import Knob, next_steps
from gpuadvise.advisor.occupancy.record import record

if TYPE_CHECKING:
    from gpuadvise.advisor.limits import Limits

CAPABILITIES = [limits_of(cc)[0] for cc in (*known_capabilities(), Capability(10, 1))]

capabilities = st.sampled_from(CAPABILITIES)
dims = st.tuples(st.integers(1, 40), st.integers(1, 8), st.integers(1, 70))


@st.composite
def launches(draw: st.DrawFn, *, any_shape: bool = True) -> Launch:
    """Launches that are often impossible, in every way at once."""
    shape = draw(st.none() | dims) if any_shape else None
    optin = draw(st.booleans())
    return Launch(
        threads=shape[0] * shape[1] * shape[2] if shape else draw(st.integers(1, 1200)),
        block_dim=shape,
        registers=draw(st.none() | st.integers(1, 300)),
        static_shared=draw(st.just(0) | st.integers(0, 60_000)),
        dynamic_shared=draw(st.just(0) | st.integers(0, 250_000)),
        optin=optin,
        max_dynamic_shared=draw(st.none() | st.integers(0, 250_000)) if optin else None,
        carveout=draw(st.none() | st.integers(0, 100)),
        cache=draw(st.sampled_from(CachePreference)),
        barriers=draw(st.integers(0, 20)),
        caching=draw(st.sampled_from(GlobalCaching)),
        grid_dim=draw(st.none() | st.tuples(*[st.integers(1, 70_000)] * 3)) if any_shape else None,
        cluster_dim=draw(st.just((1, 1, 1)) | st.tuples(*[st.integers(1, 4)] * 3))
        if any_shape
        else (1, 1, 1),
        nonportable_cluster=draw(st.booleans()),
        max_threads=draw(st.none() | st.integers(1, 1024)) if any_shape else None,
    )


@given(capabilities, launches())
def test_bounds_limiters_and_faults_agree(limits: Limits, launch: Launch) -> None:
    result = occupancy(limits, launch)
    assert 0 <= result.occupancy <= 1
    assert result.threads_per_sm <= limits.max_threads_per_sm
    least = min(most for most in result.block_limits if most is not None)
    assert result.launchable == (result.blocks_per_sm > 0) == (first_fault(limits, launch) is None)
    if result.launchable:
        assert result.blocks_per_sm == least
        assert result.limiters
        assert result.reason is None
    else:
        assert result.reason
        assert result.reason.endswith(".")
    for resource, most in result.limits.items():
        assert (resource in result.limiters) == (most == result.blocks_per_sm)


@given(capabilities, launches(), st.integers(1, 40))
def test_more_registers_or_barriers_never_win(limits: Limits, launch: Launch, more: int) -> None:
    blocks = occupancy(limits, launch).blocks_per_sm
    greedy = replace(launch, barriers=launch.barriers + more)
    assert occupancy(limits, greedy).blocks_per_sm <= blocks
    # The counts of cc 2.x that are charged more than their successors are the exception.
    if launch.registers is not None and not limits.register_allocation_unit_special_counts:
        greedy = replace(launch, registers=launch.registers + more)
        assert occupancy(limits, greedy).blocks_per_sm <= blocks


@given(capabilities, launches(), st.integers(1, 100_000))
def test_more_shared_memory_never_wins(limits: Limits, launch: Launch, more: int) -> None:
    # On cc 2.x and 3.x a block that outgrows a small setting is given the large one.
    before = replace(launch, cache=CachePreference.NONE)
    after = replace(before, dynamic_shared=before.dynamic_shared + more)
    assert occupancy(limits, after).blocks_per_sm <= occupancy(limits, before).blocks_per_sm


@given(capabilities, launches())
def test_every_step_wins_and_costs_what_it_says(limits: Limits, launch: Launch) -> None:
    result = occupancy(limits, launch)
    for step in next_steps(result):
        assert step.after.warps_per_sm > result.warps_per_sm
        assert step.after.launchable
        assert step.start != step.to
        assert step.how.endswith(".")
        assert set(step.together_with) <= set(result.limiters)


@given(capabilities, launches())
def test_one_register_more_than_the_step_wins_nothing(limits: Limits, launch: Launch) -> None:
    result = occupancy(limits, launch)
    for step in next_steps(result):
        if step.knob is Knob.REGISTERS and not limits.register_allocation_unit_special_counts:
            short = occupancy(limits, replace(step.after.launch, registers=step.to + 1))
            assert short.blocks_per_sm < step.after.blocks_per_sm


@given(capabilities, launches())
def test_every_fix_can_be_launched_and_the_first_loses_least(
    limits: Limits, launch: Launch
) -> None:
    result = occupancy(limits, launch)
    if result.fault:
        found = fixes(limits, launch, result.fault)
        assert found
        assert all(occupancy(limits, fix.launch).launchable for fix in found)
        assert [fix.loss for fix in found] == sorted(fix.loss for fix in found)
        assert all(fix.how[0].isupper() and fix.how.endswith(".") for fix in found)


@given(capabilities, st.integers(1, 1024), st.integers(1, 33))
def test_the_register_budget_equals_a_search(limits: Limits, threads: int, blocks: int) -> None:
    warps = -(-threads // 32)
    counts = range(limits.max_registers_per_thread, 0, -1)
    searched = (n for n in counts if blocks_by_registers(limits, warps, n) >= blocks)
    assert register_budget(limits, threads, blocks) == next(searched, None)


@given(capabilities, launches(any_shape=False), st.integers(1, 33))
def test_the_dynamic_memory_budget_is_the_largest(
    limits: Limits, launch: Launch, blocks: int
) -> None:
    most = dynamic_shared_budget(limits, launch, blocks)
    for dynamic in {0, 1000, launch.dynamic_shared, *((most, most + 1) if most else ())}:
        held = occupancy(limits, replace(launch, dynamic_shared=dynamic)).blocks_per_sm
        assert held < blocks or (most is not None and dynamic <= most)
    if most is not None:
        best = occupancy(limits, replace(launch, dynamic_shared=most))
        assert best.blocks_per_sm >= blocks


@given(capabilities, launches())
def test_headroom_is_free_and_complete(limits: Limits, launch: Launch) -> None:
    result = occupancy(limits, launch)
    free = headroom(result)
    if not result.launchable:
        assert (free.registers, free.dynamic_shared) == (None, None)
        return
    if free.registers is not None:
        same = occupancy(limits, replace(launch, registers=free.registers))
        assert same.blocks_per_sm == result.blocks_per_sm
    assert free.dynamic_shared is not None
    assert free.dynamic_shared >= launch.dynamic_shared


@given(capabilities, launches())
def test_suggested_sizes_are_as_good_as_any(limits: Limits, launch: Launch) -> None:
    suggestion = suggest_block(limits, launch)
    if suggestion is None:
        return
    best = suggestion.helper
    assert best.launchable
    assert best.launch.threads <= (launch.max_threads or 1024)
    for other in suggestion.guide:
        assert 128 <= other.launch.threads <= 256
        assert other.launch.threads % 32 == 0
        assert other.warps_per_sm >= best.warps_per_sm


@given(capabilities, launches())
def test_the_helpers_block_is_the_largest_of_the_best(limits: Limits, launch: Launch) -> None:
    starting = [result for result in sizes(limits, launch) if result.launchable]
    best = max(starting, key=lambda result: result.threads_per_sm, default=None)  # largest first
    assert helper_block(limits, launch) == best


@given(capabilities, launches())
def test_a_batch_answers_like_the_model(limits: Limits, launch: Launch) -> None:
    answered = BatchModel(limits).record(
        launch.threads,
        launch.registers,
        launch.static_shared,
        launch.dynamic_shared,
        optin=launch.optin,
        carveout=launch.carveout,
        barriers=launch.barriers,
        **{
            name: getattr(launch, name)
            for name in (
                *("max_dynamic_shared", "cache", "caching", "block_dim", "grid_dim"),
                *("cluster_dim", "nonportable_cluster", "max_threads"),
            )
        },
    )
    assert answered == record(occupancy(limits, launch))


@given(capabilities, launches(any_shape=False))
def test_a_batch_remembers_each_resource_by_itself(limits: Limits, launch: Launch) -> None:
    plain = replace(
        launch, max_dynamic_shared=None, cache=CachePreference.NONE, caching=GlobalCaching.OFF
    )
    batch = BatchModel(limits)
    for _ in range(2):
        answered = batch.record(
            plain.threads,
            plain.registers,
            plain.static_shared,
            plain.dynamic_shared,
            optin=plain.optin,
            carveout=plain.carveout,
            barriers=plain.barriers,
        )
        assert answered == record(occupancy(limits, plain))


def test_every_resource_has_a_place_in_the_limits() -> None:
    result = occupancy(CAPABILITIES[-1], Launch(threads=32))
    assert tuple(result.limits) == tuple(Resource)


@given(capabilities, launches(), st.integers(1, 32))
def test_blocks_at_another_size_are_the_models(limits: Limits, launch: Launch, warps: int) -> None:
    threads = warps * limits.warp_size
    if threads > min(limits.max_threads_per_block, launch.max_threads or threads):
        return
    other = replace(launch, threads=threads, block_dim=None)
    wanted = [most for most in occupancy(limits, other).block_limits if most is not None]
    assert blocks_at(occupancy(limits, launch), threads) == min(wanted)

"""Next steps, headroom, suggested sizes, launch bounds, grids, and published names."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gpuadvise.advisor.capability import parse_capability
from gpuadvise.advisor.catalogue.capabilities import limits_of
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.occupancy.answer import Occupancy, Resource
from gpuadvise.advisor.occupancy.block_sizes import suggest_block
from gpuadvise.advisor.occupancy.bounds import launch_bounds
from gpuadvise.advisor.occupancy.budget import dynamic_shared_budget, register_budget
from gpuadvise.advisor.occupancy.grid import waves
from gpuadvise.advisor.occupancy.headroom import headroom
from gpuadvise.advisor.occupancy.launch import CachePreference, Launch
from gpuadvise.advisor.occupancy.model import occupancy
from gpuadvise.advisor.occupancy.next_steps import Knob, next_steps
from gpuadvise.advisor.occupancy.record import record, step_record, waves_record


def answer(cc: str, threads: int, registers: int | None = None, **more: Any) -> Occupancy:
    limits, _ = limits_of(parse_capability(cc))
    return occupancy(limits, Launch(threads=threads, registers=registers, **more))


def told(result: Occupancy) -> list[tuple[str, str, int, int, int, float]]:
    return [
        (
            step.resource.value,
            step.knob.value,
            step.start,
            step.to,
            step.after.blocks_per_sm,
            step.after.occupancy,
        )
        for step in next_steps(result)
    ]


def test_fewer_registers_win_a_block() -> None:
    (step,) = next_steps(answer("9.0", 256, 80))
    assert (step.resource, step.start, step.to) == (Resource.REGISTERS, 80, 64)
    assert (step.after.blocks_per_sm, step.after.occupancy) == (4, 0.5)
    assert step.confidence == "unlikely"
    assert step.how == (
        "Compile the kernel with __launch_bounds__(256, 4) or -maxrregcount=64; unlikely to pay: "
        "compile and look whether it spills."
    )


def test_registers_are_no_step_from_half_of_the_warps_on() -> None:
    assert next_steps(answer("9.0", 256, 64)) == ()
    assert next_steps(answer("9.0", 256, 40)) == ()


def test_the_launch_bounds_of_a_step_give_its_registers() -> None:
    result = answer("8.0", 192, 90)
    (step,) = [step for step in next_steps(result) if step.knob is Knob.REGISTERS]
    blocks = step.after.blocks_per_sm
    assert f"__launch_bounds__(192, {blocks})" in step.how
    assert launch_bounds(result.hardware, 192, blocks).registers == step.to


def test_another_block_size_is_a_step() -> None:
    assert told(answer("7.0", 320, 37)) == [
        ("warps", "threads_per_block", 320, 256, 6, 0.75),  # so do 384; the guide prefers small
    ]
    assert told(answer("9.0", 32, 32)) == [("blocks", "threads_per_block", 32, 128, 16, 1.0)]
    assert told(answer("8.6", 1024, 32)) == [("warps", "threads_per_block", 1024, 256, 6, 1.0)]


def test_block_sizes_of_the_guide_come_before_nearer_ones() -> None:
    """640 threads are one block of 20 warps, 160 are four blocks of five."""
    assert told(answer("9.0", 512, 96)) == [("warps", "threads_per_block", 512, 160, 4, 0.3125)]
    # Shared memory for three blocks: none of the guide's sizes holds as many warps as 512 threads.
    wide, _ = told(answer("9.0", 96, 40, dynamic_shared=61_440))
    assert wide == ("warps", "threads_per_block", 96, 512, 3, 0.75)


def test_less_shared_memory_or_another_carveout_win_blocks() -> None:
    assert told(answer("8.0", 1024, None, static_shared=4096, carveout=0)) == [
        ("shared_memory", "shared_memory_per_sm", 8192, 16_384, 2, 1.0),
        ("shared_memory", "shared_memory_per_block", 4096, 3072, 2, 1.0),
    ]
    (carveout, _) = next_steps(answer("8.0", 1024, None, static_shared=4096, carveout=0))
    assert carveout.how == (
        "Raise the carveout: cudaFuncSetAttribute(kernel, "
        "cudaFuncAttributePreferredSharedMemoryCarveout, 9) (16 KiB per SM)."
    )
    assert carveout.after.launch.carveout == 9


def test_the_cache_preference_is_a_step_on_cc_3() -> None:
    l1 = answer("3.5", 1024, None, static_shared=10_000, cache=CachePreference.L1)
    (carveout,) = next_steps(l1)
    assert (
        carveout.how == "cudaFuncSetCacheConfig(kernel, cudaFuncCachePreferEqual) (32 KiB per SM)."
    )
    larger = answer("3.5", 1024, None, static_shared=16_384, cache=CachePreference.EQUAL)
    assert larger.blocks_per_sm == 2
    tight = answer("3.5", 512, None, static_shared=16_000, cache=CachePreference.EQUAL)
    carveout, *_ = [step for step in next_steps(tight) if step.knob is Knob.CARVEOUT]
    assert (
        carveout.how == "cudaFuncSetCacheConfig(kernel, cudaFuncCachePreferShared) (48 KiB per SM)."
    )


def test_dynamic_memory_gives_first() -> None:
    result = answer("9.0", 512, 32, static_shared=30_000, dynamic_shared=40_000)
    (step,) = [step for step in next_steps(result) if step.knob is Knob.SHARED_MEMORY]
    assert (step.start, step.to) == (70_000, 57_344)
    assert step.after.launch.static_shared == 30_000
    assert step.after.launch.dynamic_shared == 27_344
    assert step.how == "Use at most 57,344 bytes of shared memory per block, 12,656 fewer."


def test_fewer_barriers_win_a_block() -> None:
    result = answer("12.0", 128, 32, barriers=4)
    (step,) = [step for step in next_steps(result) if step.resource is Resource.BARRIERS]
    assert (step.to, step.after.blocks_per_sm) == (3, 8)
    assert step.how == "Use at most 3 named barriers per block."


def test_resources_that_tie_step_together() -> None:
    steps = next_steps(answer("9.0", 256, 80, dynamic_shared=72 * 1024))
    assert [(s.resource.value, s.to, s.after.blocks_per_sm) for s in steps] == [
        ("shared_memory", 57_344, 4),
        ("registers", 64, 4),
    ]
    assert steps[0].together_with == (Resource.REGISTERS,)
    assert steps[1].together_with == (Resource.SHARED_MEMORY,)


@pytest.mark.parametrize(("threads", "registers"), [(256, 32), (2048, 32), (1024, 72)])
def test_full_or_impossible_launches_have_no_next_step(threads: int, registers: int) -> None:
    assert next_steps(answer("9.0", threads, registers)) == ()


def test_of_block_sizes_in_the_guides_range_the_nearest_is_taken() -> None:
    assert told(answer("7.5", 768, 64)) == [("warps", "threads_per_block", 768, 256, 4, 1.0)]


def test_registers_up_to_the_next_step_are_free() -> None:
    assert headroom(answer("9.0", 256, 33)).registers == 40
    assert headroom(answer("7.0", 128, 37)).registers == 40
    assert headroom(answer("9.0", 256)).registers is None
    assert headroom(answer("9.0", 1024, 72)).registers is None


def test_shared_memory_up_to_the_next_step_is_free() -> None:
    free = headroom(answer("9.0", 64, 32, dynamic_shared=6000))
    assert free.dynamic_shared == 6272  # 228 KiB / 32 blocks, less the reserve
    result = answer("8.0", 256, 32, static_shared=16_384)
    assert headroom(result).dynamic_shared == 164 * 1024 // 8 - 1024 - 16_384


def test_register_budgets() -> None:
    hopper = limits_of(parse_capability("9.0"))[0]
    fermi = limits_of(parse_capability("2.0"))[0]
    assert register_budget(hopper, 256, 8) == 32
    assert register_budget(hopper, 1024, 1) == 64
    assert register_budget(hopper, 1024, 40) is None
    assert register_budget(fermi, 256, 6) == 20
    assert register_budget(limits_of(parse_capability("1.1"))[0], 256, 3) == 10


def test_dynamic_memory_that_keeps_blocks() -> None:
    result = answer("9.0", 256, 32)
    assert dynamic_shared_budget(result.hardware, result.launch, 8) == 28_160
    assert dynamic_shared_budget(result.hardware, result.launch, 1) == 232_448
    assert dynamic_shared_budget(result.hardware, result.launch, 9) is None
    capped = answer("9.0", 256, 32, max_dynamic_shared=1000)
    assert dynamic_shared_budget(capped.hardware, capped.launch, 8) == 1000
    denied = answer("9.0", 256, 32, optin=False)
    assert dynamic_shared_budget(denied.hardware, denied.launch, 1) == 49_152


def test_suggested_sizes() -> None:
    limits = limits_of(parse_capability("9.0"))[0]
    suggestion = suggest_block(limits, Launch(threads=1, registers=40))
    assert suggestion is not None
    assert suggestion.helper.launch.threads == 768
    assert [each.launch.threads for each in suggestion.guide] == [128, 192, 256]
    bounded = suggest_block(limits, Launch(threads=1, registers=40, max_threads=100))
    assert bounded is not None
    assert (bounded.helper.launch.threads, bounded.guide) == (96, ())
    assert suggest_block(limits, Launch(threads=1, dynamic_shared=228 * 1024)) is None


def test_launch_bounds() -> None:
    limits = limits_of(parse_capability("9.0"))[0]
    kept = launch_bounds(limits, 256, 4)
    assert (kept.ignored, kept.registers, kept.spills(80), kept.spills(64)) == (None, 64, 16, 0)
    assert launch_bounds(limits, 1024).registers == 64
    many = launch_bounds(limits, 256, 16)
    assert many.ignored == (
        "__launch_bounds__(256, 16) asks for 4,096 threads per SM, which has 2,048: "
        "the compiler ignores the minimum of 16 blocks."
    )
    assert many.registers == 255
    assert launch_bounds(limits, 32, 33).ignored == (
        "__launch_bounds__(32, 33) asks for 33 blocks per SM, which has 32: "
        "the compiler ignores the minimum."
    )
    impossible = launch_bounds(limits, 100_000)
    assert (impossible.registers, impossible.spills(255)) == (None, 0)
    with pytest.raises(BadInput, match="at least 1, not 0,1"):
        launch_bounds(limits, 0, 1)
    with pytest.raises(BadInput, match="at least 1, not 32,0"):
        launch_bounds(limits, 32, 0)


def test_waves_and_their_tail() -> None:
    result = answer("9.0", 256, 32)  # 8 blocks per SM
    grid = waves(result, 132, 1585)
    assert grid is not None
    assert grid.wave_size == 1056
    assert grid.waves == 1585 / 1056
    assert grid.tail_efficiency == 1585 / 2112
    assert not grid.cooperative
    whole = waves(result, 132, 1056)
    assert whole is not None
    assert (whole.waves, whole.tail_efficiency, whole.cooperative) == (1, 1, True)
    assert waves(answer("9.0", 2048), 132, 10) is None


def test_only_a_device_knows_whether_clusters_are_resident_at_once() -> None:
    result = answer("9.0", 256, 32, cluster_dim=(2, 1, 1))
    fits, large = waves(result, 132, 1056), waves(result, 132, 1058)
    assert fits is not None
    assert large is not None
    assert (fits.cooperative, large.cooperative) == (None, False)


def test_a_cooperative_grid_is_one_wave() -> None:
    result = answer("9.0", 256, 32)
    fits, large = waves(result, 132, 1056), waves(result, 132, 1057)
    assert fits is not None
    assert large is not None
    assert (fits.cooperative, large.cooperative) == (True, False)


def test_published_names() -> None:
    result = answer("9.0", 256, 80, dynamic_shared=1000)
    fields = record(result)
    assert json.loads(json.dumps(fields)) == fields
    assert fields == {
        "blocks_per_sm": 3,
        "warps_per_sm": 24,
        "threads_per_sm": 768,
        "occupancy": 0.375,
        "limiters": ["registers"],
        "limits": {
            "warps": 8,
            "blocks": 32,
            "registers": 3,
            "shared_memory": 114,
            "barriers": 64,
        },
        "launchable": True,
        "reason": None,
        "carveout_bytes": 233_472,
        "registers_per_block": 20_480,
        "shared_memory_per_block": 2048,
        "needs_optin": None,
    }
    assert step_record(next_steps(result)[0]) == {
        "resource": "registers",
        "unit": "registers_per_thread",
        "from": 80,
        "to": 64,
        "blocks_per_sm": 4,
        "occupancy": 0.5,
        "how": "Compile the kernel with __launch_bounds__(256, 4) or -maxrregcount=64; unlikely to "
        "pay: compile and look whether it spills.",
        "confidence": "unlikely",
        "together_with": [],
    }
    grid = waves(result, 132, 396)
    assert grid is not None
    assert waves_record(grid) == {
        "wave_size": 396,
        "waves": 1.0,
        "tail_efficiency": 1.0,
        "fits_cooperative": True,
        "waves_are_bounds": False,
        "idle_sms": 0,
    }

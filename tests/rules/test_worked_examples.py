"""The documents' own worked examples, as the rules tell them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gpuadvise.advisor.description.devices import from_catalogue
from gpuadvise.advisor.description.reader import described
from gpuadvise.advisor.scaling import amdahl
from gpuadvise.rules.engine import run
from gpuadvise.rules.guide import RULES
from gpuadvise.rules.select import rule_named
from gpuadvise.rules.source.lint import lint_cuda

if TYPE_CHECKING:
    from gpuadvise.rules.report import Finding


def finding(rule: str, **kernel: Any) -> Finding | None:
    report = run([rule_named(RULES, rule)], described(kernel, from_catalogue).facts)
    assert rule not in {skipped.id for skipped in report.skipped}, "not evaluated"
    found = [each for each in report.findings if each.rule.id == rule]
    return found[0] if found else None


def said(rule: str, **kernel: Any) -> str:
    found = finding(rule, **kernel)
    assert found is not None
    return f"{found.message} {found.advice.action}"


def access(**more: Any) -> dict[str, Any]:
    return {"gpu": "h200", "accesses": [{"name": "a", "word": 4, **more}]}


def test_amdahl_three_quarters_parallel_is_at_most_four() -> None:
    text = said("sequential-remainder", scaling={"parallel": 0.75, "processors": 1000, "target": 5})
    assert "4x with any number is the most" in text


def test_gustafson_when_the_problem_grows() -> None:
    scaling = {"parallel": 0.75, "processors": 4, "target": 4, "grows": True}
    assert "up by 3.25x" in said("sequential-remainder", scaling=scaling)


def test_the_m2090_moves_177_gigabytes_which_are_165_gibibytes() -> None:
    traffic = {"read": "88.8GB", "write": "88.8GB", "time": "1s", "reported_rate": "165.4GB/s"}
    text = said("mixed-bandwidth-units", gpu="tesla-m2090", traffic=traffic)
    assert "165.4 GB/s was reported" in text
    assert "177.6 GB/s: a factor of 1.0737" in text


def test_a_misaligned_warp_moves_five_sectors_and_is_tolerated() -> None:
    assert finding("uncoalesced-access", **access(offset=1)) is None


@pytest.mark.parametrize(
    ("stride", "share"), [(2, "50 %"), (4, "25 %"), (8, "12.5 %"), (32, "12.5 %")]
)
def test_strides_waste_in_proportion_until_every_lane_has_its_own_sector(
    stride: int, share: str
) -> None:
    assert f"({share})" in said("uncoalesced-access", **access(stride=stride))


def test_a_column_of_a_tile_is_a_32_way_conflict_and_33_removes_it() -> None:
    text = said("bank-conflicts", **access(space="shared", stride=32))
    assert "is a 32-way bank conflict" in text
    assert "declare tile[32][33]" in text
    assert finding("bank-conflicts", **access(space="shared", stride=33)) is None


def test_33_threads_are_two_warps_of_which_one_uses_a_single_lane() -> None:
    text = said("partial-warp", block=33)
    assert "occupies 2 warps of 32 lanes: 31 of its 64 lanes" in text


def test_16_warps_hide_the_4_cycles_of_cc_7() -> None:
    kernel = {"cc": "7.0", "regs": 32, "block": 480, "dynamic_smem": "90KiB"}
    assert "that takes 16 warps (512 threads)" in said("unhidden-latency", **kernel)
    assert finding("unhidden-latency", **{**kernel, "block": 512}) is None


def test_64_registers_and_512_threads_are_two_blocks_on_cc_6_and_65_are_one() -> None:
    kernel = {"cc": "6.0", "regs": 65, "block": 512}
    text = said("register-limited-occupancy", **kernel)
    assert "65 registers x 512 threads let an SM hold 1 block" in text
    assert "with 64 registers it holds 2" in text


def test_256_threads_and_16_blocks_are_too_much_for_2048_threads() -> None:
    text = said("overstated-launch-bounds", gpu="b200", launch_bounds=[256, 16])
    assert "asks for 4,096 threads per SM, which has 2,048" in text
    assert "__launch_bounds__(256, 8)" in text


def test_a_million_elements_take_3907_blocks_of_256() -> None:
    kernel = {"block": 256, "elements": 1_000_000}
    assert "3,907 blocks" in said("uncovered-elements", **kernel, grid=3906)
    assert finding("uncovered-elements", **kernel, grid=3907) is None


def test_vector_addition_is_far_below_the_ridge() -> None:
    work = {"flops": 1e9, "bytes": "12GB", "dtype": "fp32"}
    assert "0.0833 FLOP per byte is below the ridge point of" in said(
        "memory-bound", gpu="b200", work=work
    )


def test_copies_and_kernel_of_one_length_overlap_almost_wholly() -> None:
    found = finding("serial-transfers", gpu="h200", pipeline={"h2d": "10ms", "kernel": "10ms"})
    assert found is not None
    assert found.advice.gain is not None
    assert found.advice.gain.upper_bound == pytest.approx(2, rel=1e-3)


def test_adding_matrices_on_the_gpu_does_one_operation_per_three_elements() -> None:
    offload = {
        "host_time": "1ms", "kernel_time": "0.1ms", "transfer_time": "3ms",
        "operations": 1_000_000, "elements": 3_000_000,
    }  # fmt: skip
    assert "used in 0.333 operations" in said("unprofitable-offload", offload=offload)


def test_a_region_larger_than_the_set_aside_gets_a_smaller_hit_ratio() -> None:
    region = {"bytes": "60MiB", "passes": 10}
    kernel = {"gpu": "a100-sxm4-80", "persisting_l2": 31_457_280, "hot_region": region}
    assert "with hitRatio 0.5" in said("unpinned-l2-reuse", **kernel)


@pytest.mark.parametrize(
    ("exponent", "kind", "words"),
    [
        ("2.0f", "float", "Write x*x with x = v."),
        ("0.25f", "float", "Write rsqrtf(rsqrtf(x)) with x = v (for x >= 0; error up to 2 ulp, 2 "),
        ("-1.5", "double", "Write (1/x)*rsqrt(x) with x = v (for x >= 0; error up to 2 ulp)."),
    ],
)
def test_powers_are_told_by_the_guides_table(exponent: str, kind: str, words: str) -> None:
    code = f"__global__ void k({kind} *a, {kind} v) {{ a[0] = pow(v, {exponent}); }}"
    (seen,) = lint_cuda(code.encode(), "k.cu", select={"general-math-functions"}).diagnostics
    assert seen.action.startswith(words)


def test_arithmetic_moves_to_units_for_numbers_of_its_kind() -> None:
    def units(dtype: str) -> str:
        work = {"flops": 1e13, "bytes": "1GB", "dtype": dtype}
        return said("compute-bound", gpu="b200", work=work).partition("faster unit")[2]

    assert units("fp32").startswith(": tf32_tensor")
    assert "int8" not in units("bf16")
    assert "fp4" not in units("int8")


@pytest.mark.parametrize(
    ("scaling", "bound"),
    [
        ({"parallel": 0.75, "processors": 132, "target": 10}, 10 / amdahl(0.75, 132)),
        ({"parallel": 0.75, "processors": 132}, 132 / amdahl(0.75, 132)),
        ({"parallel": 0.75, "processors": 4, "target": 10}, 4 / amdahl(0.75, 4)),
        ({"parallel": 1, "processors": 4, "target": 10}, 1),
        ({"parallel": 0, "processors": 4, "target": 2}, 2),
    ],
)
def test_parallelising_the_rest_wins_the_target_at_most(
    scaling: dict[str, float], bound: float
) -> None:
    [found] = run(RULES, described({"scaling": scaling}, from_catalogue).facts).findings
    assert found.advice.gain is not None
    assert found.advice.gain.upper_bound == pytest.approx(bound)

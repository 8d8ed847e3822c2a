"""Rules on kernels that somebody describes, without a profile: both sides of what decides."""

from __future__ import annotations

from typing import Any

import pytest

from gpuadvise.advisor.description.devices import from_catalogue
from gpuadvise.advisor.description.reader import described
from gpuadvise.rules.engine import run
from gpuadvise.rules.guide import RULES


def found(kernel: dict[str, Any]) -> dict[str, str]:
    """Return the priority of each finding on *kernel*, by rule."""
    findings = run(RULES, described(kernel, from_catalogue).facts).findings
    return {finding.rule.id: str(finding.priority) for finding in findings}


def limit(kernel: dict[str, Any]) -> str:
    limiter = described(kernel, from_catalogue).facts.limiter
    assert limiter is not None
    return limiter.name


@pytest.mark.parametrize(
    ("gpu", "size", "says"),
    [
        ("gtx 980", "120GiB", "cudaMallocManaged of more than the memory fails"),
        ("jetson-agx-orin-64", "120GiB", "host and GPU have one memory here"),
        ("gh200", "120GiB", "keep what is read once on the host"),
        ("a100-sxm4-80", "120GiB", "cudaMemPrefetchAsync the next tile"),
        ("gtx 980", "2GiB", None),
        ("jetson-agx-orin-64", "2GiB", None),
    ],
)
def test_what_becomes_of_managed_memory_is_the_devices_own(
    gpu: str, size: str, says: str | None
) -> None:
    kernel = {"gpu": gpu, "managed": {"bytes": size, "prefetched": False}}
    findings = run(RULES, described(kernel, from_catalogue).facts).findings
    assert [says in finding.advice.action for finding in findings if says] == [True] * bool(says)
    assert [finding.broken for finding in findings] == (
        [size == "120GiB" and gpu in ("gtx 980", "jetson-agx-orin-64")] if says else []
    )


@pytest.mark.parametrize(("reads", "priority"), [(1.04, "low"), (1.06, "medium"), (100, "medium")])
def test_mapped_memory_counts_by_the_time_that_it_takes_the_link(
    reads: float, priority: str
) -> None:
    mapped = {"gpu": "h200", "mapped": {"bytes": "1GiB", "reads": reads}}
    assert found(mapped)["reread-mapped-memory"] == priority


@pytest.mark.parametrize(
    ("flags", "advised"),
    [("-O3", True), ("-use_fast_math", False), ("--use_fast_math -O3", False)],
)
def test_fast_math_is_known_by_both_of_its_spellings(flags: str, advised: bool) -> None:
    seen = {"fault": "slow-math", "file": "a.cu", "line": 3, "seen": "sinf(x)"}
    assert ("slow-math" in found({"observations": [seen], "compile_flags": flags})) is advised


BOUNDED = {"gpu": "a100-sxm4-40", "regs": 64, "grid": 4000, "launch_bounds": [256, 4]}


@pytest.mark.parametrize(("block", "fails"), [(256, False), (257, True), (512, True)])
def test_a_block_beyond_its_launch_bounds_fails(block: int, fails: bool) -> None:
    assert ("exceeded-launch-bounds" in found({**BOUNDED, "block": block})) is fails


def test_a_launch_that_fails_is_not_tuned() -> None:
    assert "surplus-occupancy" not in found({**BOUNDED, "block": 512})
    failing = described({**BOUNDED, "block": 512}, from_catalogue).facts.limiter
    assert "this one fails" in getattr(failing, "wanted", "")


TINY = {"gpu": "a100-sxm4-40", "regs": 16, "block": 256, "grid": 432}


@pytest.mark.parametrize(
    ("more", "loud"),
    [
        ({"launches": 4, "traffic": {"read": "1MB", "write": "1MB", "time": "4.9us"}}, True),
        ({"launches": 4, "traffic": {"read": "1MB", "write": "1MB", "time": "5us"}}, False),
        ({"launches": 3, "traffic": {"read": "1MB", "write": "1MB", "time": "4.9us"}}, False),
        ({"launches": 4, "work": {"flops": 1e6, "bytes": "1MB", "time": "2us"}}, True),
        ({"launches": 4, "work": {"flops": 1e6, "bytes": "1MB"}}, False),
    ],
)
def test_many_launches_of_a_tiny_kernel_whose_time_is_given(
    more: dict[str, Any], loud: bool
) -> None:
    more = {
        key: {"dtype": "fp32"} | value if key == "work" else value for key, value in more.items()
    }
    assert ("launch-bound" in found(TINY | more)) is loud


@pytest.mark.parametrize(("run", "loud"), [("99ms", True), ("101ms", False)])
def test_tiny_launches_that_hardly_show_in_the_run(run: str, loud: bool) -> None:
    timed = {"launches": 1000, "traffic": {"read": "1MB", "write": "1MB", "time": "3us"}}
    assert ("launch-bound" in found(TINY | timed | {"total_time": run})) is loud


@pytest.mark.parametrize(("time", "priority"), [("29us", "low"), ("30us", "high")])
def test_a_short_kernel_need_not_fill_the_device(time: str, priority: str) -> None:
    kernel = {"gpu": "h200", "block": 256, "grid": 8}
    timed = {"traffic": {"read": "10MB", "write": "10MB", "time": time}}
    assert found(kernel | timed)["underfilled-device"] == priority


@pytest.mark.parametrize(
    ("blocks", "profile", "priority"),
    [
        # A unit of the SMs that 20 SMs without a block would add to; 4 add less than 5 %.
        (112, {"pipes": {"tensor": 0.73}, "compute_throughput": 0.73}, "high"),
        (128, {"pipes": {"tensor": 0.73}, "compute_throughput": 0.73}, None),
        # What all SMs share.
        (112, {"dram_throughput": 0.8}, None),
    ],
)
def test_sms_without_a_block_beside_busy_ones(
    blocks: int, profile: dict[str, Any], priority: str | None
) -> None:
    kernel = {"gpu": "h200", "block": 384, "grid": blocks, "profile": {"time": "410us"} | profile}
    assert found(kernel).get("underfilled-device") == priority


@pytest.mark.parametrize(
    ("time", "priority"),
    [("3.98ms", None), ("4ms", "low"), ("5.3ms", "low"), ("5.4ms", "medium")],
)
def test_double_precision_behind_device_memory(time: str, priority: str | None) -> None:
    """Of 3.22 GB an RTX 4090 (1.008 TB/s) moves 80 % of its rate in 3.99 ms, 60 % in 5.32 ms."""
    work = {"flops": 2.68e8, "bytes": "3.22GB", "dtype": "fp64", "time": time}
    assert found({"gpu": "rtx-4090", "work": work}).get("scarce-fp64") == priority


@pytest.mark.parametrize(
    ("work", "priority"),
    [
        ({"dtype": "fp16", "tensor": False}, "medium"),
        ({"dtype": "fp16", "tensor": True}, None),
        ({"dtype": "fp32", "tensor": False}, "low"),
    ],
)
def test_arithmetic_at_the_roof_of_the_units_beside_tensor_cores(
    work: dict[str, Any], priority: str | None
) -> None:
    peak = {"fp16": 312e12 if work["tensor"] else 78e12, "fp32": 19.5e12}[work["dtype"]]
    timed = {"flops": 0.8 * peak, "bytes": "6GB", "time": "1s"}
    assert found({"gpu": "a100-sxm4-40", "work": work | timed}).get("compute-bound") == priority


@pytest.mark.parametrize(("size", "priority"), [(16_384, "low"), (16_385, "high")])
def test_strided_access_of_an_array_that_l1_keeps(size: int, priority: str) -> None:
    access = {"name": "table[4 * lane]", "word": 4, "stride": 4, "bytes": size}
    assert found({"gpu": "h200", "accesses": [access]})["uncoalesced-access"] == priority


def test_what_runs_beside_others_is_not_limited_by_its_grid() -> None:
    kernel = {"gpu": "h200", "regs": 64, "block": 512, "grid": 24}
    assert limit(kernel) == "too-little-work"
    assert limit(kernel | {"concurrent": True}) == "unknown"


@pytest.mark.parametrize(("time", "name"), [("10ms", "roof:dram"), ("9.9ms", "unknown")])
def test_more_bytes_than_device_memory_moves_are_no_limit(time: str, name: str) -> None:
    """A V100 moves 8.98 GB in 10 ms."""
    traffic = {"read": 4_490_000_000, "write": 4_490_000_000, "time": time}
    assert limit({"gpu": "v100-sxm2-16", "traffic": traffic}) == name
    work = {"flops": 1e9, "bytes": 8_980_000_000, "dtype": "fp32", "time": time}
    assert limit({"gpu": "v100-sxm2-16", "work": work}) == name


@pytest.mark.parametrize(("flops", "name"), [(2.19, "roof:fp32"), (2.21, "unknown")])
def test_more_operations_than_the_units_can_do_are_no_limit(flops: float, name: str) -> None:
    """An A100 computes 19.5 TFLOP/s in FP32; sparse operands would double a peak."""
    work = {"flops": flops * 19.49e12, "bytes": "1GB", "dtype": "fp32", "time": "1s"}
    assert limit({"gpu": "a100-sxm4-40", "work": work}) == name


def test_a_place_in_a_source_needs_no_column() -> None:
    seen = {"fault": "synchronizations-in-loops", "file": "a.cu", "line": 3, "seen": "sync()"}
    assert "synchronizations-in-loops" in found({"observations": [seen]})


@pytest.mark.parametrize(("registers", "priority"), [(127, "medium"), (128, "low")])
@pytest.mark.parametrize("gpu", ["a100-sxm4-40", "rtx-3090", "rtx-4090", "h200"])
def test_tiles_in_registers_want_few_warps_on_every_gpu(
    gpu: str, registers: int, priority: str
) -> None:
    """A register file holds two blocks of 256 threads either way, on SMs of 48 and of 64 warps."""
    kernel = {"gpu": gpu, "regs": registers, "block": 256, "grid": 4096, "syncs": True}
    findings = found(kernel)
    assert {findings[rule] for rule in findings if rule in RESIDENCY} == {priority}


RESIDENCY = ("low-occupancy", "lone-resident-block", "register-limited-occupancy")


@pytest.mark.parametrize(
    ("access", "narrow"),
    [
        ({"word": 1, "stride": 1}, True),
        ({"word": 2, "stride": 1}, True),
        ({"word": 4, "stride": 1}, False),
        ({"word": 1, "stride": 2}, False),
        ({"word": 1, "stride": 1, "bytes": "16KiB"}, False),
        ({"word": 1, "stride": 1, "space": "shared"}, False),
    ],
)
def test_bytes_one_by_one_are_narrow_also_where_they_are_described(
    access: dict[str, Any], narrow: bool
) -> None:
    assert (
        "narrow-loads" in found({"gpu": "h200", "accesses": [{"name": "a"} | access]})
    ) is narrow


def test_described_accesses_win_no_more_than_the_profile_leaves() -> None:
    accesses = [{"name": "a", "word": 12, "stride": 1}, {"name": "r", "word": 4, "row_bytes": 36}]
    described_alone = found({"gpu": "h200", "accesses": accesses})
    assert described_alone == {"unaligned-words": "medium", "unpadded-rows": "low"}
    profile = {"dram_throughput": 0.97, "time": "3ms"}
    beside = found({"gpu": "h200", "accesses": accesses, "profile": profile})
    assert "unaligned-words" not in beside
    assert "unpadded-rows" in beside  # it moves fewer bytes

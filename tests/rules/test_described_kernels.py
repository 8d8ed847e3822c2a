"""Rules on kernels that somebody describes, without a profile: both sides of what decides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gpuadvise.advisor.description.devices import from_catalogue
from gpuadvise.advisor.description.reader import described
from gpuadvise.rules.engine import run
from gpuadvise.rules.guide import RULES

if TYPE_CHECKING:
    from gpuadvise.rules.report import Finding


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
        "narrow-accesses" in found({"gpu": "h200", "accesses": [{"name": "a"} | access]})
    ) is narrow


def test_described_accesses_win_no_more_than_the_profile_leaves() -> None:
    accesses = [{"name": "a", "word": 12, "stride": 1}, {"name": "r", "word": 4, "row_bytes": 36}]
    described_alone = found({"gpu": "h200", "accesses": accesses})
    assert described_alone == {"unaligned-words": "medium", "unpadded-rows": "low"}
    profile = {"dram_throughput": 0.97, "time": "3ms"}
    beside = found({"gpu": "h200", "accesses": accesses, "profile": profile})
    assert "unaligned-words" not in beside
    assert "unpadded-rows" in beside  # it moves fewer bytes


def finding(kernel: dict[str, Any], rule: str) -> Finding:
    """Return what *rule* says of *kernel*."""
    findings = run(RULES, described(kernel, from_catalogue).facts).findings
    return next(finding for finding in findings if finding.rule.id == rule)


LARGE = {"gpu": "h100", "block": 256, "grid": 20_000, "dynamic_smem": "60KiB"}
HEAVY = {"flops": 1e12, "bytes": "400MB", "dtype": "bf16", "tensor": True}


@pytest.mark.parametrize(
    ("more", "priority"),
    [
        ({}, "medium"),
        ({"work": HEAVY}, "medium"),  # what it computes, but no time
        ({"work": HEAVY | {"time": "2ms"}}, None),
        ({"traffic": {"read": "1GB", "write": "1GB", "time": "1ms"}}, None),
        ({"run_share": 0.2}, None),
        ({"launches": 3}, None),
        ({"name": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"}, None),
        ({"name": "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n"}, None),
        ({"name": "cutlass3x_sm100_tensorop_gemm_bf16"}, None),
        ({"name": "blur"}, "medium"),
        ({"regs": 127}, "medium"),
        ({"regs": 128}, "low"),
    ],
)
def test_who_is_asked_for_the_shared_memory_attribute(
    more: dict[str, Any], priority: str | None
) -> None:
    assert found({"regs": 40} | LARGE | more).get("shared-memory-carveout") == priority


def test_a_launch_without_a_word_on_the_attribute_is_judged_as_if_it_were_set() -> None:
    few_warps = LARGE | {"regs": 40, "block": 64}
    findings = run(RULES, described(few_warps, from_catalogue).facts).findings
    loud = [finding.rule.id for finding in findings if finding.priority != "low"]
    assert loud == ["shared-memory-carveout", "low-occupancy"]
    assert findings[0].broken


@pytest.mark.parametrize(
    ("streams", "more", "priority"),
    [
        (1, {}, "high"),
        (2, {}, "medium"),  # three streams would hide more
        (4, {}, "low"),  # in pieces enough these hide most of it
        (4, {"divisible": False}, "medium"),
        (8, {}, None),  # 28 % is exposed
        (4, {"h2d": "30ms"}, "medium"),  # the copies themselves are longer than the kernel
    ],
)
def test_copies_in_several_streams_as_overlap_has_them(
    streams: int, more: dict[str, Any], priority: str | None
) -> None:
    pipeline = {"h2d": "10ms", "kernel": "9.5ms", "d2h": "9ms", "streams": streams}
    kernel = {"gpu": "a100", "pipeline": pipeline | more}
    assert (
        found(kernel).get("transfer-bound-run", found(kernel).get("serial-transfers")) == priority
    )


def test_streams_that_were_timed_are_believed() -> None:
    pipeline = {"h2d": "10ms", "kernel": "9.5ms", "d2h": "9ms", "streams": 2}
    timed = {"gpu": "a100", "pipeline": pipeline, "total_time": "11ms"}
    assert "transfer-bound-run" not in found(timed)
    slow = finding(timed | {"total_time": "20ms"}, "transfer-bound-run")
    assert slow.advice.gain is not None
    assert slow.advice.gain.upper_bound == pytest.approx(20 / 9.5)
    assert "25 pieces over 3 streams take about 11.7 ms" in slow.advice.action


ARITHMETIC = {"flops": 6e11, "bytes": "3MB", "dtype": "fp32", "time": "27ms"}


@pytest.mark.parametrize(
    ("name", "priority"),
    [
        ("my_gemm", "medium"),
        ("matmul_tiled", "medium"),
        ("conv2d_forward", "medium"),
        ("attention_scores", "medium"),
        ("integrateBodies", "low"),
        ("convertToFloat", "low"),
        ("converged", "low"),
        (None, "low"),
    ],
)
def test_only_products_are_sent_to_tensor_cores_aloud(name: str | None, priority: str) -> None:
    """62 % of an RTX 3090's FP32 units: below 70 %, at which libraries end."""
    kernel = {"gpu": "rtx3090", "work": ARITHMETIC} | ({"name": name} if name else {})
    said = finding(kernel, "compute-bound")
    assert said.priority == priority
    assert ("Tensor cores do products of matrices only." in said.advice.action) is (
        priority == "low"
    )


def test_doubles_do_not_become_halves() -> None:
    work = {"flops": 4.7e12, "bytes": "3MB", "dtype": "fp64", "time": "1s"}
    said = finding({"gpu": "v100", "name": "lj_forces", "work": work}, "compute-bound")
    assert "fp32 (at most" in said.advice.action
    assert "fp16" not in said.advice.action


@pytest.mark.parametrize(
    ("kernel", "priority"),
    [
        ({"regs": 96, "block": 512}, "low"),  # 16 to 20 warps
        ({"regs": 80, "block": 608}, "low"),  # 19 to 24
        ({"regs": 80, "block": 576}, "medium"),  # 18 to 24, a third more
        ({"regs": 80, "block": 608, "work": ARITHMETIC | {"time": "50ms"}}, "medium"),
        ({"regs": 72, "block": 128}, "low"),  # fewer registers alone win a block
    ],
)
def test_a_few_more_warps_are_no_reason_to_speak_up(kernel: dict[str, Any], priority: str) -> None:
    assert found({"gpu": "h100"} | kernel)["low-occupancy"] == priority


def test_low_occupancy_is_bounded_by_what_is_likely() -> None:
    said = finding(
        {"gpu": "v100", "regs": 72, "block": 192, "smem": "16KiB", "launch_bounds": [192, 2]},
        "low-occupancy",
    )
    assert said.advice.gain is not None
    assert said.advice.gain.upper_bound == pytest.approx(25 / 24)
    assert "__launch_bounds__(192, 5); unlikely to pay" in said.advice.action


def test_launch_bounds_that_the_registers_contradict_are_not_repeated() -> None:
    bounded = {"gpu": "rtx3090", "regs": 120, "block": 256, "launch_bounds": [256, 2]}
    assert "another build" not in finding(bounded | {"regs": 128}, "low-occupancy").advice.action
    said = finding(bounded | {"regs": 129}, "low-occupancy").advice.action
    assert "__launch_bounds__(256, 2) leaves a thread 128 registers here, not 129" in said
    assert "Compile the kernel with" not in said


@pytest.mark.parametrize(
    ("time", "priority"), [("24.9ms", "medium"), ("25.1ms", "high"), ("4.9ms", None)]
)
def test_the_distance_from_the_roof_decides(time: str, priority: str | None) -> None:
    """A H200 moves 12 GB in 2.5 ms."""
    work = {"flops": 1e9, "bytes": "12GB", "dtype": "fp32", "time": time}
    assert found({"gpu": "h200", "work": work}).get("far-from-roof") == priority


@pytest.mark.parametrize(("time", "priority"), [("1038us", "medium"), ("1045us", "high")])
def test_the_distance_from_the_bandwidth_decides(time: str, priority: str) -> None:
    """A H200 moves 2 GB in 416 us."""
    traffic = {"read": "1GB", "write": "1GB", "time": time}
    assert found({"gpu": "h200", "traffic": traffic})["low-effective-bandwidth"] == priority


@pytest.mark.parametrize(
    ("more", "rules"),
    [
        ({}, ["tail-effect"]),
        ({"grid": 264}, ["far-from-roof"]),  # two whole waves
        ({"concurrent": True}, ["far-from-roof"]),  # others fill the last wave
        ({"work": HEAVY | {"time": "4ms"}}, ["far-from-roof", "tail-effect"]),  # 48 % in full waves
    ],
)
def test_a_last_wave_that_explains_the_distance_from_the_roof(
    more: dict[str, Any], rules: list[str]
) -> None:
    """140 blocks fill 53 % of two waves of 132; the kernel reaches 39 % of the roof, or 25 %."""
    attention = {"gpu": "h100", "regs": 168, "block": 384, "grid": 140, "dynamic_smem": "200KiB"}
    kernel = attention | {"work": HEAVY | {"time": "2.6ms"}} | more
    loud = [rule for rule, priority in found(kernel).items() if priority != "low"]
    assert sorted(loud) == rules


TOO_MANY = {"gpu": "h100", "block": 1024}


@pytest.mark.parametrize(
    ("more", "action"),
    [
        # A cap that keeps three quarters of the registers comes first, a deeper one last.
        (
            {"regs": 85},
            "Compile for at most 64 registers per thread (-maxrregcount=64). Or: Launch blocks of 640 threads.",
        ),
        (
            {"regs": 86},
            "Launch blocks of 640 threads. Or: Compile for at most 64 registers per thread "
            "(-maxrregcount=64); such a cut mostly spills: compile and look.",
        ),
        (
            {"regs": 128, "launch_bounds": [1024, 1]},
            "Launch blocks of 512 threads. Or: Compile with __launch_bounds__(1024), which keeps the kernel to "
            "64 registers per thread; such a cut mostly spills: compile and look.",
        ),
        (
            {"gpu": "t4", "block": 256, "dynamic_smem": "96KiB"},
            "Make the tile smaller, so that it needs at most 65,536 bytes of dynamic shared memory.",
        ),
    ],
)
def test_the_fixes_of_an_impossible_launch(more: dict[str, Any], action: str) -> None:
    assert finding(TOO_MANY | more, "impossible-launch").advice.action == action


@pytest.mark.parametrize(("registers", "fits"), [(128, True), (136, False)])
def test_a_block_beyond_its_bounds_is_told_once_where_these_fit(registers: int, fits: bool) -> None:
    said = found(TOO_MANY | {"regs": registers, "launch_bounds": [512, 1]})
    assert said["exceeded-launch-bounds"] == "high"
    assert ("impossible-launch" not in said) is fits


@pytest.mark.parametrize(
    ("kernel", "priority"),
    [
        ({"gpu": "a100", "grid": 1024, "cluster": 2}, "high"),
        ({"gpu": "h100", "grid": 1024, "cluster": 8}, None),
        ({"gpu": "h100", "grid": 1024, "cluster": 16}, "high"),
        ({"gpu": "h100", "grid": 1024, "cluster": 16, "nonportable_cluster": True}, None),
    ],
)
def test_a_cluster_that_the_device_refuses_fails(
    kernel: dict[str, Any], priority: str | None
) -> None:
    assert found({"regs": 40, "block": 256} | kernel).get("unsupported-cluster") == priority


@pytest.mark.parametrize(
    ("kernel", "helps", "not_helps"),
    [
        ({"gpu": "h100", "driver": "11.4"}, "CUDA 11.8", "build with an older toolkit"),
        ({"gpu": "gtx 780", "driver": "12.4"}, "CUDA 11.4 or earlier", "a later driver"),
    ],
)
def test_what_helps_against_a_driver(kernel: dict[str, Any], helps: str, not_helps: str) -> None:
    said = finding(kernel, "outdated-driver").advice.action
    assert helps in said
    assert not_helps not in said


@pytest.mark.parametrize(
    ("kernel", "rules"),
    [
        ({"compiled": {"stack": 240, "debug": True}}, ["debug-build"]),
        ({"compiled": {"stack": 240}, "compile_flags": "-G"}, ["debug-build"]),
        ({"compiled": {"stack": 240}, "compile_flags": "-G -dopt=on"}, ["register-spills"]),
        ({"compiled": {"stack": 240, "debug": False}}, ["register-spills"]),
    ],
)
def test_the_stack_of_a_debug_build_is_its_own(kernel: dict[str, Any], rules: list[str]) -> None:
    said = found({"gpu": "l4", "regs": 50, "block": 256, "grid": 10_000} | kernel)
    assert [rule for rule, priority in said.items() if priority == "high"] == rules


@pytest.mark.parametrize(
    ("way", "packs"), [("h2d", "torch.cat() on the host"), ("d2h", "one .cpu() or .tolist()")]
)
def test_small_copies_are_packed_where_they_come_from(way: str, packs: str) -> None:
    copies = {"direction": way, "bytes": 4, "time": "12us", "count": 100_000}
    small = finding({"gpu": "a100", "transfers": [copies]}, "small-transfers")
    assert packs in small.advice.action
    assert small.advice.gain is not None
    assert small.advice.gain.kind == "copy time"
    timed = {"gpu": "a100", "transfers": [copies], "total_time": "4s"}
    gain = finding(timed, "small-transfers").advice.gain
    assert gain is not None
    assert (gain.kind, round(gain.upper_bound, 2)) == ("run time", 1.43)


@pytest.mark.parametrize(
    ("grid", "priority"), [(1000, "low"), (99_999, "low"), (100_000, "medium")]
)
def test_tiny_blocks_that_fill_an_sm_cost_their_starts(grid: int, priority: str) -> None:
    tiny = {"regs": 32, "block": 33, "grid": grid}
    assert found({"gpu": "h100"} | tiny)["tiny-blocks"] == priority
    said = finding({"cc": "9.0"} | tiny, "tiny-blocks").message
    assert "Compute capability 9.0 could still fill all 64 warps of an SM" in said


@pytest.mark.parametrize(
    ("grid", "more", "priority"),
    [
        (65, {}, "high"),
        (66, {}, "high"),
        (96, {}, "high"),
        (66, {"run_share": 0.9}, "high"),
        (66, {"traffic": {"read": "10MB", "write": "10MB", "time": "1ms"}}, "high"),
    ],
)
def test_a_grid_that_leaves_sms_empty_is_high_timed_or_not(
    grid: int, more: dict[str, Any], priority: str
) -> None:
    """A H200 has 132 SMs."""
    kernel = {"gpu": "h200", "regs": 32, "block": 256, "grid": grid} | more
    assert found(kernel)["underfilled-device"] == priority


@pytest.mark.parametrize(
    ("times", "says"),
    [
        (
            {"time": "60ms", "device_time": "1ms"},
            "where it takes 1 ms instead of 60 ms on the host",
        ),
        ({"time": "60ms"}, "even if it is up to 19.4 ms slower there"),
    ],
)
def test_a_step_on_the_host_beside_its_time_on_the_device(times: dict[str, str], says: str) -> None:
    host = {"name": "threshold", "on": "host", "in": "256MiB", "out": "256MiB"} | times
    stages = [
        {"name": "filter", "on": "device", "in": "64MiB", "out": "256MiB"},
        host,
        {"name": "label", "on": "device", "in": "256MiB", "out": "4MiB"},
    ]
    assert says in finding({"gpu": "a100", "stages": stages}, "host-round-trip").advice.action


def test_a_build_without_code_for_the_gpu_is_told_once() -> None:
    said = finding({"gpu": "b200", "code": ["sm_90a", "compute_90a"]}, "missing-device-code")
    assert said.advice.also == ("narrow-target", "missing-ptx")
    assert "written for sm_90a may use instructions that this GPU has not" in said.advice.action
    plain = finding({"gpu": "h100", "code": ["sm_80"]}, "missing-device-code")
    assert "port" not in plain.advice.action

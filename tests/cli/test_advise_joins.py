"""Several files about one kernel are joined: both pages of a run, a description or code beside a report."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import pytest

RECORDED = Path(__file__).parent.parent / "advisor" / "profiles" / "recorded"
RAW, DETAILS = str(RECORDED / "hand_raw.csv"), str(RECORDED / "hand_details.csv")
BUILD_LOG = str(RECORDED / "ptxas.log")
SPILLING = "spilling(const float *, float *, int)"


def answered(cli, *args: str) -> dict[str, Any]:
    ran = cli("advise", *args, "--format", "json")
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


def said(document: dict[str, Any], rule: str, kernel: str) -> list[dict[str, Any]]:
    return [
        finding
        for finding in document["findings"]
        if finding["rule"] == rule and (finding["location"] or {})["kernel"].startswith(kernel)
    ]


def loud(document: dict[str, Any]) -> list[tuple[str, str]]:
    return sorted(
        (finding["rule"], finding["location"]["kernel"].partition("(")[0])
        for finding in document["findings"]
        if finding["priority"] != "low"
    )


@pytest.mark.parametrize("pages", [(RAW, DETAILS), (DETAILS, RAW)])
def test_both_pages_of_one_run_are_one_set_of_launches(pages: tuple[str, str], cli) -> None:
    both = answered(cli, "--ncu", pages[0], "--ncu", pages[1])
    alone = answered(cli, "--ncu", RAW)
    assert len(both["result"]["kernels"]) == len(alone["result"]["kernels"]) == 8
    assert loud(both) == loud(alone)
    limits = [kernel["limit"]["name"] for kernel in both["result"]["kernels"]]
    assert limits == [kernel["limit"]["name"] for kernel in alone["result"]["kernels"]]


def test_files_and_the_option_say_the_same(cli) -> None:
    assert loud(answered(cli, RAW, DETAILS)) == loud(answered(cli, "--ncu", RAW, "--ncu", DETAILS))


def test_pages_of_different_runs_stay_apart(cli) -> None:
    two = answered(cli, RAW, str(RECORDED / "torch_raw.csv"))
    one = answered(cli, str(RECORDED / "torch_raw.csv"))
    assert len(two["result"]["kernels"]) == 8 + len(one["result"]["kernels"])


@pytest.mark.parametrize("name", ["spilling", SPILLING])
def test_a_description_beside_a_report_is_joined_by_kernel(name: str, cli, tmp_path: Path) -> None:
    described = tmp_path / "kernel.toml"
    described.write_text(
        f'[[kernel]]\nname = "{name}"\n[kernel.compiled]\nspill_stores = 400\nspill_loads = 404\n'
        "stack = 400\n"
    )
    document = answered(cli, RAW, str(described))
    assert len(document["result"]["kernels"]) == 8
    (finding,) = said(document, "register-spills", "spilling")
    assert "804 bytes" in finding["message"]
    assert "requests to local memory" not in finding["message"]
    (alone,) = said(answered(cli, RAW), "register-spills", "spilling")
    assert "804 bytes" not in alone["message"]


def test_a_description_without_a_gpu_is_about_the_one_of_the_report(cli, tmp_path: Path) -> None:
    described = tmp_path / "kernel.toml"
    described.write_text('[[kernel]]\nname = "another"\nregs = 72\nblock = 100\n')
    ran = cli("advise", RAW, str(described))
    assert ran.code == 0
    assert "answered for" not in ran.err
    assert "answered for" in cli("advise", str(described)).err


def test_a_description_of_another_kernel_is_a_kernel_of_its_own(cli, tmp_path: Path) -> None:
    described = tmp_path / "kernel.toml"
    described.write_text('[[kernel]]\nname = "another"\ngpu = "h200"\nregs = 72\nblock = 100\n')
    document = answered(cli, RAW, str(described))
    assert len(document["result"]["kernels"]) == 9
    assert said(document, "partial-warp", "another")


def test_code_beside_a_report_is_joined_by_kernel(cli) -> None:
    document = answered(cli, RAW, BUILD_LOG)
    assert len(document["result"]["kernels"]) == 8
    (finding,) = said(document, "register-spills", "spilling")
    assert "The compiler spills" in finding["message"]
    assert "__launch_bounds__" in finding["action"]


def test_a_source_beside_a_report_is_joined_by_kernel(cli, tmp_path: Path) -> None:
    source = tmp_path / "kernels.cu"
    source.write_text(
        "template <typename T>\n"
        "__global__ void spilling(const T *in, T *out, int n) {\n"
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    out[i] = powf(in[i], 2.0f);\n"
        "}\n"
        "__global__ void other(const float *in, float *out) {\n"
        "    out[threadIdx.x] = powf(in[threadIdx.x], 2.0f);\n"
        "}\n"
    )
    document = answered(cli, RAW, str(source))
    assert len(document["result"]["kernels"]) == 8 + 1  # the other kernel was not profiled
    [joined] = said(document, "general-math-functions", "spilling")
    assert joined["location"]["line"] == 4
    assert joined["gain"] is None  # no profile tells what one line takes
    [apart] = said(document, "general-math-functions", "other")
    assert apart["location"]["line"] == 7


ONE_KERNEL = """\
ptxas info    : Compiling entry function '_Z1kPf' for 'sm_90'
ptxas info    : Function properties for _Z1kPf
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 104 registers, used 1 barriers, 40960 bytes smem, 360 bytes cmem[0]
"""


def test_the_block_of_the_options_is_that_of_a_build_logs_kernels(cli, tmp_path: Path) -> None:
    log = tmp_path / "build.log"
    log.write_text(ONE_KERNEL)
    document = answered(cli, str(log), "--gpu", "h100", "--block", "320", "--grid", "1000")
    assert len(document["result"]["kernels"]) == 1  # the options are no kernel of their own
    [low] = said(document, "low-occupancy", "k(float*)")
    assert "1 block of 320 threads: 10 of 64 warps" in low["message"]
    assert "__launch_bounds__(320, 2) or -maxrregcount=96" in low["action"]
    alone = answered(cli, str(log), "--gpu", "h100")
    assert "2 blocks of 256 threads" in said(alone, "low-occupancy", "k(float*)")[0]["message"]


def test_the_grid_of_the_options_is_that_of_a_build_logs_kernels(cli, tmp_path: Path) -> None:
    log = tmp_path / "build.log"
    log.write_text(ONE_KERNEL)
    document = answered(cli, str(log), "--gpu", "h100", "--block", "320", "--grid", "20")
    assert loud(document) == [("underfilled-device", "k")]


def test_options_of_a_kernel_beside_a_build_log_describe_another(cli, tmp_path: Path) -> None:
    log = tmp_path / "build.log"
    log.write_text(ONE_KERNEL)
    document = answered(cli, str(log), "--gpu", "h100", "--block", "320", "--regs", "40")
    assert len(document["result"]["kernels"]) == 2


def test_what_wins_hardly_anything_of_what_was_profiled_is_not_high(cli, tmp_path: Path) -> None:
    with lzma.open(RECORDED.parents[2] / "truth" / "recorded" / "pairs-4.ncu-rep.xz") as packed:
        report = tmp_path / "pairs-4.ncu-rep"
        report.write_bytes(packed.read())
    findings = answered(cli, str(report))["findings"]
    [launches] = [each for each in findings if each["rule"] == "launch-bound"]
    assert launches["priority"] == "medium"
    assert launches["gain"]["upper_bound"] == pytest.approx(8.0)
    assert any(each["priority"] == "high" for each in findings)


def test_a_note_that_is_told_once_is_none_of_a_baseline(cli) -> None:
    ran = cli("advise", BUILD_LOG, "--gpu", "h200")
    assert "unprofiled-workload" in ran.out
    assert "baseline" not in ran.out


def test_why_ptx_is_not_judged_is_said(cli) -> None:
    ran = cli("advise", str(Path(__file__).parent / "recorded" / "two.ptx"))
    assert ran.code == 2
    assert "error: The files hold no kernel to advise on." in ran.err
    assert 'two.ptx": the registers of PTX are decided when it is compiled' in ran.err


def test_why_code_for_another_gpu_is_not_judged_is_said(cli) -> None:
    ran = cli("advise", BUILD_LOG, "--gpu", "t4")
    assert ran.code == 2
    assert "would load none of its code, which is for sm_90" in ran.err

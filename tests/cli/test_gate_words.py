"""Limits, exceptions and thresholds of the user's own, and what decides between two runs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

RECORDED = Path(__file__).parent / "recorded"
LOG = """\
ptxas info    : Compiling entry function '_Z4gemmPf' for 'sm_90'
ptxas info    : Function properties for _Z4gemmPf
    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 160 registers, used 1 barriers, 0 bytes smem
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "b.log").write_text(LOG)
    return tmp_path


@pytest.mark.parametrize(
    ("limits", "code", "said"),
    [
        ('"gemm*" = {regs = 128}', 1, "gemm*: at most 128 registers: gemm(float*)"),
        ('"gemm*" = {regs = 160, spills = 8}', 0, ""),
        ('"_Z4gemmPf" = {spills = 7}', 1, "at most 7 spilled bytes"),
        ('"gemm(float*)" = {occupancy = "50%"}', 1, "at least 50 %"),
        ('"other" = {regs = 1}', 2, "limits has nothing to compare"),
        ('"gemm" = {regs = 0}', 2, "limits"),
        ('"gemm" = {register = 9}', 2, "is not a key"),
        ('"gemm" = {}', 2, "does not say a limit"),
    ],
)
def test_limits_of_kernels_stand_in_the_settings(
    limits: str, code: int, said: str, project: Path, cli
) -> None:
    for name, head in (
        ("gpuadvise.toml", "[limits]"),
        ("pyproject.toml", "[tool.gpuadvise.limits]"),
    ):
        (project / name).write_text(f"{head}\n{limits}\n")
        ran = cli("kernels", "b.log")
        assert (ran.code, said in ran.err) == (code, True), ran
        (project / name).unlink()


def test_an_exception_needs_a_reason_and_says_it(project: Path, cli) -> None:
    settings = project / "gpuadvise.toml"
    text = '[limits]\n"*" = {{regs = 128, spills = 0}}\n[exceptions]\n"gemm" = {{{}}}\n'
    settings.write_text(text.format("spills = 8, regs = 160"))
    ran = cli("kernels", "b.log")
    assert (ran.code, "an exception has a reason" in ran.err) == (2, True)
    settings.write_text(text.format('spills = 8, regs = 160, reason = "measured faster"'))
    ran = cli("kernels", "b.log", "--max-regs", "96", "--fail-on-spills")
    assert ran.code == 0
    assert "1 kernel accepted by the settings (measured faster): gemm(float*)." in ran.err
    settings.write_text(text.format('spills = 7, regs = 160, reason = "measured faster"'))
    ran = cli("kernels", "b.log")
    assert (ran.code, "at most 0 spilled bytes" in ran.err) == (1, True)
    assert cli("kernels", "b.log", "--fail-under", "50%").code == 1


def test_two_files_of_settings_are_refused(project: Path, cli) -> None:
    (project / "gpuadvise.toml").write_text("")
    (project / "k.cu").write_text("__global__ void k() {}\n")
    (project / "pyproject.toml").write_text('[project]\nname = "x"\n')
    assert cli("lint", "k.cu").code == 0
    (project / "pyproject.toml").write_text('[tool.gpuadvise]\nfail_on = "high"\n')
    ran = cli("lint", "k.cu")
    assert (ran.code, "both hold settings" in ran.err) == (2, True)


def test_a_baseline_may_have_a_name_in_the_settings(project: Path, cli) -> None:
    (project / "perf").mkdir()
    answer = cli("kernels", "b.log", "--format", "json").out
    (project / "perf" / "main.kernels.json").write_text(answer)
    gate = ("kernels", "b.log", "--fail-on-spills", "--baseline", "main")
    ran = cli(*gate)
    assert (ran.code, '"main"' in ran.err) == (2, True)
    (project / "gpuadvise.toml").write_text('[baselines]\nmain = "perf/main.{command}.json"\n')
    assert cli(*gate).code == 0
    asked = ("advise", "--regs", "72", "--block", "100", "--gpu", "h200", "--baseline", "main")
    assert '"perf/main.advise.json"' in cli(*asked).err
    (project / "gpuadvise.toml").write_text("[baselines]\nmain = 7\n")
    assert (cli(*gate).code, "baselines" in cli(*gate).err) == (2, True)
    (project / "gpuadvise.toml").write_text("baselines = 7\n")
    assert cli(*gate).code == 2


def page(path: Path, milliseconds: float, registers: int, occupancy: float) -> str:
    head = [
        "ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream",
        "Block Size", "Grid Size", "Device", "CC", "gpu__time_duration.sum",
        "launch__registers_per_thread", "sm__maximum_warps_per_active_cycle_pct",
    ]  # fmt: skip
    units = [""] * 11 + ["msecond", "register/thread", "%"]
    row = [
        "0", "1", "p", "h", "k(float *)", "1", "7", "(1024, 1, 1)", "(64, 1, 1)", "0", "9.0",
        str(milliseconds), str(registers), str(occupancy),
    ]  # fmt: skip
    lines = [",".join(f'"{cell}"' for cell in line) for line in (head, units, row)]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def test_a_kernel_that_is_faster_at_half_the_occupancy_is_no_regression(
    cli, tmp_path: Path
) -> None:
    before, after = page(tmp_path / "a.csv", 1.94, 32, 100), page(tmp_path / "b.csv", 0.16, 64, 50)
    ran = cli("diff", before, after, "--fail-on-regression", "--format", "json")
    assert ran.code == 0, ran
    assert json.loads(ran.out)["result"]["counts"]["faster"] == 1
    assert cli("diff", after, before, "--fail-on-regression").code == 1


@pytest.mark.parametrize(("slower", "code"), [(None, 1), ("5%", 1), ("12%", 0), ("1%", 1)])
def test_what_is_slower_is_the_users(slower: str | None, code: int, cli, tmp_path: Path) -> None:
    before, after = page(tmp_path / "a.csv", 1.0, 32, 100), page(tmp_path / "b.csv", 1.1, 32, 100)
    given = ["--slower", slower] if slower else []
    assert cli("diff", before, after, "--fail-on-regression", *given).code == code
    if slower == "1%":
        near = page(tmp_path / "c.csv", 1.02, 32, 100)
        assert cli("diff", before, near, "--fail-on-regression").code == 0
        assert cli("diff", before, near, "--fail-on-regression", *given).code == 1


def run(folder: Path, name: str, kernels: dict[str, int]) -> str:
    at, events = 0, []
    for kernel, duration in kernels.items():
        events.append({
            "ph": "X", "cat": "kernel", "name": kernel, "ts": at, "dur": duration, "pid": 0, "tid": 7,
            "args": {"device": 0, "stream": 7, "grid": [9, 1, 1], "block": [128, 1, 1]},
        })  # fmt: skip
        at += duration + 10
    path = folder / name
    gpu = {"id": 0, "name": "NVIDIA H100 80GB HBM3"}
    path.write_text(json.dumps({"deviceProperties": [gpu], "traceEvents": events}))
    return str(path)


def test_runs_without_a_common_kernel_are_compared_by_the_run(cli, tmp_path: Path) -> None:
    fast, slow = run(tmp_path, "a.json", {"a": 1000}), run(tmp_path, "b.json", {"b": 7000})
    assert cli("diff", fast, slow, "--fail-on-regression").code == 1
    assert cli("diff", slow, fast, "--fail-on-regression").code == 0


def test_a_run_that_was_cut_is_no_triumph(cli, tmp_path: Path) -> None:
    whole = run(tmp_path, "a.json", {"small": 10, "large": 9000})
    cut = run(tmp_path, "b.json", {"small": 10})
    ran = cli("diff", whole, cut, "--fail-on-regression", "--format", "json")
    assert (ran.code, "lacks kernels that took 100%" in ran.err) == (3, True)
    (left,) = json.loads(ran.out)["result"]["not_judged"]
    assert left["path"] == cut
    assert cli("diff", whole, cut).code == 0
    still = run(tmp_path, "c.json", {"small": 0, "large": 0})
    assert cli("diff", whole, still, "--fail-on-regression").code in (2, 3)


def test_slower_is_about_runs(cli, tmp_path: Path) -> None:
    (tmp_path / "b.log").write_text(LOG)
    ran = cli("diff", str(tmp_path / "b.log"), str(tmp_path / "b.log"), "--slower", "5%")
    assert (ran.code, "--slower is about recorded runs" in ran.err) == (2, True)


def test_advice_on_binaries_is_annotated_and_advice_on_work_is_not(project: Path, cli) -> None:
    ran = cli("kernels", "b.log", "--gpu", "h200", "--advise", "--format", "github")
    lines = ran.out.splitlines()
    assert any(re.match("::(error|warning|notice) file=b.log,", line) for line in lines), lines
    advised = cli("advise", "--regs", "40", "--block", "100", "--gpu", "h200", "--format", "github")
    assert "unprofiled-workload" not in ran.out
    assert "partial-warp" in advised.out
    kernels = '[[kernel]]\nname = "{}"\ngpu = "h200"\nregs = 40\nblock = 100\n'
    (project / "k.toml").write_text("".join(kernels.format(name) for name in "abc"))
    many = cli("advise", "k.toml", "--format", "github").out
    assert (many.count("partial-warp"), many.count("unprofiled-workload")) == (3, 0)


def test_several_rules_may_stand_in_one_option(cli) -> None:
    asked = ("advise", "--regs", "72", "--block", "100", "--gpu", "h200", "--format", "json")
    both = cli(*asked, "--ignore", "high,medium").out
    assert (
        json.loads(both)["findings"]
        == json.loads(cli(*asked, "--ignore", "high", "--ignore", "medium").out)["findings"]
    )
    assert {f["priority"] for f in json.loads(both)["findings"]} <= {"low"}


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("access", "Give --stride, --indices or another of the options."),
        ("banks --pad 1", "Give --stride, --tile or --indices."),
        ("latency --warps 64", "Give what a thread loads: --word and --loads."),
    ],
)
def test_what_nobody_described_is_not_judged(line: str, hint: str, cli) -> None:
    ran = cli(*line.split(), "--gpu", "h200", "--fail-under", "1%")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        f"error: --fail-under has nothing to compare: no access is described.\nhint: {hint}\n"
    )


@pytest.mark.parametrize(
    "line",
    [
        "access --word 4", "access --mask 0xff", "access --offset 1", "access --indices 0,1",
        "banks --word 4", "banks --tile 32x32 --pad 1", "latency --warps 64 --word 4",
        "latency --warps 64 --loads 1",
    ],
)  # fmt: skip
def test_a_default_that_was_typed_is_judged(line: str, cli) -> None:
    assert cli(*line.split(), "--gpu", "h200", "--fail-under", "1%").code == 0

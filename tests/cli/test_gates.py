"""Every gate in every situation and format; docs/exit-codes.md shows the same table."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest
from made_fatbins import fatbin_of

DOCS = Path(__file__).parents[2] / "docs" / "exit-codes.md"
DATA = Path(__file__).parents[1] / "advisor" / "binaries" / "data"
PTX = DATA / "nvrtc-12.9-compute_90a.ptx"
SITUATIONS = ("passes", "fails", "nothing to compare", "unreadable", "several inputs")
FORMATS = ("text", "json", "github")
PLAIN_LOG = """\
ptxas info    : Compiling entry function '{name}' for 'sm_90'
ptxas info    : Function properties for {name}
    {spills} bytes stack frame, {spills} bytes spill stores, {spills} bytes spill loads
ptxas info    : Used {registers} registers, used 1 barriers, 0 bytes smem
"""


def log(name: str = "k", registers: int = 32, spills: int = 0) -> str:
    return PLAIN_LOG.format(name=name, registers=registers, spills=spills)


BATCH = "occupancy --cc 9.0 --fail-under 50% --batch"
KERNELS_LOW = "kernels --fail-under 50%"
KERNELS_SPILL = "kernels --fail-on-spills"
KERNELS_REGS = "kernels --max-regs 64"
COMPAT = "compat --cc 9.0 --fail-on fails"
REGRESSION = "diff --fail-on-regression"
SPILLS = "diff --fail-on-spills"
ADVISE = "advise --gpu h200 --fail-on medium"
RUNS = "diff --fail-on-regression"
LINT = "lint --fail-on high"
DOCTOR = "doctor --from"
# What each gate is given: {name} is a file below. Codes in the order of the situations.
GATES: dict[str, tuple[tuple[str, int], ...]] = {
    "compat --fail-on": (
        (f"{COMPAT} {{runs}}", 0),
        (f"{COMPAT} {{other_gpu}}", 1),
        (f"{COMPAT} {{pure_wheel}}", 2),
        (f"{COMPAT} {{broken}}", 2),
        (f"{COMPAT} {{runs}} {{other_gpu}} {{pure_wheel}}", 1),
    ),
    "kernels --fail-under": (
        (f"{KERNELS_LOW} {{good}}", 0),
        (f"{KERNELS_LOW} {{low}}", 1),
        (f"{KERNELS_LOW} {{ptx}}", 2),
        (f"{KERNELS_LOW} {{broken}}", 2),
        (f"{KERNELS_LOW} {{good}} {{low}}", 1),
    ),
    "kernels --fail-on-spills": (
        (f"{KERNELS_SPILL} {{good}}", 0),
        (f"{KERNELS_SPILL} {{spilling}}", 1),
        (f"{KERNELS_SPILL} {{good}} --filter zzz", 2),
        (f"{KERNELS_SPILL} {{broken}}", 2),
        (f"{KERNELS_SPILL} {{good}} {{spilling}}", 1),
    ),
    "kernels --max-regs": (
        (f"{KERNELS_REGS} {{good}}", 0),
        (f"{KERNELS_REGS} {{low}}", 1),
        (f"{KERNELS_REGS} {{ptx}}", 2),
        (f"{KERNELS_REGS} {{broken}}", 2),
        (f"{KERNELS_REGS} {{good}} {{low}}", 1),
    ),
    "diff --fail-on-regression": (
        (f"{REGRESSION} {{good}} {{good}}", 0),
        (f"{REGRESSION} {{good}} {{low}}", 1),
        (f"{REGRESSION} {{good}} {{low}} --filter zzz", 2),
        (f"{REGRESSION} {{good}} {{broken}}", 2),
        (f"{REGRESSION} {{two_members}} {{two_members_one_low}}", 1),
    ),
    "diff --fail-on-spills": (
        (f"{SPILLS} {{good}} {{good}}", 0),
        (f"{SPILLS} {{good}} {{spilling}}", 1),
        (f"{SPILLS} {{ptx}} {{ptx}}", 2),
        (f"{SPILLS} {{broken}} {{good}}", 2),
        (f"{SPILLS} {{two_members}} {{two_members_one_spilling}}", 1),
    ),
    "diff --fail-on-regression (runs)": (
        (f"{RUNS} {{run}} {{run}}", 0),
        (f"{RUNS} {{run}} {{slower_run}}", 1),
        (f"{RUNS} {{run}} {{run}} --filter zzz", 2),
        (f"{RUNS} {{run}} {{cpu_run}}", 2),
    ),
    "lint --fail-on": (
        (f"{LINT} {{clean_source}}", 0),
        (f"{LINT} {{faulty_source}}", 1),
        (f"{LINT} {{no_sources}}", 2),
        (f"{LINT} {{broken_source}}", 2),
        (f"{LINT} {{clean_source}} {{faulty_source}}", 1),
    ),
    "doctor --fail-on": (
        (f"{DOCTOR} {{healthy}} --fail-on high", 0),
        (f"{DOCTOR} {{busy}} --fail-on medium", 1),
        (f"{DOCTOR} {{without_facts}} --fail-on high", 2),
        (f"{DOCTOR} {{broken}} --fail-on medium", 2),
        (f"{DOCTOR} {{busy_and_healthy}} --fail-on medium", 1),
    ),
    "fleet --fail-on": (
        ("fleet {healthy} {busy} --fail-on medium", 0),
        ("fleet {sick} --fail-on high", 1),
        ("fleet {no_sources} --fail-on high", 2),
        ("fleet {broken} --fail-on medium", 3),
        ("fleet {sick} {healthy} --fail-on high", 1),
    ),
    "advise --fail-on": (
        ("advise --gpu h200 --fail-on low --regs 32 --block 256 --select partial-warp", 0),
        (f"{ADVISE} --regs 32 --block 100", 1),
        (f"{ADVISE} --regs 32 --block 256 --select low-effective-bandwidth", 2),
        (f"{ADVISE} {{broken_toml}}", 2),
        (f"{ADVISE} {{good_toml}} {{bad_toml}}", 1),
    ),
    "occupancy --fail-under": (
        ("occupancy --cc 9.0 --regs 32 --block 256 --fail-under 50%", 0),
        ("occupancy --cc 9.0 --regs 128 --block 256 --fail-under 50%", 1),
        (f"{BATCH} {{empty}}", 2),
        ("occupancy --cc 9.0 --regs none --block 256 --fail-under 50%", 2),
        ("occupancy --all-cc --regs 64 --block 256 --fail-under 100%", 1),
    ),
    "occupancy --batch --fail-under": (
        (f"{BATCH} {{good_batch}}", 0),
        (f"{BATCH} {{low_batch}}", 1),
        (f"{BATCH} {{header_only}}", 2),
        (f"{BATCH} {{broken_batch}}", 2),
        (f"{BATCH} {{mixed_batch}}", 1),
    ),
    "bandwidth --fail-under": (
        ("bandwidth --gpu h200 --read 4GB --time 1ms --fail-under 50%", 0),
        ("bandwidth --gpu h200 --read 4GB --time 1s --fail-under 50%", 1),
        ("bandwidth --gpu h200 --fail-under 50%", 2),
        ("bandwidth --gpu h200 --read 4GB --time soon --fail-under 50%", 2),
    ),
    "bandwidth --fail-over": (
        ("bandwidth --gpu h200 --read 4GB --time 1ms --fail-over 100%", 0),
        ("bandwidth --gpu h200 --read 4GB --time 1us --fail-over 100%", 1),
        ("bandwidth --gpu h200 --fail-over 100%", 2),
        ("bandwidth --gpu h200 --read 4GB --time soon --fail-over 100%", 2),
    ),
    "access --fail-under": (
        ("access --gpu h200 --stride 1 --fail-under 50%", 0),
        ("access --gpu h200 --stride 32 --fail-under 50%", 1),
        ("access --gpu h200 --fail-under 50%", 2),
        ("access --gpu h200 --indices {broken} --fail-under 50%", 2),
    ),
    "banks --fail-under": (
        ("banks --gpu h200 --word 4 --stride 1 --fail-under 100%", 0),
        ("banks --gpu h200 --word 4 --stride 32 --fail-under 50%", 1),
        ("banks --gpu h200 --fail-under 50%", 2),
        ("banks --gpu h200 --indices {broken} --fail-under 50%", 2),
    ),
    "latency --fail-under": (
        ("latency --gpu h200 --word 16 --loads 2 --warps 64 --fail-under 100%", 0),
        ("latency --gpu h200 --word 4 --warps 8 --fail-under 50%", 1),
        ("latency --gpu h200 --warps 64 --fail-under 50%", 2),
        ("latency --gpu h200 --warps many --fail-under 50%", 2),
    ),
    "overlap --fail-under": (
        ("overlap --gpu h200 --h2d 1GiB --kernel 40ms --d2h 1GiB --fail-under 90%", 0),
        ("overlap --gpu h200 --h2d 1GiB --kernel 40ms --d2h 1GiB --streams 1 --fail-under 90%", 1),
        ("overlap --gpu h200 --fail-under 90%", 2),
        ("overlap --gpu h200 --h2d much --kernel 40ms --fail-under 90%", 2),
    ),
    "timeline --fail-under": (
        ("timeline {run} --fail-under 10%", 0),
        ("timeline {run} --fail-under 100%", 1),
        ("timeline {cpu_run} --fail-under 10%", 2),
        ("timeline {broken} --fail-under 10%", 2),
        ("timeline {run} {slower_run} --fail-under 100%", 1),
    ),
    "roofline --fail-under": (
        ("roofline --gpu h200 --flops 1G --bytes 4GB --time 1ms --fail-under 50%", 0),
        ("roofline --gpu h200 --flops 1G --bytes 4GB --time 1s --fail-under 50%", 1),
        ("roofline --gpu h200 --flops 1G --bytes 4GB --fail-under 50%", 2),
        ("roofline --gpu h200 --ncu {broken} --fail-under 50%", 2),
    ),
    "roofline --fail-over": (
        ("roofline --gpu h200 --flops 1G --bytes 4GB --time 1ms --fail-over 100%", 0),
        ("roofline --gpu h200 --flops 1G --bytes 4GB --time 1us --fail-over 100%", 1),
        ("roofline --gpu h200 --flops 1G --bytes 4GB --fail-over 100%", 2),
        ("roofline --gpu h200 --ncu {broken} --fail-over 100%", 2),
    ),
}


class Case(NamedTuple):
    gate: str
    situation: str
    line: str
    code: int


CASES = [
    Case(gate, situation, *case)
    for gate, cases in GATES.items()
    for situation, case in zip(SITUATIONS, cases, strict=False)
]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """Return a file of each kind that the table names."""
    texts = {
        "good": log(),
        "low": log(registers=168),
        "spilling": log(spills=64),
        "ptx": PTX.read_text(),
        "empty": "",
        "header_only": "regs,block\n",
        "good_batch": "regs,block\n32,256\n",
        "low_batch": "regs,block\n128,256\n",
        "mixed_batch": "regs,block\n32,256\n128,256\n",
        "broken_batch": "regs,block\n32,256\nx,256\n",
        "broken_toml": "[[kernel",
        "good_toml": '[[kernel]]\nname = "good"\nregs = 32\nblock = 256\n',
        "bad_toml": '[[kernel]]\nname = "bad"\nregs = 32\nblock = 100\n',
    }
    suffix = {"broken_toml": ".toml", "good_toml": ".toml", "bad_toml": ".toml", "ptx": ".ptx"}
    paths = {name: tmp_path / f"{name}{suffix.get(name, '.txt')}" for name in texts}
    for name, text in texts.items():
        paths[name].write_text(text)
    binaries = {
        "runs": fatbin_of("sass:90"),
        "other_gpu": fatbin_of("sass:80"),
        "broken": b"\x7fELF\x02\x01\x01" + bytes(11) + b"\xbe\0" + bytes(44),
    }
    for name, content in binaries.items():
        paths[name] = tmp_path / f"{name}.bin"
        paths[name].write_bytes(content)
    paths |= _recorded(tmp_path)
    wheels = {
        "pure_wheel": {"a.py": "print()"},
        "two_members": {"a.so": log(), "b.so": log()},
        "two_members_one_low": {"a.so": log(), "b.so": log(registers=168)},
        "two_members_one_spilling": {"a.so": log(), "b.so": log(spills=8)},
    }
    for name, members in wheels.items():
        paths[name] = tmp_path / f"{name}.whl"
        with zipfile.ZipFile(paths[name], "w") as file:
            for member, text in members.items():
                file.writestr(member, text)
    return paths


RECORDED = Path(__file__).parent / "recorded"
BOXES = Path(__file__).parent / "boxes"
FAULTY_SOURCE = """\
__global__ void k(float *a) {
    if (threadIdx.x < 16) {
        __syncthreads();
    }
    a[threadIdx.x] = 0;
}
"""


def _devices(answer: dict) -> list[dict]:
    return answer["result"]["devices"]


def _bare(device: dict) -> dict:
    """Return *device* as a machine that tells nothing but what it is."""
    return device | {"telemetry": None, "pcie_generation": None, "ecc": None}


def _recorded(folder: Path) -> dict[str, Path]:
    """Return runs, machines and sources: recorded ones, and what is made of them."""
    run = (RECORDED / "pinned.trace.json").read_text()
    busy = json.loads((BOXES / "h200-busy.json").read_text())
    calm = json.loads((BOXES / "h200.json").read_text())
    sick = json.loads(json.dumps(busy))
    sick["result"]["devices"][0]["telemetry"]["ecc_uncorrected"] = 3
    both = busy | {"result": busy["result"] | {"devices": _devices(busy) + _devices(calm)}}
    nothing = {"driver_version": None, "cuda_version": None}
    bare = calm["result"] | {"devices": list(map(_bare, _devices(calm)))} | nothing
    texts = {
        "slower_run.json": run.replace('"dur": 600', '"dur": 6000'),
        "other_run.json": run.replace('"add"', '"other"').replace('"scale"', '"another"'),
        "busy_and_healthy.json": json.dumps(both),
        "sick.json": json.dumps(sick),
        "without_facts.json": json.dumps(calm | {"result": bare}),
        "clean_source.cu": "__global__ void k(float *a) { a[threadIdx.x] = 0; }\n",
        "faulty_source.cu": FAULTY_SOURCE,
        "broken_source.cu": "a\0b",
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    (folder / "no_sources").mkdir()
    return {
        "run": RECORDED / "pinned.trace.json",
        "cpu_run": RECORDED / "no-gpu.trace.json",
        "busy": BOXES / "h200-busy.json",
        "healthy": BOXES / "h200.json",
        "no_sources": folder / "no_sources",
        **{name.partition(".")[0]: folder / name for name in texts},
    }


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.gate}, {case.situation}")
def test_a_gate(cli, files: dict[str, Path], case: Case, form: str) -> None:
    batch = "--batch" in case.line
    args = case.line.format(**files).split()
    ran = cli(*args, "--format", "ndjson" if batch and form == "json" else form)
    assert ran.code == case.code
    assert "Traceback" not in ran.err
    if ran.code == 2:
        as_json = form == "json" and not batch
        error = next(line for line in ran.err.splitlines() if not line.startswith("note: "))
        assert error.startswith('{"error": ' if as_json else "error: ")
    if ran.code == 1:
        assert ran.err.startswith("note: ") or "\nnote: " in ran.err
    if form == "github":
        assert bool(re.search(r"^::error ", ran.out, re.M)) is (ran.code != 0)
    elif form == "json" and not batch and ran.code < 2:
        assert json.loads(ran.out)["result"] is not None


def test_every_gate_is_in_the_table() -> None:
    """A new option that can fail must be tried in each situation, and stand on the page."""
    from typer.main import get_command

    from gpuadvise.cli.app import COMMANDS, app

    group = get_command(app)
    options = {
        f"{entry.name} {name}"
        for entry in COMMANDS
        for parameter in group.get_command(None, entry.name).params
        for name in parameter.opts
        if name.startswith(("--fail", "--max-regs"))
    }
    assert options == {gate.replace(" --batch", "").partition(" (")[0] for gate in GATES}


def test_the_page_has_this_table() -> None:
    rows = re.findall(r"^\| `([^`]+)` \|(.*)\|$", DOCS.read_text(encoding="utf-8"), re.M)
    shown = {gate: [cell.strip() for cell in cells.split("|")] for gate, cells in rows}
    missing = ["-"] * len(SITUATIONS)
    assert shown == {
        gate: [*(str(code) for _, code in cases), *missing][: len(SITUATIONS)]
        for gate, cases in GATES.items()
    }


def test_a_baseline_excuses_what_it_has(cli, files: dict[str, Path], tmp_path: Path) -> None:
    saved = tmp_path / "before.json"
    saved.write_text(cli("kernels", str(files["low"]), "--format", "json").out)
    gate = ("--fail-under", "50%", "--baseline", str(saved))
    ran = cli("kernels", str(files["low"]), *gate)
    assert (ran.code, ran.err) == (0, "note: 1 kernel excused, no worse than in --baseline: k.\n")
    worse = tmp_path / "worse.log"
    worse.write_text(log(registers=255))
    assert cli("kernels", str(worse), *gate).code == 1
    new = tmp_path / "new.log"
    new.write_text(log(name="fresh", registers=168))
    ran = cli("kernels", str(new), *gate)
    assert (ran.code, ran.err) == (1, "note: 1 kernel below --fail-under 50 %: fresh.\n")


@pytest.mark.parametrize("form", ["text", "csv", "ndjson"])
def test_a_limit_hides_nothing_from_a_gate(cli, files: dict[str, Path], form: str) -> None:
    line = ["--limit", "1", "--fail-under", "50%", "--format", form]
    assert cli("kernels", str(files["good"]), str(files["low"]), *line).code == 1


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["--baseline", "x.json"], "--baseline excuses nothing by itself."),
        (["--fail-under", "80"], "--fail-under"),
        (["--fail-on-spills", "--baseline", "no.json"], "--baseline"),
        (["--list", "--fail-on-spills"], "--list unpacks nothing"),
    ],
)
def test_gates_of_kernels_that_say_nothing(cli, files, args: list[str], sentence: str) -> None:
    ran = cli("kernels", str(files["good"]), *args)
    assert ran.code == 2
    assert sentence in ran.err


def test_the_answer_of_another_command_is_no_baseline(cli, files, tmp_path: Path) -> None:
    saved = tmp_path / "kernels.json"
    saved.write_text(cli("kernels", str(files["low"]), "--format", "json").out)
    ran = cli("advise", str(files["bad_toml"]), "--fail-on", "low", "--baseline", str(saved))
    assert ran.code == 2
    assert "is not an answer of `gpuadvise advise --format json`" in ran.err


def test_what_is_no_answer_is_no_baseline(cli, files: dict[str, Path]) -> None:
    ran = cli("kernels", str(files["good"]), "--fail-on-spills", "--baseline", str(files["good"]))
    assert ran.code == 2
    assert "is not an answer of `gpuadvise kernels --format json`" in ran.err


def test_why_nothing_is_left_names_the_target(cli, files: dict[str, Path]) -> None:
    ran = cli("kernels", str(files["good"]), "--gpu", "a100", "--fail-under", "50%")
    assert ran.code == 2
    assert "--gpu leaves none of 1 kernel: 8.0 cannot run sm_90." in ran.err


def test_names_of_gpus_keep_their_capitals(cli, files: dict[str, Path]) -> None:
    ran = cli("kernels", str(files["ptx"]), "--gpu", "a100", "--fail-under", "50%")
    assert ran.code == 2
    assert "nothing to compare: NVIDIA A100" in ran.err


def test_equal_rows_are_folded_and_names_whole(cli, tmp_path: Path) -> None:
    name = "a_name_longer_than_any_line_" * 5
    members = {f"{letter}.so": log(name=name) for letter in "abc"}
    with zipfile.ZipFile(tmp_path / "w.whl", "w") as file:
        for member, text in members.items():
            file.writestr(member, text)
    ran = cli("kernels", str(tmp_path / "w.whl"))
    assert ran.out.count("  a.so\n") == ran.out.count("  c.so\n") == 1  # in three members
    twice = tmp_path / "twice.log"
    twice.write_text(log(name=name))
    ran = cli("kernels", str(twice), str(twice))
    assert "(x 2)" in ran.out
    document = json.loads(cli("kernels", str(twice), "--json").out)
    assert [kernel["name"] for kernel in document["result"]["kernels"]] == [name]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("{good} {ptx} --fail-under 50%", 2),  # the second file tells no occupancy
        ("{low} {ptx} --fail-under 50%", 1),  # what fails, fails
        ("{good} {other_target} --gpu h100 --fail-under 50%", 2),
        ("{good} {other_target} --fail-under 50%", 0),
        ("{good} {other_target} --gpu h100 --filter k --fail-under 50%", 0),
        ("{good} {host} --fail-on-spills", 0),  # no device code: nothing to judge it by
        ("{good} {other_image} --gpu h100 --fail-on-spills", 2),
        ("{folder} --fail-under 50%", 0),  # one input: some of it can be judged
        ("{folder} {ptx} --fail-under 50%", 2),
    ],
)
def test_each_of_several_files_is_compared(
    cli, files: dict[str, Path], tmp_path: Path, line: str, code: int
) -> None:
    names = {name: tmp_path / f"{name}.made" for name in ("other_target", "host", "other_image")}
    names["other_target"].write_text(log().replace("sm_90", "sm_80"))
    names["host"].write_bytes(b"\x7fELF\x02\x01\x01" + bytes(57))
    names["other_image"].write_bytes((RECORDED / "80.cubin").read_bytes())
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.cubin").write_bytes((RECORDED / "80.cubin").read_bytes())
    (folder / "b.ptx").write_text(PTX.read_text())
    ran = cli("kernels", *line.format(**files, **names, folder=folder).split())
    assert ran.code == code
    assert ("has nothing to compare in" in ran.err) is (code == 2)


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("compat {runs} {broken} --cc 9.0", 3),
        ("compat {broken} {runs} --cc 9.0 --fail-on fails", 3),
        ("compat {other_gpu} {broken} --cc 9.0 --fail-on fails", 1),
        ("compat {runs} {broken} --all-gpus", 3),
        ("kernels {good} {broken}", 3),
        ("kernels {broken} {good} --fail-under 50%", 3),
        ("kernels {low} {broken} --fail-under 50%", 1),
        ("advise {good} {broken}", 3),
        ("advise {broken} {spilling} --fail-on low", 1),
        ("advise {broken} {good} --fail-on high", 3),
    ],
)
def test_a_damaged_file_costs_no_answer_of_the_others(
    cli, files: dict[str, Path], line: str, code: int, form: str
) -> None:
    ran = cli(*line.format(**files).split(), "--format", form)
    assert ran.code == code
    assert re.search(r"^note: .*broken.bin at byte 7: Its ABI 0x0 is not known", ran.err, re.M)
    assert "error: " not in ran.err
    assert ran.out


@pytest.mark.parametrize("line", ["compat --cc 9.0", "kernels", "advise", "compat --all-gpus"])
def test_damaged_files_alone_are_bad_input(cli, files: dict[str, Path], line: str) -> None:
    other = files["broken"].with_name("other.bin")
    other.write_bytes(files["broken"].read_bytes())
    for damaged in ([files["broken"]], [files["broken"], other]):
        ran = cli(*line.split(), *map(str, damaged))
        assert (ran.code, ran.out) == (2, "")
        assert re.match(r'error: ".*broken.bin".* cannot be read\. Its ABI 0x0', ran.err)


@pytest.mark.parametrize("form", ["text", "json", "csv", "ndjson", "markdown", "html", "github"])
@pytest.mark.parametrize(
    "line",
    [
        "occupancy --regs 128 --block 256",
        "occupancy --batch {low_batch}",
        "bandwidth --read 4GB --time 1s",
        "access --stride 32",
        "roofline --flops 1G --bytes 4GB --time 1s",
    ],
)
def test_a_gate_names_the_gpu_that_nobody_named(
    cli, files: dict[str, Path], monkeypatch, line: str, form: str
) -> None:
    monkeypatch.setattr("gpuadvise.advisor.backends.choose.driver_present", lambda: False)
    form = "ndjson" if "--batch" in line and form in ("json", "markdown", "html") else form
    ran = cli(*line.format(**files).split(), "--fail-under", "50%", "--format", form)
    assert ran.code == 1
    assert "note: No live GPU: answered for NVIDIA H100" in ran.err

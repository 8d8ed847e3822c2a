"""Reports in every way that they come: pipes, folders, other encodings, damaged, several of one kernel."""

from __future__ import annotations

import csv
import io
import json
import lzma
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import traces

TESTS = Path(__file__).parent.parent
RECORDED = TESTS / "advisor" / "profiles" / "recorded"
RAW, DETAILS = RECORDED / "hand_raw.csv", RECORDED / "hand_details.csv"
TOML = '[[kernel]]\nname = "described"\ngpu = "h200"\nregs = 72\nblock = 100\n'


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of 12 launches, of which the pages are `textbook-2` of the truth corpus too."""
    path = tmp_path_factory.mktemp("report") / "textbook-2.ncu-rep"
    packed = TESTS / "truth" / "recorded" / "textbook-2.ncu-rep.xz"
    path.write_bytes(lzma.decompress(packed.read_bytes()))
    return path


def unpacked(form: str, folder: Path) -> Path:
    path = folder / f"textbook-2.{form}.csv"
    packed = TESTS / "truth" / "recorded" / f"{path.name}.xz"
    path.write_bytes(lzma.decompress(packed.read_bytes()))
    return path


def answered(cli, *args: object, code: int = 0) -> dict[str, Any]:
    ran = cli("advise", *map(str, args), "--format", "json")
    assert ran.code == code, ran.err
    return json.loads(ran.out)


def kernels(document: dict[str, Any]) -> list[tuple[str, int]]:
    return [(kernel["name"], kernel["launches"]) for kernel in document["result"]["kernels"]]


def piped(content: bytes, *args: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "gpuadvise", "advise", *args, "--format", "json"]
    return subprocess.run(command, input=content, capture_output=True, timeout=120, check=False)


def test_a_report_and_a_part_of_its_page_are_counted_once(
    report: Path, tmp_path: Path, cli
) -> None:
    lines = unpacked("raw", tmp_path).read_text().splitlines(keepends=True)
    part = tmp_path / "part.csv"
    part.write_text("".join(lines[:2] + lines[3:6]))
    alone = answered(cli, report)
    for files in ((report, part), (part, report), (report, part, report)):
        both = answered(cli, *files)
        assert sorted(kernels(both)) == sorted(kernels(alone))
        times = [
            sorted(kernel["seconds"] for kernel in each["result"]["kernels"])
            for each in (both, alone)
        ]
        assert times[0] == pytest.approx(times[1], rel=1e-3)


def test_two_runs_of_one_program_stay_two(report: Path, tmp_path: Path, cli) -> None:
    page = unpacked("raw", tmp_path)
    rows = list(csv.reader(page.read_text().splitlines()))
    for name in ("gpu__time_duration.sum", "gpc__cycles_elapsed.max"):
        at = rows[0].index(name)
        for row in rows[2:]:
            row[at] = f"{float(row[at].replace(',', '')) * 1.1:.6f}"
    other = tmp_path / "after.csv"
    with other.open("w", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows(rows)
    both = answered(cli, page, other)
    assert len(both["result"]["kernels"]) == 2 * len(answered(cli, page)["result"]["kernels"])
    files = {kernel["shape"]["file"] for kernel in both["result"]["kernels"]}
    assert files == {str(page), str(other)}
    text = cli("advise", str(page), str(other)).out
    assert "(after.csv)" in text
    assert "(textbook-2.raw.csv)" in text
    annotations = cli("advise", str(page), str(other), "--format", "github").out.splitlines()
    assert any(f"file={other}," in line for line in annotations)
    assert any(f"file={page}," in line for line in annotations)
    sarif = json.loads(cli("advise", str(page), str(other), "--format", "sarif").out)
    results = sarif["runs"][0]["results"]
    uris = {r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in results}
    assert uris == {str(page), str(other)}


def test_the_time_of_launches_alike_is_the_sum_of_their_times(tmp_path: Path, cli) -> None:
    rows = list(csv.reader(RAW.read_text().splitlines()))
    at, cycles = rows[0].index("gpu__time_duration.sum"), rows[0].index("gpc__cycles_elapsed.max")
    unit, first = rows[1][at], rows[2]
    for number, time in enumerate(("1.01", "1.1", "0.98"), 1):
        again = [*first]
        again[0], again[cycles] = str(90 + number), f"{number},000"
        again[at] = str(float(time) * float(first[at]))
        rows.append(again)
    page = tmp_path / "often.csv"
    with page.open("w", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows(rows)
    kernel = answered(cli, page, "--filter", first[rows[0].index("Kernel Name")].partition("(")[0])
    [often] = [one for one in kernel["result"]["kernels"] if one["launches"] == 4]
    scale = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3}[unit]
    total = float(first[at]) * (1 + 1.01 + 1.1 + 0.98) * scale
    assert often["seconds"] == pytest.approx(total)


def test_kernels_of_one_name_are_told_apart(tmp_path: Path, cli) -> None:
    rows = list(csv.reader(RAW.read_text().splitlines()))
    again = [*next(row for row in rows if "spilling" in row[rows[0].index("Kernel Name")])]
    again[0], again[rows[0].index("Grid Size")] = "99", "(7, 3, 1)"
    again[rows[0].index("gpc__cycles_elapsed.max")] = "123"
    page = tmp_path / "shapes.csv"
    with page.open("w", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([*rows, again])
    assert "(grid 7x3)" in cli("advise", str(page), "--all").out
    shapes = [kernel["shape"] for kernel in answered(cli, page)["result"]["kernels"]]
    assert {
        "file": str(page),
        "grid": [7, 3, 1],
        "block": shapes[-1]["block"],
        "ids": [99],
    } in shapes
    said = list(csv.DictReader(io.StringIO(cli("advise", str(page), "--format", "csv").out)))
    assert all(row["grid"] and row["block"] and row["file"] == str(page) for row in said)
    assert "(grid 7x3)" in cli("advise", str(page), "--all", "--format", "github").out


def test_launches_of_one_shape_that_take_other_times_are_not_alike(tmp_path: Path, cli) -> None:
    rows = list(csv.reader(RAW.read_text().splitlines()))
    at, cycles = rows[0].index("gpu__time_duration.sum"), rows[0].index("gpc__cycles_elapsed.max")
    again = [*rows[2]]
    again[0], again[at], again[cycles] = "77", str(4 * float(rows[2][at])), "1"
    page = tmp_path / "mixed.csv"
    with page.open("w", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([*rows, again])
    name = rows[2][rows[0].index("Kernel Name")].partition("(")[0]
    document = answered(cli, page, "--filter", name)
    assert [kernel["shape"]["ids"] for kernel in document["result"]["kernels"]] == [[0], [77]]
    text = cli("advise", str(page), "--filter", name, "--all").out
    assert "(launch 0)" in text
    assert "(launch 77)" in text


def test_findings_of_a_profile_name_their_report_and_outlive_its_name(tmp_path: Path, cli) -> None:
    first = cli("advise", str(RAW), "--format", "json").out
    assert {f["location"]["file"] for f in json.loads(first)["findings"]} == {str(RAW)}
    (tmp_path / "baseline.json").write_text(first)
    (tmp_path / "tomorrow.csv").write_bytes(RAW.read_bytes())
    args = (str(tmp_path / "tomorrow.csv"), "--baseline", str(tmp_path / "baseline.json"))
    assert answered(cli, *args)["findings"] == []


@pytest.mark.parametrize("option", [("-",), ("--ncu", "-")])
def test_a_report_comes_through_a_pipe(option: tuple[str, ...], report: Path, cli) -> None:
    done = piped(report.read_bytes(), *option)
    assert done.returncode == 0, done.stderr
    assert kernels(json.loads(done.stdout)) == kernels(answered(cli, report))


@pytest.mark.parametrize(
    ("content", "kernel"),
    [
        (DETAILS.read_bytes(), "spilling"),
        (RAW.read_bytes(), "spilling"),
        ((RECORDED / "ptxas.log").read_bytes(), "spilling"),
        (TOML.encode(), "described"),
        (b"# a comment\n" + TOML.encode(), "described"),
        (b'[{"name": "described", "regs": 72, "block": 100}]', "described"),
        (b'{"name": "described", "regs": 72, "block": 100}\n', "described"),
    ],
    ids=["details", "raw", "log", "toml", "toml with a comment", "json", "ndjson"],
)
def test_stdin_is_told_by_its_content(content: bytes, kernel: str) -> None:
    done = piped(content, "-")
    assert done.returncode == 0, done.stderr
    names = [name for name, _ in kernels(json.loads(done.stdout))]
    assert any(kernel in name for name in names)


def test_a_named_pipe_is_a_file(report: Path, cli) -> None:
    command = (
        f'"{sys.executable}" -m gpuadvise advise <(cat "{report}") <(cat "{RAW}") --format json'
    )
    done = subprocess.run(["bash", "-c", command], capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["result"]["kernels"]) == len(
        answered(cli, report, RAW)["result"]["kernels"]
    )


def german(text: str) -> str:
    """Return a number as a German locale prints it: 1.234,5."""
    if not text.replace(",", "").replace(".", "").isdecimal():
        return text
    whole, point, fraction = text.replace(",", "").partition(".")
    return f"{int(whole):,}".replace(",", ".") + (f",{fraction}" if point else "")


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("page", [RAW, DETAILS], ids=["raw", "details"])
def test_pages_of_other_locales_say_the_same(
    separator: str, page: Path, tmp_path: Path, cli
) -> None:
    header, *rows = csv.reader(page.read_text().splitlines())
    numbers = [
        header.index(name) for name in ("Metric Value", "Estimated Speedup") if name in header
    ]
    first = header.index("CC") + 1
    for row in rows:
        for at in range(first, len(row)):
            if not numbers or at in numbers:
                row[at] = german(row[at])
    path = tmp_path / "page.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL, delimiter=separator)
        writer.writerows([header, *rows])
    ours, theirs = (answered(cli, each, "--with-ncu-rules") for each in (path, page))
    assert [f["message"] for f in ours["findings"]] == [f["message"] for f in theirs["findings"]]
    assert ours["result"]["profiler_rules"] == theirs["result"]["profiler_rules"]


def test_a_page_without_units_is_refused(tmp_path: Path, cli) -> None:
    lines = RAW.read_text().splitlines(keepends=True)
    page = tmp_path / "page.csv"
    page.write_text("".join(lines[:1] + lines[2:]))
    ran = cli("advise", str(page))
    assert (ran.code, ran.out) == (2, "")
    assert "the line of units below the header is missing." in ran.err


def test_a_time_in_an_unknown_unit_is_not_known(tmp_path: Path, cli) -> None:
    rows = list(csv.reader(RAW.read_text().splitlines()))
    rows[1][rows[0].index("gpu__time_duration.sum")] = "fortnight"
    page = tmp_path / "page.csv"
    with page.open("w", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows(rows)
    assert {k["seconds"] for k in answered(cli, page)["result"]["kernels"]} == {None}


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
@pytest.mark.parametrize("page", [RAW, DETAILS], ids=["raw", "details"])
def test_pages_of_other_encodings_say_the_same(
    encoding: str, page: Path, tmp_path: Path, cli
) -> None:
    path = tmp_path / "page.csv"
    path.write_text(page.read_text(), encoding=encoding, newline="\r\n")
    ours, theirs = answered(cli, path), answered(cli, page)
    assert [f["message"] for f in ours["findings"]] == [f["message"] for f in theirs["findings"]]
    assert kernels(ours) == kernels(theirs)


def test_a_folder_of_reports_is_all_of_them(report: Path, tmp_path: Path, cli) -> None:
    (tmp_path / "rank0").mkdir()
    (tmp_path / "rank0" / "a.ncu-rep").write_bytes(report.read_bytes())
    (tmp_path / "notes.txt").write_text("not evidence")
    assert kernels(answered(cli, tmp_path)) == kernels(answered(cli, report))


def test_a_damaged_report_costs_the_others_nothing(report: Path, tmp_path: Path, cli) -> None:
    content = report.read_bytes()
    cut = tmp_path / "cut.ncu-rep"
    cut.write_bytes(content[:3000])
    document = answered(cli, cut, RAW, code=3)
    assert kernels(document) == kernels(answered(cli, RAW))
    assert (
        "cut.ncu-rep: a damaged report of Nsight Compute" in cli("advise", str(cut), str(RAW)).err
    )
    assert cli("advise", str(cut)).code == 2


def test_launches_before_the_damage_are_judged(report: Path, tmp_path: Path, cli) -> None:
    content = report.read_bytes()
    cut = tmp_path / "cut.ncu-rep"
    cut.write_bytes(content[: len(content) * 9 // 10])
    before = kernels(answered(cli, cut, code=3))
    assert before
    assert set(before) <= set(kernels(answered(cli, report)))


def test_only_the_kernels_that_the_filter_names_are_judged(cli) -> None:
    document = answered(cli, RAW, "--filter", "^SPILL")
    assert [name.partition("(")[0] for name, _ in kernels(document)] == ["spilling"]
    ran = cli("advise", str(RAW), "--filter", "nothing")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(
        'error: --filter: no kernel\'s name matches "nothing".\nhint: There are'
    )


def test_the_filter_reaches_descriptions_and_rows(tmp_path: Path, cli) -> None:
    described = tmp_path / "kernels.toml"
    described.write_text(TOML + TOML.replace("described", "other"))
    rows = cli("advise", str(described), "--filter", "other", "--format", "csv").out
    assert {row["kernel"] for row in csv.DictReader(io.StringIO(rows))} == {"other"}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("junk.ncu-rep", b"\x00\x01\x02" * 400, "junk.ncu-rep: no CSV of Nsight Compute."),
        ("cut.csv", RAW.read_bytes()[:900], "cut.csv: It holds no launch."),
        ("empty.csv", b"", "empty.csv: The file is empty."),
    ],
)
def test_what_cannot_be_read_beside_a_report_is_said(
    name: str, content: bytes, message: str, tmp_path: Path, cli
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    ran = cli("advise", str(path), str(RAW))
    assert ran.code == 3
    assert message in ran.err
    assert ran.out == cli("advise", str(RAW)).out


def test_a_folder_without_evidence_is_said(tmp_path: Path, cli) -> None:
    ran = cli("advise", str(tmp_path), str(RAW))
    assert ran.code == 0
    assert "holds no kernel: it says nothing here." in ran.err


def test_options_that_a_report_makes_useless_are_said(cli) -> None:
    ran = cli("advise", str(RAW), "--block", "512", "--regs", "255")
    assert ran.err == "note: --regs and --block are not used: the report says what was launched.\n"
    assert ran.out == cli("advise", str(RAW)).out
    ran = cli("advise", str(RAW), "--name", "mine")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: --name: the report names its kernels.")


@pytest.mark.parametrize(
    "options", ["--grid 3", "--regs 200", "--dynamic-smem 100KiB", "--block 512 --grid 3"]
)
def test_a_launch_typed_beside_a_report_changes_nothing(options: str, cli) -> None:
    ran = cli("advise", str(RAW), *options.split())
    assert ran.code == 0
    assert "not used: the report says what was launched." in ran.err
    assert ran.out == cli("advise", str(RAW)).out


def test_work_typed_beside_a_report_is_of_one_kernel(cli) -> None:
    work = ("--read", "1GB", "--write", "1GB", "--time", "1ms")
    ran = cli("advise", str(RAW), *work)
    assert (ran.code, ran.out) == (2, "")
    assert "about one kernel, and the report has 8." in ran.err
    limits = [
        answered(cli, RAW, "--filter", "^spilling", *more)["result"]["kernels"][0]["limit"]["name"]
        for more in ((), work)
    ]
    assert limits[0] == limits[1] != "unknown"


def test_a_report_that_is_not_there_is_no_damaged_one(tmp_path: Path, cli) -> None:
    for options in ((str(RAW), "nowhere.ncu-rep"), ("--ncu", "nowhere.ncu-rep", str(RAW))):
        ran = cli("advise", *options)
        assert (ran.code, ran.out) == (2, "")
        assert "there is no such file" in ran.err
    (tmp_path / "empty.ncu-rep").touch()
    assert "the file is empty." in cli("advise", str(tmp_path / "empty.ncu-rep")).err


def test_a_description_of_no_launch_is_said(tmp_path: Path, cli) -> None:
    described = tmp_path / "kernel.toml"
    described.write_text(TOML)
    said = cli("advise", str(RAW), str(described)).err
    assert '"described" is described, and no report has a launch of it.' in said


def test_a_kernel_without_a_time_leaves_the_others_their_shares(tmp_path: Path, cli) -> None:
    described = tmp_path / "kernel.toml"
    described.write_text(TOML)
    shares = [k["share"] for k in answered(cli, RAW, described)["result"]["kernels"]]
    assert shares[-1] is None
    assert sum(shares[:-1]) == pytest.approx(1)


def test_the_second_copy_of_a_page_is_said(tmp_path: Path, cli) -> None:
    (tmp_path / "copy.csv").write_bytes(RAW.read_bytes())
    ran = cli("advise", str(RAW), str(tmp_path / "copy.csv"))
    assert "holds launches of" in ran.err
    assert ran.out == cli("advise", str(RAW)).out


def test_a_run_shorter_than_its_kernels_is_said(cli) -> None:
    longest = max(k["seconds"] for k in answered(cli, RAW)["result"]["kernels"])
    ran = cli("advise", str(RAW), "--total-time", f"{longest * 1.01}s")
    assert "their shares hold only if they overlapped." in ran.err


def test_what_all_shows_no_gate_counts(cli) -> None:
    args = ("advise", "--regs", "32", "--block", "256", "--gpu", "h200", "--fail-on", "low")
    assert cli(*args).code == cli(*args, "--all").code == 0


def test_a_trace_comes_through_a_pipe_of_the_shell(tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    trace.write_text(traces.kineto([traces.kernel(ts=2_000.0 * n, dur=20.0) for n in range(9)]))
    command = f'"{sys.executable}" -m gpuadvise advise <(cat "{trace}") --format json'
    done = subprocess.run(["bash", "-c", command], capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "idle-gaps" in {finding["rule"] for finding in json.loads(done.stdout)["findings"]}


@pytest.mark.parametrize("before", ["[1/3] loading\n", "{loss: 3}\n", "\n\n"])
def test_a_page_behind_the_programs_own_output_comes_through_a_pipe(before: str, cli) -> None:
    done = piped(before.encode() + RAW.read_bytes(), "-")
    assert done.returncode == 0, done.stderr
    assert kernels(json.loads(done.stdout)) == kernels(answered(cli, RAW))


def test_a_filter_without_a_match_ends_a_stream_too(tmp_path: Path, cli) -> None:
    described = tmp_path / "kernels.ndjson"
    described.write_text('{"name": "one", "regs": 72, "block": 100, "gpu": "h200"}\n')
    for form in ("json", "ndjson", "csv"):
        ran = cli("advise", str(described), "--filter", "other", "--format", form)
        assert ran.code == 2
        assert "no kernel's name matches" in ran.err


def test_what_is_no_report_in_a_folder_is_passed_over(tmp_path: Path, cli) -> None:
    (tmp_path / "page.csv").write_bytes(RAW.read_bytes())
    (tmp_path / "people.csv").write_text("ID,name\n1,x\n")
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "gone.csv").symlink_to(tmp_path / "nowhere")
    ran = cli("advise", str(tmp_path))
    assert ran.code == 0
    assert "1 report judged, 3 other files left out." in ran.err
    assert ran.out.splitlines()[1:] == cli("advise", str(RAW)).out.splitlines()[1:]


def test_the_launches_numbers_are_those_of_their_file(report: Path, tmp_path: Path, cli) -> None:
    lines = unpacked("raw", tmp_path).read_text().splitlines(keepends=True)
    part = tmp_path / "part.csv"
    part.write_text("".join([*lines[:2], '"0",' + lines[5].partition(",")[2]]))
    for files in ((part, report), (report, part)):
        shapes = [kernel["shape"] for kernel in answered(cli, *files)["result"]["kernels"]]
        assert {shape["file"] for shape in shapes} == {str(report)}
        numbers = sorted(number for shape in shapes for number in shape["ids"])
        assert numbers == list(range(len(lines) - 2))


def test_fingerprints_outlive_the_next_recording(tmp_path: Path, cli) -> None:
    prints = []
    for name in ("today.csv", "tomorrow.csv"):
        (tmp_path / name).write_bytes(RAW.read_bytes())
        log = json.loads(cli("advise", str(tmp_path / name), "--format", "sarif").out)
        prints.append([tuple(r["partialFingerprints"].values()) for r in log["runs"][0]["results"]])
    assert prints[0] == prints[1]


def test_a_pipe_has_no_name_that_anybody_could_open() -> None:
    command = f'"{sys.executable}" -m gpuadvise advise <(cat "{RAW}") --format'
    for form in ("json", "github", "sarif"):
        line = ["bash", "-c", f"{command} {form}"]
        done = subprocess.run(line, capture_output=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        said = done.stdout.partition(b'"result"')[2] if form == "json" else done.stdout
        assert said
        assert b"/dev/fd" not in said


def test_a_filter_changes_no_share(cli) -> None:
    every = {k["name"]: k["share"] for k in answered(cli, RAW)["result"]["kernels"]}
    for kernel in answered(cli, RAW, "--filter", "^spilling")["result"]["kernels"]:
        assert kernel["share"] == pytest.approx(every[kernel["name"]])


def test_an_older_baseline_knows_findings_of_a_source_beside_a_report(tmp_path: Path, cli) -> None:
    source = tmp_path / "k.cu"
    source.write_text(
        "__global__ void spilling(const float *in, float *out, int n) {\n"
        "    out[threadIdx.x] = powf(in[threadIdx.x], 2.0f);\n}\n"
    )
    saved = answered(cli, RAW, source)
    for finding in saved["findings"]:  # as they were saved before launches had shapes
        if finding["location"]["file"] == str(RAW):
            finding["location"]["file"] = None
        del finding["shape"]
    (tmp_path / "old.json").write_text(json.dumps(saved))
    args = (RAW, source, "--baseline", tmp_path / "old.json")
    assert answered(cli, *args)["findings"] == []

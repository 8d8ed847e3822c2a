"""``gpuadvise advise``: evidence in every form, answers in every format."""

from __future__ import annotations

import csv
import io
import json
import lzma
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import traces
from jsonschema import Draft202012Validator
from sarif_pydantic import Sarif

from gpuadvise.cli.schema import bundled

if TYPE_CHECKING:
    from collections.abc import Callable

FIRST = ("--regs", "72", "--block", "100", "--grid", "96", "--gpu", "h200")
# Expected screens show these rules only, so that a rule added elsewhere leaves them as they are.
SHOWN = (
    *("unprofiled-workload", "underfilled-device", "partial-warp", "low-occupancy"),
    *("register-limited-occupancy", "lone-small-kernel", "unusual-block-size", "tiny-blocks"),
    *("low-effective-bandwidth", "uncoalesced-access", "register-spills", "throttled-clocks"),
)
SELECT_SHOWN = tuple(word for rule in SHOWN for word in ("--select", rule))
TOML = """\
[defaults]
gpu = "h200"

[[kernel]]
name = "blur"
regs = 72
block = 100
grid = 96

[[kernel]]
name = "copy"
regs = 32
block = 256
grid = 100_000
traffic = { read = "1GB", write = "1GB", time = "480us" }
"""
RECORDED = Path(__file__).parent.parent / "advisor" / "profiles" / "recorded"


@pytest.fixture(autouse=True)
def somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a folder without settings."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def kernels(tmp_path: Path) -> str:
    path = tmp_path / "kernel.toml"
    path.write_text(TOML)
    return path.name


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    def give(text: str) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    return give


@pytest.fixture
def valid():
    return Draft202012Validator(json.loads(bundled("advise"))).validate


def rules_in(text: str) -> list[str]:
    return [finding["rule"] for finding in json.loads(text)["findings"]]


@pytest.mark.parametrize("form", ["text", "markdown", "csv", "github"])
def test_the_first_example(form: str, cli, golden) -> None:
    ran = cli("advise", *FIRST, *SELECT_SHOWN, "--format", form)
    assert (ran.code, ran.err) == (0, "")
    golden(f"advise-first.{form}", ran.out)


def test_everything_that_could_not_be_judged(cli, golden) -> None:
    ran = cli("advise", *FIRST, *SELECT_SHOWN, "--all")
    assert ran.code == 0
    golden("advise-first-all.text", ran.out)


def test_several_kernels(kernels: str, cli, golden) -> None:
    ran = cli("advise", kernels, *SELECT_SHOWN)
    assert (ran.code, ran.err) == (0, "")
    golden("advise-kernels.text", ran.out)


def test_the_json_answer_is_valid(kernels: str, cli, valid) -> None:
    for args in (FIRST, (kernels,), (*FIRST, "--all")):
        document = json.loads(cli("advise", *args, "--format", "json").out)
        valid(document)
        assert all(f["rule"] for f in document["findings"])
    assert document["device"]["name"] == "NVIDIA H200 SXM 141 GB"
    assert document["result"]["high"] == 1
    quiet = [finding["priority"] == "low" for finding in document["findings"]]
    assert quiet == sorted(quiet)
    assert document["result"]["kernels"][0]["limit"]["name"] == "too-little-work"


def test_sarif_names_the_kernel_the_file_and_the_rule(kernels: str, cli) -> None:
    ran = cli("advise", kernels, "--format", "sarif")
    document = json.loads(ran.out)
    Sarif.model_validate(document)
    [run] = document["runs"]
    first = run["results"][0]
    assert first["level"] == "error"
    assert run["tool"]["driver"]["rules"][first["ruleIndex"]]["id"] == first["ruleId"]
    [place] = first["locations"]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "kernel.toml"
    assert place["logicalLocations"][0]["fullyQualifiedName"] == "blur"


def test_findings_lie_in_their_own_file_or_in_none(cli, tmp_path: Path) -> None:
    run = tmp_path / "run.json"
    run.write_text(
        traces.kineto([traces.copy(0, 10_000, 50 << 20, "Memcpy HtoD (Pageable -> Device)")])
    )
    other = tmp_path / "other.json"
    other.write_text(run.read_text())
    script = tmp_path / "train.py"
    script.write_text(
        "import torch\nfor x in torch.utils.data.DataLoader(d, num_workers=2):\n  x.cuda()\n"
    )
    report = Path(__file__).parents[1] / "advisor" / "profiles" / "recorded" / "hand_raw.csv"

    def files_of_runs(*beside: Path) -> set[str | None]:
        ran = cli("advise", *map(str, beside), str(run), "--format", "sarif")
        found = json.loads(ran.out)["runs"][0]["results"]
        places = [
            each.get("locations", [{}])[0]
            for each in found
            if each["ruleId"] == "pageable-transfers"
        ]
        return {
            place.get("physicalLocation", {}).get("artifactLocation", {}).get("uri")
            for place in places
        }

    assert files_of_runs() == {str(run)}
    assert files_of_runs(report) == {str(run)}
    assert files_of_runs(script) == {str(run)}
    assert files_of_runs(other) == {None}


def test_sarif_keeps_the_fingerprint_of_a_finding_that_moves(cli, tmp_path: Path) -> None:
    def fingerprints(lead: str, block: int) -> list[str]:
        table = f'[[kernel]]\nname = "blur"\ngpu = "h200"\nregs = 32\ngrid = 4\nblock = {block}\n'
        (tmp_path / "kernel.toml").write_text(lead + table)
        ran = cli("advise", str(tmp_path / "kernel.toml"), "--format", "sarif")
        results = Sarif.model_validate_json(ran.out).runs[0].results or []
        return [
            fingerprint for r in results for fingerprint in (r.partial_fingerprints or {}).values()
        ]

    before = fingerprints("", 250)
    assert len(set(before)) == len(before) > 1
    assert fingerprints("# a line more\n", 230) == before


def test_sarif_names_the_line_of_an_observation(stdin, cli) -> None:
    seen = {"fault": "divergent-barriers", "file": "a b.cu", "line": 3, "column": 5, "seen": "x"}
    stdin(json.dumps({"observations": [seen]}))
    document = json.loads(cli("advise", "-", "--format", "sarif").out)
    [result] = document["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place == {
        "artifactLocation": {"uri": "a%20b.cu"},
        "region": {"startLine": 3, "startColumn": 5},
    }
    stdin(json.dumps({"observations": [seen]}))
    line = cli("advise", "-", "--format", "github").out
    assert line.startswith("::error file=a b.cu,line=3,col=5,title=Keep barriers out")


@pytest.mark.parametrize(("limit", "code"), [("high", 1), ("medium", 1), ("low", 1), (None, 0)])
def test_fail_on(limit: str | None, code: int, cli) -> None:
    args = ("--fail-on", limit) if limit else ()
    assert cli("advise", *FIRST, *args).code == code


def test_fail_on_looks_at_what_is_left(cli) -> None:
    ignored = ("--ignore", "underfilled-device", "--ignore", "unprofiled-workload")
    assert cli("advise", *FIRST, *ignored, "--fail-on", "high").code == 0
    ran = cli("advise", *FIRST, "--fail-on", "high")
    assert ran.err == "note: 1 finding at --fail-on high or above.\n"
    ran = cli("advise", *FIRST, "--fail-on", "urgent")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith('error: --fail-on: "urgent" is not a priority.')


def test_selection_before_running(cli) -> None:
    ran = cli("advise", *FIRST, "--select", "partial-warp", "--format", "json")
    assert rules_in(ran.out) == ["partial-warp"]
    assert json.loads(ran.out)["not_evaluated"] == []
    ran = cli("advise", *FIRST, "--select", "partial-wrap")
    assert (ran.code, ran.out) == (2, "")
    assert "Did you mean partial-warp?" in ran.err


def test_selection_per_kernel(stdin, cli) -> None:
    stdin(
        json.dumps(
            {"block": 33, "select": ["partial-warp", "tiny-blocks"], "ignore": "tiny-blocks"}
        )
    )
    assert rules_in(cli("advise", "-", "--format", "json").out) == ["partial-warp"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("gpuadvise.toml", 'ignore = ["high"]\nfail_on = "medium"\n'),
        ("pyproject.toml", '[tool.gpuadvise]\nignore = ["high"]\nfail_on = "medium"\n'),
    ],
)
def test_settings_of_the_folder(name: str, text: str, somewhere: Path, cli) -> None:
    (somewhere / name).write_text(text)
    ran = cli("advise", *FIRST, "--format", "json")
    assert ran.code == 1
    assert json.loads(ran.out)["result"]["high"] == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ignore = 3\n", 'error: gpuadvise.toml: ignore: "3" is not a list of texts.'),
        ("ingore = []\n", 'error: gpuadvise.toml: ingore: "ingore" is not a key of this table.'),
        ("= 3\n", 'error: "gpuadvise.toml" cannot be used: Invalid statement'),
        (
            'select = ["hihg"]\n',
            'error: gpuadvise.toml: select: "hihg" is not a rule, a topic, a category or',
        ),
        (
            'ignore = ["lwo"]\n',
            'error: gpuadvise.toml: ignore: "lwo" is not a rule, a topic, a category or',
        ),
        ('fail_on = "hihg"\n', 'error: gpuadvise.toml: fail_on: "hihg" is not a priority.'),
    ],
)
def test_settings_that_cannot_be_used(text: str, message: str, somewhere: Path, cli) -> None:
    (somewhere / "gpuadvise.toml").write_text(text)
    ran = cli("advise", *FIRST)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(message)


def test_a_selection_stands_instead_of_that_of_the_settings(somewhere: Path, cli) -> None:
    (somewhere / "gpuadvise.toml").write_text('select = ["high"]\nignore = ["tiny-blocks"]\n')
    ran = cli("advise", "--block", "33", "--gpu", "h200", "--format", "json", "--select", "medium")
    assert rules_in(ran.out) == ["partial-warp"]


def test_a_selection_of_a_kernel_that_is_none(stdin, cli) -> None:
    line = json.dumps({"name": "blur", "block": 33, "gpu": "h200", "select": ["hihg"]})
    message = 'kernel "blur": select: "hihg" is not a rule, a topic, a category or a priority.'
    stdin(line)
    ran = cli("advise", "-")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"error: {message}\nhint: Did you mean high?\n"
    stdin(line + "\n" + json.dumps({"block": 33, "gpu": "h200"}))
    ran = cli("advise", "-", "--format", "ndjson")
    assert ran.code == 2
    assert ran.err == f"note: {message} Did you mean high?\n"
    assert '"rule":"partial-warp"' in ran.out


def test_a_kernel_may_name_a_rule_that_does_not_run(stdin, cli) -> None:
    stdin(json.dumps({"block": 33, "gpu": "h200", "ignore": ["tiny-blocks"]}))
    ran = cli("advise", "-", "--select", "partial-warp", "--format", "json")
    assert rules_in(ran.out) == ["partial-warp"]


def test_settings_and_options_that_leave_no_rule(somewhere: Path, cli) -> None:
    (somewhere / "gpuadvise.toml").write_text('ignore = ["tiny-blocks"]\n')
    ran = cli("advise", "--block", "33", "--gpu", "h200", "--select", "tiny-blocks")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: No rule is left to run.\nhint: --select, --ignore and gpu")


def test_a_pyproject_without_settings_is_none_of_ours(somewhere: Path, cli) -> None:
    (somewhere / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert cli("advise", *FIRST).code == 0


def test_a_baseline_leaves_only_what_is_new(somewhere: Path, cli) -> None:
    old = cli("advise", "--block", "256", "--gpu", "h200", "--format", "json").out
    (somewhere / "old.json").write_text(old)
    new = cli(
        "advise", "--block", "33", "--gpu", "h200", "--format", "json", "--baseline", "old.json"
    )
    assert rules_in(new.out) == ["partial-warp", "tiny-blocks"]


def test_a_second_finding_in_the_same_place_is_new(stdin, somewhere: Path, cli) -> None:
    first = {"name": "a[2 * i]", "word": 4, "stride": 2}
    stdin(json.dumps({"name": "blur", "gpu": "h200", "accesses": [first]}))
    (somewhere / "old.json").write_text(cli("advise", "-", "--format", "json").out)
    moved = {"name": "a[3 * i]", "word": 4, "stride": 3}
    stdin(json.dumps({"name": "blur", "gpu": "h200", "accesses": [moved]}))
    ran = cli("advise", "-", "--format", "json", "--baseline", "old.json")
    [worse] = json.loads(ran.out)["findings"]  # the same place, and more to win
    assert (worse["worse_than"], worse["gain"]["upper_bound"]) == (2.0, 3.0)
    stdin(json.dumps({"name": "blur", "gpu": "h200", "accesses": [moved, first]}))
    ran = cli("advise", "-", "--format", "json", "--baseline", "old.json")
    [new] = json.loads(ran.out)["findings"]
    assert "a[3 * i]" in new["message"]
    assert new["worse_than"] == 2.0


@pytest.mark.parametrize("form", ["text", "ndjson"])
def test_a_threshold_that_nothing_could_meet(form: str, stdin, cli) -> None:
    stdin(json.dumps({"sanitized": True}))
    ran = cli("advise", "-", "--gpu", "h200", "--format", form, "--fail-on", "high")
    assert (ran.code, ran.out) == (2, "")
    assert "error: --fail-on high: no rule of that priority had its evidence.\n" in ran.err


def test_a_baseline_is_named_where_it_hides_findings(somewhere: Path, cli) -> None:
    (somewhere / "old.json").write_text(cli("advise", *FIRST, "--format", "json").out)
    ran = cli("advise", *FIRST, "--baseline", "old.json", "--fail-on", "low")
    assert ran.code == 0
    assert "catalogue): nothing new, 3 findings in the baseline\n" in ran.out
    more = cli("advise", *FIRST, "--launch-bounds", "512,9", "--baseline", "old.json")
    assert "1. LOW" in more.out
    assert "3 findings of the baseline left out.\n" in more.out


@pytest.mark.parametrize("text", ["", "[]", '{"findings": 3}', '{"findings": [{}]}', None])
def test_a_baseline_that_is_none(text: str | None, somewhere: Path, cli) -> None:
    if text is not None:
        (somewhere / "old.json").write_text(text)
    ran = cli("advise", *FIRST, "--baseline", "old.json")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith('error: --baseline: "old.json"')


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "There is no evidence to advise on."),
        (("--regs", "32"), "A launch is described without its block size."),
        (("--regs", "0", "--block", "32"), '--regs: "0" is not a whole number from 1 to 65536.'),
        (("--regs", "-1", "--block", "32"), '--regs: "-1" is not'),
        (("--block", "33x99x"), '--block: "33x99x" is not a size in threads or blocks.'),
        (("--block", "32", "--smem", "1XB"), '--smem: "1XB" is not a size.'),
        (("--block", "32", "--smem", "48KB"), '--smem: "48KB" can mean 1000 or 1024 bytes.'),
        (("--time", "3ms"), "--time alone says nothing about a kernel."),
        (("--h2d", "3ms"), "--kernel-time is missing."),
        (("--read", "1GB", "--time", "-3ms"), '--time: "-3ms" is not a number with a unit.'),
        (("--parallel", "nan", "--processors", "4"), '--parallel: "nan" is not a share.'),
        (("--parallel", "2", "--processors", "4"), '--parallel: "2" is not a share.'),
        (("--parallel", "50%"), "--processors is missing."),
        (("--block", "32", "--ilp", "nan"), '--ilp: "nan" is not a number from 1 up.'),
        (("--launch-bounds", "256,x"), '--launch-bounds: "256,x" are not launch bounds.'),
        (("--launch-bounds", "1,2,3"), '--launch-bounds: "1,2,3" are not launch bounds.'),
        (("--code", "sm_9x"), '--code: "sm_9x" is not a compute capability.'),
        (("--driver", "new"), '--driver: "new" is not a driver version.'),
        (("--word", "4", "--space", "globe"), '--space: "globe" is not known here.'),
        (("nowhere.toml",), '"nowhere.toml" cannot be read: there is no such file.'),
        (("nowhere.json",), '"nowhere.json" cannot be read: there is no such file.'),
        (("--ncu", "nowhere.csv"), '"nowhere.csv" cannot be read: there is no such file.'),
        (("a\0b.toml",), '"a\\x00b.toml" cannot be the name of a file.'),
        (("--gpu", "h100x", "--block", "32"), '--gpu: "h100x" is no GPU of the catalogue.'),
        (("--gpu", "h100", "--cc", "9.0", "--block", "32"), "--gpu and --cc name two devices."),
        ((*FIRST, "--format", "xml"), '--format "xml" is not a format of advise.'),
    ],
)
def test_nonsense_is_one_sentence(args: tuple[str, ...], message: str, cli) -> None:
    ran = cli("advise", *args)
    assert (ran.code, ran.out) == (2, "")
    assert f"error: {message}" in ran.err
    assert "Traceback" not in ran.err


def test_a_toml_fault_is_named_with_line_and_column(somewhere: Path, cli) -> None:
    (somewhere / "k.toml").write_text(TOML.replace("480us", "480 furlongs"))
    ran = cli("advise", "k.toml")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith('error: k.toml:15:42: kernel.1.traffic.time: "480 furlongs" is not')


def test_ndjson_streams_findings_and_reports_bad_lines(stdin, cli) -> None:
    good = {"name": "a", "gpu": "h200", "block": 33}
    lines = [json.dumps(good), "{", "", json.dumps({**good, "name": "b"}), '{"blok": 3}', "3"]
    stdin("\n".join(lines))
    ran = cli("advise", "-", "--format", "ndjson", "--select", "partial-warp")
    assert [json.loads(line)["kernel"] for line in ran.out.splitlines()] == ["a", "b"]
    assert ran.code == 2
    assert "stdin:2: not JSON: Expecting property name" in ran.err
    assert 'stdin:5:10: blok: "blok" is not a key of this table. Did you mean block?' in ran.err
    assert "stdin:6" in ran.err


def test_csv_has_one_row_per_finding(kernels: str, cli) -> None:
    ran = cli("advise", kernels, "--format", "csv", "--fail-on", "high")
    rows = list(csv.DictReader(io.StringIO(ran.out)))
    assert ran.code == 1
    assert {row["kernel"] for row in rows} == {"blur"}
    assert rows[0]["priority"] == "high"


@pytest.mark.parametrize("args", [("-",), ("--gpu", "h200", "--block", "32")])
def test_no_finding_leaves_the_header(args: tuple[str, ...], kernels: str, stdin, cli) -> None:
    stdin('{"gpu": "h200", "block": 32}\n')
    ran = cli("advise", *args, "--select", "partial-warp", "--format", "csv")
    assert ran.code == 0
    assert ran.out == cli("advise", kernels, "--format", "csv").out.partition("\n")[0] + "\n"


def test_a_bad_line_stops_an_answer_that_cannot_be_cut(stdin, cli) -> None:
    stdin('{"block": 32}\n{\n')
    ran = cli("advise", "-", "--gpu", "h200")
    assert (ran.code, ran.out) == (2, "")
    assert "stdin:2: not JSON" in ran.err


def test_a_page_without_counts_names_the_one_with_them(cli) -> None:
    said = "A details page counts no requests to memory"
    for kernel in ("hand", "torch"):
        assert said in cli("advise", str(RECORDED / f"{kernel}_details.csv")).out.replace("\n", " ")
        assert said not in cli("advise", str(RECORDED / f"{kernel}_raw.csv")).out.replace("\n", " ")


def test_a_report_without_counts_is_not_asked_for_itself(cli) -> None:
    report = Path(__file__).parent.parent / "fuzz" / "corpus" / "report" / "small.ncu-rep"
    out = cli("advise", str(report)).out.replace("\n", " ")
    assert "The report counts no requests to memory" in out
    assert "Record with ncu --set full" in out
    assert "Give the report itself" not in out
    assert "page" not in out


@pytest.mark.parametrize("page", ["details", "raw"])
def test_a_profile_finds_what_each_kernel_was_written_to_show(page: str, cli, golden) -> None:
    ran = cli("advise", "--ncu", str(RECORDED / f"hand_{page}.csv"), "--format", "csv")
    found = [
        f"{row['kernel'].partition('(')[0]}: {row['priority']} {row['rule']}\n"
        for row in csv.DictReader(io.StringIO(ran.out))
    ]
    golden(f"advise-hand-{page}.txt", "".join(found))


@pytest.mark.parametrize("page", ["details", "raw"])
def test_library_gemms_at_low_occupancy_are_left_alone(page: str, cli) -> None:
    ran = cli("advise", "--ncu", str(RECORDED / f"torch_{page}.csv"), "--format", "json")
    gemms = [
        finding
        for finding in json.loads(ran.out)["findings"]
        if "gemm" in finding["location"]["kernel"] or "nvjet" in finding["location"]["kernel"]
    ]
    loud = {finding["rule"] for finding in gemms if finding["priority"] != "low"}
    assert loud <= {"unused-tf32"}  # FP32 products, which whoever calls them can have in TF32


def test_the_profilers_rules_are_data_as_well(cli, valid) -> None:
    args = ("advise", "--ncu", str(RECORDED / "hand_details.csv"), "--format", "json")
    assert "profiler_rules" not in json.loads(cli(*args).out)["result"]
    document = json.loads(cli(*args, "--with-ncu-rules").out)
    valid(document)
    said = document["result"]["profiler_rules"]
    assert {"CPIStall", "SOLBottleneck"} <= {rule["rule"] for rule in said}
    assert any(rule["estimated_speedup_percent"] for rule in said)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--block", "32"), "--with-ncu-rules: there is no --ncu whose rules could be shown."),
        (
            ("--ncu", str(RECORDED / "hand_details.csv"), "--format", "sarif"),
            "--with-ncu-rules: sarif has no place for them.",
        ),
    ],
)
def test_the_profilers_rules_are_not_dropped_in_silence(
    args: tuple[str, ...], message: str, cli
) -> None:
    ran = cli("advise", *args, "--with-ncu-rules")
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err


def test_the_profilers_own_rules_beside_ours(cli) -> None:
    ran = cli("advise", "--ncu", str(RECORDED / "noisy_details.csv"), "--with-ncu-rules")
    assert "The profiler's own rules, in its words" in ran.out
    assert "elementwise(const float4 *" in ran.out


def test_a_profile_and_flags_add_up(cli) -> None:
    path = str(RECORDED / "hand_raw.csv")
    ran = cli("advise", "--ncu", path, "--gpu", "rtx4090", "--format", "json")
    assert json.loads(ran.out)["device"]["name"] == "NVIDIA GeForce RTX 4090"
    assert ran.err.count("recorded on NVIDIA H200") == 1
    assert "recorded on" not in cli("advise", "--ncu", path, "--gpu", "h200").err
    ran = cli("advise", "--ncu", path, "--total-time", "3ms", "--format", "json")
    assert len(json.loads(ran.out)["result"]["kernels"]) == 8


def test_the_environment_is_looked_at_when_asked(cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,zero")
    ran = cli("advise", "--environment", "--gpu", "h200", "--format", "json")
    assert rules_in(ran.out) == ["device-visibility"]


def test_the_help_fits_and_shows_examples(cli) -> None:
    ran = cli("advise", "--help")
    assert ran.code == 0
    assert "gpuadvise advise --regs 72 --block 100 --grid 96 --gpu h200" in ran.out


@pytest.mark.parametrize(("total", "priority", "code"), [("2ms", "high", 1), ("1s", "low", 0)])
def test_a_small_share_of_the_run_makes_a_finding_low(
    total: str, priority: str, code: int, cli
) -> None:
    args = ("--ncu", str(RECORDED / "hand_raw.csv"), "--select", "uncoalesced-access")
    ran = cli("advise", *args, "--total-time", total, "--fail-on", "medium", "--format", "json")
    (finding,) = json.loads(ran.out)["findings"]
    assert (finding["priority"], finding["guide_priority"], ran.code) == (priority, "high", code)
    assert ("of the run." in finding["message"]) == (priority == "low")


def test_a_run_is_not_shorter_than_its_kernels(cli) -> None:
    ran = cli("advise", "--ncu", str(RECORDED / "hand_raw.csv"), "--total-time", "1us")
    assert (ran.code, ran.out) == (2, "")
    assert "--total-time: the run takes 1 us, but a kernel in it takes" in ran.err


@pytest.mark.parametrize(
    ("page", "moved", "how"),
    [
        ("noisy_details", "8 sectors", "DRAM bytes / needed bytes / DRAM busy = 755 MiB / 64 MiB / 91.3 %"),
        ("torch_details", "4.5 sectors", "DRAM bytes / needed bytes / DRAM busy = 69.1 MiB / 16 MiB / 77.2 %"),
    ],
)  # fmt: skip
def test_a_bound_says_how_it_was_worked_out(page: str, moved: str, how: str, cli) -> None:
    report = str(RECORDED / f"{page}.csv")
    ran = cli("advise", "--ncu", report, "--select", "uncoalesced-access", "--why")
    assert moved in ran.out
    assert f"Why: the most: {how};" in ran.out
    short = cli("advise", "--ncu", report, "--select", "uncoalesced-access").out
    assert how not in short
    assert "Gain: about " in short


@pytest.mark.parametrize(
    ("group", "how"),
    [
        ("pairs-5", "stores move 32 bytes for 4 used, times 2 for lanes far apart in DRAM"),
        ("pairs-3", "DRAM bytes / needed bytes = 1.85 GiB / 144 MiB, times 2.33 for lanes far apart in DRAM"),
        ("textbook", "sectors moved / sectors needed = 1 / 0.25"),
        ("textbook-2", "loads move 32 bytes for 4.55 used, times the 92.8 % that L1 does not hold"),
    ],
)  # fmt: skip
def test_a_bound_names_the_formula_of_its_case(group: str, how: str, cli, tmp_path: Path) -> None:
    packed = Path(__file__).parents[1] / "truth" / "recorded" / f"{group}.raw.csv.xz"
    report = tmp_path / "report.csv"
    report.write_bytes(lzma.decompress(packed.read_bytes()))
    ran = cli("advise", str(report), "--select", "uncoalesced-access", "--all", "--why")
    assert f"the most: {how};" in ran.out


def test_a_launch_that_was_profiled_is_possible(cli, tmp_path: Path) -> None:
    """Some compilers let a kernel have more static shared memory than nvcc does, and it runs."""
    packed = Path(__file__).parents[1] / "truth" / "recorded" / "textbook.raw.csv.xz"
    names, units, first, *_ = csv.reader(io.StringIO(lzma.decompress(packed.read_bytes()).decode()))
    column = names.index("launch__shared_mem_per_block_static")
    first[column] = {"Kbyte/block": "50.5", "byte/block": "50500"}[units[column]]
    report = tmp_path / "report.csv"
    with report.open("w", newline="") as file:
        csv.writer(file).writerows([names, units, first])
    answer = json.loads(cli("advise", str(report), "--json").out)
    assert "impossible-launch" not in {finding["rule"] for finding in answer["findings"]}
    alone = cli(
        "advise", "--gpu", "h200", "--block", "256", "--regs", "32", "--smem", "50500", "--json"
    )
    assert "impossible-launch" in {finding["rule"] for finding in json.loads(alone.out)["findings"]}


def test_kernels_are_ranked_by_the_time_they_can_save(stdin, cli) -> None:
    def kernel(name: str, stride: int, time: str) -> dict[str, object]:
        access = {"name": "a", "word": 4, "stride": stride}
        traffic = {"read": "1GB", "write": "1GB", "time": time}
        return {"name": name, "gpu": "h200", "accesses": [access], "traffic": traffic}

    short, long = kernel("short", 8, "440us"), kernel("long", 2, "660us")
    stdin(json.dumps([short, long]))
    found = json.loads(cli("advise", "-", "--select", "memory", "--format", "json").out)
    assert [f["location"]["kernel"] for f in found["findings"]] == ["short", "long"]
    long["traffic"]["time"] = "2s"  # type: ignore[index]
    stdin(json.dumps([short, long]))
    found = json.loads(cli("advise", "-", "--select", "memory", "--format", "json").out)
    assert [f["location"]["kernel"] for f in found["findings"]] == ["long", "short"]


@pytest.mark.parametrize("form", ["text", "markdown", "csv", "ndjson", "json", "sarif", "github"])
def test_names_cannot_steer_a_terminal(form: str, stdin, cli) -> None:
    name = "evil\x1b[31m\n::error::\u202e"
    stdin(json.dumps([{"name": name, "block": 33, "gpu": "h200"}, {"name": "b", "block": 33}]))
    out = cli("advise", "-", "--gpu", "h200", "--format", form).out
    assert "evil" in out
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert not any(line.startswith("::error::") for line in out.splitlines())


@pytest.mark.parametrize(
    "args",
    [
        ("--block", "256", "--select", "low-occupancy", "--fail-on", "medium"),
        ("--elements", "100", "--fail-on", "low"),
        ("--block", "256", "--select", "low", "--fail-on", "high"),
    ],
)
def test_a_threshold_that_nothing_was_held_against_does_not_pass(
    args: tuple[str, ...], cli
) -> None:
    ran = cli("advise", *args, "--gpu", "h200")
    assert (ran.code, ran.out) == (2, "")
    assert "no rule of that priority had its evidence." in ran.err


def test_advice_about_process_fails_no_gate(cli) -> None:
    call = ["advise", "--regs", "32", "--block", "256", "--grid", "10000", "--gpu", "a100"]
    ran = cli(*call, "--fail-on", "high")
    assert (ran.code, ran.err) == (0, "")
    assert "Note: Profile before optimising  [unprofiled-workload]" in ran.out
    log = cli(*call, "--fail-on", "high", "--format", "github").out
    assert "unprofiled-workload" not in log  # a note on how to work has no line in a code review
    assert "::error" not in log


@pytest.mark.parametrize(("block", "grid"), [("1", "1"), ("256", "4")])
def test_a_grid_smaller_than_the_gpu_needs_no_registers_to_be_seen(cli, block, grid) -> None:
    ran = cli("advise", "--block", block, "--grid", grid, "--gpu", "b200")
    assert "1. HIGH  Launch enough blocks to fill the GPU  [underfilled-device]" in ran.out


def test_the_stack_of_a_slow_path_is_low(cli) -> None:
    call = ["--regs", "28", "--block", "256", "--gpu", "h100", "--stack", "40"]
    ran = cli("advise", *call, "--spill-stores", "0", "--spill-loads", "0")
    assert "LOW  Index local arrays by constants  [local-arrays]" in ran.out


def test_code_that_only_the_driver_is_too_old_for_needs_no_new_build(cli) -> None:
    ran = cli("advise", "--code", "sm_80", "--driver", "11.4", "--gpu", "l4")
    assert "[outdated-driver]" in ran.out
    assert "[missing-device-code]" not in ran.out
    assert "[missing-device-code]" in cli("advise", "--code", "sm_90", "--gpu", "l4").out


def test_a_machine_alone_is_no_kernel(cli) -> None:
    box = str(Path(__file__).parent / "boxes" / "h200-busy.json")
    assert cli("advise", "--from", box).out.startswith("The machine with NVIDIA H200 ")
    ran = cli("advise", "--from", box, "--regs", "32", "--block", "256")
    assert ran.out.startswith("This kernel on NVIDIA H200 ")


def test_a_box_without_a_gpu_says_so(cli, tmp_path: Path) -> None:
    box = tmp_path / "box.json"
    box.write_text('{"schema": "gpuadvise.device/1", "result": {"devices": []}}')
    ran = cli("advise", "--from", str(box))
    assert ran.code == 3
    assert "The file holds no GPU: none answered on the machine" in ran.err
    log = tmp_path / "box.xml"
    log.write_text("<nvidia_smi_log><driver_version>580.95</driver_version></nvidia_smi_log>")
    assert cli("advise", "--from", str(log)).code == 3


@pytest.mark.parametrize(("flags", "count"), [("-O3", 1), ("-G -g", 0), ("-O0", 0)])
def test_a_debug_build_is_not_told_to_choose_its_precision(cli, flags: str, count: int) -> None:
    ran = cli(
        "advise", "--compile-flags", flags, "--gpu", "h200", "--select", "default-precision-flags"
    )
    assert ran.out.count("[default-precision-flags]") == count


def test_a_stall_alone_is_no_limit_and_what_is_missing_is_said(cli, tmp_path: Path) -> None:
    described = tmp_path / "kernel.toml"
    kernel = '[[kernel]]\nname = "k"\ngpu = "h200"\nregs = 32\nblock = 256\n'
    stalls = "profile.stalls = { barrier = 80.0, wait = 2.0 }\n"
    described.write_text(kernel + stalls)
    ran = cli("advise", str(described))
    assert "The limit is not known; what would tell it: how busy its units are" in ran.out
    described.write_text(kernel + stalls + "profile.compute_throughput = 0.1\n")
    assert "[latency-bound]" in cli("advise", str(described)).out


def test_what_rules_lack_is_said_once(cli) -> None:
    ran = cli("advise", "--regs", "32", "--block", "256", "--gpu", "h200", "--all")
    lacking = ran.out.partition("Not judged\n")[2].splitlines()
    said = [line for line in lacking if line and not line.startswith(" ")]
    assert len(said) == len(set(said)) < 60
    assert "Give a recorded run: `gpuadvise advise trace.json.gz`" in "".join(said)
    listed = cli("advise", "--regs", "32", "--block", "256", "--gpu", "h200", "--all", "--json").out
    rules = [entry["rule"] for entry in json.loads(listed)["not_evaluated"]]
    assert rules
    assert all(rule in "".join(lacking) for rule in rules)


def test_a_profile_says_what_is_likely_of_kernel_and_run(cli, valid) -> None:
    args = ("advise", "--ncu", str(RECORDED / "hand_raw.csv"), "--total-time", "10ms")
    answer = json.loads(cli(*args, "--format", "json").out)
    valid(answer)
    likely = [found["gain"] for found in answer["findings"] if found["gain"]["expected"]]
    assert len(likely) > 5
    for gain in likely:
        assert gain["of"] == "kernel"
        for of in ("", "_of_run"):
            low, expected, high, most = (
                gain[f"{name}{of}"] for name in ("low", "expected", "high", "upper_bound")
            )
            assert 1 <= low <= expected <= high <= most * (1 + 1e-9)
        assert gain["upper_bound_of_run"] <= gain["upper_bound"]
    rows = list(csv.DictReader(io.StringIO(cli(*args, "--format", "csv").out)))
    assert sorted(float(row["gain_expected"]) for row in rows) == pytest.approx(
        sorted(gain["expected"] for gain in likely)
    )
    sarif = json.loads(cli(*args, "--format", "sarif").out)["runs"][0]["results"]
    assert [result["properties"]["gain"]["kind"] for result in sarif] == [
        found["gain"]["kind"] for found in answer["findings"]
    ]


def test_findings_of_one_kernel_say_what_they_win_together(cli) -> None:
    args = ("advise", "--ncu", str(RECORDED / "hand_raw.csv"), "--all")
    kernels = json.loads(cli(*args, "--format", "json").out)["result"]["kernels"]
    joint = {kernel["name"]: kernel["together"] for kernel in kernels if kernel["together"]}
    assert joint
    said = cli(*args).out
    for name, gain in joint.items():
        assert gain["low"] <= gain["expected"] <= gain["high"] <= gain["upper_bound"]
        who = "both" if gain["findings"] == 2 else f"all {gain['findings']}"
        assert re.search(rf"Then: {re.escape(name)}: .*; {who} findings together about ", said)
    assert "for all that was profiled; at most " in said
    assert " for the run; at most " in cli(*args, "--total-time", "10ms").out


def test_what_limits_after_the_first_repair_is_said_and_told_to_scripts(cli) -> None:
    args = ("advise", "--ncu", str(RECORDED / "hand_raw.csv"), "--all")
    kernels = json.loads(cli(*args, "--format", "json").out)["result"]["kernels"]
    told = [kernel["then"] for kernel in kernels if kernel["then"]]
    joint = [kernel["then"] for kernel in kernels if kernel["together"]]
    assert told
    for then in told:
        assert 0 <= then["busy"] <= 1
        assert then["limit"] in ("issue", "latency", f"roof:{then['unit']}")
        assert then["after"]
    assert {kernel["then"] is None for kernel in kernels if not kernel["findings"]} <= {True}
    said = cli(*args).out
    assert joint
    assert all(then["text"].removesuffix(".") in said for then in joint)


def test_one_kernel_alone_is_no_run(cli, tmp_path: Path) -> None:
    lines = (RECORDED / "hand_raw.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    header = next(number for number, line in enumerate(lines) if line.startswith('"ID"'))
    [alone] = [line for line in lines if '"reduction(' in line]
    page = tmp_path / "alone.csv"
    page.write_text("".join([*lines[header : header + 2], alone]), encoding="utf-8")
    gains = [
        f["gain"] for f in json.loads(cli("advise", str(page), "--format", "json").out)["findings"]
    ]
    assert [gain["expected"] > 1 for gain in gains] == [True] * 3
    assert {gain["upper_bound_of_run"] for gain in gains} == {None}
    said = cli("advise", str(page)).out
    assert "for this kernel; at most " in said
    assert re.search("^Then: .* limits, .*; all 3 findings together about .*, at most ", said, re.M)


def test_whether_the_gpu_pays_is_said_either_way(cli) -> None:
    args = ("advise", "--kernel-time", "1ms", "--h2d", "16MiB", "--d2h", "16MiB", "--gpu", "h200")
    pays = cli(*args, "--host-time", "10ms")
    assert (
        "Offload: the GPU pays, 6.2x: 1.61 ms with its copies, 10 ms on the host, up to" in pays.out
    )
    (kernel,) = json.loads(cli(*args, "--host-time", "10ms", "--json").out)["result"]["kernels"]
    assert kernel["offload"]["factor"] == pytest.approx(10 / 1.613, rel=0.02)
    assert kernel["offload"]["break_even_bytes"] > 32 << 20
    loses = cli(*args, "--host-time", "1ms").out
    assert "Offload: the host is not slower: 1.61 ms with its copies, 1 ms on the host." in loses
    assert "Offload" not in cli(*args).out


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("medium", 1),
        ("high", 0),
        ("performance:medium", 1),
        ("performance", 1),
        ("correctness:high,performance:medium", 1),
        ("correctness:low,performance:high", 0),
        ("process", 1),
        ("low", 1),
    ],
)
def test_a_gate_may_be_of_one_category(cli, tmp_path: Path, words: str, code: int) -> None:
    described = tmp_path / "kernel.toml"
    kernel = '[[kernel]]\nname = "blur"\ngpu = "h200"\nregs = 32\nblock = 33\nsanitized = true\n'
    described.write_text(kernel, encoding="utf-8")
    ran = cli("advise", str(described), "--fail-on", words)
    assert ran.code == code
    if code:
        assert f"at --fail-on {words} or above." in ran.err


def test_a_gate_of_a_category_without_evidence_is_refused(cli) -> None:
    ran = cli("advise", "--regs", "32", "--block", "256", "--gpu", "h200", "--fail-on", "high")
    assert ran.code == 0
    for words, says in (
        ("speed:high", '"speed" is not a category.'),
        ("performance:urgent", '"urgent" is not a priority.'),
        ("high,", '"" is not a priority.'),
    ):
        ran = cli("advise", "--regs", "32", "--block", "256", "--gpu", "h200", "--fail-on", words)
        assert (ran.code, says in ran.err) == (2, True)

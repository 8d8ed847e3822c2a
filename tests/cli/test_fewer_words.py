"""Nothing is said twice, how many is said in one way, and programs get errors and help as data."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest
import traces

from gpuadvise.cli.app import COMMANDS
from gpuadvise.rules.report import finding_id

HERE = Path(__file__).parent
PROFILES = HERE.parent / "advisor" / "profiles" / "recorded"
RAW = str(PROFILES / "hand_raw.csv")
LONG = "void ns::" + "deeply::" * 20 + "kernel<int, float>(int, float const*)"


@pytest.fixture
def narrow(cli, tmp_path: Path) -> str:
    """Three kernels with one and the same fault, and long names."""
    described = [
        {
            "name": LONG.replace("kernel<", f"kernel_{number}<"),
            "gpu": "h200",
            "regs": 32,
            "block": 100,
        }
        for number in range(3)
    ]
    path = tmp_path / "kernels.ndjson"
    path.write_text("".join(json.dumps(each) + "\n" for each in described))
    return str(path)


def test_equal_advice_for_several_kernels_is_given_once(narrow: str, cli) -> None:
    out = cli("advise", narrow).out
    assert out.count("[partial-warp]") == 1
    assert out.count("Do: Use 96 or 128 threads") <= 1
    same = next(line for line in out.splitlines() if "The same for " in line)
    assert "kernel_1" in same
    assert "kernel_2" in same
    assert "at most 1.28x" in same
    assert cli("advise", narrow, "--all").out.count("[partial-warp]") == 3


def test_lists_have_short_names_and_data_whole_ones(narrow: str, cli) -> None:
    out = cli("advise", narrow).out
    assert "deeply::" * 8 not in out
    assert "deeply::" * 8 in cli("advise", narrow, "--all").out
    assert LONG.replace("kernel<", "kernel_0<") in cli("advise", narrow, "--json").out


def test_an_order_that_is_not_that_of_the_labels_is_said(cli) -> None:
    out = cli("advise", RAW).out
    labels = [
        line.split()[1] for line in out.splitlines() if line[:1].isdigit() and line[1:3] == ". "
    ]
    assert labels != sorted(labels, key=["HIGH", "MEDIUM", "LOW"].index)
    assert out.splitlines()[0].endswith(
        ", ordered by what they can win, nearly equal ones by priority"
    )
    described = str(HERE / "recorded" / "kernel.toml")  # gains of single kernels, in no run
    assert cli("advise", described).out.splitlines()[0].endswith("by what they can win")
    one = cli("advise", "--regs", "72", "--block", "100", "--grid", "96", "--gpu", "h200").out
    assert "ordered by" not in one.splitlines()[0]


@pytest.mark.parametrize("form", ["csv", "ndjson", "json", "sarif", "github"])
def test_the_limit_of_advise_holds_in_every_format(form: str, cli) -> None:
    out = cli("advise", RAW, "--limit", "2", "--format", form).out
    match form:
        case "csv":
            assert len(out.splitlines()) == 3
        case "json":
            assert len(json.loads(out)["findings"]) == 2
        case "sarif":
            assert len(json.loads(out)["runs"][0]["results"]) == 2
        case _:
            assert len(out.splitlines()) == 2


def test_the_limit_of_advise_in_text_and_of_described_kernels(narrow: str, cli) -> None:
    numbered = [
        line for line in cli("advise", RAW, "--limit", "3").out.splitlines() if ". " in line[:3]
    ]
    assert len(numbered) == 3
    assert len(cli("advise", narrow, "--limit", "1", "--format", "csv").out.splitlines()) == 2
    everything = cli("advise", RAW, "--limit", "0").out
    assert "more finding" not in everything


@pytest.fixture
def trace(tmp_path: Path) -> str:
    path = tmp_path / "t.json"
    kernels = [traces.kernel(at * 100, 90 - at, name=f"kernel_{at}") for at in range(12)]
    path.write_text(traces.kineto(kernels))
    return str(path)


@pytest.mark.parametrize("option", ["--limit", "--top"])
def test_the_limit_of_timeline_holds_in_every_format(option: str, trace: str, cli) -> None:
    ran = cli("timeline", trace, option, "2", "--format", "csv")
    assert len(ran.out.splitlines()) == 3
    assert ("--top is now called --limit." in ran.err) is (option == "--top")
    assert (
        len(json.loads(cli("timeline", trace, f"{option}=2", "--json").out)["result"]["kernels"])
        == 2
    )
    assert len(json.loads(cli("timeline", trace, "--json").out)["result"]["kernels"]) == 12
    assert cli("timeline", trace).out.count("kernel_") > 10
    assert "2 more kernels: --limit 0 lists all." in cli("timeline", trace).out
    assert "more kernels" not in cli("timeline", trace, option, "0").out


def test_ten_kernels_are_ten_lines(trace: str, cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    rows = cli("timeline", trace).out.partition("Kernels by time\n")[2].splitlines()
    listed = [row for row in rows[: rows.index("2 more kernels: --limit 0 lists all.")] if row]
    assert len(listed) == 1 + 10
    assert max(map(len, listed)) <= 80


def test_kernels_of_one_name_are_told_apart_by_their_grids(tmp_path: Path, cli) -> None:
    path = tmp_path / "t.json"
    kernels = [traces.kernel(at * 100, 50, name="same", grid=[at + 1, 2, 1]) for at in range(2)]
    path.write_text(traces.kineto(kernels))
    out = cli("timeline", str(path)).out
    assert "same (1x2)" in out
    assert "same (2x2)" in out


def error_of(ran) -> dict:
    document = json.loads(ran.err.splitlines()[-1])
    assert ran.out == ""
    return document["error"]


@pytest.mark.parametrize(
    "form", [["--json"], ["--format", "json"], ["--format=json"], ["-f", "json"]]
)
def test_an_error_is_json_for_who_asks_for_json(form: list[str], cli) -> None:
    plain = cli("overlap", "--h2d", "1GiB", "--kernel", "5")
    ran = cli("overlap", "--h2d", "1GiB", "--kernel", "5", *form)
    error = error_of(ran)
    assert ran.code == plain.code == error["code"] == 2
    assert error["option"] == "--kernel"
    assert f"error: {error['message']}\nhint: {error['hint']}\n" == plain.err


def test_what_the_option_parser_refuses_is_json_too(cli) -> None:
    error = error_of(cli("advise", "--selec", "x", "--json"))
    assert error["option"] == "--selec"
    assert "--select" in error["nearest"]
    gpu = error_of(cli("device", "--gpu", "h1000", "--json"))
    assert gpu["code"] == 2


def test_the_nearest_are_listed(cli) -> None:
    error = error_of(cli("rules", "low-ocupancy", "--json"))
    assert "low-occupancy" in error["nearest"]


def test_help_is_data_for_programs(cli) -> None:
    everything = json.loads(cli("help", "--json").out)["commands"]
    assert [command["name"] for command in everything] == [row.name for row in COMMANDS]
    [overlap] = json.loads(cli("help", "overlap", "--json").out)["commands"]
    assert overlap in everything
    options = {name: option for option in overlap["options"] for name in option["names"]}
    assert options["--kernel"]["metavar"]
    assert options["--show"]["switch"] is True
    assert all(option["help"] for option in options.values())
    assert overlap["examples"]
    [lint] = json.loads(cli("help", "lint", "--json").out)["commands"]
    assert lint["arguments"][0]["required"] is True
    assert lint["arguments"][0]["repeats"] is True


def test_help_has_no_other_format(cli) -> None:
    ran = cli("help", "overlap", "--format", "csv")
    assert ran.code == 2
    assert "Use text or json." in ran.err


def test_rules_of_advise_may_stand_with_commas(cli) -> None:
    line = ["advise", RAW, "--json", "--select"]
    both = json.loads(cli(*line, "bank-conflicts, register-spills").out)["findings"]
    twice = json.loads(cli(*line, "bank-conflicts", "--select", "register-spills").out)["findings"]
    assert both == twice
    assert {each["rule"] for each in both} == {"bank-conflicts", "register-spills"}


def test_a_finding_keeps_its_id(cli, tmp_path: Path) -> None:
    ids = [each["id"] for each in json.loads(cli("advise", RAW, "--json").out)["findings"]]
    copied = tmp_path / "again.csv"
    copied.write_bytes(Path(RAW).read_bytes())
    again = json.loads(cli("advise", str(copied), "--json").out)["findings"]
    assert [each["id"].rpartition("-")[0] for each in again] == [each["rule"] for each in again]
    assert len(set(ids)) == len(ids)
    source = tmp_path / "k.cu"
    source.write_text("__global__ void k(float *x) { x[0] = pow(x[0], 2.0f); }\n")
    first = json.loads(cli("lint", str(source), "--json").out)["findings"]
    source.write_text("\n\n" + source.read_text())
    assert [each["id"] for each in first] == [
        each["id"] for each in json.loads(cli("lint", str(source), "--json").out)["findings"]
    ]


def test_an_id_is_of_rule_file_and_kernel() -> None:
    one = finding_id("bank-conflicts", "src/k.cu", "void ns::k<int>(int)")
    assert one == finding_id("bank-conflicts", "other/k.cu", "k")
    assert one != finding_id("bank-conflicts", "src/k.cu", "j")
    assert one != finding_id("slow-math", "src/k.cu", "k")
    assert finding_id("busy-device", None, None).startswith("busy-device-")


@pytest.mark.parametrize("name", ["pairs-2", "torch-2"])
def test_no_sentence_stands_twice_in_one_finding(name: str, cli, tmp_path: Path) -> None:
    packed = HERE.parent / "truth" / "recorded" / f"{name}.ncu-rep.xz"
    report = tmp_path / "r.ncu-rep"
    report.write_bytes(lzma.decompress(packed.read_bytes()))
    for finding in json.loads(cli("advise", str(report), "--json").out)["findings"]:
        sentences = [part for part in finding["message"].split(". ") if len(part) > 20]
        assert len(set(sentences)) == len(sentences), finding["message"]


def test_advice_that_stands_above_is_not_repeated(cli, tmp_path: Path) -> None:
    source = tmp_path / "rows.cu"
    source.write_text(
        "__global__ void rows(const float *in, float *out, int n, int m) {\n"
        "  int row = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "  if (row >= n) return;\n"
        "  float sum = 0;\n"
        "  for (int i = 0; i < m; i++) sum += in[row * m + i];\n"
        "  for (int i = 0; i < m; i++) out[row * m + i] = sum;\n"
        "}\n"
    )
    lines = cli("advise", str(source), "--select", "uncoalesced-access").out.splitlines()
    actions = [line.strip() for line in lines if line.startswith("   Do: ")]
    assert len(actions) == 2
    assert actions[0].startswith("Do: Let threadIdx.x run along the fastest index")
    assert actions[1] == "Do: As in 1."

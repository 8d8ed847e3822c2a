"""``gpuadvise lint``."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from sarif_pydantic import Sarif

from gpuadvise.cli.schema import bundled
from gpuadvise.rules.guide import RULES, rule_of
from gpuadvise.rules.source import CHECKED

VALID = Draft202012Validator(json.loads(bundled("lint"))).validate
KERNEL = """\
__global__ void k(float *a, float x) {
  a[0] = x * 0.3;
  if (threadIdx.x == 0) __syncthreads();
}
"""


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "k.cu"
    path.write_text(KERNEL)
    return path


def test_every_fault_has_a_rule_that_explains_it() -> None:
    assert {rule.id for rule in RULES} >= CHECKED
    assert all(rule_of(rule.id) is rule for rule in RULES)


def test_text_names_the_place_and_the_change(kernel: Path, cli) -> None:
    ran = cli("lint", "k.cu")
    assert (ran.code, ran.err) == (0, "")
    assert "k.cu:2:14: LOW implicit-double" in ran.out
    assert "Write 0.3f." in ran.out
    assert "k.cu:3:25: HIGH divergent-barriers" in ran.out


@pytest.mark.parametrize("format", ["text", "json", "sarif"])
def test_several_processes_say_the_same_in_the_same_order(tmp_path: Path, format: str) -> None:
    for number in range(30):
        source = KERNEL.replace("a[0]", f"a[{number}]") if number % 3 else "import torch\n)"
        (tmp_path / f"k{number}.{'cu' if number % 3 else 'py'}").write_text(source)
    lint = [sys.executable, "-m", "gpuadvise", "lint", ".", "-", "--format", format, "--jobs"]
    given = KERNEL.encode()  # standard input is read by the first process alone
    one, three = (
        subprocess.run([*lint, jobs], cwd=tmp_path, input=given, capture_output=True, timeout=120)
        for jobs in "13"
    )
    assert (one.stdout, one.stderr, one.returncode) == (three.stdout, three.stderr, 0)
    assert one.stdout.count(b"implicit-double") >= 20
    assert b"stdin" in one.stdout  # SARIF quotes its angle brackets


def test_json_is_valid(kernel: Path, cli) -> None:
    document = json.loads(cli("lint", ".", "--format", "json").out)
    VALID(document)
    assert [f["location"]["line"] for f in document["findings"]] == [2, 3]
    assert document["result"]["fixable"] == 1


def test_sarif_is_valid(kernel: Path, cli) -> None:
    log = Sarif.model_validate_json(cli("lint", "k.cu", "--format", "sarif").out)
    results = log.runs[0].results or []
    assert [r.rule_id for r in results] == ["implicit-double", "divergent-barriers"]


def test_sarif_holds_spans_fixes_and_what_is_accepted(kernel: Path, cli) -> None:
    kernel.write_text(KERNEL.replace("x * 0.3;", "/*\U0001f642*/ x * 0.3; // gpuadvise: ignore"))
    kernel.with_name("mend.cu").write_text(KERNEL.replace("x * 0.3;", "/*\U0001f642*/ x * 0.3;"))
    log = Sarif.model_validate_json(cli("lint", ".", "--format", "sarif").out)
    results = json.loads(log.model_dump_json(by_alias=True, exclude_none=True))["runs"][0][
        "results"
    ]
    told = [(r["locations"][0]["physicalLocation"], r) for r in results]
    assert [(p["artifactLocation"]["uri"], r["ruleId"], "suppressions" in r) for p, r in told] == [
        ("k.cu", "divergent-barriers", False),
        ("k.cu", "implicit-double", True),
        ("mend.cu", "implicit-double", False),
        ("mend.cu", "divergent-barriers", False),
    ]
    place, mendable = told[2]
    assert place["region"] == {"startLine": 2, "startColumn": 20, "endLine": 2, "endColumn": 23}
    (replacement,) = mendable["fixes"][0]["artifactChanges"][0]["replacements"]
    line = kernel.with_name("mend.cu").read_text().splitlines()[1]
    region = replacement["deletedRegion"]
    first, last = region["startColumn"] - 1, region["endColumn"] - 1
    mended = line[:first] + replacement["insertedContent"]["text"] + line[last:]
    assert mended == line.replace("0.3", "0.3f")


def test_settings_are_those_nearest_to_each_file(tmp_path: Path, monkeypatch, cli) -> None:
    """As of ruff, mypy and pytest: from the file upwards, to the root of the repository."""
    (tmp_path / "gpuadvise.toml").write_text('fail_on = "low"')  # above the repository
    project = tmp_path / "project"
    for folder in (project / ".git", project / "src" / "deep", project / "old"):
        folder.mkdir(parents=True)
    (project / "pyproject.toml").write_text(
        '[tool.gpuadvise]\nfail_on = "high"\nignore = ["divergent-barriers"]\nexclude = ["third_party"]\n'
    )
    (project / "old" / "gpuadvise.toml").write_text(
        'select = ["divergent-barriers"]\nfail_on = "high"'
    )
    for place in ("src/deep/k.cu", "old/k.cu"):
        (project / place).write_text(KERNEL)
    monkeypatch.chdir(project / "src" / "deep")
    below = cli("lint", "k.cu", "--json")
    assert [f["rule"] for f in json.loads(below.out)["findings"]] == ["implicit-double"]
    assert below.code == 0
    monkeypatch.chdir(tmp_path)
    above = cli("lint", "project", "--json")
    assert above.code == 1
    assert [(f["location"]["file"], f["rule"]) for f in json.loads(above.out)["findings"]] == [
        ("project/old/k.cu", "divergent-barriers"),
        ("project/src/deep/k.cu", "implicit-double"),
    ]
    assert cli("lint", "project/src").code == 0


@pytest.mark.skipif(sys.platform == "win32", reason="a working folder cannot be removed there")
def test_a_working_folder_that_is_gone(kernel: Path, monkeypatch, cli) -> None:
    gone = kernel.parent / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert cli("lint", str(kernel)).code == 0
    monkeypatch.chdir(kernel.parent)


def test_exclude_holds_for_named_files(kernel: Path, cli) -> None:
    """Hooks of commits name every file that changed."""
    folder = kernel.with_name("third_party") / "lib"
    folder.mkdir(parents=True)
    (folder / "k.cu").write_text(KERNEL)
    (kernel.parent / "gpuadvise.toml").write_text('exclude = ["third_party"]\nfail_on = "high"')
    ran = cli("lint", "third_party/lib/k.cu")
    assert (ran.code, ran.err) == (
        0,
        'note: "third_party/lib/k.cu": left out by gpuadvise.toml: exclude.\n',
    )
    assert "nothing was judged" in ran.out
    assert cli("lint", "third_party/lib/k.cu", "k.cu").code == 1
    assert cli("lint", ".", "--get", "files").out == "1\n"


def test_rules_ignored_in_some_files(kernel: Path, cli) -> None:
    tests = kernel.with_name("tests")
    tests.mkdir()
    (tests / "t.cu").write_text(KERNEL)
    (kernel.parent / "gpuadvise.toml").write_text(
        '[per_file_ignores]\n"tests/*" = ["correctness", "low"]\n"k.cu" = ["implicit-double"]'
    )
    found = json.loads(cli("lint", ".", "--json").out)["findings"]
    assert [(f["location"]["file"], f["rule"]) for f in found] == [("./k.cu", "divergent-barriers")]
    (kernel.parent / "gpuadvise.toml").write_text('[per_file_ignores]\n"*.cu" = ["no-such-rule"]')
    ran = cli("lint", "k.cu")
    assert ran.code == 2
    assert "per_file_ignores" in ran.err
    (kernel.parent / "gpuadvise.toml").write_text('per_file_ignores = ["k.cu"]')
    assert "per_file_ignores" in cli("lint", "k.cu").err


def test_only_what_a_saved_answer_does_not_have(kernel: Path, cli) -> None:
    kernel.with_name("saved.json").write_text(cli("lint", ".", "--json").out)
    kernel.write_text(f"// moved\n\n{KERNEL}")
    ran = cli("lint", "k.cu", "--baseline", "saved.json", "--fail-on", "low")
    assert (ran.code, ran.out) == (0, "1 file: nothing new; 2 known findings left out.\n")
    kernel.write_text(KERNEL.replace("a[0] = x * 0.3;", "a[0] = x * 0.3; a[1] = x * 0.4;"))
    ran = cli("lint", "k.cu", "--baseline", "saved.json", "--fail-on", "low", "--json")
    assert ran.code == 1
    answer = json.loads(ran.out)
    VALID(answer)
    assert [f["evidence"][0]["value"] for f in answer["findings"]] == ["0.4"]
    assert answer["result"]["known"] == 2
    kernel.write_text(KERNEL.replace("0.3", "0.7"))  # an edited line, and no fault more than before
    assert cli("lint", "k.cu", "--baseline", "saved.json", "--fail-on", "low").code == 0
    assert cli("lint", "k.cu", "--baseline", "saved.json", "--fix").code == 2
    kernel.with_name("other.json").write_text(cli("occupancy", "--regs", "32", "--json").out)
    assert cli("lint", "k.cu", "--baseline", "other.json").code == 2


def git(folder: Path, *arguments: str) -> None:
    names = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL")
    author = dict.fromkeys(names, "tester")
    subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env={**os.environ, **author},
        check=True,
        capture_output=True,
    )


def test_only_what_a_commit_did_not_have(kernel: Path, cli) -> None:
    folder = kernel.parent
    assert "lies in no repository of git" in cli("lint", "k.cu", "--since", "main").err
    git(folder, "init", "--quiet", "--initial-branch", "main")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "first")
    assert cli("lint", ".", "--since", "main", "--get", "known").out == "2\n"
    kernel.write_text(KERNEL.replace("{\n", "{\n  a[2] = 0.9 * x;\n", 1))
    (folder / "new.cu").write_text(KERNEL)
    (folder / "t.py").write_text("import torch\n")
    found = json.loads(cli("lint", ".", "--since", "main", "--json").out)["findings"]
    assert [(f["location"]["file"], f["location"]["line"]) for f in found] == [
        ("./k.cu", 2), ("./new.cu", 2), ("./new.cu", 3),
    ]  # fmt: skip
    for commit in ("no-such", "--output=x"):
        ran = cli("lint", "k.cu", f"--since={commit}")
        assert (ran.code, "is no commit of the repository" in ran.err) == (2, True)
    assert not (folder / "x").exists()
    assert cli("lint", "k.cu", "--since", "main", "--baseline", "x.json").code == 2


# What GitLab's documentation asks of each entry of a Code Quality report.
GITLAB = Draft202012Validator(
    {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["description", "check_name", "fingerprint", "severity", "location"],
            "properties": {
                "description": {"type": "string", "minLength": 1},
                "check_name": {"type": "string", "minLength": 1},
                "fingerprint": {"type": "string", "minLength": 1},
                "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
                "location": {
                    "type": "object",
                    "required": ["path", "lines"],
                    "properties": {
                        "path": {"type": "string", "pattern": "^(?!\\./|/).+"},
                        "lines": {
                            "type": "object",
                            "required": ["begin"],
                            "properties": {"begin": {"type": "integer", "minimum": 1}},
                        },
                    },
                },
            },
        },
    }
)


def test_gitlab_report(kernel: Path, cli) -> None:
    twice = kernel.with_name("twice.cu")
    twice.write_text(kernel.read_text() + kernel.read_text().replace("k(", "k2("))
    entries = json.loads(cli("lint", ".", "--format", "gitlab").out)
    GITLAB.validate(entries)
    ran = json.loads(cli("lint", ".", "--format", "json").out)["findings"]
    assert [
        (e["check_name"], e["location"]["path"], e["location"]["lines"]["begin"]) for e in entries
    ] == [(f["rule"], f["location"]["file"].removeprefix("./"), f["location"]["line"]) for f in ran]
    # GitLab drops entries whose fingerprint it has seen.
    assert len({entry["fingerprint"] for entry in entries}) == len(entries) > 4


def test_gitlab_report_of_advice_without_a_file(cli) -> None:
    ran = cli("advise", "--regs", "72", "--block", "100", "--gpu", "h200", "--format", "gitlab")
    entries = json.loads(ran.out)
    GITLAB.validate(entries)
    assert {entry["location"]["path"] for entry in entries} == {"."}
    assert {entry["severity"] for entry in entries} <= {"major", "minor", "info"}


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["--fail-on", "high"], 1),
        (["--fail-on", "high", "--ignore", "divergent-barriers"], 0),
        (["--fail-on", "low", "--select", "implicit-double"], 1),
        (["--fail-on", "severe"], 2),
        (["--fail-on", "correctness:high"], 1),
        (["--fail-on", "performance:high"], 0),
        (["--fail-on", "performance:high,correctness"], 1),
        (["--fail-on", "high:correctness"], 2),
        (["--select", "no-such-rule"], 2),
    ],
)
def test_thresholds(args: list[str], code: int, kernel: Path, cli) -> None:
    assert cli("lint", "k.cu", *args).code == code


def test_a_diff_changes_nothing_and_fix_does(kernel: Path, cli) -> None:
    shown = cli("lint", "k.cu", "--diff")
    assert "+  a[0] = x * 0.3f;" in shown.out
    assert kernel.read_text() == KERNEL
    assert cli("lint", "k.cu", "--fix").code == 0
    assert kernel.read_text() == KERNEL.replace("0.3", "0.3f")


def test_a_missing_file_and_a_binary_one(kernel: Path, cli) -> None:
    assert cli("lint", "nowhere.cu").code == 2  # as every command that reads files
    kernel.write_bytes(b"\x7fELF\0")
    ran = cli("lint", "k.cu")
    assert (ran.code, ran.out) == (2, "")
    ran = cli("lint", ".")
    assert ran.code == 0
    assert "is not source text" in ran.err


def test_text_underlines_the_fault(kernel: Path, cli) -> None:
    out = cli("lint", "k.cu", "--select", "implicit-double").out
    assert "    2 |   a[0] = x * 0.3;\n      |              ^~~\n" in out


def test_settings_of_the_folder_are_read(kernel: Path, cli) -> None:
    (kernel.parent / "gpuadvise.toml").write_text(
        'ignore = ["implicit-double"]\nfail_on = "high"\nexclude = ["vendored", "old_*"]\n'
    )
    for name in ("vendored/a.cu", "old_b.cu"):
        path = kernel.parent / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(KERNEL)
    ran = cli("lint", ".", "--format", "json")
    document = json.loads(ran.out)
    assert ran.code == 1
    assert document["result"]["files"] == 1
    assert [f["rule"] for f in document["findings"]] == ["divergent-barriers"]


def test_options_stand_instead_of_settings(kernel: Path, cli) -> None:
    (kernel.parent / "gpuadvise.toml").write_text('select = ["low"]\nfail_on = "low"\n')
    ran = cli("lint", "k.cu", "--select", "high", "--fail-on", "high")
    assert ran.code == 1
    assert "implicit-double" not in ran.out


def test_a_setting_that_names_no_rule_is_refused_with_its_file(kernel: Path, cli) -> None:
    (kernel.parent / "gpuadvise.toml").write_text('ignore = ["implicit-doubel"]\n')
    ran = cli("lint", "k.cu")
    assert ran.code == 2
    assert "gpuadvise.toml" in ran.err
    assert "implicit-double" in ran.err


def test_rules_that_lint_cannot_check_are_refused(kernel: Path, cli) -> None:
    assert cli("lint", "k.cu", "--select", "low-occupancy").code == 2


def test_headers_of_a_diff_have_one_slash(kernel: Path, cli) -> None:
    out = cli("lint", str(kernel), "--diff").out
    assert out.startswith(f"--- a{kernel}\n+++ b{kernel}\n")


@pytest.mark.parametrize("mode", ["--fix", "--diff"])
def test_a_gate_judges_what_is_left_after_the_fixes(mode: str, kernel: Path, cli) -> None:
    ran = cli("lint", "k.cu", mode, "--fail-on", "low")
    assert ran.code == 1  # the barrier stays
    assert "1 finding at --fail-on low or above." in ran.err
    kernel.write_text(KERNEL)
    mendable = ("--select", "implicit-double", "--fail-on", "low")
    assert cli("lint", "k.cu", mode, *mendable).code == 0
    assert cli("lint", "k.cu", mode).code == 0


@pytest.mark.parametrize("mode", ["--fix", "--diff"])
def test_fixes_keep_the_gate_of_the_settings_and_of_unread_files(
    mode: str, kernel: Path, cli
) -> None:
    (kernel.parent / "binary.cu").write_bytes(b"\x7fELF\0")
    assert cli("lint", ".", mode, "--select", "implicit-double", "--fail-on", "low").code == 3
    (kernel.parent / "gpuadvise.toml").write_text('fail_on = "low"\n')
    assert cli("lint", "k.cu", mode).code == 1


@pytest.mark.parametrize("mode", ["--fix", "--diff"])
@pytest.mark.parametrize("form", [["-f", "json"], ["-f", "sarif"], ["--get", "files"]])
def test_fixes_are_text_alone(mode: str, form: list[str], kernel: Path, cli) -> None:
    ran = cli("lint", "k.cu", mode, *form)
    assert (ran.code, ran.out) == (2, "")
    assert f"is not for {mode}, which takes --format text alone" in ran.err
    assert kernel.read_text() == KERNEL


def piped(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(data)))


@pytest.mark.parametrize("data", [b"", b"404: not found\n"])
def test_standard_input_without_a_source_is_refused(
    data: bytes, monkeypatch: pytest.MonkeyPatch, cli
) -> None:
    """As of a pipe whose writer failed: a gate must not pass over it."""
    piped(monkeypatch, data)
    ran = cli("lint", "-", "--fail-on", "high")
    assert (ran.code, ran.out) == (2, "")
    assert '"standard input": nothing in it is CUDA or Python' in ran.err


@pytest.mark.parametrize("rules", ["implicit-double", "divergent-barriers"])
def test_fixes_of_standard_input_are_printed_whole(
    rules: str, monkeypatch: pytest.MonkeyPatch, cli
) -> None:
    piped(monkeypatch, KERNEL.encode())
    ran = cli("lint", "-", "--fix", "--select", rules)
    mended = rules == "implicit-double"
    assert ran.out == (KERNEL.replace("0.3", "0.3f") if mended else KERNEL)
    count = "1 fault" if mended else "0 faults"
    assert ran.err == f"note: {count} fixed, standard input on standard output.\n"
    piped(monkeypatch, KERNEL.encode() + b"// \xe9\n")
    ran = cli("lint", "-", "--fix")
    assert (ran.code, ran.out) == (2, "")
    assert "not UTF-8" in ran.err


BROKEN = "import sys\nprint 'no Python 3'\n"


@pytest.mark.parametrize(
    "data", [BROKEN.encode(), b"import torch\n" + BROKEN.encode(), bytes(range(1, 256)) * 9]
)
def test_what_python_cannot_parse_is_said(data: bytes, kernel: Path, cli) -> None:
    path = kernel.parent / "bad.py"
    path.write_bytes(data)
    line = data.count(b"\n", 0, data.find(b"print")) + 1 if b"print" in data else 1
    ran = cli("lint", "bad.py", "--format", "json")
    assert ran.code == 0
    assert f"bad.py', line {line}: this is not Python that can be parsed." in ran.err.replace(
        '"', "'"
    )
    document = json.loads(ran.out)
    VALID(document)
    assert [stretch["file"] for stretch in document["result"]["unparsed"]] == ["bad.py"]
    assert cli("lint", "bad.py", "--fail-on", "low").code == 3
    assert cli("lint", "bad.py", "k.cu", "--fail-on", "low").code == 1
    path.write_text("import sys\n")
    assert cli("lint", "bad.py", "--fail-on", "low").code == 0


def test_a_folder_is_asked_only_for_python_that_names_a_library(kernel: Path, cli) -> None:
    kernel.unlink()
    bad = kernel.parent / "bad.py"
    bad.write_text(BROKEN)
    assert cli("lint", ".", "--fail-on", "low").code == 0
    bad.write_text(f"import torch\n{BROKEN}")
    ran = cli("lint", ".", "--fail-on", "low")
    assert ran.code == 3
    assert "line 3: this is not Python that can be parsed." in ran.err


LOADER = """\
import torch
from torch.utils.data import DataLoader

model = torch.nn.Linear(8, 8).cuda()
for batch in DataLoader(range(64), num_workers=2):
    model(batch.cuda())
"""


def test_standard_input_is_told_by_its_content(
    kernel: Path, monkeypatch: pytest.MonkeyPatch, cli
) -> None:
    (kernel.parent / "train.py").write_text(LOADER)
    named = json.loads(cli("lint", "train.py", "--format", "json").out)
    piped(monkeypatch, LOADER.encode())
    document = json.loads(cli("lint", "-", "--format", "json").out)
    rules = [finding["rule"] for finding in document["findings"]]
    assert rules
    assert rules == [finding["rule"] for finding in named["findings"]]
    assert document["result"]["unparsed"] == []
    for source in (KERNEL, f"#include <cstdio>\n{KERNEL}", f"/*\nimport torch\n*/\n{KERNEL}"):
        piped(monkeypatch, source.encode())
        document = json.loads(cli("lint", "-", "--format", "json").out)
        assert len(document["findings"]) == 2


def test_advise_takes_what_the_source_shows(kernel: Path, cli) -> None:
    document = json.loads(cli("advise", "k.cu", "--format", "json").out)
    rules = {f["rule"]: f for f in document["findings"]}
    assert {"implicit-double", "divergent-barriers"} <= set(rules)
    assert rules["implicit-double"]["location"]["line"] == 2
    assert "Write 0.3f." in rules["implicit-double"]["action"]


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_a_long_line_is_shown_around_its_fault(
    cli, tmp_path: Path, monkeypatch, columns: int
) -> None:
    body = "x[threadIdx.x] += 1.0f; " * 20
    path = tmp_path / "a.cu"
    path.write_text(f"__global__ void k(float *x) {{ {body} x[0] *= 0.1; {body} }}\n")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = re.sub(r"\x1b\[[0-9;]*m", "", cli("lint", str(path)).out).splitlines()
    shown = next(number for number, line in enumerate(lines) if line.startswith("    1 | "))
    marks = lines[shown + 1]
    assert max(len(lines[shown]), len(marks)) <= columns
    assert lines[shown][marks.index("^") : marks.rindex("~") + 1] == "0.1"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (BROKEN, 2),
        (f'"""What this does."""\nimport torch\n{BROKEN}', 4),
        ("# A comment.\nfrom torch import nn\nx = (1,\n", 3),
        ("def f(:\n    pass\n", 1),
        ("@torch.compile\nclass Net(nn.Module)\n    pass\n", 2),
    ],
)
def test_broken_python_on_standard_input_is_said(
    text: str, line: int, monkeypatch: pytest.MonkeyPatch, cli
) -> None:
    piped(monkeypatch, text.encode())
    ran = cli("lint", "-", "--format", "json")
    assert ran.code == 0
    assert f"line {line}: this is not Python that can be parsed. Python says: " in ran.err
    assert "?." not in ran.err
    document = json.loads(ran.out)
    assert [stretch["file"] for stretch in document["result"]["unparsed"]] == ["<stdin>"]
    piped(monkeypatch, text.encode())
    assert cli("lint", "-", "--fail-on", "low").code == 3


@pytest.mark.parametrize(
    "text",
    [
        "#pragma once\n",
        "namespace a {\n",
        "// import torch\n",
        "using T = float;\n",
        "static int import = 3;\n",
        "class A : public B {};\n",
    ],
)
def test_cuda_on_standard_input_is_not_taken_for_python(
    text: str, monkeypatch: pytest.MonkeyPatch, cli
) -> None:
    piped(monkeypatch, (text + KERNEL).encode())
    document = json.loads(cli("lint", "-", "--format", "json").out)
    assert len(document["findings"]) == 2


NOTEBOOK = json.dumps(
    {
        "cells": [
            {
                "cell_type": "code",
                "source": [
                    "import torch\n",
                    "%time 1\n",
                    "for x in torch.utils.data.DataLoader(d, num_workers=2):\n",
                    "    x = x.cuda()",
                ],
            }
        ]
    },
    indent=1,
)


def test_what_a_test_leaves_unchecked_is_low_where_it_is_named_and_what_breaks_it_is_high(
    cli, tmp_path: Path
) -> None:
    launch = "\nint main() { float *d; cudaMalloc(&d, 4096); f<<<8, 128>>>(d, 8); return 0; }\n"
    launch += "\n" * 60  # a whole program of a page is low anyway
    priorities = {}
    for folder in ("src", "tests"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "k.cu").write_text(KERNEL + launch)
        found = json.loads(cli("lint", str(tmp_path / folder), "--json").out)["findings"]
        priorities[folder] = {finding["rule"]: finding["priority"] for finding in found}
    assert priorities["src"]["unchecked-errors"] == "high"
    assert priorities["tests"] == {"divergent-barriers": "high"}
    found = json.loads(cli("lint", str(tmp_path / "tests" / "k.cu"), "--json").out)["findings"]
    named = {finding["rule"]: finding["priority"] for finding in found}
    assert named == priorities["src"] | {"unchecked-errors": "low"}


def test_a_notebook_is_judged_at_the_lines_of_its_file(cli, tmp_path: Path) -> None:
    path = tmp_path / "n.ipynb"
    path.write_text(NOTEBOOK)
    document = json.loads(cli("lint", str(path), "--json").out)
    lines = {each["rule"]: each["location"]["line"] for each in document["findings"]}
    assert "DataLoader" in NOTEBOOK.splitlines()[lines["unpinned-loaders"] - 1]
    assert "(code cell 1, line 3): LOW unpinned-loaders" in cli("lint", str(path)).out
    assert cli("lint", str(path), "--fail-on", "low").code == 1
    assert json.loads(cli("lint", str(tmp_path), "--json").out)["result"]["files"] == 1


def test_a_notebook_is_not_mended(cli, tmp_path: Path) -> None:
    path = tmp_path / "n.ipynb"
    path.write_text(NOTEBOOK)
    ran = cli("lint", str(path), "--fix")
    assert "a notebook is not mended" in ran.err
    assert path.read_text() == NOTEBOOK


@pytest.mark.parametrize("name", ["notes", "data.bin"])
def test_what_is_no_source_is_refused_and_opens_no_gate(name: str, cli, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text("Words about nothing; none of them a program.\n")
    for gate in ((), ("--fail-on", "high")):
        ran = cli("lint", str(path), *gate)
        assert ran.code == 2
        assert "nothing in it is CUDA or Python, so nothing was judged." in ran.err


def test_sources_of_other_names_are_told_by_content(cli, tmp_path: Path) -> None:
    for name, content in {
        "kernel.cuda": "__global__ void k(float *x) { x[0] = pow(x[0], 2.0f); }\n",
        "train": "import torch\nfor x in torch.utils.data.DataLoader(d, num_workers=2):\n  x.cuda()\n",
        "host.cpp": "int main() { return 0; }\n",
    }.items():
        path = tmp_path / name
        path.write_text(content)
        ran = cli("lint", str(path))
        assert ran.code == 0
        assert ran.out.splitlines()[-1].startswith("1 file: ")


def test_a_folder_is_asked_for_device_code_in_headers(kernel: Path, cli) -> None:
    kernel.rename("k.hpp")
    kernel.with_name("host.h").write_text("int f(float x) { return x * 0.3; }\n")
    kernel.with_name("part.inl").write_text("__device__ float f(float x) { return x * 0.3; }\n")
    document = json.loads(cli("lint", ".", "--json").out)
    assert document["result"]["files"] == 2
    assert {f["location"]["file"] for f in document["findings"]} == {"./k.hpp", "./part.inl"}


def test_an_empty_folder_is_not_well(cli, tmp_path: Path) -> None:
    assert cli("lint", str(tmp_path)).out == "No source file was found, so nothing was judged.\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("empty.cu", ""),
        ("comment.cu", "// what is to come\n"),
        ("limits.cuh", "#define MOST 3\n"),
        ("model.py", "import tensorflow\n"),
    ],
)
def test_a_file_without_code_for_a_gpu_is_not_called_faultless(
    name: str, text: str, cli, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    said = cli("lint", str(tmp_path)).out
    assert said == (
        "1 file: no function of CUDA and nothing of PyTorch, CuPy, Numba, Triton or JAX, so nothing was judged.\n"
    )
    (tmp_path / "judged.cu").write_text("__global__ void k(float* x) { x[threadIdx.x] = 1; }\n")
    assert cli("lint", str(tmp_path)).out == "2 files: no fault that the source alone proves.\n"


def test_a_file_of_which_nothing_was_judged_is_not_well(cli, tmp_path: Path) -> None:
    (tmp_path / "hip.cu").write_text('#include "hip/hip_runtime.h"\n__global__ void k() {}\n')
    alone = cli("lint", str(tmp_path))
    assert alone.out.splitlines()[-1] == "1 file: nothing was judged."
    (tmp_path / "a.cu").write_text("__global__ void k() {}\n")
    both = cli("lint", str(tmp_path)).out.splitlines()[-1]
    assert both == "2 files: no fault that the source alone proves; 1 file not judged."


def test_a_folder_that_cannot_be_opened_is_said(
    cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.cu").write_text("__global__ void k() {}\n")
    (tmp_path / "closed").mkdir()
    scandir = os.scandir

    def guarded(path: str):
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", guarded)
    ran = cli("lint", str(tmp_path))
    assert 'closed" cannot be read' in ran.err
    assert ran.out.splitlines()[-1].endswith("a part could not be read.")
    assert cli("lint", str(tmp_path), "--fail-on", "high").code == 3


STEERING = """\
__global__ void k(float *a, float x) {  /*
    \x1b[31mred \u202e
    ::error file=x::broken */
    a[0] = x * 0.3;
    /*
    ::stop-commands::x ##vso[task.setvariable variable=x]y ##[error]z
    ::std::move(a);\tint form = 0;\f */
}
"""


def test_a_patch_in_a_log_steers_nothing(kernel: Path, cli) -> None:
    kernel.write_text(STEERING)
    ran = cli("lint", "k.cu", "--diff")
    assert "+    a[0] = x * 0.3f;\n" in ran.out
    assert "\x1b" not in ran.out
    assert "\u202e" not in ran.out
    assert not re.search(r"^\s*::(error|stop)|##\[|##vso", ran.out, re.MULTILINE)
    assert re.search(r"^\s+\\x3a:error file=x::broken \*/$", ran.out, re.MULTILINE)
    assert "     ::std::move(a);\tint form = 0;\f */\n" in ran.out  # as it is: no runner obeys it
    assert '"k.cu": 3 lines of the patch would steer a terminal or a log' in ran.err


def test_a_patch_in_a_file_is_the_text_itself(kernel: Path, tmp_path: Path) -> None:
    kernel.write_text(STEERING)
    patch = tmp_path / "fix.patch"
    with patch.open("wb") as file:
        line = [sys.executable, "-m", "gpuadvise", "lint", "k.cu", "--diff"]
        ran = subprocess.run(line, cwd=kernel.parent, stdout=file, stderr=subprocess.PIPE)
    assert ran.returncode == 0
    assert b"cannot be shown" not in ran.stderr
    assert b"     ::error file=x::broken */\n" in patch.read_bytes()
    assert b"\x1b[31mred" in patch.read_bytes()


def test_an_ordinary_patch_is_the_same_everywhere(kernel: Path, cli, monkeypatch) -> None:
    through_pipe = cli("lint", "k.cu", "--diff")
    monkeypatch.setattr("gpuadvise.cli.lint.command._is_file", lambda stream: True)
    assert cli("lint", "k.cu", "--diff") == through_pipe


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_a_patch_applies(end: str, kernel: Path) -> None:
    text = KERNEL.replace("\n", end or "\n").removesuffix("\n") + "\f // \u2028 here" + end
    kernel.write_bytes(text.encode())
    lint = [sys.executable, "-m", "gpuadvise", "lint", "k.cu"]
    with (kernel.parent / "fix.patch").open("wb") as patch:
        subprocess.run([*lint, "--diff"], cwd=kernel.parent, stdout=patch, check=True)
    subprocess.run(["git", "apply", "--unsafe-paths", "fix.patch"], cwd=kernel.parent, check=True)
    patched = kernel.read_bytes()
    kernel.write_bytes(text.encode())
    subprocess.run([*lint, "--fix"], cwd=kernel.parent, check=True)
    assert kernel.read_bytes() == patched != text.encode()


def test_rounds_of_fixes_end_with_the_time_of_a_file(kernel: Path, cli, monkeypatch) -> None:
    kernel.write_text(KERNEL.replace("x * 0.3", "powf(x * 0.3, 2.0f)"))
    whole = cli("lint", "k.cu", "--diff").out
    monkeypatch.setattr("gpuadvise.cli.lint.command.most_seconds", lambda size: -1.0)
    ran = cli("lint", "k.cu", "--diff")
    assert "0 faults can be fixed" in ran.err
    assert ran.out == "" != whole


def test_files_that_test_other_code_are_said_to_be_spared(
    cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few rules look at them, so that "no fault" would promise more than was judged."""
    monkeypatch.chdir(tmp_path)
    script = "import torch\nfor x in torch.utils.data.DataLoader(d, num_workers=2):\n  x.cuda()\n"
    for folder in ("tests", "app"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "train.py").write_text(script)
    (tmp_path / "tests" / "plain.py").write_text("import os\n")
    said = 'note: "tests/train.py" tests other code, or is set aside, by its name: its speed is not judged.\n'
    assert cli("lint", "tests/train.py").err == said
    assert (
        cli("lint", ".").err == said.replace('"tests', '"./tests') or said in cli("lint", ".").err
    )
    assert cli("lint", "app").err == ""
    (tmp_path / "tests" / "test_more.py").write_text(script)
    assert (
        "note: 2 files test other code, or are set aside, by their names"
        in cli("lint", "tests").err
    )


def test_a_file_that_links_lead_to_is_read_once(cli, tmp_path: Path) -> None:
    code = "__global__ void k(float *x) { x[threadIdx.x] *= 0.3; }\n"
    (tmp_path / "project" / "binding").mkdir(parents=True)
    (tmp_path / "project" / "core.cu").write_text(code)
    (tmp_path / "other.cu").write_text(code)
    (tmp_path / "project" / "binding" / "core.cu").symlink_to("../core.cu")
    (tmp_path / "project" / "binding" / "other.cu").symlink_to(tmp_path / "other.cu")
    (tmp_path / "project" / "loop.cu").symlink_to("loop.cu")
    (tmp_path / "project" / "nothing.cu").symlink_to("gone.cu")
    answered = json.loads(cli("lint", str(tmp_path / "project"), "--json").out)
    found, left = answered["findings"], answered["result"]["not_judged"]
    assert [Path(file["path"]).name for file in left] == ["loop.cu", "nothing.cu"]
    files = [os.path.relpath(finding["location"]["file"], tmp_path) for finding in found]
    assert sorted(files) == ["project/binding/other.cu", "project/core.cu"]

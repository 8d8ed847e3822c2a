"""``gpuadvise lint``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator
from sarif_pydantic import Sarif

from gpuadvise.advisor.source.lint import CUDA_RULES
from gpuadvise.advisor.source.python.lint import PYTHON_RULES
from gpuadvise.cli.lint.answer import LINT_RULES
from gpuadvise.cli.schema import bundled

if TYPE_CHECKING:
    from pathlib import Path

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
    seen = {i for rule in CUDA_RULES for i in rule.rules} | set(PYTHON_RULES)
    assert seen <= set(LINT_RULES)


def test_text_names_the_place_and_the_change(kernel: Path, cli) -> None:
    ran = cli("lint", "k.cu")
    assert (ran.code, ran.err) == (0, "")
    assert "k.cu:2:14: LOW implicit-double" in ran.out
    assert "Write 0.3f." in ran.out
    assert "k.cu:3:25: HIGH divergent-barriers" in ran.out


def test_json_is_valid(kernel: Path, cli) -> None:
    document = json.loads(cli("lint", ".", "--format", "json").out)
    VALID(document)
    assert [f["location"]["line"] for f in document["findings"]] == [2, 3]
    assert document["result"]["fixable"] == 1


def test_sarif_is_valid(kernel: Path, cli) -> None:
    log = Sarif.model_validate_json(cli("lint", "k.cu", "--format", "sarif").out)
    results = log.runs[0].results or []
    assert [r.rule_id for r in results] == ["implicit-double", "divergent-barriers"]


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["--fail-on", "high"], 1),
        (["--fail-on", "high", "--ignore", "divergent-barriers"], 0),
        (["--fail-on", "low", "--select", "implicit-double"], 1),
        (["--fail-on", "severe"], 2),
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


def test_advise_takes_what_the_source_shows(kernel: Path, cli) -> None:
    document = json.loads(cli("advise", "k.cu", "--format", "json").out)
    rules = {f["rule"]: f for f in document["findings"]}
    assert {"implicit-double", "divergent-barriers"} <= set(rules)
    assert rules["implicit-double"]["location"]["line"] == 2
    assert "Write 0.3f." in rules["implicit-double"]["action"]

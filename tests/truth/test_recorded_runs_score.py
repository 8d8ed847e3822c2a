"""The score of judgement on recorded runs, over recordings of the repository's own."""

from __future__ import annotations

import hashlib
import json
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support import recordings

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config) -> object:
    monkeypatch.syspath_prepend(str(pytestconfig.rootpath / "benchmarks"))
    import recorded_runs

    return recorded_runs


def label(path: Path, name: str, **more: object) -> dict[str, object]:
    return {
        "name": name,
        "file": path.name,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "limiter": "host: other code",
        "expected": [{"kind": "host: other code", "loud": True}],
        "must_not": [],
        **more,
    }


def test_a_folder_is_scored_by_checksums(
    program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = recordings.unpack(tmp_path / "recordings", ("torch",))
    cases = recordings.cases(folder / "torch")
    gaps, launches = cases["host_gaps"], cases["tiny_launches"]
    rows = [
        label(gaps, "gaps"),
        label(
            launches,
            "launches",
            limiter="start-up / allocation / module loading",
            expected=[{"kind": "copies: volume", "loud": True}],
            must_not=["launch bound"],
        ),
        label(gaps, "absent", sha256="0" * 64),
    ]
    labels = tmp_path / "labels.jsonl"
    labels.write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    arguments = ["recorded_runs.py", str(folder), "--labels", str(labels), "--missed", "--wrong"]
    monkeypatch.setattr(sys, "argv", arguments)
    program.main()
    said = capsys.readouterr().out
    assert "launches: launch-bound (launch bound)" in said
    assert "launches: copies: volume" in said
    assert "1 of 3 recordings are not there: absent" in said
    assert "recall 0.500" in said


def test_every_rule_and_row_that_is_mapped_is_one(program) -> None:
    from gpuadvise.advisor.timelines.run_limit import RunLimiter
    from gpuadvise.advisor.timelines.what_if import Change
    from gpuadvise.rules.guide import RULES

    known = {rule.id for rule in RULES}
    assert {name.partition(":")[0] for name in program.RULES} <= known
    assert {*program.ROWS} <= {str(change) for change in Change}
    assert {*program.LIMITERS} >= {str(limiter) for limiter in RunLimiter}

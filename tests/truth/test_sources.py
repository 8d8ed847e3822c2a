"""The score of lint on sources that readers labelled, over a small code base of our own."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gpuadvise.rules.source import CHECKED

if TYPE_CHECKING:
    from types import ModuleType

PATH = Path(__file__).parents[2] / "benchmarks" / "sources.py"
KERNEL = """\
__global__ void k(float *a, float x) {
  a[threadIdx.x] = x * 0.3;
  if (threadIdx.x == 0) __syncthreads();
}
"""


@pytest.fixture
def program() -> ModuleType:
    spec = importlib.util.spec_from_file_location("sources", PATH)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_labels_and_judged_findings_are_scored(
    program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clone = tmp_path / "clones" / "some+thing"
    clone.mkdir(parents=True)
    (clone / "k.cu").write_text(KERNEL)
    place = {"base": "some/thing", "commit": "0" * 40, "file": "k.cu"}
    place["sha256"] = hashlib.sha256(KERNEL.encode()).hexdigest()
    labels = [
        {**place, "line": 2, "end": 2, "kind": "double", "what": "a double", "rules": ["implicit-double"]},
        {**place, "line": 2, "end": 2, "kind": "reuse", "what": "nothing is reused", "rules": []},
        {**place, "line": 1, "end": 1, "kind": "gone", "what": "another file", "sha256": "0", "rules": []},
    ]  # fmt: skip
    judged = [
        {**place, "line": 3, "rule": "divergent-barriers", "priority": "high", "verdict": "right"},
        {**place, "line": 2, "rule": "implicit-double", "priority": "low", "verdict": "wrong"},
        {**place, "line": 2, "rule": "slow-math", "priority": "low", "verdict": "right"},
    ]
    for name, rows in (("labels", labels), ("judged", judged)):
        lines = (json.dumps({"loud": True, "why": "because", **row}) + "\n" for row in rows)
        (tmp_path / f"cuda.{name}.jsonl").write_text("".join(lines))
    monkeypatch.setattr(program, "LABELS", tmp_path)
    words = ["sources.py", str(clone.parent), "--labels", "cuda", "--missed", "--wrong"]
    monkeypatch.setattr(sys, "argv", words)
    program.main()
    said = capsys.readouterr().out
    assert "2 of 3 labels" in said
    assert "all                                             1 of    2\n" in said
    assert "missed some/thing k.cu:2 nothing is reused" in said
    assert "wrong some/thing k.cu:2 implicit-double because" in said
    (line,) = [line for line in said.splitlines() if line.startswith("slow-math")]
    assert "1 gone" in line
    monkeypatch.setattr(sys, "argv", [*words[:4], "--clone"])
    program.main()
    assert "git clone https://github.com/some/thing " in capsys.readouterr().out


@pytest.mark.parametrize("name", ["cuda", "python"])
def test_the_labels_are_whole(program, name: str) -> None:
    labels, judged = program.rows(name, "labels"), program.rows(name, "judged")
    assert {rule for row in labels for rule in row["rules"]} <= CHECKED
    assert {row["rule"] for row in judged} <= CHECKED
    assert {row["verdict"] for row in judged} == set(program.VERDICTS)
    assert all(len(row["sha256"]) == 64 and row["line"] <= row["end"] for row in labels)

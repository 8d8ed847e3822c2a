"""An agent is told the measured repair first, more often than by the profiler's own rules, and in fewer words."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
BLIND = Path(__file__).parent / "blind"


def test_the_ledgers_first_action_names_the_measured_repair(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import agents

    rows = [task for name in ("fourth", "fifth") for task in agents.tasks(BLIND / name, "raw.csv")]
    assert len(rows) >= 45
    ours = sum(task.ours.right(task.wanted, 1) for task in rows)
    theirs = sum(task.nsight.right(task.wanted, 1) for task in rows)
    assert ours >= 0.9 * len(rows)
    assert theirs < 0.5 * len(rows)
    assert all(task.ours.tokens <= 500 for task in rows)
    assert all(task.details > task.nsight.tokens > task.ours.tokens for task in rows)
    *_, total = agents.table(rows)
    assert total.startswith(f"| all | {len(rows)} |")
    for name in ("agents", "gains", "truth"):
        sys.modules.pop(name, None)

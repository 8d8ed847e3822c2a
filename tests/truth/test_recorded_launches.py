"""The rules over the recorded launches: true, silent on what is excellent, and never below a twin."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.truth import bounds, labels, launches, scored

RECORDED = Path(__file__).parent / "recorded"
# What each form reaches; the details page lacks counters, so that it tells less.
LEAST_RECALL = {"raw.csv": 0.95, "details.csv": 0.85, "ncu-rep": 0.95}
LEAST_PRECISION = {"raw.csv": 0.95, "details.csv": 0.9, "ncu-rep": 0.95}


@pytest.mark.parametrize("form", LEAST_RECALL)
def test_advice_on_recorded_launches_is_true(form: str) -> None:
    known = labels()
    recorded = list(launches(RECORDED, form))
    score = scored(recorded, known)
    assert score.limits == len(known)
    assert score.noisy == []
    assert score.precision >= LEAST_PRECISION[form], score.lines
    assert score.recall >= LEAST_RECALL[form], score.lines
    below = [(case, rule) for case, rule, bound, won in bounds(recorded, known) if bound < won]
    assert below == []

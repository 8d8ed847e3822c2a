"""The rules over the recorded launches: true, silent on what is excellent, and never below a twin."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType


def _truth() -> ModuleType:
    """Return benchmarks/truth.py, which is no package's: it scores what these tests hold."""
    path = Path(__file__).parents[2] / "benchmarks" / "truth.py"
    spec = spec_from_file_location("truth", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["truth"] = module  # its dataclasses look themselves up
    spec.loader.exec_module(module)
    return module


TRUTH = _truth()
RECORDED = Path(__file__).parent / "recorded"
FORMS = ("raw.csv", "details.csv", "ncu-rep")
LEAST = 0.95  # of precision, recall and limits named
BLIND = {
    # Of recall: what docs/validation.md says of each set, by page, less what one launch changes.
    ("second", "raw.csv"): 0.98,
    ("second", "details.csv"): 0.91,
    ("third", "raw.csv"): 0.92,
    ("third", "details.csv"): 0.86,
    ("fourth", "raw.csv"): 0.98,
    ("fourth", "details.csv"): 0.90,
    ("fifth", "raw.csv"): 0.88,
    ("fifth", "details.csv"): 0.72,
    ("sixth", "raw.csv"): 0.96,
    ("sixth", "details.csv"): 0.81,
    ("seventh", "raw.csv"): 0.84,
    ("seventh", "details.csv"): 0.81,
    ("eighth", "raw.csv"): 0.97,
    ("eighth", "details.csv"): 0.84,
    ("ninth", "raw.csv"): 0.91,
    ("ninth", "details.csv"): 0.87,
    ("tenth", "raw.csv"): 0.93,
    ("tenth", "details.csv"): 0.87,
    ("eleventh", "raw.csv"): 0.83,
    ("eleventh", "details.csv"): 0.73,
}
# Of precision, where it is less: half of the words that 64-bit loads move are used there, which the reader did not count.
RIGHT = {("eleventh", "details.csv"): 0.94}
# Excellent launches that are not silent, where there are any: in the third and fifth a sparse product has two low remarks.
NOISY = {
    ("third", "raw.csv"): 1,
    ("third", "details.csv"): 1,
    ("fifth", "raw.csv"): 1,
    ("fifth", "details.csv"): 1,
    ("seventh", "raw.csv"): 1,
    ("seventh", "details.csv"): 2,
    ("tenth", "raw.csv"): 2,
    ("tenth", "details.csv"): 1,
}


@pytest.mark.parametrize("form", FORMS)
def test_advice_on_recorded_launches_is_true(form: str) -> None:
    known = TRUTH.labels()
    recorded = list(TRUTH.launches(RECORDED, form))
    score = TRUTH.scored(recorded, known)
    assert score.limits == len(known)
    assert score.noisy == []
    assert score.precision >= LEAST, score.lines
    assert score.recall >= LEAST, score.lines
    assert score.limits_right >= LEAST * score.limits, score.lines
    below = [
        (case, rule) for case, rule, bound, won in TRUTH.bounds(recorded, known) if bound < won
    ]
    assert below == []


@pytest.mark.parametrize(("name", "form"), BLIND)
def test_advice_on_blindly_labelled_launches_stays_true(name: str, form: str) -> None:
    folder = RECORDED.parent / "blind" / name
    known = TRUTH.labels(folder)
    score = TRUTH.scored(list(TRUTH.launches(folder, form)), known)
    assert score.limits == len(known)
    assert len(score.noisy) <= NOISY.get((name, form), 0), score.noisy
    assert score.precision >= RIGHT.get((name, form), LEAST), score.lines
    assert score.recall >= BLIND[name, form], score.lines

"""The campaign of the fuzzer: the same cases anywhere, totals that add up, deaths that are seen."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

PATH = Path(__file__).parents[2] / "benchmarks" / "fuzz_campaign.py"
CASES = 60


@pytest.fixture
def campaign() -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location("fuzz_campaign", PATH)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    before, modules = list(sys.path), set(sys.modules)
    sys.modules["fuzz_campaign"] = module
    spec.loader.exec_module(module)
    # Its processes are forked from this one, and begin with what many tests have left in memory.
    module.MOST_MEMORY += module.peak_memory()
    yield module
    sys.path[:] = before
    for name in {"fuzz_campaign", "fuzz", "mutations", "timeline_mutations"} - modules:
        sys.modules.pop(name, None)


def counted(totals) -> dict[str, tuple[int, int, dict[str, int]]]:
    return {
        reader: (row["cases"], row["twice"], row["codes"]) for reader, row in totals.readers.items()
    }


def test_a_number_is_one_case(campaign: ModuleType) -> None:
    numbers = range(3 * len(campaign.READERS))
    cases = [campaign.case(number) for number in numbers]
    assert cases == [campaign.case(number) for number in numbers]
    assert {case.reader for case in cases} == set(campaign.READERS)
    assert len({case.data for case in cases}) > len(cases) * 0.9


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_runs_add_up(campaign: ModuleType, tmp_path: Path) -> None:
    stop, whole = campaign.campaign(range(CASES), 2, 600, None)
    assert stop == CASES
    assert whole.faults == []
    assert sum(row["cases"] for row in whole.readers.values()) == CASES
    files = []
    for start, end in ((0, 25), (25, CASES)):
        stop, part = campaign.campaign(range(start, end), 1, 600, None)
        saved = {"cases": [start, stop], "readers": part.readers, "faults": part.faults}
        files.append(tmp_path / f"{start}.json")
        files[-1].write_text(json.dumps(saved))
    assert counted(campaign.summed(files)) == counted(whole)
    assert "all " in whole.text()
    with pytest.raises(SystemExit, match="Cases 25 to 60 were run twice"):
        campaign.summed([*files, files[1]])


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_one_reader_alone(campaign: ModuleType, monkeypatch) -> None:
    monkeypatch.setattr(campaign, "CHUNK", 2)
    cases = campaign.cases_of("python", 30, 5)
    assert {campaign.case(number).reader for number in cases} == {"python"}
    assert cases[0] - 30 < len(campaign.READERS) == cases.step
    _, totals = campaign.campaign(cases, 1, 600, None)
    assert {reader: row["cases"] for reader, row in totals.readers.items()} == {"python": 5}
    assert campaign.cases_of(None, 30, 5) == range(30, 35)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_time_that_is_up_leaves_no_gap(campaign: ModuleType, monkeypatch) -> None:
    monkeypatch.setattr(campaign, "CHUNK", 5)
    stop, totals = campaign.campaign(range(100, 10**9), 2, 0.5, None)
    assert stop > 100
    assert sum(row["cases"] for row in totals.readers.values()) == stop - 100


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_death_a_wrong_answer_and_memory_are_faults(campaign, monkeypatch, tmp_path) -> None:
    answers = {7: "\x1b[31m", 20: "fine"}

    def run(words):
        if number[0] == 5:
            os._exit(9)
        if number[0] == 11:
            raise ZeroDivisionError
        if number[0] == 20:
            answers[20] += "."
        return 0, answers.get(number[0], "fine"), ""

    number = [0]
    case, used = campaign.case, campaign.peak_memory

    def noted(wanted):
        number[0] = wanted
        return case(wanted)._replace(line="kernels {}")

    monkeypatch.setattr(campaign, "case", noted)
    monkeypatch.setattr(campaign.fuzz, "run", run)
    monkeypatch.setattr(campaign, "peak_memory", lambda: 1 << 40 if number[0] == 15 else used())
    monkeypatch.setattr(campaign, "MOST_MEMORY", 1 << 39)
    monkeypatch.setattr(campaign.resource, "setrlimit", lambda *_: None)
    stop, totals = campaign.campaign(range(30), 1, 600, tmp_path)
    assert stop == 30
    said = sorted(fault.partition(": ")[0] for fault in totals.faults)
    assert said == ["case 11", "case 15", "case 20", "case 5", "case 7"]
    assert sum(row["cases"] for row in totals.readers.values()) == 29  # all but the dead one
    assert {path.stem for path in tmp_path.iterdir()} == {"7", "11", "15", "20"}

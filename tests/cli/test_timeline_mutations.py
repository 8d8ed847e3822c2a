"""Broken timelines through whole commands: a sentence or an answer, in bounded time and memory."""

from __future__ import annotations

import gzip
import importlib.util
import json
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import traces

if TYPE_CHECKING:
    from types import ModuleType

CASES = 240
MOST_SECONDS = 10  # of processor time, on a busy machine


@pytest.fixture(scope="module")
def mutations() -> ModuleType:
    path = Path(__file__).parent.parent.parent / "benchmarks" / "timeline_mutations.py"
    spec = importlib.util.spec_from_file_location("timeline_mutations", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path[:] = before
    return module


@pytest.mark.parametrize("start", range(0, CASES, 60))
def test_no_mutation_ends_in_a_traceback(
    start: int, mutations: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GPUADVISE_GPU", raising=False)
    for number in range(start, start + 60):
        begin = time.process_time()
        mutations.outcome(number, tmp_path)
        assert time.process_time() - begin < MOST_SECONDS, number


# Cases that found a fault once.
FAULTS = (10285, 110455)


@pytest.mark.parametrize("number", FAULTS)
def test_what_was_found_stays_mended(
    number: int, mutations: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GPUADVISE_GPU", raising=False)
    mutations.outcome(number, tmp_path)


def test_kernels_of_no_time_are_an_answer(cli, tmp_path: Path) -> None:
    path = tmp_path / "instant.json"
    path.write_text(traces.kineto([traces.kernel(5, 0)]))
    ran = cli("timeline", str(path), "--json")
    assert (ran.code, ran.err) == (0, "")


@pytest.mark.parametrize("major", [True, 9.0, "9", 10**30, -1, None])
def test_a_gpu_of_no_capability_is_not_known(major: object, cli, tmp_path: Path) -> None:
    path = tmp_path / "odd.json"
    device = traces.H200 | {"computeMajor": major}
    path.write_text(traces.kineto([traces.kernel(0, 10)], deviceProperties=[device]))
    ran = cli("timeline", str(path), "--json")
    assert ran.code == 0
    assert json.loads(ran.out)["device"] is None


def test_a_case_is_the_same_for_the_same_number(mutations: ModuleType) -> None:
    assert mutations.case(7) == mutations.case(7)
    assert mutations.case(7) != mutations.case(10)


def bounded(cli, path: Path) -> str:
    begin = time.process_time()
    ran = cli("timeline", str(path))
    assert time.process_time() - begin < MOST_SECONDS
    assert ran.code in (0, 2)
    return str(ran.out + ran.err)


@pytest.mark.parametrize("unit", ['{"a":[{},', '{"a":[{},' + "1," * 500, "[", '{"a":', "},{", '"'])
def test_events_inside_of_events_take_no_time(unit: str, cli, tmp_path: Path) -> None:
    path = tmp_path / "nested.json"
    path.write_text('{"schemaVersion":1,"traceEvents":[' + unit * (1_000_000 // len(unit)))
    assert "no work of a GPU" in bounded(cli, path)


@pytest.mark.parametrize(
    "limit", [1000, 20_000]
)  # what Python follows differs from version to version
def test_what_stands_behind_events_inside_of_events_is_read(
    limit: int, cli, tmp_path: Path
) -> None:
    kernels = ", ".join(json.dumps(traces.kernel(at * 20, 10)) for at in range(400))
    path = tmp_path / "nested.json"
    path.write_text(f"[{kernels}, " + '{"a":[{},' * 3000 + f"{kernels}]")
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(limit)
    try:
        said = bounded(cli, path)
    finally:
        sys.setrecursionlimit(before)
    left = re.search(r"(\d+) events could not be read", said)
    assert left is not None
    assert int(left[1]) < 100
    assert "ends early" not in said


def test_a_gzip_member_for_each_byte_takes_no_time(cli, tmp_path: Path) -> None:
    text = traces.kineto([traces.kernel(0, 10)]).encode() + b" " * 50_000
    path = tmp_path / "members.gz"
    path.write_bytes(b"".join(gzip.compress(text[i : i + 1], 1) for i in range(len(text))))
    assert "span     10 us" in bounded(cli, path)


def test_a_gzip_bomb_is_refused(cli, tmp_path: Path) -> None:
    head = b'{"schemaVersion": 1, "traceEvents": [\n  {\n "a": 1\n  },'
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(head + b" " * (300 << 20), 9))
    assert "times its size" in bounded(cli, path)

"""Memory by category: when most was allocated, and what for."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest
import traces
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.timelines.foreign_files import is_memory_by_category
from gpuadvise.advisor.timelines.memory_timeline import (
    CATEGORIES,
    is_memory_timeline,
    read_memory_timeline,
)
from gpuadvise.advisor.timelines.read import read_recordings

if TYPE_CHECKING:
    from pathlib import Path

BEGIN = 1_700_000_000_000_000  # microseconds


def rows(*sizes: dict[str, int]) -> list[list[int]]:
    return [[0, *(one.get(category, 0) for category in CATEGORIES)] for one in sizes]


def written(path: Path, content: Any) -> Path:
    text = json.dumps(content).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


SIZES = rows(
    {"parameter": 100},
    {"parameter": 100, "activation": 700, "gradient": 10},
    {"parameter": 100, "activation": 300, "gradient": 90},
)
TIMES = [BEGIN, BEGIN + 2000, BEGIN + 5000]


@pytest.mark.parametrize("name", ["memory.json", "memory.json.gz"])
@pytest.mark.parametrize("unit", [1, 1000])
def test_the_peak_is_of_all_categories_together(tmp_path: Path, name: str, unit: int) -> None:
    path = written(tmp_path / name, [[time * unit for time in TIMES], SIZES])
    assert is_memory_timeline(str(path))
    found = read_memory_timeline(str(path))
    assert (found.peak_bytes, found.peak_seconds, found.seconds) == (810, 0.002, 0.005)
    assert [(one.category, one.bytes, one.most_bytes) for one in found.categories] == [
        ("activation", 700, 700),
        ("parameter", 100, 100),
        ("gradient", 10, 90),
    ]


@pytest.mark.parametrize(
    "content",
    [
        [TIMES, SIZES[:2]],
        [TIMES, [row[:5] for row in SIZES]],
        [TIMES, []],
        [TIMES],
        [[], []],
        [TIMES, [[0, *"abcdefgh"]]],
        [TIMES, [[0, *[2**70] * 8]] * 2],
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, content: Any) -> None:
    with pytest.raises(BadInput, match="damaged memory timeline"):
        read_memory_timeline(str(written(tmp_path / "memory.json", content)))


@given(st.lists(st.integers(0, 2**40), min_size=1, max_size=300), st.integers(0, 600))
def test_only_times_with_sizes_are_known_by_their_beginning(steps: list[int], cut: int) -> None:
    times = [BEGIN + step for step in sorted(steps)]
    text = json.dumps([times, rows(*({} for _ in times))]).encode()
    assert is_memory_by_category(text[:512])
    if len(times) < 20:  # else the sizes stand behind what is looked at
        others = [[times, [[1, 2]]], [[[1, 2]]], times, [{"ph": "X", "ts": BEGIN}], [[1, 2], [3]]]
        assert not any(is_memory_by_category(json.dumps(other).encode()) for other in others)
    is_memory_by_category(text[:cut])


def test_it_is_read_beside_its_trace_and_named_alone(tmp_path: Path, cli) -> None:
    memory = written(tmp_path / "memory.json", [TIMES, SIZES])
    with pytest.raises(BadInput, match="memory timeline of PyTorch") as caught:
        list(read_recordings(str(memory)))
    assert caught.value.hint is not None
    assert "beside its trace" in caught.value.hint
    trace = tmp_path / "trace.json"
    trace.write_text(traces.kineto([traces.call(0, 5), traces.kernel(10, 500)]))
    out = cli("timeline", str(trace), str(memory)).out
    for words in (
        "Memory by category",
        "86.4 %",
        "activation",
        "At most 810 B are allocated, 2 ms into 5 ms",
    ):
        assert words in out
    told = json.loads(cli("timeline", str(memory), str(trace), "--json").out)["result"]
    assert told["memory_timelines"][0]["peak_bytes"] == 810
    assert told["others"] == []
    alone = json.loads(cli("timeline", str(trace), "--json").out)["result"]
    assert alone["memory_timelines"] == []

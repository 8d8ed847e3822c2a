"""Recordings given together that are not of one run: no rank holds the others up then."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
import traces

NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def rank(
    folder: Path,
    number: int,
    *,
    name: str | None = None,
    apart: int = 3_000,
    elements: int = 1 << 20,
    begin: int = 0,
    world: int = 2,
) -> None:
    """Write a rank that computes and reduces 12 times, *apart* us apart; rank 1 comes late to each."""
    folder.mkdir(exist_ok=True)
    late = 800 if number else 0
    described = {
        "stream": 20,
        "Collective name": "allreduce",
        "In msg nelems": elements,
        "Out msg nelems": elements,
        "Group size": 2,
        "dtype": "Float",
        "Process Group Name": "0",
        "Process Group Ranks": "[0, 1]",
    }
    events: list[dict[str, Any]] = []
    for at in range(12):
        end = begin + at * apart + 2_000
        events.append(traces.kernel(end - 2_000, 1_000 + late))
        events.append(traces.kernel(end - 1_000 + late, 1_000 - late, NCCL, **described))
    info = {"backend": "nccl", "rank": number, "world_size": world}
    (folder / f"{name or number}.json").write_text(traces.kineto(events, distributedInfo=info))


def test_ranks_of_one_run_are_compared(cli, tmp_path: Path) -> None:
    rank(tmp_path / "run", 0)
    rank(tmp_path / "run", 1, begin=500_000)  # clocks of two hosts, half a second apart
    ran = cli("timeline", str(tmp_path / "run"), "--format", "json")
    assert json.loads(ran.out)["result"]["ranks"]["stragglers"] == [1]
    assert "of one run" not in ran.err
    assert "[uneven-ranks]" in cli("advise", str(tmp_path / "run")).out


@pytest.mark.parametrize(
    ("other", "note"),
    [
        (
            {"apart": 2_500},
            "From the first to the last all-reduce of one kind rank 0 took 33 ms and rank 1 27.5 ms",
        ),
        ({"elements": 1 << 18}, "The ranks ran no collective of the same kind, size and group"),
        ({"begin": 3_000_000}, "the recording of rank 1 begins 2.96 s after that of rank 0 ends"),
        ({"world": 4}, "The recordings are of runs of 2 and 4 ranks"),
    ],
)
def test_ranks_of_other_runs_are_not(cli, tmp_path: Path, other: dict[str, int], note: str) -> None:
    rank(tmp_path / "run", 0)
    rank(tmp_path / "run", 1, **other)
    for command in ("timeline", "advise"):
        ran = cli(command, str(tmp_path / "run"))
        assert ran.code == 0
        assert note in ran.err
        assert "uneven-ranks" not in ran.out
        assert "holds the others up" not in ran.out
    shown = cli("timeline", str(tmp_path / "run"), "--format", "json")
    assert json.loads(shown.out)["result"]["ranks"] is None


def test_a_rank_that_is_there_twice_is_noted(cli, tmp_path: Path) -> None:
    rank(tmp_path / "run", 0)
    rank(tmp_path / "run", 0, name="again")
    rank(tmp_path / "run", 1)
    for command in ("timeline", "advise"):
        ran = cli(command, str(tmp_path / "run"))
        assert "Several recordings say that they are rank 0" in ran.err
        assert "uneven-ranks" not in ran.out
        assert "holds the others up" not in ran.out
    rank(tmp_path / "once", 0)
    ran = cli("diff", str(tmp_path / "once"), str(tmp_path / "run"))
    assert 'run": Several recordings say that they are rank 0' in ran.err


def test_lines_of_csv_say_of_which_rank_they_are(cli, tmp_path: Path) -> None:
    rank(tmp_path / "run", 0)
    rank(tmp_path / "run", 1, begin=500_000, apart=3_100)
    lines = list(
        csv.DictReader(io.StringIO(cli("timeline", str(tmp_path / "run"), "--format", "csv").out))
    )
    assert {line["rank"] for line in lines} == {"1"}
    assert {line["gpu"] for line in lines} == {"0"}
    assert {Path(line["file"]).name for line in lines} == {"1.json"}
    assert list(lines[0])[-3:] == ["file", "gpu", "rank"]
    ran = cli("timeline", str(tmp_path / "run"), "--format", "ndjson")
    assert json.loads(ran.out.splitlines()[0])["rank"] == 1

"""``timeline`` and ``diff`` beside Holistic Trace Analysis, figure by figure, on our own recordings.

``hta.csv`` holds what HTA 0.5.0 answers (`hta_figures.py` writes it); where HTA can be imported it is
asked again. Whatever differs stands below with its reason, and the reason is tested, too.
"""

from __future__ import annotations

import csv
import gzip
import importlib.util
import json
import math
import subprocess
import sys
from collections import Counter, defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.truth import hta_figures

FIGURES = Path(__file__).parent / "hta.csv"
with FIGURES.open(encoding="utf-8") as file:
    ROWS = list(csv.DictReader(file))
NAMES = sorted({row["recording"] for row in ROWS if " " not in row["recording"]})
RANKS = ("ddp_ranks", "even_ranks", "uneven_ranks")
# HTA leaves out work of the GPU that was launched before the recording began.
CUT = {
    "attention_fused", "attention_plain", "checkpoint_seldom", "norm_eager", "resize_on_gpu",
    "resize_on_host",
}  # fmt: skip
# HTA takes Inductor's event on the host, which has the kernel's name, for another kernel.
DOUBLED = {"norm_compiled"}
SPANS = CUT | DOUBLED
MICROSECONDS = 0.02  # HTA adds float32 durations
LAUNCHES = ("cudaLaunchKernel", "cudaLaunchKernelExC")  # those that HTA knows
MEMORY = {"Memcpy HtoD": "h2d", "Memcpy DtoH": "d2h", "Memcpy DtoD": "d2d"}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[int, str]]:
    return hta_figures.unpacked(tmp_path_factory.mktemp("hta"))


class Hta:
    """What HTA says of one recording and rank."""

    def __init__(self, recording: str, rank: int | str) -> None:
        self.rows = [
            row for row in ROWS if row["recording"] == recording and row["rank"] in (str(rank), "")
        ]

    def table(self, analysis: str, figure: str) -> dict[str, float]:
        rows = (row for row in self.rows if (row["analysis"], row["figure"]) == (analysis, figure))
        return {row["item"]: float(row["value"]) for row in rows}

    def value(self, analysis: str, figure: str) -> float:
        return self.table(analysis, figure).get("", math.nan)


def same(ours: float, theirs: float | Decimal) -> bool:
    return math.isclose(ours, theirs, rel_tol=1e-5, abs_tol=MICROSECONDS)


def events(path: str) -> list[dict[str, Any]]:
    """The events of a file; a float would lose nanoseconds of such times."""
    with gzip.open(path) as text:
        return list(json.load(text, parse_float=Decimal)["traceEvents"])


def union(spans: list[tuple[Decimal, Decimal]]) -> Decimal:
    """Time in at least one of *spans*."""
    total, until = Decimal(0), Decimal("-Infinity")
    for start, end in sorted(spans):
        total += max(Decimal(0), end - max(start, until))
        until = max(until, end)
    return total


@pytest.mark.parametrize("name", NAMES)
def test_a_recording(cli, files: dict[str, dict[int, str]], name: str) -> None:
    ran = cli("timeline", *files[name].values(), "--operators", "--limit", "0", "--format", "json")
    assert ran.code == 0, ran.err
    result = json.loads(ran.out)["result"]
    for line in (result, *result["others"]):
        rank = line["rank"] or 0
        hta, trace = Hta(name, rank), events(files[name][rank])
        temporal_breakdown(name, line, hta, trace)
        communication(line, hta)
        kernels(name, line, hta)
        idle_breakdown(name, line, hta, trace)
        bandwidth(name, line, hta)
        if name not in SPANS:
            launches(line, hta, trace)
    if result["operators"]:
        operators(name, result, Hta(name, result["rank"] or 0))
    steps = result["steps"]
    told = Hta(name, "").value("steps", "count")
    # Fewer than three steps have no middle one: no table here.
    assert told == (steps["count"] if steps and steps["source"] == "profiler" else min(told, 2))


def temporal_breakdown(name: str, line: dict, hta: Hta, trace: list[dict]) -> None:
    """Idle, compute and non-compute time; where HTA differs, a union by hand."""
    account = line["account"]
    ours = {
        "kernel_us": line["span_seconds"],
        "compute_us": account["computing_seconds"],
        "idle_us": account["idle_seconds"],
        "non_compute_us": account["exposed_communication_seconds"]
        + account["exposed_copy_seconds"]
        + account["memset_seconds"],
    }
    theirs = {figure: hta.value("temporal breakdown", figure) for figure in ours}
    equal = all(same(1e6 * ours[figure], theirs[figure]) for figure in ours)
    assert equal == (name not in SPANS), (ours, theirs)
    work = [
        (event["args"].get("correlation"), event["ts"], event["ts"] + event["dur"])
        for event in trace
        if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")
    ]
    assert same(1e6 * line["busy_seconds"], union([(start, end) for _, start, end in work]))
    if name in CUT:
        calls = (e for e in trace if e.get("cat") in ("cuda_runtime", "cuda_driver"))
        recorded = {event["args"].get("correlation") for event in calls}
        kept = union([(start, end) for number, start, end in work if number in recorded])
        assert same(theirs["compute_us"] + theirs["non_compute_us"], kept)
        assert 1e6 * line["busy_seconds"] > kept
    elif name in DOUBLED:
        assert 1e6 * ours["compute_us"] < theirs["compute_us"]


def communication(line: dict, hta: Hta) -> None:
    """The share of communication that is hidden, which HTA rounds to a hundredth of a per cent."""
    theirs, ours = hta.value("communication overlap", "hidden_percent"), line["communication"]
    if ours is None:
        assert math.isnan(theirs)
    else:
        assert abs(100 * ours["hidden_seconds"] / ours["seconds"] - theirs) < 0.006


def kernels(name: str, line: dict, hta: Hta) -> None:
    """Time of the kernels that take most of it: rows here are a name and a launch."""
    sums: Counter[str] = Counter()
    longest: defaultdict[str, float] = defaultdict(float)
    for kernel in line["kernels"]:
        short = hta_figures.shortened(kernel["name"])
        sums[short] += kernel["seconds"]
        longest[short] = max(longest[short], kernel["longest_seconds"])
    for item, theirs in hta.table("kernel breakdown", "sum_us").items():
        if item.startswith("Mem"):
            continue  # copies and memsets have tables of their own here
        assert same(1e6 * sums[item], theirs) or name in SPANS, item
        most = hta.table("kernel breakdown", "max_us")[item]
        assert same(1e6 * longest[item], most) or name in SPANS, item


def idle_breakdown(name: str, line: dict, hta: Hta, trace: list[dict]) -> None:
    """HTA divides the idle time of each stream; of one stream that is the GPU's, whose causes add up.

    Where two events of a stream overlap HTA takes their gap for a negative one.
    """
    categories = [row for row in hta.rows if row["analysis"] == "idle time breakdown"]
    assert same(sum(i["seconds"] for i in line["idle"]) * 1e6, 1e6 * line["idle_seconds"])
    if len({row["item"] for row in categories}) == 1 and name not in CUT:
        total = sum(float(row["value"]) for row in categories)  # rounded to a hundredth
        work = (e["dur"] for e in trace if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"))
        overlap = float(sum(work)) - 1e6 * line["busy_seconds"]
        assert abs(total + overlap - 1e6 * line["idle_seconds"]) < 0.05


def bandwidth(name: str, line: dict, hta: Hta) -> None:
    """Copies: the same number; HTA's mean of rates is their common rate where sizes are the same."""
    for item, mean in hta.table("memory bandwidth", "mean_gbps").items():
        if item not in MEMORY or name in CUT:
            continue
        rows = [row for row in line["copies"] if row["direction"] == MEMORY[item]]
        assert sum(row["calls"] for row in rows) == hta.table("memory bandwidth", "count")[item]
        if all(row["median_bytes"] == row["largest_bytes"] for row in rows) and len(rows) == 1:
            assert rows[0]["rate"] / 1e9 == pytest.approx(mean, rel=0.02)


def launches(line: dict, hta: Hta, trace: list[dict]) -> None:
    """HTA knows two functions of the runtime that launch; here cuLaunchKernel and graphs count, too."""
    begun = {e["args"]["correlation"] for e in trace if e.get("cat") == "kernel"}
    named = [
        event
        for event in trace
        if event["name"] in LAUNCHES and event["args"].get("correlation") in begun
    ]
    assert hta.value("launch statistics", "launches") == len(named)
    assert same(hta.value("launch statistics", "host_us"), sum(e["dur"] for e in named))
    ours = line["launches"]
    if ours["kernel_launches"] == len(named) and not ours["graph_launches"]:
        assert same(1e6 * ours["host_seconds"], hta.value("launch statistics", "host_us"))


def operators(name: str, result: dict, hta: Hta) -> None:
    """Calls of operators with kernels; delay and length of the queue where all launches are HTA's."""
    calls: Counter[str] = Counter()
    for row in result["operators"]["operators"]:
        calls[row["name"]] += row["calls"]
    # Of a second rank HTA adds the calls of the first.
    if not (name in RANKS and result["rank"]):
        theirs = hta.table("operators", "calls")
        assert {item: calls[item] for item in theirs} == theirs
    queue = result["operators"]["queue"]
    count = hta.value("launch statistics", "launches")
    if queue is None or result["launches"]["kernel_launches"] != count:
        return
    longest = hta.value("launch statistics", "longest_delay_us")
    assert same(1e6 * queue["longest_delay_seconds"], longest) or name in CUT
    # Of an even number of launches the lower of the middle two; HTA takes their mean.
    assert 1e6 * queue["median_delay_seconds"] <= (
        hta.value("launch statistics", "median_delay_us") + MICROSECONDS
    )
    # HTA counts copies and memsets, too, and from the beginning of the call that launches.
    most = max(hta.table("queue length", "max").values(), default=math.inf)
    assert queue["longest_queue"] <= most or name in CUT


def test_stragglers(cli, files: dict[str, dict[int, str]]) -> None:
    """HTA has to name one; here nobody is named where both are even."""
    named = {}
    for name in RANKS:
        ran = cli("timeline", *files[name].values(), "--format", "json")
        named[name] = json.loads(ran.out)["result"]["ranks"]["stragglers"]
    theirs = {name: [int(Hta(name, "").value("stragglers", "rank"))] for name in RANKS}
    assert named == theirs | {"even_ranks": []}


def test_many_ranks_made_of_two(
    cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    """The late one of 16 is named, as HTA does (benchmarks/fleet.py); each hides what HTA says it hides."""
    monkeypatch.syspath_prepend(str(pytestconfig.rootpath / "benchmarks"))
    import fleet

    late = fleet.write_ranks(tmp_path, 16)
    ran = cli("timeline", str(tmp_path), "--format", "json")
    result = json.loads(ran.out)["result"]
    assert result["ranks"]["stragglers"] == [late]
    lines = {line["rank"]: line for line in (result, *result["others"])}
    assert sorted(lines) == list(range(16))
    for rank, line in lines.items():
        communication(line, Hta("ddp_ranks", int(rank == late)))


def test_no_queue_was_full() -> None:
    """Of HTA's 1,024 launches: a full queue holds up the host, never the GPU."""
    assert {row["value"] for row in ROWS if row["analysis"] == "full queue"} == {"0"}


@pytest.mark.parametrize("pair", hta_figures.PAIRS)
def test_two_runs(cli, files: dict[str, dict[int, str]], pair: tuple[str, str]) -> None:
    """Kernels of two runs: the same calls and times where HTA takes all of the recording."""
    ran = cli("diff", *(files[name][0] for name in pair), "--all", "--limit", "0", "-f", "json")
    assert ran.code == 0, ran.err
    ours: defaultdict[tuple[str, str], list[float]] = defaultdict(lambda: [0, 0])
    for row in json.loads(ran.out)["result"]["kernels"]:
        for side, run in zip(("old", "new"), pair, strict=True):
            if row[side]:
                both = ours[hta_figures.shortened(row["name"]), run]
                both[0] += row[side]["calls"]
                both[1] += row[side]["seconds"]
    hta = Hta(" ".join(pair), "")
    compared = 0
    for run in pair:
        calls = hta.table("trace diff", f"{run} counts")
        for item, count in calls.items():
            if item.startswith("Mem") or run in CUT:
                continue  # copies have rows of their own
            compared += 1
            seconds = hta.table("trace diff", f"{run} total_duration")[item]
            assert ours[item, run][0] == count, item
            assert same(1e6 * ours[item, run][1], seconds), item
    assert compared > 1


@pytest.mark.skipif(
    importlib.util.find_spec("hta") is None, reason="pip install --group hta: HTA and Jupyter"
)
def test_hta_still_says_so(tmp_path: Path) -> None:
    program = str(Path(__file__).with_name("hta_figures.py"))
    written = tmp_path / "hta.csv"
    subprocess.run([sys.executable, program, str(written)], check=True)
    assert written.read_text() == FIGURES.read_text()

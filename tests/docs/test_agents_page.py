"""What the page for agents shows: adapters that run on what each harness writes, and configurations."""

from __future__ import annotations

import csv
import io
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from printed_page import printed

from gpuadvise.servers.mcp.tools import TOOLS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")
RECORDED = ROOT / "tests" / "advisor" / "profiles" / "recorded"
# What CudaForge and KernelAgent ask ncu for: the columns of their CSV.
COUNTERS = (
    "sm__cycles_active.avg", "sm__warps_active.avg.pct_of_peak_sustained_active",
    "launch__occupancy_limit_blocks", "launch__occupancy_limit_registers",
    "launch__occupancy_limit_shared_mem", "launch__registers_per_thread",
    "sm__inst_executed.sum", "dram__bytes_read.sum", "dram__bytes_write.sum",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed", "dram__bytes.sum.per_second",
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", "l1tex__t_sector_hit_rate.pct",
    "l1tex__throughput.avg.pct_of_peak_sustained_active", "lts__t_sector_hit_rate.pct",
    "lts__throughput.avg.pct_of_peak_sustained_active",
    "smsp__sass_average_branch_targets_threads_uniform.pct",
)  # fmt: skip


def adapter(name: str) -> Any:
    """Return the function *name* of the page."""
    (code,) = [
        code
        for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
        if f"def {name}(" in code
    ]
    scope: dict[str, Any] = {}
    exec(compile(code, f"agents.md: {name}", "exec"), scope)
    return scope[name]


def test_kernelagents_csv_of_a_few_counters_becomes_a_prompt(tmp_path: Path) -> None:
    rows = list(csv.reader(io.StringIO((RECORDED / "hand_raw.csv").read_text())))
    header = rows[0]
    kept = [
        i
        for i, name in enumerate(header)
        if ("__" not in name and "." not in name) or name in COUNTERS
    ]
    assert sum(header[i] in COUNTERS for i in kept) >= 12
    path = tmp_path / "ncu_temp.csv"
    with path.open("w", newline="") as file:
        file.write("==PROF== Connected to process 674\n")
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([row[i] for i in kept] for row in rows)
    told = json.loads(adapter("metrics_to_prompt")(str(path)))
    assert told["kernels"]
    for row in told["kernels"].values():
        assert row["occupancy"] is not None
        assert row["seconds"] is not None or any("time" in note for note in row["notes"])


def test_flashinfer_benchs_text_becomes_a_ledger() -> None:
    text = printed(RECORDED / "hand_details.csv")
    said = adapter("ledger_of_run_ncu")(text)
    assert "bound" in said.splitlines()[0]
    lines = text.splitlines()
    cut = "\n".join(
        [
            *lines[: len(lines) // 2],
            "\n[Output truncated: 90 more lines, use max_lines=None to see all]",
        ]
    )
    assert "bound" in adapter("ledger_of_run_ncu")(cut).splitlines()[0]


def test_popcorns_folders_become_ledgers(tmp_path: Path) -> None:
    for shape in ("profile.0-batch-20-n-32", "profile.1-batch-40-n-64"):
        (tmp_path / shape).mkdir()
        page = (RECORDED / "hand_details.csv").read_text()
        (tmp_path / shape / "ncu-details.csv").write_text(page)
        (tmp_path / shape / "ncu-details.txt").write_text(printed(RECORDED / "hand_details.csv"))
    ledgers = adapter("ledgers_of_popcorn")(str(tmp_path))
    assert [*ledgers] == ["profile.0-batch-20-n-32", "profile.1-batch-40-n-64"]
    assert all("bound" in text for text in ledgers.values())


def test_tensorrt_llms_rows_have_its_words_and_a_note_for_each_null() -> None:
    rows = adapter("kernel_rows")(str(ROOT / "cli" / "demo" / "report.csv"))
    assert {row["ncu"]["bound"] for row in rows} <= {
        "compute",
        "memory",
        "latency",
        "balanced",
        "comm",
    }
    first = rows[0]
    assert first["kernel"] == "strided"
    assert first["ncu"]["duration_us"] == pytest.approx(180.8)
    assert (first["ncu"]["sm_sol_pct"], first["ncu"]["mem_sol_pct"]) == (5.6, 91.0)
    assert first["faster"]["disposition"] == "item"
    for row in rows:
        assert row["ncu"]["note"] or None not in [v for k, v in row["ncu"].items() if k != "note"]


def test_configurations_are_valid_and_every_tool_has_a_row() -> None:
    for text in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL):
        (server,) = json.loads(text)["mcpServers"].values()
        assert (server["command"], server["args"][0]) == ("gpuadvise", "mcp")
    line = re.search(r"`(\[mcp_servers\.gpuadvise\])`, `(.*?)`, `(.*?)`", PAGE)
    assert line is not None
    assert tomllib.loads("\n".join(line.groups()))["mcp_servers"]["gpuadvise"]["args"] == ["mcp"]
    rows = " ".join(re.findall(r"^\| (`[a-z_]+`.*?) \|", PAGE, re.MULTILINE))
    assert set(re.findall(r"`([a-z_]+)`", rows)) == {tool.__name__ for tool in TOOLS}

"""Broken timelines by the ten thousand, through whole commands: none may crash, hang or eat memory.

Each case is a small trace or export with a few values, tables or bytes changed, and the same case
again for the same number. Run ``python benchmarks/timeline_mutations.py --cases 10000``;
tests/cli/test_timeline_mutations.py runs a part of it.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import json
import os
import random
import resource
import sqlite3
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "tests" / "support")]

import exports  # noqa: E402 - beside the tests
import traces  # noqa: E402
from mutations import mutated  # noqa: E402

from gpuadvise.cli.main import main as gpuadvise  # noqa: E402

MOST_SECONDS = 3.0
MOST_MEMORY = 1 << 30
DEEP = 3000
ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**62, 2**63, 2**64, -(2**63), 10**30, 10**400, 0.5, -0.5,
    1e-300, 1e300, float("nan"), float("inf"), -float("inf"), "", "x", "1", "nan", "\x00\x1b[31m",
    "\ud800", "é" * 100, "k" * 5000, [], {}, [None], [1, 2], [1, 2, 3, 4], [-1, 0, 2**70], {"a": 1},
)  # fmt: skip
KEYS = (
    "ph", "cat", "name", "ts", "dur", "args", "pid", "tid", "traceEvents", "deviceProperties", "id",
    "schemaVersion", "baseTimeNanoseconds", "distributedInfo", "grid", "block", "bytes", "device",
    "stream", "correlation", "registers per thread", "shared memory", "Input Dims", "Input type",
    "External id", "kernel_details", "hlo_op",
)  # fmt: skip


def _kineto() -> dict[str, Any]:
    events = [
        traces.call(0, 5),
        traces.kernel(10, 20),
        traces.copy(40, 100, 1 << 22),
        traces.call(30, 115, "cudaMemcpy", correlation=2),
        traces.copy(150, 30, 1 << 20, "Memcpy DtoH (Device -> Pinned)", correlation=3),
        traces.call(145, 3, "cudaMemcpyAsync", correlation=3),
        traces.kernel(200, 900, "sm80_xmma_gemm_f32f32_f32f32_f32_tn", correlation=4),
        traces.call(190, 950, "cudaDeviceSynchronize", correlation=5),
        traces.event(
            "cpu_op", "aten::mm", 180, 8,
            {"Input Dims": [[64, 63], [63, 64]], "Input type": ["c10::Half", "c10::Half"]},
        ),
        *[traces.kernel(1200 + 30 * i, 2, correlation=10 + i) for i in range(6)],
    ]  # fmt: skip
    return json.loads(traces.kineto(events))  # type: ignore[no-any-return]


def _jax() -> dict[str, Any]:
    details = "regs:32 static_shared:0 dynamic_shared:1024 grid:64,1,1 block:128,1,1 occ_pct:50"
    arguments = {"kernel_details": details, "correlation_id": "1", "hlo_op": "fusion"}
    process = {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "/device:GPU:0"}}
    stream = {"ph": "M", "pid": 1, "tid": 14, "name": "thread_name"}
    return {
        "displayTimeUnit": "ns",
        "metadata": {"highres-ticks": True},
        "traceEvents": [
            process,
            {**stream, "args": {"name": "Stream #14(Compute)"}},
            {"ph": "X", "pid": 1, "tid": 14, "ts": 1.5, "dur": 20.0, "name": "k", "args": arguments},
            {"ph": "X", "pid": 1, "tid": 14, "ts": 50, "dur": 30, "name": "MemcpyH2D",
             "args": {"memcpy_details": "kind_src:pageable kind_dst:device size:4096 dest:0 async:1"}},
            {"ph": "X", "pid": 1, "tid": 14, "ts": 90, "dur": 9, "name": "k", "args": arguments},
        ],
    }  # fmt: skip


def _places(node: Any, places: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Return every (container, key) below *node*."""
    pairs = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in list(pairs):
        places.append((node, key))
        if isinstance(value, dict | list):
            _places(value, places)
    return places


def _trace(rng: random.Random) -> bytes:
    """Return a trace with some values changed, in one of several layouts, perhaps compressed."""
    trace = rng.choice((_kineto, _kineto, _jax))()
    places = _places(trace, [])
    for _ in range(rng.randint(1, 4)):
        container, key = rng.choice(places)
        kind = rng.random()
        try:
            if kind < 0.7:
                container[key] = rng.choice(ODD)
            elif kind < 0.8:
                del container[key]
            elif kind < 0.9 and isinstance(container, dict):
                container[rng.choice(KEYS)] = rng.choice(ODD)
            else:
                donor, at = rng.choice(places)
                container[key] = json.loads(json.dumps(donor[at]))
        except (IndexError, KeyError, ValueError, RecursionError):
            continue
    return _packed(_text(trace, rng), rng)


def _text(trace: Any, rng: random.Random) -> bytes:
    layout = rng.random()
    if layout < 0.4:
        text = json.dumps(trace)
    elif layout < 0.8:
        text = json.dumps(trace, indent=2)
    else:
        events = trace.get("traceEvents") if isinstance(trace, dict) else trace
        text = json.dumps(events if isinstance(events, list) else [events])
    if rng.random() < 0.03:
        deep = rng.choice(("[", '{"a":', '{"a":[{},')) * DEEP
        at = rng.randrange(len(text) + 1)
        text = text[:at] + deep + text[at:]
    data = text.encode("utf-8", "surrogatepass")
    return mutated(data, rng) if rng.random() < 0.3 else data


def _packed(data: bytes, rng: random.Random) -> bytes:
    kind = rng.random()
    if kind < 0.7:
        return data
    if kind < 0.85:
        packed = gzip.compress(data, 1, mtime=0)
    elif kind < 0.95:
        cut = rng.randrange(len(data) + 1)
        packed = gzip.compress(data[:cut], 1, mtime=0) + gzip.compress(data[cut:], 1, mtime=0)
    elif kind < 0.97:
        packed = b"".join(gzip.compress(data[i : i + 1], 1, mtime=0) for i in range(len(data)))
    else:
        packed = gzip.compress(data[:200] + rng.choice((b" ", b"[", b"\n  {\n")) * (1 << 20), 9)
    return mutated(packed, rng) if rng.random() < 0.3 else packed


SQL = (
    "ALTER TABLE {table} RENAME TO gone",
    "DELETE FROM {table}",
    "INSERT INTO {table} SELECT * FROM {table}",
    "ALTER TABLE {table} RENAME COLUMN {column} TO gone",
    "UPDATE {table} SET {column} = -{column}",
    "UPDATE {table} SET {column} = {column} * 1e18",
    "UPDATE {table} SET {column} = NULL",
    "UPDATE {table} SET {column} = CAST({column} AS TEXT)",
    "UPDATE {table} SET {column} = zeroblob(100000)",
    "CREATE VIEW looped AS SELECT * FROM {table}",
    "ALTER TABLE {table} RENAME TO gone; CREATE VIEW {table} AS WITH RECURSIVE c(start, end) AS"
    " (VALUES (1, 2) UNION ALL SELECT start + 1, end + 1 FROM c) SELECT * FROM c",
    "ALTER TABLE {table} RENAME TO gone; CREATE TABLE {table} (start PRIMARY KEY, end, nameId,"
    " id, value, name) WITHOUT ROWID",
    "UPDATE StringIds SET value = char(27) || '[31m' || value",
    "UPDATE StringIds SET value = replace(hex(zeroblob(50000)), '0', 'k')",
)


def _export(rng: random.Random) -> bytes:
    """Return an export with some values or tables changed."""
    rows = {table: [list(row) for row in some] for table, some in exports.ROWS.items()}
    for _ in range(rng.randint(0, 4)):
        row = rng.choice(rows[rng.choice(sorted(rows))])
        value = rng.choice(ODD)
        if not isinstance(value, list | dict) and value != "\ud800":
            row[rng.randrange(len(row))] = (
                value if not isinstance(value, int) or abs(value) < 2**63 else b"\xff\x00"
            )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "export"
        exports.export(
            path, rows={name: [tuple(row) for row in some] for name, some in rows.items()}
        )
        if rng.random() < 0.5:
            table = rng.choice(sorted(exports.TABLES))
            column = rng.choice(exports.TABLES[table])
            database = sqlite3.connect(path)
            with contextlib.suppress(sqlite3.Error):
                database.executescript(rng.choice(SQL).format(table=table, column=column))
            database.commit()
            database.close()
        data = path.read_bytes()
    return mutated(data, rng) if rng.random() < 0.4 else data


def case(number: int) -> tuple[bytes, list[str]]:
    """Return the bytes of a case and the command line that reads them, with FILE in it."""
    rng = random.Random(number)
    data = (_trace, _trace, _export)[number % 3](rng)
    commands = (
        ["timeline", "FILE"],
        ["timeline", "FILE", "--json"],
        ["timeline", "FILE", "--show", "--limit", "0"],
        ["timeline", "FILE", "--format", rng.choice(("csv", "ndjson", "markdown", "github"))],
        ["advise", "FILE"],
        ["advise", "FILE", "--json", "--all"],
        ["diff", "SEED", "FILE"],
        ["diff", "FILE", "SEED", "--json", "--fail-on-regression"],
        ["diff", "FILE", "FILE"],
        ["overlap", "--from-timeline", "FILE"],
        ["overlap", "--from-timeline", "FILE", "--json"],
    )
    words = list(rng.choice(commands))
    return data, [*words, "--gpu", "h100"] if rng.random() < 0.2 and "diff" not in words else words


def outcome(number: int, folder: Path) -> str:
    """Run a case and return its exit code as a word; raises what a command must not."""
    data, words = case(number)
    file, seed = folder / "case", folder / "seed.json"
    file.write_bytes(data)
    if not seed.exists():
        seed.write_text(json.dumps(_kineto()))
    words = [{"FILE": str(file), "SEED": str(seed)}.get(word, word) for word in words]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = gpuadvise(words)
    if code not in (0, 1, 2, 3):
        raise AssertionError(f"exit code {code}")
    if "--json" in words and out.getvalue():
        json.loads(out.getvalue(), parse_constant=_no_constant)
    gated = "--fail-on-regression" in words  # of a file that is read in part: 3, and a note
    asked = '{"error": ' if "--json" in words else "error: "
    sentences = (asked, "note: ") if gated and code == 3 else (asked,)
    if code >= 2 and not err.getvalue().startswith(sentences):
        raise AssertionError(f"exit code {code} without a sentence: {err.getvalue()[:200]!r}")
    if "\x1b[31m" in out.getvalue() + err.getvalue():
        raise AssertionError("text of the file steers the terminal")
    return f"{words[0]} {code}"


def _no_constant(name: str) -> None:
    raise AssertionError(f"{name} in JSON")


def main() -> int:
    """Run the cases that the command line asks for; 1 when any is a fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--start", type=int, default=0)
    options = parser.parse_args()
    outcomes: Counter[str] = Counter()
    faults, slowest = 0, (0.0, -1)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.start, options.start + options.cases):
            begin = time.process_time()
            try:
                outcomes[outcome(number, Path(folder))] += 1
            except Exception:
                faults += 1
                print(f"case {number}: {case(number)[1]}\n{traceback.format_exc(limit=-6)}")
            seconds = time.process_time() - begin
            slowest = max(slowest, (seconds, number))
            if seconds > MOST_SECONDS:
                faults += 1
                print(f"case {number}: {seconds:.1f} s")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    print(dict(sorted(outcomes.items())))
    print(
        f"{options.cases:,} cases, {faults} faults; slowest {slowest[0]:.2f} s (case {slowest[1]}); peak {memory >> 20} MiB"
    )
    return int(faults > 0 or memory > MOST_MEMORY)


if __name__ == "__main__":
    os.environ.setdefault("COLUMNS", "100")
    sys.exit(main())

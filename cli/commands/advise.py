"""``gpuadvise advise``: what to change first, what it wins, and who says so."""

from __future__ import annotations

from typing import Annotated

import typer

from gpuadvise.cli import complete
from gpuadvise.cli.advice import options as o
from gpuadvise.cli.advice.run import Call, advise
from gpuadvise.cli.exits import Exit
from gpuadvise.cli.formats import Format, Output
from gpuadvise.cli.options import Cc, Get, Gpu, Live, Snapshot

EXAMPLES = """\
  gpuadvise advise --regs 72 --block 100 --grid 96 --gpu h200
  gpuadvise advise kernel.toml --fail-on high
  gpuadvise advise --ncu report.csv --gpu h200 --all
  my-tool --json | gpuadvise advise - --format ndjson
  gpuadvise advise --device 0"""

Files = Annotated[
    list[str] | None,
    typer.Argument(metavar="[FILE]...", help="kernel.toml, JSON, NDJSON; -: stdin."),
]
Ncu = Annotated[
    list[str] | None, typer.Option("--ncu", metavar="FILE", help="CSV of Nsight Compute.")
]
Select = Annotated[
    list[str] | None,
    typer.Option(
        "--select",
        metavar="RULE",
        help="Rule, topic or priority.",
        autocompletion=complete.selections,
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option("--ignore", metavar="RULE", help="Likewise.", autocompletion=complete.selections),
]
Own = Annotated[
    list[str] | None, typer.Option("--rules", metavar="DIR", help="Folder of your own rules.")
]
FailOn = Annotated[
    str | None,
    typer.Option(
        "--fail-on",
        metavar="PRIORITY",
        help="Exit 1 on high, medium, low.",
        autocompletion=complete.priorities,
    ),
]
Baseline = Annotated[
    str | None, typer.Option("--baseline", metavar="FILE", help="Saved JSON: show what is new.")
]
FormatName = Annotated[
    str,
    typer.Option(
        "--format", "-f", metavar="FORMAT",
        help="text, json, ndjson, csv, markdown, sarif or github.",
    ),
]  # fmt: skip


def command(
    files: Files = None,
    name: o.Name = None,
    regs: o.Regs = None,
    block: o.Block = None,
    grid: o.Grid = None,
    smem: o.Smem = None,
    dynamic_smem: o.DynamicSmem = None,
    max_dynamic_smem: o.MaxDynamicSmem = None,
    carveout: o.Carveout = None,
    barriers: o.Barriers = None,
    cluster: o.Cluster = None,
    launch_bounds: o.Bounds = None,
    elements: o.Elements = None,
    syncs: o.Syncs = None,
    ilp: o.Ilp = None,
    latency: o.Latency = None,
    concurrent: o.Concurrent = None,
    read: o.Read = None,
    write: o.Write = None,
    time: o.Time = None,
    reported_rate: o.Reported = None,
    flops: o.Flops = None,
    bytes: o.Bytes = None,
    dtype: o.Dtype = None,
    h2d: o.H2d = None,
    kernel_time: o.KernelTime = None,
    d2h: o.D2h = None,
    streams: o.Streams = None,
    total_time: o.Total = None,
    parallel: o.Parallel = None,
    processors: o.Processors = None,
    target: o.Target = None,
    word: o.Word = None,
    stride: o.Stride = None,
    offset: o.Offset = None,
    row_bytes: o.RowBytes = None,
    space: o.Space = None,
    spill_stores: o.Stores = None,
    spill_loads: o.Loads = None,
    stack: o.Stack = None,
    code: o.Code = None,
    driver: o.Driver = None,
    compile_flags: o.Flags = None,
    ncu: Ncu = None,
    with_ncu_rules: Annotated[
        bool, typer.Option("--with-ncu-rules", help="Show the profiler's own rules beside ours.")
    ] = False,
    environment: Annotated[
        bool, typer.Option("--environment", help="Look at CUDA_ variables of this shell.")
    ] = False,
    gpu: Gpu = None,
    cc: Cc = None,
    device: Live = None,
    snapshot: Snapshot = None,
    select: Select = None,
    ignore: Ignore = None,
    rules: Own = None,
    fail_on: FailOn = None,
    baseline: Baseline = None,
    all_findings: Annotated[
        bool, typer.Option("--all", help="Every finding, and what was not evaluated.")
    ] = False,
    format: FormatName = Format.TEXT,
    get: Get = None,
) -> Exit:
    """Say what to change first, what it can win, and who says so."""
    return advise(Call.of(locals()), Output(format=format, fields=tuple(get or ())))

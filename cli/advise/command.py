"""``gpuadvise advise``: what to change first, what it wins, and who says so."""

from __future__ import annotations

from typing import Annotated

import typer

from gpuadvise.cli import completion
from gpuadvise.cli.advise.evaluate import Call, advise
from gpuadvise.cli.exits import Exit
from gpuadvise.cli.formats import Format, Output
from gpuadvise.cli.options import Cc, Get, Gpu, Live, Snapshot


def _text(flag: str, metavar: str, help: str) -> typer.models.OptionInfo:
    return typer.Option(flag, metavar=metavar, help=help)  # type: ignore[no-any-return]


Regs = Annotated[int | None, _text("--regs", "N", "Registers per thread.")]
Block = Annotated[str | None, _text("--block", "N", "Threads per block: 256 or 16x16.")]
Grid = Annotated[str | None, _text("--grid", "N", "Blocks: 1024 or 64x64.")]
Smem = Annotated[str | None, _text("--smem", "SIZE", "Static shared memory per block.")]
DynamicSmem = Annotated[str | None, _text("--dynamic-smem", "SIZE", "Dynamic shared memory.")]
MaxDynamicSmem = Annotated[
    str | None, _text("--max-dynamic-smem", "SIZE", "The opt-in attribute, where it is set.")
]
Carveout = Annotated[int | None, _text("--carveout", "PERCENT", "Preferred carveout.")]
Barriers = Annotated[int | None, _text("--barriers", "N", "Named barriers.")]
Cluster = Annotated[str | None, _text("--cluster", "N", "Blocks per cluster: 2 or 2x2.")]
Bounds = Annotated[str | None, _text("--launch-bounds", "T[,B]", "Arguments of launch bounds.")]
Elements = Annotated[int | None, _text("--elements", "N", "Elements the kernel works on.")]
Syncs = Annotated[bool | None, typer.Option("--syncs/--no-syncs", help="Uses __syncthreads().")]
Ilp = Annotated[float | None, _text("--ilp", "N", "Independent instructions per thread.")]
Latency = Annotated[int | None, _text("--latency", "CYCLES", "Of dependent arithmetic.")]
Concurrent = Annotated[
    bool | None, typer.Option("--concurrent/--alone", help="Runs beside other kernels.")
]
Read = Annotated[str | None, _text("--read", "SIZE", "Bytes read from device memory.")]
Write = Annotated[str | None, _text("--write", "SIZE", "Bytes written to device memory.")]
Time = Annotated[str | None, _text("--time", "T", "Time of the kernel: 800us.")]
Reported = Annotated[str | None, _text("--reported-rate", "RATE", "A rate somebody computed.")]
Flops = Annotated[float | None, _text("--flops", "N", "Operations of the kernel: 2e12.")]
Bytes = Annotated[str | None, _text("--bytes", "SIZE", "Device-memory traffic of the kernel.")]
Dtype = Annotated[str | None, _text("--dtype", "TYPE", "fp32, fp64, fp16_tensor, ...")]
H2d = Annotated[str | None, _text("--h2d", "T", "Time of the copies to the device.")]
KernelTime = Annotated[str | None, _text("--kernel-time", "T", "Time of the kernel beside them.")]
D2h = Annotated[str | None, _text("--d2h", "T", "Time of the copies to the host.")]
Streams = Annotated[int | None, _text("--streams", "N", "Streams in use now.")]
Total = Annotated[str | None, _text("--total-time", "T", "End-to-end time of the run.")]
Parallel = Annotated[str | None, _text("--parallel", "P", "Parallel share of the run time.")]
Processors = Annotated[int | None, _text("--processors", "N", "Processors for that share.")]
Target = Annotated[float | None, _text("--target", "X", "Wanted speed-up.")]
Word = Annotated[int | None, _text("--word", "BYTES", "Size of the words a warp reads.")]
Stride = Annotated[int | None, _text("--stride", "N", "Words between neighbouring lanes.")]
Offset = Annotated[int | None, _text("--offset", "BYTES", "Distance from an aligned address.")]
RowBytes = Annotated[str | None, _text("--row-bytes", "SIZE", "Width of a row of a 2-D array.")]
Space = Annotated[str | None, _text("--space", "SPACE", "global, shared or constant.")]
Stores = Annotated[str | None, _text("--spill-stores", "SIZE", "From ptxas -v.")]
Loads = Annotated[str | None, _text("--spill-loads", "SIZE", "From ptxas -v.")]
Stack = Annotated[str | None, _text("--stack", "SIZE", "Stack frame, from ptxas -v.")]
Code = Annotated[str | None, _text("--code", "LIST", "Device code: sm_80,compute_90.")]
Driver = Annotated[str | None, _text("--driver", "VERSION", "CUDA 12.4, or driver 550.54.14.")]
Flags = Annotated[str | None, _text("--compile-flags", "FLAGS", "Flags of the compiler.")]
Name = Annotated[str | None, _text("--name", "NAME", "Name of the kernel.")]


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
        autocompletion=completion.selections,
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(
        "--ignore", metavar="RULE", help="Likewise.", autocompletion=completion.selections
    ),
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
        autocompletion=completion.priorities,
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
    name: Name = None,
    regs: Regs = None,
    block: Block = None,
    grid: Grid = None,
    smem: Smem = None,
    dynamic_smem: DynamicSmem = None,
    max_dynamic_smem: MaxDynamicSmem = None,
    carveout: Carveout = None,
    barriers: Barriers = None,
    cluster: Cluster = None,
    launch_bounds: Bounds = None,
    elements: Elements = None,
    syncs: Syncs = None,
    ilp: Ilp = None,
    latency: Latency = None,
    concurrent: Concurrent = None,
    read: Read = None,
    write: Write = None,
    time: Time = None,
    reported_rate: Reported = None,
    flops: Flops = None,
    bytes: Bytes = None,
    dtype: Dtype = None,
    h2d: H2d = None,
    kernel_time: KernelTime = None,
    d2h: D2h = None,
    streams: Streams = None,
    total_time: Total = None,
    parallel: Parallel = None,
    processors: Processors = None,
    target: Target = None,
    word: Word = None,
    stride: Stride = None,
    offset: Offset = None,
    row_bytes: RowBytes = None,
    space: Space = None,
    spill_stores: Stores = None,
    spill_loads: Loads = None,
    stack: Stack = None,
    code: Code = None,
    driver: Driver = None,
    compile_flags: Flags = None,
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

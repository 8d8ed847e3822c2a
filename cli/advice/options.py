"""The options of ``advise`` that describe a kernel, one name each."""

from __future__ import annotations

from typing import Annotated

import typer


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

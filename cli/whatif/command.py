"""``gpuadvise whatif``: which block size and register cap suit a kernel, before it runs."""

from __future__ import annotations

from typing import Annotated

import typer

from gpuadvise.cli import options
from gpuadvise.cli.exits import Exit
from gpuadvise.cli.formats import Output

EXAMPLES = """\
  gpuadvise whatif kernel.cu --kernel sgemm --arch sm_90
  gpuadvise whatif kernel.cu --kernel 'scale<float, 4>' --block 128,256,512 --gpu h200
  gpuadvise whatif kernel.cu --kernel fir --registers 32,48,64 --gpu l4 --format json
  gpuadvise whatif kernel.cu --kernel tile --block-define TILE --block 128,256 --gpu a100"""


def command(
    words: Annotated[
        list[str], typer.Argument(metavar="FILE", help="A .cu file; -- options of NVRTC.")
    ],
    kernel: Annotated[
        str | None,
        typer.Option("--kernel", metavar="NAME", help="Its name; of a template an instance."),
    ] = None,
    block: Annotated[
        str, typer.Option("--block", metavar="N,...", help="Threads per block.")
    ] = "128,256,512",
    registers: Annotated[
        str,
        typer.Option("--registers", metavar="N,...", help="Caps to try; auto: where it matters."),
    ] = "auto",
    dynamic_smem: Annotated[
        str | None,
        typer.Option("--dynamic-smem", metavar="BYTES", help="Dynamic shared memory per block."),
    ] = None,
    block_define: Annotated[
        str | None,
        typer.Option("--block-define", metavar="MACRO", help="Macro that holds the block size."),
    ] = None,
    arch: Annotated[
        str | None, typer.Option("--arch", metavar="CC", help="Target: sm_90, 8.6.")
    ] = None,
    gpu: options.Gpu = None,
    device: options.Live = None,
    snapshot: options.Snapshot = None,
    folders: Annotated[
        list[str] | None, typer.Option("-I", metavar="DIR", help="Where headers are; may repeat.")
    ] = None,
    defines: Annotated[
        list[str] | None, typer.Option("-D", metavar="NAME[=VALUE]", help="Macro; may repeat.")
    ] = None,
    format_name: options.FormatName = "text",
    get: options.Get = None,
) -> Exit:
    """Compile one kernel of FILE with several register caps, and say which suits."""
    from gpuadvise.cli.kernels.request import parse_build, parse_dynamic, parse_files
    from gpuadvise.cli.whatif.answer import WhatIfRequest, answered, parse_sizes

    request = WhatIfRequest(
        files=parse_files(words),
        kernel=kernel,
        blocks=parse_sizes("--block", block, low=1, high=1024),
        caps=None
        if registers.strip() == "auto"
        else parse_sizes("--registers", registers, low=16, high=255),
        dynamic_smem=parse_dynamic(dynamic_smem),
        block_define=block_define,
        device={"gpu": gpu, "cc": arch, "device": device, "from": snapshot},
        build=parse_build("nvrtc", folders or [], defines or [], words),
    )
    return answered(request, Output(format=format_name, fields=tuple(get or ())))

"""``gpuadvise kernels``: resources and occupancy of every kernel in a file."""

from typing import Annotated, Any

import typer

from gpuadvise.cli import options
from gpuadvise.cli.exits import Exit
from gpuadvise.cli.formats import Format, Output

EXAMPLES = """\
  gpuadvise kernels libcufft.so.12 --gpu rtx5090
  gpuadvise kernels app.cubin --block 256 --dynamic-smem 32K
  nvcc -arch=sm_90 -Xptxas -v app.cu 2>&1 | gpuadvise kernels -
  gpuadvise kernels torch.whl --list
  gpuadvise kernels kernel.cu --arch sm_90,sm_80 -I include -D TILE=16 -- --use_fast_math
  gpuadvise kernels app.cubin --gpu l4 --advise
  gpuadvise kernels libfoo.so --filter gemm --format ndjson"""

Text = str | None


def _option(name: str, metavar: str, text: str) -> Any:
    return typer.Option(name, metavar=metavar, help=text)


def command(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="Cubin, fatbin, object, library, program, archive, wheel, PTX, build log, .cu; -: stdin.",
        ),
    ],
    gpu: options.Gpu = None,
    cc: options.Cc = None,
    device: options.Live = None,
    snapshot: options.Snapshot = None,
    arch: Annotated[
        list[str] | None, _option("--arch", "CC,...", "Only code for these targets: 90,sm_100a.")
    ] = None,
    name: Annotated[Text, _option("--filter", "REGEX", "Only kernels whose name matches.")] = None,
    block: Annotated[Text, _option("--block", "SIZE", "Block of every launch: 256, 16x16.")] = None,
    dynamic_smem: Annotated[
        Text, _option("--dynamic-smem", "BYTES", "Dynamic shared memory of every launch.")
    ] = None,
    entries: Annotated[
        bool, typer.Option("--list", help="Only what the containers hold; unpacks nothing.")
    ] = False,
    functions: Annotated[
        bool, typer.Option("--functions", help="Device functions as well as kernels.")
    ] = False,
    advise: Annotated[
        bool, typer.Option("--advise", help="Run the rules over every kernel.")
    ] = False,
    driver_check: Annotated[
        bool, typer.Option("--driver-check", help="Load FILE on a live GPU and compare.")
    ] = False,
    sort: Annotated[
        Text,
        _option(
            "--sort", "ORDER", "matters, name, occupancy, registers, smem, stack, spills or code."
        ),
    ] = None,
    limit: Annotated[Text, _option("--limit", "N", "Most kernels to show; 0: all.")] = None,
    jobs: Annotated[
        Text, _option("--jobs", "N", "Processes that read one large file; 1 unless given.")
    ] = None,
    compiler: Annotated[
        str, _option("--compiler", "NAME", "For .cu files: nvrtc, or nvcc for whole files.")
    ] = "nvrtc",
    folders: Annotated[
        list[str] | None, _option("-I", "DIR", "Where a .cu file finds headers; may repeat.")
    ] = None,
    defines: Annotated[
        list[str] | None, _option("-D", "NAME[=VALUE]", "Macro for a .cu file; may repeat.")
    ] = None,
    what_if: Annotated[
        bool, typer.Option("--what-if", help="Recompile the kernel that --filter names, with caps.")
    ] = False,
    format: options.FormatName = Format.TEXT,
    get: options.Get = None,
) -> Exit:
    """List the kernels of FILEs, or with --list the entries."""
    if what_if:
        from gpuadvise.cli.whatif.command import command as whatif

        return whatif(
            files, kernel=name, block=block or "128,256,512", dynamic_smem=dynamic_smem,
            arch=",".join(arch) if arch else cc, gpu=gpu, device=device, snapshot=snapshot,
            folders=folders, defines=defines, format_name=format, get=get,
        )  # fmt: skip
    from gpuadvise.cli.kernels import request as parse
    from gpuadvise.cli.kernels.answer import run

    return run(
        parse.KernelsRequest(
            files=parse.parse_files(files),
            device={"gpu": gpu, "cc": cc, "device": device, "from": snapshot},
            targets=parse.parse_targets(arch or []),
            pattern=parse.parse_filter(name),
            block=parse.parse_block(block),
            dynamic_smem=parse.parse_dynamic(dynamic_smem),
            entries_only=entries,
            functions=functions,
            advise=advise,
            driver_check=driver_check,
            sort=parse.parse_sort(sort),
            limit=parse.parse_limit(limit),
            jobs=parse.parse_jobs(jobs),
            build=parse.parse_build(compiler, folders or [], defines or [], files),
            output=Output(format=format, fields=tuple(get or ())),
        )
    )

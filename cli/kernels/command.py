"""``gpuadvise kernels``: resources and occupancy of every kernel in a file."""

import math
import re
from typing import Annotated, Literal

from gpuadvise.advisor.errors import BadInput
from gpuadvise.cli import options
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.engines import chosen_engine
from gpuadvise.cli.exits import Exit
from gpuadvise.cli.formats import Format, Output
from gpuadvise.cli.options import EngineOptions, GpuOptions, Share, Text, Whole, pick
from gpuadvise.cli.parameters import argument

EXAMPLES = """\
  gpuadvise kernels libcufft.so.12 --gpu rtx5090
  gpuadvise kernels app.cubin --block 256 --dynamic-smem 32K
  nvcc -arch=sm_90 -Xptxas -v app.cu 2>&1 | gpuadvise kernels -
  gpuadvise kernels torch.whl --list
  gpuadvise kernels k.cu --arch sm_90 -I include -D TILE=16 -- --use_fast_math
  gpuadvise kernels app.cubin --gpu l4 --advise
  gpuadvise kernels ~/.triton/cache --sort spills
  gpuadvise kernels libtorch_cuda.so --group-by prefix --sort code_bytes
  gpuadvise kernels libfoo.so --filter gemm --format ndjson
  gpuadvise kernels libfoo.so --fail-under 25% --baseline before.json"""


SortOrder = Literal[
    "matters", "name", "occupancy", "registers", "smem", "stack", "spills", "code_bytes", "code"
]
Grouping = Literal["file", "arch", "prefix"]


def command(
    files: Annotated[
        list[str],
        argument(
            "FILE...",
            "Cubin, library, object, wheel, PTX, build log, .cu, folder or kernel cache; -: stdin.",
        ),
    ],
    gpu: GpuOptions = GpuOptions(),
    arch: Annotated[list[str] | None, pick("arch")] = None,
    name: Annotated[re.Pattern[str] | None, pick("filter")] = None,
    block: Annotated[
        tuple[int, int, int] | None, pick("block", "Block of every launch: 256 or 16x16.")
    ] = None,
    dynamic_smem: Annotated[
        Whole, pick("dynamic_smem", "Dynamic shared memory of every launch.")
    ] = None,
    entries: Annotated[bool, pick("list")] = False,
    functions: Annotated[bool, pick("functions")] = False,
    advise: Annotated[bool, pick("advise")] = False,
    driver_check: Annotated[
        bool, pick("driver_check", "Load FILE on a live GPU and compare.")
    ] = False,
    sort: Annotated[SortOrder | None, pick("sort")] = None,
    group_by: Annotated[Grouping | None, pick("group_by")] = None,
    limit: Annotated[Whole, pick("limit")] = None,
    fail_under: Annotated[
        Share, pick("fail_under", "Exit 1 when a kernel's occupancy is below: 50%.")
    ] = None,
    fail_on_spills: Annotated[
        bool, pick("fail_on_spills", "Exit 1 when a kernel spills registers.")
    ] = False,
    max_regs: Annotated[Whole, pick("max_regs")] = None,
    baseline: Annotated[
        Text, pick("baseline", "Saved JSON answer; gates excuse what it has.")
    ] = None,
    jobs: Annotated[Whole, pick("jobs")] = None,
    compiler: Annotated[Literal["nvrtc", "nvcc"], pick("compiler")] = "nvrtc",
    include: Annotated[list[str] | None, pick("include")] = None,
    define: Annotated[list[str] | None, pick("define")] = None,
    what_if: Annotated[bool, pick("what_if")] = False,
    engine: EngineOptions = EngineOptions(),
    format: options.FormatName = Format.TEXT,
    get: options.Get = None,
) -> Answer | Exit:
    """List the kernels of FILEs and folders, or with --list the entries."""
    if what_if:
        if engine.engine is not None:
            raise BadInput("--engine is not for --what-if, which compiles here.")
        from gpuadvise.cli.whatif.command import command as whatif

        return whatif(
            files, kernel=name and name.pattern, block=block and str(math.prod(block)),
            dynamic_smem=dynamic_smem,
            arch=",".join(arch) if arch else gpu.cc, gpu=gpu.gpu, device=gpu.device,
            snapshot=gpu.snapshot,
            include=include, define=define,
        )  # fmt: skip
    from gpuadvise.cli.kernels import request as parse
    from gpuadvise.cli.kernels.answer import run

    return run(
        parse.KernelsRequest(
            files=parse.parse_files(files),
            device=gpu,
            targets=parse.parse_targets(arch or []),
            pattern=name,
            block=block and math.prod(block),
            dynamic_smem=dynamic_smem or 0,
            entries_only=entries,
            functions=functions,
            advise=advise,
            driver_check=driver_check,
            sort=sort,
            group_by=group_by,
            limit=limit,
            fail_under=fail_under,
            fail_on_spills=fail_on_spills,
            max_regs=max_regs,
            baseline=baseline,
            jobs=jobs or 1,
            build=parse.parse_build(compiler, include or [], define or [], files),
            output=Output(format=format, fields=tuple(get or ())),
        ),
        chosen_engine(engine),
    )

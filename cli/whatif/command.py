"""``gpuadvise whatif``: which block size and register cap suit a kernel, before it runs."""

# No postponed annotations here: the signature is read at every start.

from typing import Annotated, Literal

from gpuadvise.cli import options
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.options import GpuOptions, Text, Whole, pick
from gpuadvise.cli.parameters import argument

EXAMPLES = """\
  gpuadvise whatif kernel.cu --kernel sgemm --arch sm_90
  gpuadvise whatif k.cu --kernel 'scale<float, 4>' --block 128,256 --gpu h200
  gpuadvise whatif k.cu --kernel fir --registers 32,48,64 --gpu l4 --json
  gpuadvise whatif k.cu --kernel tile --block-define TILE --block 128,256
  gpuadvise whatif k.cu --kernel fir --measure --arg 4MiB --arg 4MiB:random --elements 1048576"""


_BLOCK_HELP = "Threads per block, several; else the file's launch and 128,256,512."


def command(
    words: Annotated[list[str], argument("FILE", "A .cu file; -- options of NVRTC.")],
    kernel: Annotated[Text, pick("kernel")] = None,
    block: Annotated[Text, pick("block", _BLOCK_HELP)] = None,
    registers: Annotated[str, pick("registers")] = "auto",
    dynamic_smem: Annotated[Whole, pick("dynamic_smem")] = None,
    block_define: Annotated[Text, pick("block_define")] = None,
    compiler: Annotated[Literal["nvrtc", "nvcc"], pick("compiler")] = "nvrtc",
    measure: Annotated[bool, pick("measure")] = False,
    arg: Annotated[list[str] | None, pick("arg")] = None,
    elements: Annotated[
        Whole, pick("elements", "For --measure: threads in all, over the grid.")
    ] = None,
    arch: Annotated[Text, pick("arch", "Target: sm_90 or 8.6.")] = None,
    gpu: options.Gpu = None,
    device: options.Live = None,
    snapshot: options.Snapshot = None,
    include: Annotated[list[str] | None, pick("include")] = None,
    define: Annotated[list[str] | None, pick("define")] = None,
) -> Answer:
    """Compile one kernel of FILE with several register caps, and say which suits."""
    from gpuadvise.cli.kernels.request import parse_build, parse_files
    from gpuadvise.cli.whatif.answer import WhatIfRequest, answered, parse_sizes

    request = WhatIfRequest(
        files=parse_files(words),
        kernel=kernel,
        blocks=None if block is None else parse_sizes("--block", block, low=1, high=1024),
        caps=None
        if registers.strip() == "auto"
        else parse_sizes("--registers", registers, low=16, high=255),
        dynamic_smem=dynamic_smem or 0,
        block_define=block_define,
        device=GpuOptions(gpu=gpu, cc=arch, device=device, snapshot=snapshot),
        build=parse_build(compiler, include or [], define or [], words),
        measure=measure,
        arguments=tuple(arg or ()),
        elements=elements,
    )
    return answered(request)

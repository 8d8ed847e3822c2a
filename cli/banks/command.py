"""``gpuadvise banks``: bank conflicts of a warp's shared-memory access."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import typer  # noqa: TC002 - Typer reads the signature

from gpuadvise.advisor.json_records import named_fields
from gpuadvise.cli.access.warp import WarpOptions
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.banks.answer import BanksCase, blocks, draw, lanes_and_banks, result
from gpuadvise.cli.banks.request import examined, wide_banks
from gpuadvise.cli.devices import device_block
from gpuadvise.cli.exits import fails_under, refuse_undescribed
from gpuadvise.cli.options import GpuOptions, Share, Text, Whole, pick

EXAMPLES = """\
  gpuadvise banks --word 4 --stride 32
  gpuadvise banks --word 4 --stride 32 --pad 1 --get degree
  gpuadvise banks --tile 32x32 --show
  gpuadvise banks --tile 64x8 --word 16 --gpu h200
  gpuadvise banks --indices 0,32,64,1"""

_DESCRIBING = ("word", "stride", "tile", "threads", "mask", "indices")


def command(
    ctx: typer.Context,
    word: Annotated[int, pick("word")] = 4,
    stride: Annotated[Text, pick("stride")] = None,
    pad: Annotated[int, pick("pad")] = 0,
    tile: Annotated[Text, pick("tile")] = None,
    walk: Annotated[str, pick("walk")] = "column",
    threads: Annotated[Whole, pick("threads")] = None,
    mask: Annotated[Whole, pick("mask")] = None,
    indices: Annotated[Text, pick("indices")] = None,
    bank_size: Annotated[int, pick("bank_size")] = 4,
    show: Annotated[bool, pick("show", "Draw lanes and banks in the terminal.")] = False,
    plot: Annotated[Text, pick("plot")] = None,
    least: Annotated[Share, pick("fail_under")] = None,
    gpu: GpuOptions = GpuOptions(),
) -> Answer:
    """Print the degree of the conflict and what ends it."""
    if least is not None:
        refuse_undescribed(ctx, _DESCRIBING, "Give --stride, --tile or --indices.")
    words = WarpOptions(word=word, stride=stride, threads=threads, mask=mask, indices=indices)
    choice = gpu.choice()
    wide = wide_banks(bank_size, choice.device)
    case = examined(choice.device, words, tile=tile, walk=walk, pad=pad, wide=wide)
    if plot is not None:
        from gpuadvise.cli.render.picture import save

        title = f"Banks that a warp reads on {case.device.name}"
        save(plot, title, lambda axes: draw(axes, case), lambda: lanes_and_banks(case))
    code, failed = fails_under("of the banks' bandwidth", 1 / case.conflicts.degree, least)
    return Answer(
        command="banks",
        device=device_block(case.device),
        input=_input(case),
        result=result(case),
        blocks=lambda: blocks(replace(case, show=show)),
        notes=choice.notes,
        failed=failed,
        exit=code,
        pictures=lambda: [lanes_and_banks(case)],
    )


def _input(case: BanksCase) -> dict[str, Any]:
    asked = named_fields(case.pattern, "word=element_bytes starts lanes")
    return {**asked, "bank_size": 8 if case.wide_banks else 4}

"""``gpuadvise banks``: bank conflicts of a warp's shared-memory access."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import typer

from gpuadvise.advisor.backends.choose import choose
from gpuadvise.cli.access.warp import Words
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.banks.answer import BanksCase, blocks, result
from gpuadvise.cli.banks.request import examined, wide_banks
from gpuadvise.cli.devices import device_block
from gpuadvise.cli.emit import emit
from gpuadvise.cli.exits import Exit
from gpuadvise.cli.formats import Output
from gpuadvise.cli.options import (
    ActiveLanes,
    Cc,
    FormatName,
    Get,
    Gpu,
    Indices,
    LaneMask,
    Live,
    Snapshot,
    Word,
)

EXAMPLES = """\
  gpuadvise banks --word 4 --stride 32
  gpuadvise banks --word 4 --stride 32 --pad 1 --get degree
  gpuadvise banks --tile 32x32 --show
  gpuadvise banks --tile 64x8 --word 16 --gpu h200
  gpuadvise banks --indices 0,32,64,1"""


def command(
    word: Word = "4",
    stride: Annotated[
        str | None, typer.Option("--stride", metavar="N", help="Elements between two lanes.")
    ] = None,
    pad: Annotated[
        str, typer.Option("--pad", metavar="N", help="Elements added to the stride or the row.")
    ] = "0",
    tile: Annotated[
        str | None, typer.Option("--tile", metavar="RxC", help="A 2-D array instead of a stride.")
    ] = None,
    walk: Annotated[
        str, typer.Option("--walk", metavar="HOW", help="Tile by column or by row.")
    ] = "column",
    threads: ActiveLanes = None,
    mask: LaneMask = None,
    indices: Indices = None,
    bank_size: Annotated[
        str, typer.Option("--bank-size", metavar="BYTES", help="4, or 8 on cc 3.x.")
    ] = "4",
    show: Annotated[bool, typer.Option("--show", help="Draw lanes and banks.")] = False,
    gpu: Gpu = None,
    cc: Cc = None,
    device: Live = None,
    snapshot: Snapshot = None,
    format_name: FormatName = "text",
    get: Get = None,
) -> Exit:
    """Print the degree of the conflict and what ends it."""
    words = Words(word=word, stride=stride, threads=threads, mask=mask, indices=indices)
    choice = choose(gpu=gpu, cc=cc, device=device, from_file=snapshot)
    wide = wide_banks(bank_size, choice.device)
    case = examined(choice.device, words, tile=tile, walk=walk, pad=pad, wide=wide)
    answer = Answer(
        command="banks",
        device=device_block(case.device),
        input=_asked(case),
        result=result(case),
        blocks=lambda: blocks(replace(case, show=show)),
        notes=choice.notes,
    )
    return emit(answer, Output(format=format_name, fields=tuple(get or ())))


def _asked(case: BanksCase) -> dict[str, Any]:
    pattern = case.pattern
    return {
        "word": pattern.element_bytes,
        "starts": list(pattern.starts),
        "lanes": list(pattern.lanes),
        "bank_size": 8 if case.wide_banks else 4,
    }

"""``gpuadvise latency``: how much must be in flight to hide arithmetic and memory latency."""

from __future__ import annotations

from typing import Annotated

import typer

from gpuadvise.advisor.backends.choose import choose
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.devices import device_block
from gpuadvise.cli.emit import emit
from gpuadvise.cli.exits import Exit
from gpuadvise.cli.formats import Output
from gpuadvise.cli.latency.answer import Options, blocks, examined, result
from gpuadvise.cli.options import Cc, FormatName, Get, Gpu, Live, Snapshot

EXAMPLES = """\
  gpuadvise latency --gpu h200
  gpuadvise latency --cc 7.0 --get warps_needed
  gpuadvise latency --cc 2.0 --latency 24
  gpuadvise latency --gpu h200 --word 16 --loads 2 --warps 32"""


def command(
    latency: Annotated[
        str | None, typer.Option("--latency", metavar="CYCLES", help="Of dependent arithmetic.")
    ] = None,
    ilp: Annotated[
        str, typer.Option("--ilp", metavar="N", help="Independent instructions in a row.")
    ] = "1",
    memory_latency: Annotated[
        str | None,
        typer.Option("--memory-latency", metavar="N|TIME", help="Cycles (500) or a time: 600ns."),
    ] = None,
    word: Annotated[
        str, typer.Option("--word", metavar="BYTES", help="Bytes each lane loads at once.")
    ] = "4",
    loads: Annotated[
        str, typer.Option("--loads", metavar="N", help="Independent loads of each thread.")
    ] = "1",
    warps: Annotated[
        str | None, typer.Option("--warps", metavar="N", help="Warps resident on each SM.")
    ] = None,
    gpu: Gpu = None,
    cc: Cc = None,
    device: Live = None,
    snapshot: Snapshot = None,
    format_name: FormatName = "text",
    get: Get = None,
) -> Exit:
    """Print the warps and the bytes that must be in flight."""
    options = Options(
        latency=latency, ilp=ilp, memory_latency=memory_latency, word=word, loads=loads,
        warps=warps,
    )  # fmt: skip
    choice = choose(gpu=gpu, cc=cc, device=device, from_file=snapshot)
    case = examined(choice.device, options)
    answer = Answer(
        command="latency",
        device=device_block(choice.device),
        input={"ilp": case.ilp, "bytes_per_thread": case.bytes_per_thread, "warps": case.warps},
        result=result(case),
        blocks=lambda: blocks(case),
        notes=choice.notes,
    )
    return emit(answer, Output(format=format_name, fields=tuple(get or ())))

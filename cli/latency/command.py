"""``gpuadvise latency``: how much must be in flight to hide arithmetic and memory latency."""

from __future__ import annotations

from typing import Annotated

import typer  # noqa: TC002 - Typer reads the signature

from gpuadvise.advisor.backends.choose import choose
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.devices import device_block
from gpuadvise.cli.exits import fails_under, refuse_undescribed
from gpuadvise.cli.latency.answer import Options, blocks, examined, result
from gpuadvise.cli.options import Cc, Gpu, Live, Snapshot, Text, pick, read

EXAMPLES = """\
  gpuadvise latency --gpu h200
  gpuadvise latency --cc 7.0 --get warps_needed
  gpuadvise latency --cc 2.0 --latency 24
  gpuadvise latency --gpu h200 --word 16 --loads 2 --warps 32"""


def command(
    ctx: typer.Context,
    latency: Annotated[Text, pick("latency")] = None,
    ilp: Annotated[str, pick("ilp")] = "1",
    memory_latency: Annotated[Text, pick("memory_latency")] = None,
    word: Annotated[str, pick("word")] = "4",
    loads: Annotated[str, pick("loads")] = "1",
    warps: Annotated[Text, pick("warps")] = None,
    fail_under: Annotated[Text, pick("fail_under")] = None,
    gpu: Gpu = None,
    cc: Cc = None,
    device: Live = None,
    snapshot: Snapshot = None,
) -> Answer:
    """Print the warps and the bytes that must be in flight."""
    least = read("fail_under", fail_under)
    if least is not None:
        refuse_undescribed(ctx, ("word", "loads"), "Give what a thread loads: --word and --loads.")
    options = Options(
        latency=latency, ilp=ilp, memory_latency=memory_latency, word=word, loads=loads,
        warps=warps,
    )  # fmt: skip
    choice = choose(gpu=gpu, cc=cc, device=device, from_file=snapshot)
    case = examined(choice.device, options)
    code, failed = fails_under(
        "of the latency", case.served, least, "Give the warps that are resident: --warps."
    )
    return Answer(
        command="latency",
        device=device_block(choice.device),
        input={"ilp": case.ilp, "bytes_per_thread": case.bytes_per_thread, "warps": case.warps},
        result=result(case),
        blocks=lambda: blocks(case),
        notes=choice.notes,
        failed=failed,
        exit=code,
    )

"""``gpuadvise latency``: how much must be in flight to hide arithmetic and memory latency."""

from __future__ import annotations

from typing import Annotated

import typer  # noqa: TC002 - Typer reads the signature

from gpuadvise.cli.answer import Answer
from gpuadvise.cli.devices import device_block
from gpuadvise.cli.exits import fails_under, refuse_undescribed
from gpuadvise.cli.latency.answer import LatencyOptions, blocks, examined, result
from gpuadvise.cli.options import GpuOptions, Share, pick

EXAMPLES = """\
  gpuadvise latency --gpu h200
  gpuadvise latency --cc 7.0 --get warps_needed
  gpuadvise latency --cc 2.0 --latency 24
  gpuadvise latency --gpu h200 --word 16 --loads 2 --warps 32"""


def command(
    ctx: typer.Context,
    asked: LatencyOptions = LatencyOptions(),
    least: Annotated[Share, pick("fail_under")] = None,
    gpu: GpuOptions = GpuOptions(),
) -> Answer:
    """Print the warps and the bytes that must be in flight."""
    if least is not None:
        refuse_undescribed(ctx, ("word", "loads"), "Give what a thread loads: --word and --loads.")
    choice = gpu.choice()
    case = examined(choice.device, asked)
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

"""``gpuadvise bandwidth``: what memory could deliver, and what a kernel got."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gpuadvise.advisor.backends.choose import choose
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.transfers.links import parse_pcie
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.args import fails_under, named, share
from gpuadvise.cli.bandwidth.answer import BandwidthCase, asked, blocks, result
from gpuadvise.cli.bandwidth.request import device_peak, traffic, typed_peak
from gpuadvise.cli.devices import device_block
from gpuadvise.cli.emit import emit
from gpuadvise.cli.exits import Exit
from gpuadvise.cli.formats import Output
from gpuadvise.cli.options import (
    Calibration,
    Cc,
    FailUnder,
    FormatName,
    Get,
    Gpu,
    Live,
    Pcie,
    Snapshot,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.transfers.links import LinkModel
    from gpuadvise.cli.bandwidth.request import Peak

EXAMPLES = """\
  gpuadvise bandwidth --gpu h200
  gpuadvise bandwidth --gpu h200 --read 1GiB --write 1GiB --time 550us
  gpuadvise bandwidth --matrix 2048x2048 --dtype f32 --copies 2 --time 12us --get ratio
  gpuadvise bandwidth --gpu rtx4090 --pcie 3x8
  gpuadvise bandwidth --memory-clock 1.85GHz --bus 384"""


def command(
    read: Annotated[
        str | None, typer.Option("--read", metavar="SIZE", help="Bytes the kernel read.")
    ] = None,
    write: Annotated[
        str | None, typer.Option("--write", metavar="SIZE", help="Bytes the kernel wrote.")
    ] = None,
    time: Annotated[
        str | None, typer.Option("--time", metavar="TIME", help="Its time: 550us, 3ms.")
    ] = None,
    matrix: Annotated[
        str | None, typer.Option("--matrix", metavar="RxC", help="Elements instead of bytes.")
    ] = None,
    dtype: Annotated[
        str, typer.Option("--dtype", metavar="TYPE", help="Type of an element: f32, bf16.")
    ] = "fp32",
    copies: Annotated[
        str, typer.Option("--copies", metavar="N", help="Passes over the matrix; a copy is 2.")
    ] = "2",
    clock: Annotated[
        str | None, typer.Option("--memory-clock", metavar="FREQ", help="Instead of a device.")
    ] = None,
    bus: Annotated[
        str | None, typer.Option("--bus", metavar="BITS", help="Bus width to --memory-clock.")
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option("--data-rate", metavar="N", help="Transfers per clock; 2 (DDR) if not given."),
    ] = None,
    slot: Pcie = None,
    calibration: Calibration = None,
    fail_under: FailUnder = None,
    gpu: Gpu = None,
    cc: Cc = None,
    device: Live = None,
    snapshot: Snapshot = None,
    format_name: FormatName = "text",
    get: Get = None,
) -> Exit:
    """Print theoretical and effective bandwidth."""
    least = None if fail_under is None else share("--fail-under", fail_under)
    moved = traffic(read=read, write=write, time=time, matrix=matrix, dtype=dtype, copies=copies)
    link = None if slot is None else named("--pcie", parse_pcie, slot)
    typed = _typed(clock, bus, rate)
    notes: Sequence[str] = ()
    if typed is None:
        choice = choose(gpu=gpu, cc=cc, device=device, from_file=snapshot)
        chosen, peak, notes = choice.device, device_peak(choice.device), choice.notes
    elif (gpu, cc, device, snapshot) == (None, None, None, None):
        chosen, peak = None, typed
    else:
        raise BadInput("--memory-clock and --bus stand for a device: name none beside them.")
    measured = None if calibration is None else _measured(calibration)
    case = BandwidthCase(device=chosen, peak=peak, traffic=moved, measured=measured, slot=link)
    code, below = fails_under("of the theoretical bandwidth", case.ratio, least)
    answer = Answer(
        command="bandwidth",
        device=device_block(case.device) if case.device else None,
        input=asked(case),
        result=result(case),
        blocks=lambda: blocks(case),
        notes=(*notes, *below),
        exit=code,
    )
    return emit(answer, Output(format=format_name, fields=tuple(get or ())))


def _typed(clock: str | None, bus: str | None, rate: str | None) -> Peak | None:
    """Return the peak of the options' factors, None when there are none; raises BadInput."""
    if (clock, bus, rate) == (None, None, None):
        return None
    if clock is None or bus is None:
        raise BadInput("--memory-clock and --bus go together, and --data-rate with both.")
    return typed_peak(clock, bus, rate or "2")


def _measured(path: str) -> LinkModel:
    from gpuadvise.advisor.backends.user_files import read_calibration

    return named("--calibration", read_calibration, path)

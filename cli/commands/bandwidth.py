"""``gpuadvise bandwidth``: what memory could deliver, and what a kernel got."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gpuadvise.advisor.backends.choose import choose
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.transfers.links import parse_pcie
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.args import below, named, share
from gpuadvise.cli.devices import device_block
from gpuadvise.cli.emit import emit
from gpuadvise.cli.exits import Exit
from gpuadvise.cli.formats import Output
from gpuadvise.cli.memory.bandwidth import Case, asked, blocks, result
from gpuadvise.cli.memory.peak import device_peak, typed_peak
from gpuadvise.cli.memory.traffic import traffic
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
    from gpuadvise.advisor.transfers.link_model import LinkModel

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
        str, typer.Option("--data-rate", metavar="N", help="Transfers per clock; 2 is DDR.")
    ] = "2",
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
    notes: tuple[str, ...] = ()
    if clock is None and bus is None:
        choice = choose(gpu=gpu, cc=cc, device=device, from_file=snapshot)
        notes = choice.notes
        case = Case(
            device=choice.device,
            peak=device_peak(choice.device),
            traffic=moved,
            measured=None if calibration is None else _measured(calibration),
            slot=link,
        )
    elif clock is None or bus is None:
        raise BadInput("--memory-clock and --bus go together.")
    else:
        case = Case(device=None, peak=typed_peak(clock, bus, rate), traffic=moved, slot=link)
    answer = Answer(
        command="bandwidth",
        device=device_block(case.device) if case.device else None,
        input=asked(case),
        result=result(case),
        blocks=lambda: blocks(case),
        notes=notes,
        exit=below(case.ratio, least),
    )
    return emit(answer, Output(format=format_name, fields=tuple(get or ())))


def _measured(path: str) -> LinkModel:
    from gpuadvise.advisor.backends.calibration_file import read_calibration

    return named("--calibration", read_calibration, path)

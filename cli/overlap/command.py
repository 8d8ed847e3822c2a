"""``gpuadvise overlap``: what staging copies and kernels over streams wins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gpuadvise.advisor.backends.choose import choose
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.json_records import plain
from gpuadvise.advisor.prose import and_list, quoted
from gpuadvise.advisor.quantity import parse_bytes
from gpuadvise.advisor.transfers.codegen import Language, skeleton
from gpuadvise.advisor.transfers.overlap import MOST_STREAMS, break_even_bytes, overlap
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.args import named, whole
from gpuadvise.cli.devices import device_block
from gpuadvise.cli.emit import emit
from gpuadvise.cli.exits import Exit
from gpuadvise.cli.formats import Output
from gpuadvise.cli.options import Calibration, Cc, FormatName, Get, Gpu, Live, Pcie, Snapshot
from gpuadvise.cli.overlap.answer import OverlapCase, blocks, result, rows
from gpuadvise.cli.overlap.request import Changes, model, stream_count, work

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.transfers.overlap import Overlap
    from gpuadvise.advisor.transfers.pipeline import StagedWork

EXAMPLES = """\
  gpuadvise overlap --h2d 256MiB --kernel 4ms --gpu h200
  gpuadvise overlap --h2d 3ms --kernel 5ms --d2h 3ms --streams 4 --show
  gpuadvise overlap --h2d 3ms --kernel 5ms --streams 2 --chunks 16
  gpuadvise overlap --h2d 3ms --kernel 5ms --streams 4 --ideal --get predicted
  gpuadvise overlap --h2d 256MiB --kernel 4ms --skeleton cuda --format code > staged.cu
  gpuadvise overlap --h2d 64MiB --kernel 1ms --calibration box.json"""

# Every count up to this is simulated, piece by piece; devices have 128 hardware queues at most.
_MOST_TRIED = 128


def command(
    kernel: Annotated[
        str, typer.Option("--kernel", metavar="TIME", help="Time of the whole kernel: 5ms.")
    ],
    h2d: Annotated[
        str | None, typer.Option("--h2d", metavar="SIZE|TIME", help="Copy in: 256MiB or 3ms.")
    ] = None,
    d2h: Annotated[
        str | None, typer.Option("--d2h", metavar="SIZE|TIME", help="Copy back: 256MiB or 3ms.")
    ] = None,
    streams: Annotated[
        str | None, typer.Option("--streams", metavar="N", help="Predict this many streams.")
    ] = None,
    chunks: Annotated[
        str | None,
        typer.Option("--chunks", metavar="N", help="Chunks, taken by --streams in turn."),
    ] = None,
    most: Annotated[
        str, typer.Option("--max-streams", metavar="N", help="Most streams to try.")
    ] = str(MOST_STREAMS),
    granularity: Annotated[
        str, typer.Option("--granularity", metavar="SIZE", help="Chunks are multiples of this.")
    ] = "256",
    pageable: Annotated[
        bool, typer.Option("--pageable", help="Host memory is not pinned.")
    ] = False,
    pcie: Pcie = None,
    rate: Annotated[
        str | None, typer.Option("--rate", metavar="RATE", help="Link, each way: 25GB/s.")
    ] = None,
    per_op: Annotated[
        str | None, typer.Option("--per-op", metavar="TIME", help="Host time per copy or launch.")
    ] = None,
    copy_latency: Annotated[
        str | None, typer.Option("--copy-latency", metavar="TIME", help="Time of an empty copy.")
    ] = None,
    duplex: Annotated[
        str | None,
        typer.Option("--duplex", metavar="FACTOR", help="Slow-down of both ways at once."),
    ] = None,
    engines: Annotated[
        str | None, typer.Option("--engines", metavar="N", help="Copy engines: asyncEngineCount.")
    ] = None,
    ideal: Annotated[
        bool, typer.Option("--ideal", help="As the guide assumes: no latencies, no costs.")
    ] = False,
    calibration: Calibration = None,
    show: Annotated[bool, typer.Option("--show", help="Draw the time line.")] = False,
    language: Annotated[
        str | None, typer.Option("--skeleton", metavar="LANG", help="Code: cuda or cuda-python.")
    ] = None,
    gpu: Gpu = None,
    cc: Cc = None,
    device: Live = None,
    snapshot: Snapshot = None,
    format_name: FormatName = "text",
    get: Get = None,
) -> Exit:
    """Print sequential and staged times and the best stream count."""
    wanted = work(h2d=h2d, kernel=kernel, d2h=d2h, pageable=pageable)
    changes = Changes(
        pcie=pcie,
        rate=rate, per_op=per_op, copy_latency=copy_latency, duplex=duplex, engines=engines,
        calibration=calibration, ideal=ideal,
    )  # fmt: skip
    written = None if language is None else _language(language)
    step = named("--granularity", lambda text: parse_bytes(text, minimum=1), granularity)
    asked = stream_count("--streams", streams)
    pieces = stream_count("--chunks", chunks)
    if pieces and (asked is None or pieces < asked):
        raise BadInput("--chunks needs --streams, and at least as many chunks as streams.")
    tried = whole("--max-streams", most, low=1, high=_MOST_TRIED)
    choice = choose(gpu=gpu, cc=cc, device=device, from_file=snapshot)
    link = model(choice.device, changes)
    found = overlap(
        wanted, link, streams=asked, pieces=pieces, most_streams=tried, granularity=step
    )
    case = OverlapCase(
        device=choice.device,
        work=wanted,
        model=link,
        found=found,
        streams=asked,
        break_even=break_even_bytes(wanted, link),
        code=None if written is None else _code(choice.device, wanted, found, written, step),
        show=show,
    )
    answer = Answer(
        command="overlap",
        device=device_block(case.device),
        input={**plain(wanted), "streams": asked, "chunks": pieces, "granularity": step},
        result=result(case),
        rows=rows(case),
        blocks=lambda: blocks(case),
        notes=choice.notes,
        documents={} if case.code is None else {"code": lambda: f"{case.code}\n"},
    )
    return emit(answer, Output(format=format_name, fields=tuple(get or ())))


def _code(
    device: Device, wanted: StagedWork, overlap: Overlap, language: Language, step: int
) -> str:
    told = overlap.asked or overlap.best
    return skeleton(
        wanted,
        told.streams,
        language,
        chunks=told.pieces,
        granularity=step,
        mapped=bool(device.integrated),
    )


def _language(text: str) -> Language:
    if text not in list(Language):
        raise BadInput(f"--skeleton: {quoted(text)} is not {and_list(list(Language), 'or')}.")
    return Language(text)

"""``gpuadvise access``: how a warp's global access is coalesced."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpuadvise.advisor.backends.choose import choose
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.memory.coalescing import coalesce
from gpuadvise.advisor.memory.remedies import remedies
from gpuadvise.advisor.memory.transactions import CachePath
from gpuadvise.advisor.prose import and_list, quoted
from gpuadvise.cli.access.answer import AccessCase, blocks, measures, result, rows, rows_of
from gpuadvise.cli.access.warp import Words, patterns
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.args import fails_under, share
from gpuadvise.cli.devices import device_block
from gpuadvise.cli.emit import emit
from gpuadvise.cli.exits import Exit
from gpuadvise.cli.formats import Output
from gpuadvise.cli.options import (
    ActiveLanes,
    Cc,
    FailUnder,
    FormatName,
    Get,
    Gpu,
    Indices,
    LaneMask,
    Live,
    Snapshot,
    Word,
)

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device

EXAMPLES = """\
  gpuadvise access --word 4 --stride 2
  gpuadvise access --word 4 --offset 1 --show
  gpuadvise access --word 12 --gpu h200             # a struct of three floats
  gpuadvise access --indices 0,5,9,1024
  gpuadvise access --sweep stride --format csv"""

SWEEPS = ("stride", "offset")
_PATHS = {"l1": CachePath.L1_LINES, "l2": CachePath.SECTORS}


def command(
    word: Word = "4",
    stride: Annotated[
        str | None,
        typer.Option("--stride", metavar="N", help="Elements between lanes, or 12B in bytes."),
    ] = None,
    offset: Annotated[
        str, typer.Option("--offset", metavar="N", help="First element, or 16B in bytes.")
    ] = "0",
    threads: ActiveLanes = None,
    mask: LaneMask = None,
    align: Annotated[
        str | None, typer.Option("--align", metavar="BYTES", help="Alignment of the type.")
    ] = None,
    row_threads: Annotated[
        str | None,
        typer.Option("--row-threads", metavar="N", help="Lanes per row of a narrow 2-D block."),
    ] = None,
    pitch: Annotated[
        str | None, typer.Option("--pitch", metavar="N", help="Elements per row, or 4100B.")
    ] = None,
    indices: Indices = None,
    path: Annotated[
        str | None, typer.Option("--path", metavar="PATH", help="l1 or l2, where both exist.")
    ] = None,
    sweep: Annotated[
        str | None, typer.Option("--sweep", metavar="WHAT", help="stride 1-32 or offset 0-32.")
    ] = None,
    show: Annotated[bool, typer.Option("--show", help="Draw the bytes of each line.")] = False,
    fail_under: FailUnder = None,
    gpu: Gpu = None,
    cc: Cc = None,
    device: Live = None,
    snapshot: Snapshot = None,
    format_name: FormatName = "text",
    get: Get = None,
) -> Exit:
    """Print sectors, lines and efficiency of one warp's access."""
    least = None if fail_under is None else share("--fail-under", fail_under)
    words = Words(
        word=word, stride=stride, offset=offset, threads=threads, mask=mask, align=align,
        row_threads=row_threads, pitch=pitch, indices=indices,
    )  # fmt: skip
    wanted = _path(path)
    choice = choose(gpu=gpu, cc=cc, device=device, from_file=snapshot)
    case = _case(choice.device, words, wanted, sweep=sweep, show=show)
    code, notes = fails_under("efficiency", case.efficiency, least)
    answer = Answer(
        command="access",
        device=device_block(case.device),
        input=_asked(words, case),
        result=result(case),
        rows=rows(case),
        blocks=lambda: blocks(case),
        notes=(*choice.notes, *notes),
        exit=code,
    )
    return emit(answer, Output(format=format_name, fields=tuple(get or ())))


def _path(text: str | None) -> CachePath | None:
    if text is not None and text not in _PATHS:
        raise BadInput(f"--path: {quoted(text)} is not {and_list(list(_PATHS), 'or')}.")
    return None if text is None else _PATHS[text]


def _case(
    device: Device, words: Words, path: CachePath | None, *, sweep: str | None, show: bool
) -> AccessCase:
    capability = device.capability
    warps = patterns(words)
    accesses = [coalesce(warp, capability, path) for warp in warps]
    return AccessCase(
        device=device,
        patterns=warps,
        accesses=accesses,
        remedies=remedies(warps[0], capability, path) if len(warps) == 1 else (),
        all_rows=rows_of(words, warps[0], capability, path),
        sweep=None if sweep is None else _sweep(device, words, path, sweep),
        show=show,
    )


def _sweep(device: Device, words: Words, path: CachePath | None, what: str) -> list[dict[str, Any]]:
    if what not in SWEEPS:
        raise BadInput(f"--sweep: {quoted(what)} is not {and_list(SWEEPS, 'or')}.")
    swept = []
    for number in range(1 if what == "stride" else 0, 33):
        changed = replace(words, **{what: str(number)})
        access = coalesce(patterns(changed)[0], device.capability, path)
        swept.append({what: number, **measures(access)})
    return swept


def _asked(words: Words, case: AccessCase) -> dict[str, Any]:
    first = case.patterns[0]
    return {
        "word": first.element_bytes,
        "alignment": first.alignment,
        "starts": list(first.starts),
        "lanes": list(first.lanes),
        "pitch": words.pitch,
    }

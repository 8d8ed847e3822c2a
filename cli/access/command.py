"""``gpuadvise access``: how a warp's global access is coalesced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer  # noqa: TC002 - Typer reads the signature

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.json_records import named_fields
from gpuadvise.advisor.memory.coalescing import coalesce
from gpuadvise.advisor.memory.remedies import remedies
from gpuadvise.advisor.memory.transactions import CachePath
from gpuadvise.advisor.prose import and_list, quoted
from gpuadvise.cli import completion
from gpuadvise.cli.access.answer import (
    AccessCase,
    blocks,
    draw,
    lines_of_memory,
    measures,
    result,
    rows,
    rows_of,
)
from gpuadvise.cli.access.warp import WarpOptions, patterns
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.devices import device_block
from gpuadvise.cli.exits import fails_under, refuse_undescribed
from gpuadvise.cli.options import GpuOptions, Share, Text, pick, read

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device

EXAMPLES = """\
  gpuadvise access --word 4 --stride 2
  gpuadvise access --word 4 --offset 1 --show
  gpuadvise access --word 12 --gpu h200             # a struct of three floats
  gpuadvise access --indices 0,5,9,1024
  gpuadvise access --sweep stride --format csv"""

SWEEPS = ("stride", "offset")
_DESCRIBING = (
    "word", "stride", "offset", "threads", "mask", "align", "row_threads", "indices",
)  # fmt: skip
_PATHS = {"l1": CachePath.L1_LINES, "l2": CachePath.SECTORS}


def command(
    ctx: typer.Context,
    words: WarpOptions = WarpOptions(),
    path: Annotated[Text, pick("path")] = None,
    sweep: Annotated[
        Text,
        pick(
            "sweep",
            "Vary stride (1 to 32) or offset (0 to 32).",
            complete=completion.words(*SWEEPS),
        ),
    ] = None,
    show: Annotated[bool, pick("show", "Draw the bytes of each line in the terminal.")] = False,
    plot: Annotated[Text, pick("plot")] = None,
    least: Annotated[Share, pick("fail_under")] = None,
    gpu: GpuOptions = GpuOptions(),
) -> Answer:
    """Print sectors, lines and efficiency of one warp's access."""
    if least is not None and sweep:
        raise BadInput("--fail-under judges one access, not a --sweep.")
    if least is not None:
        refuse_undescribed(ctx, _DESCRIBING, "Give --stride, --indices or another of the options.")
    wanted = None if path is None else _PATHS[read("path", path)]
    choice = gpu.choice()
    case = _case(choice.device, words, wanted, sweep=sweep, show=show)
    if plot is not None:
        from gpuadvise.cli.render.picture import save

        title = f"Bytes that a warp moves on {case.device.name}"
        save(
            plot,
            title,
            lambda axes: draw(axes, case.patterns[0], case.accesses[0]),
            lambda: lines_of_memory(case.patterns[0], case.accesses[0]),
        )
    code, notes = fails_under("efficiency", case.efficiency, least)
    return Answer(
        command="access",
        device=device_block(case.device),
        input=_input(words, case),
        result=result(case),
        rows=rows(case),
        blocks=lambda: blocks(case),
        notes=choice.notes,
        failed=notes,
        exit=code,
        pictures=lambda: [lines_of_memory(case.patterns[0], case.accesses[0])],
    )


def _case(
    device: Device, words: WarpOptions, path: CachePath | None, *, sweep: str | None, show: bool
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


def _sweep(
    device: Device, words: WarpOptions, path: CachePath | None, varied: str
) -> list[dict[str, Any]]:
    if varied not in SWEEPS:
        raise BadInput(f"--sweep: {quoted(varied)} is not {and_list(SWEEPS, 'or')}.")
    swept = []
    first = 1 if varied == "stride" else 0
    for number in range(first, 33):
        text = str(number)
        changed = words._replace(stride=text) if first else words._replace(offset=text)
        access = coalesce(patterns(changed)[0], device.capability, path)
        swept.append({varied: number, **measures(access)})
    return swept


def _input(words: WarpOptions, case: AccessCase) -> dict[str, Any]:
    asked = named_fields(case.patterns[0], "word=element_bytes alignment starts lanes")
    return {**asked, "pitch": words.pitch}

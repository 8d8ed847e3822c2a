"""``gpuadvise diff``: what changed for each kernel between two builds."""

from __future__ import annotations

from typing import Annotated

import typer

from gpuadvise.advisor.errors import BadInput
from gpuadvise.cli import options
from gpuadvise.cli.diff.answer import Gate, answer, of_file
from gpuadvise.cli.emit import emit
from gpuadvise.cli.exits import Exit
from gpuadvise.cli.formats import Format, Output
from gpuadvise.cli.kernels import request as parse

EXAMPLES = """\
  gpuadvise diff old/libfoo.so new/libfoo.so --gpu h100
  gpuadvise diff main.log branch.log --fail-on-regression
  gpuadvise diff old.cubin new.cubin --block 256 --format markdown
  gpuadvise diff old.whl new.whl --arch 90 --format github --fail-on-regression"""

Text = str | None


def command(
    old: Annotated[str, typer.Argument(metavar="OLD", help="Whatever `kernels` reads; -: stdin.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The same of the later build.")],
    gpu: options.Gpu = None,
    cc: options.Cc = None,
    device: options.Live = None,
    snapshot: options.Snapshot = None,
    arch: Annotated[
        list[str] | None,
        typer.Option("--arch", metavar="CC,...", help="Only code for these targets: 90,sm_100a."),
    ] = None,
    name: Annotated[
        Text, typer.Option("--filter", metavar="REGEX", help="Only kernels whose name matches.")
    ] = None,
    block: Annotated[
        Text, typer.Option("--block", metavar="SIZE", help="Block of every launch: 256, 16x16.")
    ] = None,
    dynamic_smem: Annotated[
        Text, typer.Option("--dynamic-smem", metavar="BYTES", help="Dynamic shared memory.")
    ] = None,
    fail_on_regression: Annotated[
        bool, typer.Option("--fail-on-regression", help="Exit 1 when a kernel's tier is worse.")
    ] = False,
    fail_on_spills: Annotated[
        bool, typer.Option("--fail-on-spills", help="Exit 1 when a kernel spills more.")
    ] = False,
    unchanged: Annotated[bool, typer.Option("--all", help="Unchanged kernels as well.")] = False,
    limit: Annotated[
        Text, typer.Option("--limit", metavar="N", help="Most kernels to show; 0: all.")
    ] = None,
    format: Annotated[
        str,
        typer.Option(
            "--format",
            "-f",
            metavar="FORMAT",
            help="text, json, csv, ndjson, markdown or github (annotations of a workflow).",
        ),
    ] = Format.TEXT,
    get: options.Get = None,
) -> Exit:
    """Compare registers, shared memory, stack, spills and occupancy of OLD and NEW."""
    if old == new == parse.STDIN:
        raise BadInput("Standard input can be read only once.")
    asked = parse.KernelsRequest(
        files=(),
        device={"gpu": gpu, "cc": cc, "device": device, "from": snapshot},
        targets=parse.parse_targets(arch or []),
        pattern=parse.parse_filter(name),
        block=parse.parse_block(block),
        dynamic_smem=parse.parse_dynamic(dynamic_smem),
        entries_only=False,
        functions=False,
        sort=None,
        limit=parse.parse_limit(limit),
        output=Output(format=format, fields=tuple(get or ())),
    )
    gate = Gate(tier=fail_on_regression, spills=fail_on_spills)
    found = answer(of_file(asked, old), of_file(asked, new), unchanged=unchanged, gate=gate)
    return emit(found, asked.output)

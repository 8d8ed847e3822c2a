"""``gpuadvise diff``: what changed for each kernel between two builds."""

# No postponed annotations here: the signature is read at every start.

import math
import re
from typing import Annotated

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import and_list
from gpuadvise.cli import options
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.diff import runs
from gpuadvise.cli.diff.answer import answer, of_file
from gpuadvise.cli.diff.gate import Gate
from gpuadvise.cli.formats import Format, Output
from gpuadvise.cli.kernels import request as parse
from gpuadvise.cli.options import GpuOptions, Share, Whole, pick
from gpuadvise.cli.parameters import argument

EXAMPLES = """\
  gpuadvise diff old/libfoo.so new/libfoo.so --gpu h100
  gpuadvise diff main.log branch.log --fail-on-regression
  gpuadvise diff old.cubin new.cubin --block 256 --format markdown
  gpuadvise diff before.json.gz after.json.gz      # two recorded runs
  gpuadvise diff old.whl new.whl --format github --fail-on-regression"""


def command(
    old: Annotated[str, argument("OLD", "What `kernels` or `timeline` reads; -: stdin.")],
    new: Annotated[str, argument("NEW", "The same of the later build or run.")],
    gpu: GpuOptions = GpuOptions(),
    arch: Annotated[list[str] | None, pick("arch")] = None,
    name: Annotated[re.Pattern[str] | None, pick("filter")] = None,
    block: Annotated[
        tuple[int, int, int] | None, pick("block", "Block of every launch: 256 or 16x16.")
    ] = None,
    dynamic_smem: Annotated[
        Whole, pick("dynamic_smem", "Dynamic shared memory of every launch.")
    ] = None,
    fail_on_regression: Annotated[
        bool, pick("fail_on_regression", "Exit 1 when a kernel's tier is worse, or a run slower.")
    ] = False,
    fail_on_spills: Annotated[bool, pick("fail_on_spills")] = False,
    slower: Annotated[Share, pick("slower")] = None,
    unchanged: Annotated[bool, pick("all", "Every kernel, unchanged ones as well.")] = False,
    limit: Annotated[Whole, pick("limit")] = None,
    format: Annotated[
        str,
        pick(
            "format",
            "text, json, csv, ndjson, markdown, html or github (annotations of a workflow).",
        ),
    ] = Format.TEXT,
    get: options.Get = None,
) -> Answer:
    """Compare registers, shared memory, stack, spills and occupancy of OLD and NEW."""
    if old == new == parse.STDIN:
        raise BadInput("Standard input can be read only once.")
    request = parse.KernelsRequest(
        files=(),
        device=gpu,
        targets=parse.parse_targets(arch or []),
        pattern=name,
        block=block and math.prod(block),
        dynamic_smem=dynamic_smem or 0,
        limit=limit,
        output=Output(format=format, fields=tuple(get or ())),
    )
    if runs.are_runs(old, new):
        _refuse_for_runs(arch, block, dynamic_smem, fail_on_spills=fail_on_spills)
        sides = of_file(request, old), of_file(request, new)
        return runs.answer(
            *sides,
            unchanged=unchanged,
            fail_on_regression=fail_on_regression,
            slower=slower,
        )
    if slower is not None:
        raise BadInput("--slower is about recorded runs, and these are builds, which have no time.")
    gate = Gate(tier=fail_on_regression, spills=fail_on_spills)
    return answer(of_file(request, old), of_file(request, new), unchanged=unchanged, gate=gate)


def _refuse_for_runs(
    arch: list[str] | None, block: object, dynamic_smem: object, *, fail_on_spills: bool
) -> None:
    """Raise BadInput for options that say nothing about a recorded run."""
    given = {
        "--arch": arch,
        "--block": block,
        "--dynamic-smem": dynamic_smem,
        "--fail-on-spills": fail_on_spills,
    }
    if wrong := [option for option, value in given.items() if value]:
        raise BadInput(f"These files are recorded runs, not builds: leave out {and_list(wrong)}.")

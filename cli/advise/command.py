"""``gpuadvise advise``: what to change first, what it wins, and who says so."""

# No postponed annotations here: Typer would evaluate each of them twice at every start.

import re
from typing import Annotated

from gpuadvise.cli.advise.evaluate import Call, advise
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.exits import Exit
from gpuadvise.cli.formats import Format, Output
from gpuadvise.cli.options import Cc, EngineOptions, Get, Gpu, Live, Snapshot, Text, Whole, pick
from gpuadvise.cli.parameters import argument

Texts = list[str] | None
Switch = bool | None

EXAMPLES = """\
  gpuadvise advise --regs 72 --block 100 --grid 96 --gpu h200
  gpuadvise advise kernel.toml --fail-on high
  gpuadvise advise report.ncu-rep --all
  my-tool --json | gpuadvise advise - --format ndjson
  gpuadvise advise --device 0"""


def command(
    files: Annotated[
        Texts,
        argument(
            "[FILE]...",
            "Report or folder of reports, binary, build log, trace, source or kernel.toml; -: stdin.",
        ),
    ] = None,
    name: Annotated[Text, pick("name")] = None,
    regs: Annotated[Text, pick("regs")] = None,
    block: Annotated[Text, pick("block")] = None,
    grid: Annotated[Text, pick("grid")] = None,
    smem: Annotated[Text, pick("smem")] = None,
    dynamic_smem: Annotated[Text, pick("dynamic_smem")] = None,
    max_dynamic_smem: Annotated[Text, pick("max_dynamic_smem")] = None,
    carveout: Annotated[Text, pick("carveout")] = None,
    barriers: Annotated[Text, pick("barriers")] = None,
    cluster: Annotated[Text, pick("cluster")] = None,
    nonportable_cluster: Annotated[Switch, pick("nonportable_cluster")] = None,
    launch_bounds: Annotated[Text, pick("launch_bounds")] = None,
    elements: Annotated[Text, pick("elements")] = None,
    syncs: Annotated[Switch, pick("syncs")] = None,
    ilp: Annotated[Text, pick("ilp")] = None,
    latency: Annotated[Text, pick("latency")] = None,
    concurrent: Annotated[Switch, pick("concurrent")] = None,
    read: Annotated[Text, pick("read")] = None,
    write: Annotated[Text, pick("write")] = None,
    time: Annotated[Text, pick("time")] = None,
    reported_rate: Annotated[Text, pick("reported_rate")] = None,
    flops: Annotated[Text, pick("flops")] = None,
    bytes: Annotated[Text, pick("bytes")] = None,
    dtype: Annotated[Text, pick("dtype")] = None,
    tensor: Annotated[Switch, pick("tensor")] = None,
    h2d: Annotated[Text, pick("h2d")] = None,
    kernel_time: Annotated[Text, pick("kernel_time")] = None,
    d2h: Annotated[Text, pick("d2h")] = None,
    host_time: Annotated[Text, pick("host_time")] = None,
    streams: Annotated[Text, pick("streams", "Streams in use now.")] = None,
    total_time: Annotated[Text, pick("total_time")] = None,
    parallel: Annotated[Text, pick("parallel")] = None,
    processors: Annotated[Text, pick("processors")] = None,
    target: Annotated[Text, pick("target")] = None,
    word: Annotated[Text, pick("word")] = None,
    stride: Annotated[Text, pick("stride")] = None,
    offset: Annotated[Text, pick("offset")] = None,
    row_bytes: Annotated[Text, pick("row_bytes")] = None,
    space: Annotated[Text, pick("space")] = None,
    spill_stores: Annotated[Text, pick("spill_stores")] = None,
    spill_loads: Annotated[Text, pick("spill_loads")] = None,
    stack: Annotated[Text, pick("stack")] = None,
    code: Annotated[Text, pick("code")] = None,
    driver: Annotated[Text, pick("driver")] = None,
    compile_flags: Annotated[Text, pick("compile_flags")] = None,
    ncu: Annotated[Texts, pick("ncu", "Report of Nsight Compute.")] = None,
    filter: Annotated[re.Pattern[str] | None, pick("filter")] = None,
    with_ncu_rules: Annotated[bool, pick("with_ncu_rules")] = False,
    why: Annotated[bool, pick("why")] = False,
    environment: Annotated[bool, pick("environment")] = False,
    gpu: Gpu = None,
    cc: Cc = None,
    device: Live = None,
    snapshot: Snapshot = None,
    engine: EngineOptions = EngineOptions(),
    select: Annotated[Texts, pick("select")] = None,
    ignore: Annotated[Texts, pick("ignore")] = None,
    rules: Annotated[Texts, pick("rules")] = None,
    fail_on: Annotated[Text, pick("fail_on")] = None,
    baseline: Annotated[Text, pick("baseline")] = None,
    limit: Annotated[
        Whole, pick("limit", "Most findings to show; 0: all. Text shows 5, data all unless given.")
    ] = None,
    all_findings: Annotated[
        bool, pick("all", "Every finding, and what was not evaluated.")
    ] = False,
    format: Annotated[
        str,
        pick("format", "text, json, ndjson, csv, markdown, html, ledger, sarif, github or gitlab."),
    ] = Format.TEXT,
    get: Get = None,
) -> Answer | Exit:
    """Say what to change first, what it can win, and who says so."""
    files, ncu = files and _located(files), ncu and _located(ncu)
    return advise(Call.of(locals()), Output(format=format, fields=tuple(get or ())))


def _located(files: list[str]) -> list[str]:
    """Return *files* with the files of folders elsewhere in their places."""
    from gpuadvise.advisor.backends.remote_files import located, may_be_address

    if not any(map(may_be_address, files)):
        return files
    from gpuadvise.advisor.binaries.file_type import CODE_SUFFIXES
    from gpuadvise.advisor.evidence.kinds import PROFILE_SUFFIXES
    from gpuadvise.advisor.timelines.signatures import SUFFIXES

    return located(files, (*PROFILE_SUFFIXES, *SUFFIXES, *CODE_SUFFIXES))

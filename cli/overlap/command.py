"""``gpuadvise overlap``: how much overlapping copies with kernels saves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from gpuadvise.advisor.backends.choose import Choice, choose
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.json_records import plain
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.transfers.codegen import Language, skeleton
from gpuadvise.advisor.transfers.overlap import MOST_STREAMS, break_even_bytes, overlap
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.calibration import NONE, chosen_calibration
from gpuadvise.cli.devices import device_block
from gpuadvise.cli.exits import Exit, fails_under
from gpuadvise.cli.formats import Format
from gpuadvise.cli.options import Cc, Gpu, Live, Snapshot, Text, pick, read
from gpuadvise.cli.overlap.answer import OverlapCase, blocks, draw, result, rows, time_line
from gpuadvise.cli.overlap.request import (
    Changes,
    model,
    staged_as_traced,
    timeline_of_copies,
    work,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.timelines.timeline import Timeline
    from gpuadvise.advisor.transfers.overlap import Overlap
    from gpuadvise.advisor.transfers.pipeline import StagedWork

EXAMPLES = """\
  gpuadvise overlap --h2d 256MiB --kernel 4ms --gpu h200
  gpuadvise overlap --h2d 3ms --kernel 5ms --d2h 3ms --streams 4 --show
  gpuadvise overlap --h2d 3ms --kernel 5ms --streams 2 --chunks 16
  gpuadvise overlap --h2d 3ms --kernel 5ms --streams 4 --ideal --get predicted
  gpuadvise overlap --h2d 1GB --kernel 9ms --skeleton cuda --format code > s
  gpuadvise overlap --h2d 64MiB --kernel 1ms --calibration box.json
  gpuadvise overlap --from-timeline trace.json.gz"""


def command(
    kernel: Annotated[Text, pick("kernel_time")] = None,
    h2d: Annotated[Text, pick("h2d")] = None,
    d2h: Annotated[Text, pick("d2h")] = None,
    streams: Annotated[Text, pick("streams", "Predict this many streams.")] = None,
    chunks: Annotated[Text, pick("chunks")] = None,
    most: Annotated[str, pick("max_streams")] = str(MOST_STREAMS),
    granularity: Annotated[str, pick("granularity")] = "256",
    pageable: Annotated[bool, pick("pageable")] = False,
    pcie: Annotated[Text, pick("pcie")] = None,
    rate: Annotated[Text, pick("rate")] = None,
    per_op: Annotated[Text, pick("per_op")] = None,
    copy_latency: Annotated[Text, pick("copy_latency")] = None,
    duplex: Annotated[Text, pick("duplex")] = None,
    engines: Annotated[Text, pick("engines")] = None,
    ideal: Annotated[bool, pick("ideal")] = False,
    calibration: Annotated[Text, pick("calibration")] = None,
    from_timeline: Annotated[Text, pick("from_timeline")] = None,
    show: Annotated[bool, pick("show", "Draw the time line in the terminal.")] = False,
    plot: Annotated[Text, pick("plot")] = None,
    language: Annotated[Text, pick("skeleton")] = None,
    fail_under: Annotated[Text, pick("fail_under")] = None,
    gpu: Gpu = None,
    cc: Cc = None,
    device: Live = None,
    snapshot: Snapshot = None,
    format: Annotated[
        str,
        pick("format", "text, json, csv, ndjson, markdown, html, github or code (of --skeleton)."),
    ] = Format.TEXT,
) -> Answer:
    """Print sequential and staged times, and the best number of pieces and streams."""
    changes = Changes(
        pcie=pcie,
        rate=rate, per_op=per_op, copy_latency=copy_latency, duplex=duplex, engines=engines,
        calibration=calibration, ideal=ideal,
    )  # fmt: skip
    written = None if language is None else Language(read("skeleton", language))
    step = read("granularity", granularity)
    stream_total = read("streams", streams)
    pieces = _pieces(chunks, stream_total)
    most_streams = read("max_streams", most)
    typed = {"--h2d": h2d, "--kernel": kernel, "--d2h": d2h, "--pageable": pageable or None}
    timeline, notes = (
        (None, []) if from_timeline is None else timeline_of_copies(from_timeline, typed)
    )
    traced_gpu = None if timeline is None else timeline.device
    named = gpu or cc or device or snapshot
    choice = (
        Choice(device=traced_gpu)
        if traced_gpu is not None and not named
        else choose(gpu=gpu, cc=cc, device=device, from_file=snapshot)
    )
    stored = chosen_calibration(NONE if changes.link_given else calibration, choice)
    link = model(choice.device, changes, stored.links)
    traced = None if timeline is None else staged_as_traced(timeline, link)
    if traced is not None and not changes.link_given:
        link = traced.link
    staged_work = (
        work(h2d=h2d, kernel=kernel, d2h=d2h, pageable=pageable) if traced is None else traced.work
    )
    prediction = overlap(
        staged_work,
        link,
        streams=stream_total,
        pieces=pieces,
        most_streams=most_streams,
        granularity=step,
    )
    case = OverlapCase(
        device=choice.device,
        work=staged_work,
        model=link,
        overlap=prediction,
        streams=stream_total,
        break_even=break_even_bytes(staged_work, link),
        code=None
        if written is None
        else _code(choice.device, staged_work, prediction, written, step),
        show=show,
        traced=traced,
    )
    if plot is not None:
        _save_picture(plot, case)
    code, failed = _gate(case, fail_under, timeline)
    return Answer(
        command="overlap",
        device=device_block(case.device),
        input={
            **plain(staged_work),
            "streams": stream_total,
            "chunks": pieces,
            "granularity": step,
            "from_timeline": from_timeline,
        },
        result=result(case),
        rows=rows(case),
        blocks=lambda: blocks(case),
        notes=(*choice.notes, *notes, *(stored.notes if stored.links else ())),
        failed=failed,
        exit=code,
        pictures=lambda: [time_line(case.staging)],
        documents={} if case.code is None else {"code": lambda: f"{case.code}\n"},
    )


def _pieces(chunks: str | None, streams: int | None) -> int | None:
    """Return the number of ``--chunks``; raises BadInput where there are fewer than streams."""
    pieces: int | None = read("chunks", chunks)
    if pieces and (streams is None or pieces < streams):
        raise BadInput("--chunks needs --streams, and at least as many chunks as streams.")
    return pieces


def _gate(
    case: OverlapCase, least: str | None, timeline: Timeline | None
) -> tuple[Exit, Sequence[str]]:
    """Return the exit code under ``--fail-under`` *least*, and why it is not 0."""
    staging = case.overlap.requested or case.overlap.best
    code, failed = fails_under(
        "of the speed that the busiest lane allows",
        case.overlap.floor / staging.seconds if staging.seconds else None,
        read("fail_under", least),
        "Give what is to overlap: --h2d, --kernel, --d2h.",
    )
    if least is not None and timeline is not None and timeline.notes and code is Exit.RAN:
        code = Exit.UNAVAILABLE  # what was left out of the recording may be copies
    return code, failed


def _save_picture(path: str, case: OverlapCase) -> None:
    from gpuadvise.cli.render.picture import save

    title = f"{plural(case.staging.streams, 'stream')} on {case.device.name}"
    save(path, title, lambda axes: draw(axes, case.staging), lambda: time_line(case.staging))


def _code(
    device: Device, staged_work: StagedWork, overlap: Overlap, language: Language, step: int
) -> str:
    staging = overlap.requested or overlap.best
    return skeleton(
        staged_work,
        staging.streams,
        language,
        chunks=staging.pieces,
        granularity=step,
        mapped=bool(device.integrated),
    )

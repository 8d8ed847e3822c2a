"""``gpuadvise overlap``: how much overlapping copies with kernels saves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from gpuadvise.advisor.backends.choose import Choice
from gpuadvise.advisor.json_records import plain
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.transfers.codegen import Language, skeleton
from gpuadvise.advisor.transfers.overlap import break_even_bytes, overlap
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.calibration import NONE, chosen_calibration
from gpuadvise.cli.devices import device_block
from gpuadvise.cli.exits import Exit, fails_under
from gpuadvise.cli.formats import Format
from gpuadvise.cli.options import GpuOptions, Share, Text, pick
from gpuadvise.cli.overlap.answer import OverlapCase, blocks, draw, result, rows, time_line
from gpuadvise.cli.overlap.request import (
    LinkOptions,
    StagingOptions,
    model,
    staged_as_traced,
    timeline_of_copies,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.timelines.timeline import Timeline

EXAMPLES = """\
  gpuadvise overlap --h2d 256MiB --kernel 4ms --gpu h200
  gpuadvise overlap --h2d 3ms --kernel 5ms --d2h 3ms --streams 4 --show
  gpuadvise overlap --h2d 3ms --kernel 5ms --streams 2 --chunks 16
  gpuadvise overlap --h2d 3ms --kernel 5ms --streams 4 --ideal --get predicted
  gpuadvise overlap --h2d 1GB --kernel 9ms --skeleton cuda --format code > s
  gpuadvise overlap --h2d 64MiB --kernel 1ms --calibration box.json
  gpuadvise overlap --from-timeline trace.json.gz"""


def command(
    copied: StagingOptions = StagingOptions(),
    changes: LinkOptions = LinkOptions(),
    from_timeline: Annotated[Text, pick("from_timeline")] = None,
    show: Annotated[bool, pick("show", "Draw the time line in the terminal.")] = False,
    plot: Annotated[Text, pick("plot")] = None,
    language: Annotated[Literal["cuda", "cuda-python"] | None, pick("skeleton")] = None,
    least: Annotated[Share, pick("fail_under")] = None,
    gpu: GpuOptions = GpuOptions(),
    format: Annotated[
        str,
        pick("format", "text, json, csv, ndjson, markdown, html, github or code (of --skeleton)."),
    ] = Format.TEXT,
) -> Answer:
    """Print sequential and staged times, and the best number of pieces and streams."""
    pieces = copied.pieces()
    timeline, notes = (
        (None, []) if from_timeline is None else timeline_of_copies(from_timeline, copied.given())
    )
    traced_gpu = None if timeline is None else timeline.device
    choice = Choice(device=traced_gpu) if traced_gpu is not None and not any(gpu) else gpu.choice()
    stored = chosen_calibration(NONE if changes.link_given else changes.calibration, choice)
    link = model(choice.device, changes, stored.links)
    traced = None if timeline is None else staged_as_traced(timeline, link)
    if traced is not None and not changes.link_given:
        link = traced.link
    staged_work = copied.work() if traced is None else traced.work
    prediction = overlap(
        staged_work,
        link,
        streams=copied.streams,
        pieces=pieces,
        most_streams=copied.most,
        granularity=copied.granularity,
    )
    begun = prediction.requested or prediction.best
    case = OverlapCase(
        device=choice.device,
        work=staged_work,
        model=link,
        overlap=prediction,
        streams=copied.streams,
        break_even=break_even_bytes(staged_work, link),
        code=None
        if language is None
        else skeleton(
            staged_work,
            begun.streams,
            Language(language),
            chunks=begun.pieces,
            granularity=copied.granularity,
            mapped=bool(choice.device.integrated),
        ),
        show=show,
        traced=traced,
    )
    if plot is not None:
        from gpuadvise.cli.render.picture import save

        title = f"{plural(case.staging.streams, 'stream')} on {case.device.name}"
        save(plot, title, lambda axes: draw(axes, case.staging), lambda: time_line(case.staging))
    code, failed = _gate(case, least, timeline)
    return Answer(
        command="overlap",
        device=device_block(case.device),
        input={
            **plain(staged_work),
            "streams": copied.streams,
            "chunks": pieces,
            "granularity": copied.granularity,
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


def _gate(
    case: OverlapCase, least: float | None, timeline: Timeline | None
) -> tuple[Exit, Sequence[str]]:
    """Return the exit code under ``--fail-under`` *least*, and why it is not 0."""
    staging = case.overlap.requested or case.overlap.best
    code, failed = fails_under(
        "of the speed that the busiest lane allows",
        case.overlap.floor / staging.seconds if staging.seconds else None,
        least,
        "Give what is to overlap: --h2d, --kernel, --d2h.",
    )
    if least is not None and timeline is not None and timeline.notes and code is Exit.RAN:
        code = Exit.UNAVAILABLE  # what was left out of the recording may be copies
    return code, failed

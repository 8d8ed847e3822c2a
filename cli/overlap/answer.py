"""The result and the text of ``gpuadvise overlap``."""

from __future__ import annotations

import string
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.json_records import named_fields, plain
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_bytes, show_rate, show_seconds, show_share
from gpuadvise.advisor.transfers.copies import Direction, copy_rate
from gpuadvise.advisor.transfers.links import PAGEABLE_D2H_RATE, PAGEABLE_H2D_RATE, LinkModel
from gpuadvise.advisor.transfers.pipeline import Engine, EngineSpan, StagedWork
from gpuadvise.cli.blocks import (
    Block,
    Cell,
    Drawing,
    Fact,
    Heading,
    LabelledFacts,
    Line,
    Table,
    Tone,
    table,
)
from gpuadvise.cli.devices import device_line, source_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from matplotlib.axes import Axes

    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.timelines.staging import TracedStaging
    from gpuadvise.advisor.transfers.overlap import Overlap, Staging
    from gpuadvise.cli.render.svg import Picture


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlapCase:
    """One question about staging and its answer."""

    device: Device
    work: StagedWork
    model: LinkModel
    overlap: Overlap
    break_even: int | None
    streams: int | None = None  # as asked
    code: str | None = None
    show: bool = False
    traced: TracedStaging | None = None  # of a timeline

    @property
    def staging(self) -> Staging:
        """The staging that was asked for, else the best."""
        return self.overlap.requested or self.overlap.best

    @property
    def worthwhile(self) -> bool:
        """Whether staging saves 5 % or more, of a timeline beyond what already overlaps."""
        best = self.overlap.best.seconds
        return self.overlap.worthwhile and (self.traced is None or self.traced.wins_with(best))


def result(case: OverlapCase) -> dict[str, Any]:
    """Return the ``result`` of the JSON document."""
    best = "best_streams=best.streams best_pieces=best.pieces best=best.seconds speedup"
    return {
        "sequential": case.overlap.sequential,
        **named_fields(case.staging, "predicted=seconds streams"),
        **named_fields(case.overlap, best),
        "worthwhile": case.worthwhile,
        **named_fields(case.overlap, "guide floor limiter"),
        **named_fields(case.staging, "pieces chunk_bytes"),
        "break_even_bytes": case.break_even,
        "model": case.model.to_json(),
        "sweep": rows(case),
        "timeline": [plain(span) for span in case.staging.spans],
        "remarks": list(_remarks(case)),
        "skeleton": case.code,
        "traced": case.traced and named_fields(case.traced, _TRACED),
    }


_TRACED = (
    "passes pageable copy_streams=streams kernel_seconds copy_seconds "
    "overlapped_copy_seconds=overlapped_seconds seconds=traced_seconds achieved"
)


def rows(case: OverlapCase) -> list[Mapping[str, Any]]:
    """Return one row per number of pieces, for CSV and NDJSON."""
    return [
        {
            **named_fields(staging, "streams predicted=seconds"),
            "speedup": case.overlap.sequential / staging.seconds,
            **named_fields(staging, "chunk_bytes pieces"),
        }
        for staging in case.overlap.tried
    ]


def blocks(case: OverlapCase) -> list[Block]:
    """Return what a person reads."""
    page: list[Block] = [
        _verdict(case),
        Line(device_line(case.device)),
        LabelledFacts(tuple(_facts(case))),
    ]
    page += [Line(sentence) for sentence in _remarks(case)]
    page += [Heading("Pieces"), _table(case)]
    if case.show:
        page += [Heading(f"Time line of {_staged(case.staging)}")]
        page += [Drawing(lambda columns: _picture(case.staging, columns))]
    if case.code is not None:
        page += [Heading("Skeleton"), Drawing(case.code)]
    return page


def _verdict(case: OverlapCase) -> Line:
    """Return the answer in a sentence: what staging saves, and where to begin."""
    overlap, knee = case.overlap, case.overlap.knee
    if case.traced and overlap.worthwhile and not case.worthwhile:
        share = show_share(case.traced.achieved)
        return Line(
            f"Nothing more to win: {share} of what could overlap already does.", Tone.STRONG
        )
    if not overlap.worthwhile:
        return Line("Not worth it: overlapping copies and kernel saves less than 5 %.", Tone.STRONG)
    best = f"{_staged(overlap.best)} take {show_seconds(overlap.best.seconds)} instead of "
    first = ""
    if knee != overlap.best:
        first = f" {_staged(knee)} already win {overlap.sequential / knee.seconds:.2f}x."
    return Line(
        f"Worth it, {overlap.speedup:.2f}x: {best}{show_seconds(overlap.sequential)}.{first}",
        Tone.STRONG,
    )


def _staged(staging: Staging) -> str:
    chunk = f" of {show_bytes(staging.chunk_bytes)}" if staging.chunk_bytes else ""
    if staging.pieces == 1:
        return f"one piece{chunk}"
    return f"{staging.pieces} pieces{chunk} over {plural(staging.streams, 'stream')}"


_ENGINES = {
    Engine.H2D: "the copy to the device",
    Engine.KERNEL: "the kernel",
    Engine.D2H: "the copy back",
}


def _facts(case: OverlapCase) -> Iterator[Fact]:
    """Yield what a person reads first: times, the best count, the floor, the link."""
    overlap, model = case.overlap, case.model
    if case.traced:
        yield from _traced(case.traced)
    yield Fact("sequential", Cell(show_seconds(overlap.sequential)))
    if overlap.requested:
        guide = f"the guide's estimate: {show_seconds(overlap.guide)}" if overlap.guide else ""
        label = f"with {plural(overlap.requested.streams, 'stream')}"
        if overlap.requested.pieces > overlap.requested.streams:
            guide = f"{overlap.requested.pieces} chunks in turn"
        yield Fact(label, Cell(show_seconds(overlap.requested.seconds)), guide)
    yield _best(overlap)
    remark = f"{_limiter(case)}: no staging is faster"
    yield Fact("floor", Cell(show_seconds(overlap.floor)), remark)
    if case.work.h2d_bytes or case.work.d2h_bytes:
        yield _link(case.work, model)
    if case.break_even:
        yield Fact(
            "worth it from",
            Cell(show_bytes(case.break_even)),
            "if the kernel's time grows with the data",
        )


def _traced(staging: TracedStaging) -> Iterator[Fact]:
    """Yield what the timeline shows: how long it took, and how far copies were hidden."""
    kernels, copies = show_seconds(staging.kernel_seconds), show_seconds(staging.copy_seconds)
    yield Fact(
        "traced",
        Cell(show_seconds(staging.traced_seconds)),
        f"kernels {kernels}, copies {copies}, {show_seconds(staging.overlapped_seconds)} at once",
    )
    yield Fact(
        "overlapped",
        Cell(show_share(staging.achieved)),
        f"of what could; {plural(staging.passes, 'pass', 'passes')}, of which one follows",
    )


def _best(overlap: Overlap) -> Fact:
    best = overlap.best
    more = "; more gain less than 1 %" if overlap.worthwhile and best != overlap.tried[-1] else ""
    tone = Tone.GOOD if overlap.worthwhile else Tone.PLAIN
    return Fact(
        "best",
        Cell(show_seconds(best.seconds), tone),
        f"{_staged(best)}; {overlap.speedup:.2f}x{more}",
    )


def _limiter(case: OverlapCase) -> str:
    work, overlap = case.work, case.overlap
    if work.pageable or case.model.engines == 0:
        return "copies and kernel in turn"
    if work.copies_in and work.copies_out and overlap.limiter is not Engine.KERNEL:
        return "the copies both ways"
    return _ENGINES[overlap.limiter]


def _link(work: StagedWork, model: LinkModel) -> Fact:
    """Return the rates of the copies that are given as bytes, and where they come from."""
    copies = ((work.h2d_bytes, Direction.H2D), (work.d2h_bytes, Direction.D2H))
    rates = [copy_rate(model, way, pageable=work.pageable) for size, way in copies if size]
    assumed = work.pageable and {*rates} <= {PAGEABLE_H2D_RATE, PAGEABLE_D2H_RATE}
    source = (
        "assumed: pageable copies as on the host of a H200"
        if assumed
        else source_words(model.source)
    )
    shown = dict.fromkeys(show_rate(rate) for rate in rates)
    return Fact("link", Cell(" and ".join(shown)), source)


def _remarks(case: OverlapCase) -> Iterator[str]:
    """Yield the sentences that belong to the prediction, the most important first."""
    if case.streams and case.staging.streams < case.streams:
        yield (
            f"{plural(case.streams, 'stream')} were asked for: the data make "
            f"{plural(case.staging.pieces, 'chunk')} of --granularity or more."
        )
    yield from _traced_remarks(case)
    yield from _shared_memory(case.device, case.work, case.overlap)
    yield from _obstacles(case.work, case.model)
    if case.worthwhile:
        yield "Needed: pinned memory, non-blocking streams that take the pieces in turn, cudaMemcpyAsync."


def _traced_remarks(case: OverlapCase) -> Iterator[str]:
    """Yield what the prediction for one pass means for the traced run."""
    staging = case.traced
    if staging is None:
        return
    if staging.pageable:
        yield "The copies were of pageable memory; the prediction is for pinned memory."
    if staging.passes > 1:
        all_passes = show_seconds(case.overlap.floor * staging.passes)
        yield (
            f"If a pass need not wait for the one before, its copies can also run beside that "
            f"one's kernels: all {staging.passes:,} then take {all_passes} or more."
        )


def _shared_memory(device: Device, work: StagedWork, overlap: Overlap) -> Iterator[str]:
    copies = overlap.sequential - work.kernel_seconds
    if device.integrated:
        yield (
            "Host and device share one memory: map pinned memory (cudaHostAlloc with "
            "cudaHostAllocMapped) and leave the copies out altogether, which saves up to "
            f"{show_seconds(copies)}."
        )
    elif device.coherent_host_memory:
        yield (
            "The device reads the host's pages directly over a coherent link: data that are "
            "read once need no copy, and pageable memory is no obstacle to that."
        )


def _obstacles(work: StagedWork, model: LinkModel) -> Iterator[str]:
    if work.pageable:
        yield "Pageable copies block the host and overlap with nothing: allocate pinned memory."
    elif model.engines == 0:
        yield "This device has no engine that copies while kernels run (asyncEngineCount 0)."
    elif model.engines == 1 and work.copies_in and work.copies_out:
        yield "One engine copies both ways in turn (asyncEngineCount 1)."
    if not work.pageable and model.engines_source.startswith("assumed"):
        yield (
            f"{plural(model.engines, 'copy engine')} {'is' if model.engines == 1 else 'are'} "
            f"{model.engines_source}. --engines gives another count."
        )


def _table(case: OverlapCase) -> Table:
    overlap = case.overlap
    best = overlap.best.pieces
    # JSON and CSV have all numbers of pieces.
    usual = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32}
    shown = usual | {best, overlap.knee.pieces, case.staging.pieces}

    def cell(staging: Staging, text: str) -> Cell:
        return Cell(text, Tone.GOOD if staging.pieces == best else Tone.PLAIN)

    sized = overlap.best.chunk_bytes is not None
    chunk = ((">chunk", lambda one: cell(one, show_bytes(one.chunk_bytes))),) if sized else ()
    return table(
        [staging for staging in overlap.tried if staging.pieces in shown],
        (">pieces", lambda one: cell(one, f"{'> ' if one.pieces == best else ''}{one.pieces}")),
        (">streams", lambda one: cell(one, str(one.streams))),
        (">time", lambda one: cell(one, show_seconds(one.seconds))),
        (">speed-up", lambda one: cell(one, f"{overlap.sequential / one.seconds:.2f}x")),
        *chunk,
    )


_LABEL, _WIDEST = 8, 160
_MARKS = string.digits + string.ascii_lowercase + string.ascii_uppercase


def _picture(staging: Staging, columns: int) -> str:
    """Return a row per engine; each mark is the piece that works there, a dot is idle."""
    end, width = show_seconds(staging.seconds), min(columns, _WIDEST) - _LABEL
    drawn = [f"{'':{_LABEL}}0{end:>{width - 1}}"]
    for engine in Engine:
        spans = [span for span in staging.spans if span.engine is engine]
        if spans:
            drawn.append(f"{engine:{_LABEL}}{_row(spans, staging.seconds, width)}")
    return "\n".join(drawn)


def _row(spans: Sequence[EngineSpan], whole: float, width: int) -> str:
    marks = ["."] * width
    for span in spans:
        first = min(int(span.start / whole * width), width - 1)
        last = max(first + 1, round(span.end / whole * width))
        marks[first:last] = _MARKS[span.piece % len(_MARKS)] * (min(last, width) - first)
    return "".join(marks)


def draw(axes: Axes, staging: Staging) -> None:
    """Draw the time line of *staging* on *axes*: a row for each engine, a bar for each piece."""
    engines = [engine for engine in Engine if any(s.engine is engine for s in staging.spans)]
    for row, engine in enumerate(reversed(engines)):
        bars = [(s.start, s.end - s.start) for s in staging.spans if s.engine is engine]
        axes.broken_barh(bars, (row - 0.4, 0.8), edgecolor="white", facecolor=f"C{row}")
    axes.set_yticks(range(len(engines)), [_ENGINES[engine] for engine in reversed(engines)])
    axes.set_xlabel("seconds")


_START, _PIXELS, _PITCH, _HEIGHT = 70, 400, 40, 28  # of a picture


def time_line(staging: Staging) -> Picture:
    """Return a picture of *staging*: a row for each engine, a bar for each piece."""
    from gpuadvise.cli.render import svg

    whole = staging.seconds or 1.0
    marks, described = [], []
    engines = [engine for engine in Engine if any(s.engine is engine for s in staging.spans)]
    for row, engine in enumerate(engines):
        top, busy = _PITCH * row, 0.0
        marks.append(svg.words(0, top + 19, str(engine)))
        marks.append(svg.box(_START, top, _PIXELS, _HEIGHT, "track"))
        for span in (span for span in staging.spans if span.engine is engine):
            busy += span.end - span.start
            width = _PIXELS * (span.end - span.start) / whole
            x = _START + _PIXELS * span.start / whole
            # Neighbours are told apart by the gap, which a thin one cannot spare.
            marks.append(svg.box(x, top, width - min(1.0, width / 3), _HEIGHT, f"c{row}"))
        described.append(f"{_ENGINES[engine]} {show_share(busy / whole)} of the time")
    bottom = _PITCH * len(engines) + 6
    marks.append(svg.words(_START, bottom, "0", small=True))
    end = show_seconds(staging.seconds)
    marks.append(svg.words(_START + _PIXELS, bottom, end, anchor="end", small=True))
    title = f"{plural(staging.pieces, 'piece')} in {plural(staging.streams, 'stream')}"
    return svg.Picture(title, "; ".join(described), bottom + 8, "".join(marks))

"""The result and the text of ``gpuadvise overlap``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_bytes, show_seconds
from gpuadvise.advisor.record import plain
from gpuadvise.cli.blocks import (
    Block,
    Cell,
    Column,
    Drawing,
    Facts,
    Heading,
    Line,
    Table,
    Tone,
)
from gpuadvise.cli.devices import device_line
from gpuadvise.cli.transfers.facts import facts
from gpuadvise.cli.transfers.remarks import remarks
from gpuadvise.cli.transfers.timeline import picture

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.transfers.link_model import LinkModel
    from gpuadvise.advisor.transfers.overlap import Overlap, Staging
    from gpuadvise.advisor.transfers.work import Work


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One question about staging and its answer."""

    device: Device
    work: Work
    model: LinkModel
    found: Overlap
    break_even: int | None
    streams: int | None = None  # as asked
    code: str | None = None
    show: bool = False

    @property
    def told(self) -> Staging:
        """The staging that was asked for, else the best."""
        return self.found.asked or self.found.best


def result(case: Case) -> dict[str, Any]:
    """Return the ``result`` of the JSON document."""
    found, told = case.found, case.told
    return {
        "sequential": found.sequential,
        "predicted": told.seconds,
        "streams": told.streams,
        "best_streams": found.best.streams,
        "best": found.best.seconds,
        "speedup": found.speedup,
        "worthwhile": found.worthwhile,
        "guide": found.guide,
        "floor": found.floor,
        "limiter": str(found.limiter),
        "pieces": told.pieces,
        "chunk_bytes": told.chunk_bytes,
        "break_even_bytes": case.break_even,
        "model": case.model.to_json(),
        "sweep": rows(case),
        "timeline": [plain(span) for span in told.spans],
        "remarks": list(_remarks(case)),
        "skeleton": case.code,
    }


def rows(case: Case) -> list[Mapping[str, Any]]:
    """Return one row per stream count, for CSV and NDJSON."""
    return [
        {
            "streams": staging.streams,
            "predicted": staging.seconds,
            "speedup": case.found.sequential / staging.seconds,
            "chunk_bytes": staging.chunk_bytes,
        }
        for staging in case.found.tried
    ]


def blocks(case: Case) -> list[Block]:
    """Return what a person reads."""
    found: list[Block] = [Line(device_line(case.device), Tone.STRONG), Facts(tuple(facts(case)))]
    found += [Line(sentence) for sentence in _remarks(case)]
    found += [Heading("Streams"), _table(case)]
    if case.show:
        found += [Heading(f"Time line of {plural(case.told.streams, 'stream')}")]
        found += [Drawing(picture(case.told))]
    if case.code is not None:
        found += [Heading("Skeleton"), Drawing(case.code)]
    return found


def _remarks(case: Case) -> Iterator[str]:
    if case.streams and case.told.streams < case.streams:
        yield (
            f"{plural(case.streams, 'stream')} were asked for: the data make "
            f"{plural(case.told.pieces, 'chunk')} of --granularity or more."
        )
    yield from remarks(case.device, case.work, case.model, case.found)


def _table(case: Case) -> Table:
    titles = ("streams", "time", "speed-up", "chunk")
    best = case.found.best.streams
    cells = []
    for staging in case.found.tried:
        if staging.streams not in _shown(best, case.told.streams):
            continue
        tone = Tone.GOOD if staging.streams == best else Tone.PLAIN
        cells.append(
            (
                Cell(str(staging.streams), tone),
                Cell(show_seconds(staging.seconds), tone),
                Cell(f"{case.found.sequential / staging.seconds:.2f}x", tone),
                Cell(show_bytes(staging.chunk_bytes) if staging.chunk_bytes else "", tone),
            )
        )
    return Table(columns=tuple(Column(title, right=True) for title in titles), rows=tuple(cells))


def _shown(*wanted: int) -> set[int]:
    """Return the stream counts that a person sees; JSON and CSV have all of them."""
    return {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, *wanted}

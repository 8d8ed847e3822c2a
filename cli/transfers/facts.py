"""The labelled facts at the head of ``gpuadvise overlap``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_bytes, show_rate, show_seconds
from gpuadvise.advisor.transfers.copies import Direction, copy_rate
from gpuadvise.advisor.transfers.link_model import PAGEABLE_D2H_RATE, PAGEABLE_H2D_RATE
from gpuadvise.advisor.transfers.simulation import Engine
from gpuadvise.cli.blocks import Cell, Fact, Tone

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.transfers.link_model import LinkModel
    from gpuadvise.advisor.transfers.overlap import Overlap
    from gpuadvise.advisor.transfers.work import Work
    from gpuadvise.cli.transfers.overlap import Case

_ENGINES = {
    Engine.H2D: "the copy to the device",
    Engine.KERNEL: "the kernel",
    Engine.D2H: "the copy back",
}


def facts(case: Case) -> Iterator[Fact]:
    """Yield what a person reads first: times, the best count, the floor, the link."""
    found, model = case.found, case.model
    yield Fact(label="sequential", value=Cell(show_seconds(found.sequential)))
    if found.asked:
        guide = f"the guide's estimate: {show_seconds(found.guide)}" if found.guide else ""
        label = f"with {plural(found.asked.streams, 'stream')}"
        if found.asked.pieces > found.asked.streams:
            guide = f"{found.asked.pieces} chunks in turn"
        yield Fact(label=label, value=Cell(show_seconds(found.asked.seconds)), remark=guide)
    yield _best(found)
    remark = f"{_limiter(case)}: no staging is faster"
    yield Fact(label="floor", value=Cell(show_seconds(found.floor)), remark=remark)
    if case.work.h2d_bytes or case.work.d2h_bytes:
        yield _link(case.work, model)
    if case.break_even:
        yield Fact(
            label="pays from",
            value=Cell(show_bytes(case.break_even)),
            remark="when the kernel's time grows with the data",
        )


def _best(found: Overlap) -> Fact:
    best = found.best
    chunk = f", {show_bytes(best.chunk_bytes)} each" if best.chunk_bytes else ""
    more = "; more win less than 1 %" if found.worthwhile and best != found.tried[-1] else ""
    tone = Tone.GOOD if found.worthwhile else Tone.PLAIN
    return Fact(
        label="best",
        value=Cell(show_seconds(best.seconds), tone),
        remark=f"{plural(best.streams, 'stream')}{chunk}; {found.speedup:.2f}x{more}",
    )


def _link(work: Work, model: LinkModel) -> Fact:
    """Return the rates of the copies that are given as bytes, and where they come from."""
    copies = ((work.h2d_bytes, Direction.H2D), (work.d2h_bytes, Direction.D2H))
    rates = [copy_rate(model, way, pageable=work.pageable) for size, way in copies if size]
    assumed = work.pageable and {*rates} <= {PAGEABLE_H2D_RATE, PAGEABLE_D2H_RATE}
    source = "assumed: pageable copies as on the host of a H200" if assumed else model.source
    shown = dict.fromkeys(show_rate(rate) for rate in rates)
    return Fact(label="link", value=Cell(" and ".join(shown)), remark=source)


def _limiter(case: Case) -> str:
    work, found = case.work, case.found
    both = (work.h2d_bytes or work.h2d_seconds) and (work.d2h_bytes or work.d2h_seconds)
    if work.pageable or case.model.engines == 0:
        return "copies and kernel in turn"
    if both and found.limiter is not Engine.KERNEL:
        return "the copies both ways"
    return _ENGINES[found.limiter]

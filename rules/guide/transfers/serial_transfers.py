"""Copies and kernels one after the other that could overlap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_seconds
from gpuadvise.advisor.transfers.savings import saved_by_staging, worthwhile_staging
from gpuadvise.rules.advice import PASSED, Advice, Gain, GainKind, Verdict
from gpuadvise.rules.evidence import derived
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide, programming_guide
from gpuadvise.rules.traced import span_gain

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.timeline import TracedRun
    from gpuadvise.advisor.facts.timing import Pipeline
    from gpuadvise.advisor.transfers.links import LinkModel
    from gpuadvise.advisor.transfers.overlap import Overlap


def check(pipeline: Pipeline, link: LinkModel, timeline: TracedRun | None = None) -> Verdict:
    """Advise when staging in streams saves at least 5 % of the sequential time."""
    staged = worthwhile_staging(pipeline, link, timeline)
    if staged is None:
        return PASSED
    copies = pipeline.to_device_seconds + pipeline.to_host_seconds
    best, engines = staged.best, link.engines
    return Advice(
        message=(
            f"Copies ({show_seconds(copies)}) and kernel ({show_seconds(pipeline.kernel_seconds)}) "
            f"one after the other take {show_seconds(staged.sequential)}; cut into "
            f"{best.pieces} pieces over {plural(best.streams, 'stream')} they take about "
            f"{show_seconds(best.seconds)}."
        ),
        action=(
            f"Cut the data into {best.pieces} chunks; for each, cudaMemcpyAsync, launch and copy back "
            f"in one of {plural(best.streams, 'stream')}, in turn. That needs pinned host memory, non-default streams and "
            f"a copy engine ({plural(engines, 'engine')} here; both directions at once need 2). In "
            "PyTorch: with torch.cuda.stream(torch.cuda.Stream()) and non_blocking=True."
        ),
        evidence=(
            derived("sequential", staged.sequential, "s"),
            derived("staged, predicted", best.seconds, "s"),
            derived("pieces", best.pieces, "pieces"),
            derived("streams", best.streams, "streams"),
            derived(f"copy engines ({link.source})", engines, "engines"),
        ),
        gain=_gain(staged, timeline),
    )


def _gain(staged: Overlap, timeline: TracedRun | None) -> Gain:
    """Return what staging wins at most, of a recorded run what it wins of the busy span."""
    if timeline is None:
        return Gain(
            kind=GainKind.RUN_TIME,
            upper_bound=staged.sequential / staged.floor,
            how="sequential time / longest of copy in, kernel, copy out",
        )
    how = "the time of kernels and copies beyond the longest of copy in, kernel and copy out"
    return span_gain(timeline, saved_by_staging(staged, timeline), how)


RULE = Rule(
    id="serial-transfers",
    title="Overlap transfers with computation",
    topic=Topic.TRANSFERS,
    priority=Priority.HIGH,
    kinds=(Kind.TIMING, Kind.DEVICE),
    family=Family.COPIES,
    why="Copy engines and SMs work at the same time if the data come in pieces.",
    when="Staging in several streams saves at least 5 % of the sequential time, by the overlap model.",
    citations=(*guide("10.1.2", "9.1.2"), programming_guide("Asynchronous Concurrent Execution")),
    folds_into="small-transfers",
    check=check,
    examples=Examples(
        fires={"gpu": "h200", "pipeline": {"h2d": "5ms", "kernel": "5ms"}},
        quiet={"gpu": "h200", "pipeline": {"h2d": "5ms", "kernel": "5ms", "streams": 4}},
        edges=(
            {"gpu": "h200", "pipeline": {"h2d": "12ms", "kernel": "100ms"}},
            {"gpu": "h200", "pipeline": {"h2d": "4ms", "kernel": "100ms"}},
        ),
    ),
)

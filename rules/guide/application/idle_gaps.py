"""Long stretches in which the GPU waits for the host's own work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_seconds, show_share
from gpuadvise.rules.evidence import traced
from gpuadvise.rules.model import (
    PASSED,
    Advice,
    Examples,
    Gain,
    GainKind,
    Kind,
    Priority,
    Rule,
    Topic,
    Verdict,
)
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.timeline import TracedRun


def check(timeline: TracedRun) -> Verdict:
    """Advise when the host's own work leaves the GPU idle for a tenth of the span or more."""
    idle, gaps = timeline.host_idle_seconds, timeline.host_gaps
    if not timeline.host_bound:
        return PASSED
    return Advice(
        message=(
            f"{plural(gaps, 'gap')} of {show_seconds(idle / gaps)}{' on average' if gaps > 1 else ''}, "
            f"{show_share(timeline.share(idle))} of the span: the host works on its own meanwhile, "
            "in no call of CUDA."
        ),
        action=(
            "Let the GPU work meanwhile: queue the next kernels before the host's work begins, and "
            "do that work in another thread or process. In PyTorch: DataLoader(num_workers=4, "
            "prefetch_factor=2, persistent_workers=True), no torch.cuda.synchronize() before it; "
            "in CUDA: cudaStreamSynchronize() after the host's work, or cudaLaunchHostFunc()."
        ),
        evidence=(
            traced("idle while the host worked", idle, "s"),
            traced("gaps", gaps, "gaps"),
            traced("span", timeline.span_seconds, "s"),
        ),
        gain=_gain(timeline),
    )


def _gain(run: TracedRun) -> Gain:
    """Return the bound; a loop has one gap more than lie between its kernels."""
    return Gain(
        kind=GainKind.RUN_TIME,
        upper_bound=run.bound_without_host_gaps or 1e6,
        how="(span + the gap after it) / (span - gaps)",
    )


RULE = Rule(
    id="idle-gaps",
    title="Keep the GPU at work while the host works",
    topic=Topic.APPLICATION,
    priority=Priority.HIGH,
    kinds=(Kind.TIMING,),
    why="Kernels run on their own once they are queued, so the host's work can cost nothing.",
    when=(
        "In a recorded run the GPU is idle for a tenth of the span or more in gaps of half a "
        "millisecond and longer, in which the host calls nothing of CUDA."
    ),
    citations=guide("10.1.2", "9.1.2"),
    check=check,
    examples=Examples(
        fires={
            "timeline": {
                "span": "40ms",
                "busy": "14ms",
                "kernels": 5,
                "launches": 5,
                "host_idle": "25ms",
                "host_gaps": 5,
            }
        },
        quiet={"timeline": {"span": "14ms", "busy": "13.9ms", "kernels": 5, "launches": 5}},
        edges=(
            {
                "timeline": {
                    "span": "40ms",
                    "busy": "36ms",
                    "kernels": 5,
                    "host_idle": "4ms",
                    "host_gaps": 5,
                }
            },
            {
                "timeline": {
                    "span": "40ms",
                    "busy": "36ms",
                    "kernels": 5,
                    "host_idle": "3.9ms",
                    "host_gaps": 5,
                }
            },
        ),
    ),
)

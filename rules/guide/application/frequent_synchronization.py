"""A host that waits for the GPU after every few launches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_seconds
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Verdict
from gpuadvise.rules.evidence import traced
from gpuadvise.rules.judged_span import of_span
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide
from gpuadvise.rules.traced import LOUD, held_by, how_to_see_lines, idle_of, line_of, span_gain

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.timeline import IdleCause, TracedRun
_WORTH_A_REPAIR = number(
    0.1,
    "time that waits cost at most, of more than low priority",
    "share of the recording",
    "our judgement: the launches behind each wait remain, so that the bound is not reached",
    LaunchSet.RECORDED,
)


def check(timeline: TracedRun) -> Verdict:
    """Advise when waits come with every twenty-fifth launch or more, and cost 2 % of the span."""
    lost = timeline.lost_to_waits
    if not timeline.waits_cost:
        return PASSED
    seconds = timeline.lost_to_waits_alone
    idle = _after_waits(timeline)
    return Advice(
        message=(
            f"The host waits for the GPU {plural(timeline.waits, 'time')} beside "
            f"{plural(timeline.launches or timeline.kernels, 'launch', 'launches')}: after each wait "
            f"the GPU has nothing queued, in all for {of_span(timeline, seconds)}."
            f"{held_by(idle, seconds)}{_values(timeline)}"
        ),
        action=(
            f"Keep results on the GPU and look at them once, or every hundredth step. {_in_frameworks(timeline)}In CUDA: "
            "cudaEventRecord() and cudaStreamWaitEvent() instead of cudaStreamSynchronize(). Expect less than the bound: the launches remain, "
            "and one loop measured without its .item() ran 1.25 times as fast."
            f"{how_to_see_lines(timeline, idle)}"
        ),
        evidence=(
            traced("waits", timeline.waits, "calls"),
            traced("values read back", timeline.values_read, "copies"),
            traced("idle after waits", timeline.wait_idle_seconds, "s"),
            traced("span", timeline.span_seconds, "s"),
        ),
        location=line_of(idle),
        gain=span_gain(timeline, lost, "idle time after waits, and the copies of single values"),
        priority=Priority.LOW if _is_little(timeline, lost) or _is_host_work(timeline) else None,
    )


def _after_waits(run: TracedRun) -> IdleCause | None:
    """Return what the host did in the waits, or behind them: long work of its own is another finding's."""
    waiting = idle_of(run, "synchronization", "copy")
    return waiting if waiting is not None or run.host_bound else idle_of(run, "host-work")


def _in_frameworks(run: TracedRun) -> str:
    """Return what to do in PyTorch and JAX; nothing where neither runs."""
    if run.calls_pytorch is False:
        return ""
    return (
        "In PyTorch: add the loss up as a tensor and call .item() after the loop, no .cpu(), print() or "
        "if on a tensor inside it; in JAX: no float() or print() of an array inside it. "
    )


def _is_little(run: TracedRun, lost: float) -> bool:
    """Return whether what waits cost at most is little of all that was recorded."""
    return run.lasting_share(lost) < _WORTH_A_REPAIR


def _is_host_work(run: TracedRun) -> bool:
    """Return whether what follows the waits is mostly the host's long work."""
    return run.host_bound and run.share(run.lost_to_waits_alone) < LOUD


def _values(run: TracedRun) -> str:
    if not run.values_read:
        return ""
    time = show_seconds(run.values_read_seconds)
    copies = plural(run.values_read, "copy", "copies")
    return f" {copies} of a value or two to the host take {time}."


RULE = Rule(
    id="frequent-synchronization",
    title="Wait for the GPU less often",
    topic=Topic.APPLICATION,
    priority=Priority.MEDIUM,
    kinds=(Kind.TIMING,),
    why="A host that waits cannot queue work ahead, so each wait costs at least one launch.",
    when=(
        "In a recorded run the host waits for the GPU, or reads a value back, 20 times or more and "
        "at least once for each 25 launches, and that costs 2 % of the span or more (low up to a tenth of the recording)."
    ),
    citations=guide("10.1.2", "9.1.2"),
    check=check,
    examples=Examples(
        fires={
            "timeline": {
                "span": "7ms",
                "busy": "1ms",
                "kernels": 200,
                "launches": 200,
                "waits": 100,
                "values_read": 100,
                "values_read_time": "150us",
                "wait_idle": "2.4ms",
            }
        },
        quiet={
            "timeline": {
                "span": "6ms",
                "busy": "1ms",
                "kernels": 300,
                "launches": 300,
                "waits": 4,
                "values_read": 1,
                "values_read_time": "2us",
                "wait_idle": "20us",
            }
        },
        edges=(
            {
                "timeline": {
                    "span": "10ms",
                    "kernels": 200,
                    "launches": 200,
                    "waits": 25,
                    "wait_idle": "201us",
                }
            },
            {
                "timeline": {
                    "span": "10ms",
                    "kernels": 200,
                    "launches": 200,
                    "waits": 25,
                    "wait_idle": "199us",
                }
            },
        ),
    ),
)

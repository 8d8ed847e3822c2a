"""What a recorded run shows beside the GPU's work: its start, the host before and behind it, what is not recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.timeline import HOST_BOUND_IDLE
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_seconds, show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import Advice
from gpuadvise.rules.evidence import traced
from gpuadvise.rules.idle_times import IDLE_TIMES
from gpuadvise.rules.model import Priority
from gpuadvise.rules.traced import held_by, line_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.facts.timeline import TracedRun

MUCH_MORE = number(
    2.0,
    "idle time of one cause beside that of another",
    "times",
    "our judgement: an expert names the larger first",
)
MUCH_OUTSIDE = number(
    0.3,
    "host's code before and behind the GPU's work, of more than low priority",
    "share of the recording",
    "our judgement: with less a longer run has hardly any of it",
    LaunchSet.RECORDED,
)
_PROCESS_STARTS = number(
    1.0,
    "a program's time without CUDA, of more than low priority",
    "s",
    "our judgement: a process is started and its libraries are loaded in less",
    LaunchSet.RECORDED,
)


def beside_run(run: TracedRun) -> Iterator[Advice]:
    """Yield what is to be said of a recorded run beside its idle time: what takes the longest first."""
    taken: list[tuple[float, Advice]] = []
    if run.much_beside(run.one_time_seconds):
        taken.append((run.one_time_seconds, _once(run)))
    if run.much_beside(run.outside_code_seconds) and not _is_another_gap(run):
        taken.append((run.outside_code_seconds, _outside(run)))
    if run.much_beside(run.queued_seconds):
        taken.append((run.queued_seconds, _queued(run)))
    if run.share_of_process(run.silent_seconds) >= HOST_BOUND_IDLE:
        taken.append((run.silent_seconds, _silent(run)))
    for _, advice in sorted(taken, key=lambda one: -one[0]):
        yield advice
    if run.lost_launches:
        yield _cut(run)


def _once(timeline: TracedRun) -> Advice:
    seconds, whole = timeline.one_time_seconds, timeline.recorded_seconds
    return Advice(
        message=(
            f"{show_seconds(seconds)} of {show_seconds(whole)} recorded, "
            f"{show_share(timeline.share_of_recording(seconds))}, go to what a program does once: "
            "contexts, first allocations and launches, the loading and compiling of code, first calls of "
            f"operators, and freeing all of it{_most_of_it(timeline)}."
        ),
        action=(
            "Measure after a warm-up, or let the program run longer. Where this is how it is used, keep "
            "one process that serves many requests, load code for this GPU alone, and make contexts "
            "while the host still reads its data: cudaFree(0) on a thread."
        ),
        evidence=(
            traced("one-time work", seconds, "s"),
            traced("recorded", whole, "s"),
        ),
        reasoned=True,
        priority=Priority.LOW if timeline.kernels and timeline.too_short else Priority.MEDIUM,
    )


def _most_of_it(run: TracedRun) -> str:
    if run.start_cause is not None:
        return (
            f", {show_seconds(run.start_cause.culprit_seconds)} of it in {run.start_cause.culprit}"
        )
    return f", {run.outside_call} more than any other call" if run.outside_call else ""


def _outside(timeline: TracedRun) -> Advice:
    seconds, whole = timeline.outside_code_seconds, timeline.recorded_seconds
    return Advice(
        message=(
            f"The host works for {show_seconds(timeline.before_seconds)} before the GPU's first work and for "
            f"{show_seconds(timeline.after_seconds)} behind its last in no call of CUDA, "
            f"{show_share(timeline.share_of_recording(seconds))} of the {show_seconds(whole)} recorded."
            f"{held_by(timeline.before_cause, timeline.before_seconds)}"
        ),
        action=(
            "Look there first: reading, filling and checking data. Give the GPU the first part while the "
            "host makes the next, fill and check arrays in kernels, or use all cores of the host."
        ),
        evidence=(
            traced("before the GPU's first work", timeline.before_seconds, "s"),
            traced("behind its last", timeline.after_seconds, "s"),
            traced("recorded", whole, "s"),
        ),
        location=line_of(timeline.before_cause),
        priority=Priority.MEDIUM if _is_much(timeline, seconds) else Priority.LOW,
    )


def _queued(timeline: TracedRun) -> Advice:
    seconds, whole = timeline.queued_seconds, timeline.recorded_seconds
    return Advice(
        message=(
            f"The GPU begins its first work {show_seconds(seconds)} after its first kernel was launched, "
            f"{show_share(timeline.share_of_recording(seconds))} of the {show_seconds(whole)} recorded: the host had queued "
            "it, and it does not begin."
        ),
        action=IDLE_TIMES["queued"].action,
        evidence=(
            traced("launched, and not begun", seconds, "s"),
            traced("recorded", whole, "s"),
        ),
        reasoned=True,
        priority=Priority.LOW,
    )


def _cut(timeline: TracedRun) -> Advice:
    lost, launches = timeline.lost_launches, timeline.launches
    return Advice(
        message=(
            f"{lost:,} of {plural(launches, 'launch', 'launches')} have no kernel in the recording: what the host had queued "
            "was not recorded to its end, so that shares and gaps are those of a part."
        ),
        action="Wait for the GPU before the recording ends: torch.cuda.synchronize() on each GPU, cudaDeviceSynchronize().",
        evidence=(
            traced("launches without a kernel", lost, "launches"),
            traced("launches", launches, "launches"),
        ),
        reasoned=True,
        priority=Priority.LOW,
    )


def _silent(timeline: TracedRun) -> Advice:
    before, after = timeline.silent_before_seconds, timeline.silent_after_seconds
    whole = timeline.recorded_seconds + timeline.silent_seconds
    share = timeline.share_of_process(timeline.silent_seconds)
    much = timeline.silent_seconds >= _PROCESS_STARTS and share >= MUCH_OUTSIDE
    return Advice(
        message=(
            f"The program runs for {show_seconds(before)} before its first call of CUDA and for {show_seconds(after)} "
            f"behind its last, {show_share(share)} of {show_seconds(whole)}, without the GPU."
        ),
        action=(
            "Look there first: reading and filling data, what a library loads as the process starts, waits for input "
            "or for other threads. What is won on the GPU is won of the rest only."
        ),
        evidence=(
            traced("before the first call of CUDA", before, "s"),
            traced("behind the last", after, "s"),
            traced("seen of the program", whole, "s"),
        ),
        priority=Priority.MEDIUM if much else Priority.LOW,
    )


def _is_another_gap(run: TracedRun) -> bool:
    """Return whether the host does before the GPU's first work what it does in the long gaps, too."""
    if not run.host_bound or run.before_cause is None:
        return False
    work = next((one for one in run.idle_causes if one.cause == "host-work"), None)
    return work is not None and run.before_cause.culprit == work.culprit


def _is_much(run: TracedRun, seconds: float) -> bool:
    """Return whether *seconds* beside the run are much of the recording, and of what holds the GPU up."""
    if run.kernels and run.share_of_recording(seconds) < MUCH_OUTSIDE:
        return False
    idle = max((one.seconds for one in run.idle_causes), default=0.0)
    more = max(run.one_time_seconds, idle, run.launch_idle_seconds, run.host_idle_seconds)
    return more <= MUCH_MORE * seconds and not (run.kernels > 0 and run.too_short)

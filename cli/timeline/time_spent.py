"""Where most of a recorded run went, in a few sentences: what a program does beside the GPU's work first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import inert, plural
from gpuadvise.advisor.quantity import show_seconds, show_share
from gpuadvise.advisor.short_names import shortened
from gpuadvise.advisor.timelines.activities import Recorder
from gpuadvise.advisor.timelines.case import limit_among, measured_wait
from gpuadvise.advisor.timelines.gaps import GapCause
from gpuadvise.advisor.timelines.run_limit import RunLimiter
from gpuadvise.advisor.timelines.steps import StepSource
from gpuadvise.rules.judged_span import starts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.timelines.case import TimelineCase
    from gpuadvise.advisor.timelines.ranks import RankBalance
    from gpuadvise.advisor.timelines.timeline import Timeline

_NS = 1e9
_COMPUTING, _IDLE = "are kernels", "the GPU is idle"
_COMMUNICATION = "are communication that nothing hides"
_SILENT = 0.1  # of what was seen of the program, worth a word
_FEW = 2  # kernels, of which one can be most
_MOSTLY = 0.5  # of a recording, or of its idle time
_MUCH_OUTSIDE = 0.3  # of a recording, as for a finding of more than low priority
_WARM_STEPS = 3  # left out before the first that was recorded: a longer warm-up leaves out no more
_HOW_TO_WARM_UP = {Recorder.PYTORCH: ", schedule(wait=1, warmup=1, active=3)"}
_BY_LAUNCHES = (GapCause.LAUNCH, GapCause.HOST_WORK, GapCause.PROFILER)
# What the host does in most of the idle time, where that limits the run.
_MEANWHILE = {
    RunLimiter.HOST_CODE: ((GapCause.HOST_WORK,), "mostly while the host works"),
    RunLimiter.DATA_LOADING: ((GapCause.HOST_WORK,), "mostly while the host waits for data"),
    RunLimiter.LAUNCHES: (
        (*_BY_LAUNCHES, GapCause.SYNCHRONIZATION),
        "mostly because the next launch is not there yet",
    ),
    RunLimiter.WAITS: (
        (GapCause.SYNCHRONIZATION, GapCause.COPY, GapCause.QUEUED, GapCause.LAUNCH),
        "mostly because the host waits for the GPU, or gives it work again after a wait",
    ),
}


def time_spent(case: TimelineCase, balance: RankBalance | None = None) -> str:
    """Return where most of what was recorded went; *balance* measures how long its rank waited for others."""
    return " ".join((*_beside(case), _in_span(case, balance), *_reservations(case)))


def _beside(case: TimelineCase) -> Iterator[str]:
    """Yield what limits the run beside the GPU's work, where that takes more than the work, or most of all."""
    run, limit = case.run, case.limit
    whole, span = run.recorded_seconds, case.timeline.span_seconds
    if limit is None or not whole:
        return
    once, outside = run.one_time_seconds, run.outside_code_seconds
    if limit.limiter is RunLimiter.START_UP and (once > span or once >= _MOSTLY * whole):
        yield (
            f"{show_share(once / whole)} of {show_seconds(whole)} recorded go to what a program does once{_most_of_start(case)}."
            f"{' Then' if once > span else ''}"
        )
    if limit.limiter is RunLimiter.HOST_CODE and outside >= _MUCH_OUTSIDE * whole:
        yield (
            f"{show_share(outside / whole)} of {show_seconds(whole)} recorded the host works on its own before the GPU's "
            "first work or behind its last. In between"
        )


def _most_of_start(case: TimelineCase) -> str:
    """Return what took most of the program's start, behind a comma; nothing where it is not known."""
    if 1e-9 * case.timeline.first_steps_ns >= _MOSTLY * case.run.one_time_seconds:
        return ", mostly its first steps"
    subject = case.limit.subject if case.limit else None
    return f", {inert(subject)} more than anything else" if subject else ""


def _in_span(case: TimelineCase, balance: RankBalance | None) -> str:
    """Return where most of what is judged went: the time from the GPU's first work to its last, without a start."""
    line, first = case.timeline, case.timeline.first_steps
    left_out = starts(case.run)
    communication_ns = line.exposed_communication_ns if left_out else line.account.communication_ns
    parts = {
        _COMPUTING: line.computing_ns if left_out else line.account.computing_ns,
        _COMMUNICATION: communication_ns,
        "are copies": max(0, line.copy_ns - first.copies_ns) if left_out else line.copy_ns,
        "are memsets": line.account.memsets_ns,
        _IDLE: line.idle_ns - (line.account.start_up_ns if left_out else 0),
    }
    most = max(parts, key=parts.__getitem__)
    whole_ns = line.steady_ns if left_out else line.span_ns
    share = show_share(min(1.0, parts[most] / whole_ns)) if whole_ns else "-"
    seconds = show_seconds(whole_ns / _NS)
    whole = f"the {seconds} that are judged" if left_out else seconds
    verb = f"{most} that compute" if most == _COMPUTING and communication_ns else most
    return f"{share} of {whole} {verb}{_more_of(most, case, balance)}."


def _more_of(most: str, case: TimelineCase, balance: RankBalance | None) -> str:
    """Return what is known of the part of a span that *most* went to, behind a comma."""
    if most == _IDLE:
        return _meanwhile(case)
    if most == _COMPUTING:
        return _dominant_kernel(case)
    return _waits(case, balance) if most == _COMMUNICATION else ""


def _waits(case: TimelineCase, balance: RankBalance | None) -> str:
    """Return how much of the communication is waiting for other ranks, where that limits the run.

    Of a rank alone that is an estimate.
    """
    limit, exposed = limit_among(case, balance), case.run.exposed_communication_seconds
    if limit is None or limit.limiter is not RunLimiter.RANKS:
        return ""
    measured = measured_wait(case, balance)
    waited = case.run.rank_wait_seconds if measured is None else measured
    most = "most" if waited >= _MOSTLY * exposed else "much"
    perhaps = "perhaps " if measured is None else ""
    return f", {most} of it ({show_seconds(waited)}) {perhaps}waits for other ranks"


def _dominant_kernel(case: TimelineCase) -> str:
    """Return which kernel most of the computing is, behind a comma; nothing where none is, or there is no other."""
    limit = case.limit
    of_one = limit is not None and limit.limiter in (RunLimiter.ONE_KERNEL, RunLimiter.FEW_BLOCKS)
    line, run = case.timeline, case.run
    names = {kernel.shape.name for kernel in line.kernels}
    if limit is None or not of_one or limit.subject is None or len(names) < _FEW:
        return ""
    (name,) = shortened([limit.subject])
    whole = run.span_seconds if starts(run) else line.span_seconds
    return f", {show_share(limit.seconds / whole)} {inert(name)}"


def _meanwhile(case: TimelineCase) -> str:
    """Return what the host does in most of the idle time, behind a comma; nothing where no cause is most of it."""
    account, limit = case.timeline.account, case.limit
    if limit is None or limit.limiter not in _MEANWHILE or case.run.too_short:
        return ""
    limiter = limit.limiter
    waits_ns = account.idle_of(GapCause.SYNCHRONIZATION)
    if limiter is RunLimiter.LAUNCHES and waits_ns > account.idle_of(*_BY_LAUNCHES):
        limiter = RunLimiter.WAITS  # in which launches come late because of waits
    causes, words = _MEANWHILE[limiter]
    judged_ns = account.idle_ns - account.start_up_ns
    return f", {words}" if account.idle_of(*causes) >= _MOSTLY * judged_ns else ""


def _reservations(case: TimelineCase) -> Iterator[str]:
    """Yield why the recording says less of the program, or more of its start, than it seems."""
    line, run = case.timeline, case.run
    # Of copies alone little is enough to tell that they are many and small.
    if run.too_short and (run.kernels or not case.changes):
        yield "Too little ran to judge a run by: record more of it."
    if run.lost_launches:
        yield (
            f"{run.lost_launches:,} of {plural(run.launches, 'launch', 'launches')} have no kernel in the "
            "recording: it is cut."
        )
    silent = run.silent_seconds
    if run.share_of_process(silent) >= _SILENT:
        yield (
            f"The program runs for {show_seconds(silent)} more, before its first call of CUDA and behind its last: "
            f"{show_share(run.share_of_process(silent))} of all that was seen of it."
        )
    if starts(run):
        yield (
            f"{show_seconds(run.start_up_seconds)} more, of the {show_seconds(line.span_seconds)} from the GPU's first work to "
            f"its last, are start-up, which is left out{_how_to_leave_out(line)}."
        )


def _how_to_leave_out(line: Timeline) -> str:
    """Return how to record less of a start; nothing where steps were left out before the recording."""
    steps = line.steps
    if steps and steps.source is StepSource.PROFILER and steps.steps[0].number >= _WARM_STEPS:
        return ""
    return f": record after a warm-up{_HOW_TO_WARM_UP.get(line.recorder, '')}"

"""What limits a recorded run, in a word: the part of all that was recorded that is first to change."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import prod
from operator import itemgetter
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.library_kernels import is_library_product
from gpuadvise.advisor.thresholds import number
from gpuadvise.advisor.timelines.activities import Recorder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.facts.timeline import TracedRun
    from gpuadvise.advisor.timelines.timeline import Timeline

_NS = 1e9
AT_WORK = number(
    0.7,
    "GPU at work, so that its own work is the limit",
    "share of the recording",
    "our judgement: beyond it the idle time bounds a gain of 1.4 at most",
)
DOMINANT = number(
    0.6,
    "one kernel that is the limit",
    "share of the GPU's computing",
    "our judgement: with less, readers of public recordings speak of many kernels",
)
_MOSTLY_AT_WORK = number(
    0.5, "GPU at work beside idle time", "share of the recording", "our judgement: most of it"
)
_WORTH_A_LOADER = number(
    0.15, "idle time that one loader explains", "share of the recording", "our judgement"
)
_WORTH_A_FIRST_BATCH = number(
    0.3,
    "wait for a loader's first batch that comes before other work of the host",
    "share of the recording",
    "our judgement: it has a name and a repair, which the time beside it has not",
)
_MOSTLY_SILENT = number(
    0.8,
    "time of a program before its first call of CUDA that is its limit",
    "share of all that was seen of it",
    "our judgement: a gain of 1.25 is the most that all of the rest holds",
)
OWN_IDLE = number(
    0.3,
    "a rank's own idle time that comes before its waits for others",
    "share of the recording",
    "our judgement: others may wait for it meanwhile",
)
_LONGEST_PROCESS_START = number(
    1,
    "time before the first call of CUDA that belongs to a program's start, at most",
    "s",
    "our judgement: libraries take as long to load, under a profiler too",
)
_MUCH_IDLE = number(
    0.2,
    "idle time of one cause that comes before many kernels",
    "share of the recording",
    "our judgement: none of the kernels takes as much",
)
_MUCH_EXPOSED = number(
    0.15,
    "exposed communication that comes before many kernels",
    "share of the recording",
    "our judgement: a gain of 1.18 by one change, which none of the kernels has",
)
_FAR_MORE = number(
    2, "exposed communication beside a rank's own idle time", "times", "our judgement"
)
_MOSTLY_WAITS = number(
    1 / 3, "waits for other ranks", "share of exposed communication", "our judgement"
)


class RunLimiter(StrEnum):
    """What takes the time of a run."""

    START_UP = "start-up"
    HOST_CODE = "host-code"
    DATA_LOADING = "data-loading"
    LAUNCHES = "launches"
    WAITS = "waits"
    ALLOCATION = "allocation"
    COMMUNICATION = "communication"
    RANKS = "ranks"
    COPIES = "copies"
    PAGEABLE_COPIES = "pageable-copies"
    FEW_BLOCKS = "few-blocks"
    ONE_KERNEL = "one-kernel"
    MANY_KERNELS = "many-kernels"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimit:
    """The limiter, the seconds that it takes, and its *share* of all that was recorded, 0 to 1.

    ``subject`` is the kernel, the call or the host's doing that takes most of them, where one does.
    """

    limiter: RunLimiter
    seconds: float
    share: float
    subject: str | None = None


def limit_of(timeline: Timeline, run: TracedRun) -> RunLimit | None:
    """Return what limits a run; None where nothing was recorded that takes time."""
    if not run.recorded_seconds:
        return None
    if run.share_of_process(run.silent_before_seconds) > _MOSTLY_SILENT:
        seconds = run.silent_before_seconds
        return RunLimit(
            limiter=RunLimiter.HOST_CODE, seconds=seconds, share=run.share_of_process(seconds)
        )
    loading = next(_loading(run), None)
    # What comes again in every step is first to change, even where the start took longer once.
    if loading is not None and loading[1] >= max(
        run.one_time_seconds / 2, _WORTH_A_LOADER * run.recorded_seconds
    ):
        return _limit(run, *loading)
    first = next(_first_batch(run), None)
    if first is not None and first[1] >= max(
        run.one_time_seconds, _WORTH_A_FIRST_BATCH * run.recorded_seconds
    ):
        return _limit(run, *first)
    computing = timeline.computing_ns / _NS

    def compared(part: _Part) -> float:
        # Of kernels all of the computing counts beside other parts: which they are is the next question.
        return computing if part[0] in _KERNELS else part[1]

    return _limit(run, *max(_parts(timeline, run), key=compared))


_Part = tuple[RunLimiter, float, str | None]
_KERNELS = (RunLimiter.FEW_BLOCKS, RunLimiter.ONE_KERNEL, RunLimiter.MANY_KERNELS)


def _parts(timeline: Timeline, run: TracedRun) -> list[_Part]:
    """Return what may limit a run: of one that is at work its own work alone."""
    at_work = [*_by_gpu(timeline, run)]
    if run.share_of_recording(run.busy_seconds - run.exposed_communication_seconds) >= AT_WORK:
        return at_work
    idle = [] if run.sampled else [*_by_host(timeline, run), *_loading(run)]
    again = [part for part in idle if part[0] is not RunLimiter.START_UP]
    # Others may wait for what holds this rank up in each step: unless its own waits are far more.
    own_idle = sum(seconds for _, seconds, _ in again)
    own_first = run.share_of_recording(own_idle) >= OWN_IDLE
    held_up = own_first and _FAR_MORE * own_idle >= run.exposed_communication_seconds
    waiting = [] if held_up else [*_between_gpus(run)]
    # Beside what a program does once its kernels count; beside what comes again, from a half on.
    longest = max(idle, key=itemgetter(1), default=None)
    starts = longest is not None and longest[0] is RunLimiter.START_UP
    least = 0.0 if starts else _MOSTLY_AT_WORK
    many = not any(run.share_of_recording(part[1]) >= _MUCH_IDLE for part in again) and not any(
        run.share_of_recording(part[1]) >= _MUCH_EXPOSED for part in waiting
    )
    copying = (RunLimiter.COPIES, RunLimiter.PAGEABLE_COPIES)
    kept = [
        part
        for part in at_work
        if part[0] in copying
        or (run.share_of_recording(part[1]) >= least and (many or not _are_many(part)))
    ]
    parts = [*idle, *kept, *waiting]
    return parts if any(seconds for _, seconds, _ in parts) else at_work


def _are_many(part: _Part) -> bool:
    """Return whether kernels are many: products of a library share a name, whatever layer they are of."""
    limiter, _, subject = part
    products = limiter is RunLimiter.ONE_KERNEL and subject and is_library_product(subject)
    return limiter is RunLimiter.MANY_KERNELS or bool(products)


def _limit(run: TracedRun, limiter: RunLimiter, seconds: float, subject: str | None) -> RunLimit:
    silent = limiter is RunLimiter.START_UP and _process_start_seconds(run) > 0
    share = run.share_of_process(seconds) if silent else run.share_of_recording(seconds)
    return RunLimit(limiter=limiter, seconds=seconds, share=share, subject=subject)


def _by_host(timeline: Timeline, run: TracedRun) -> Iterator[_Part]:
    """Yield what the host did in idle time, without a loader's."""
    loaded = sum(seconds for _, seconds, _ in _loading(run)) + _on_host_seconds(run)
    work = next((idle for idle in run.idle_causes if idle.cause == "host-work"), None)
    host = run.host_idle_seconds
    # Where pages of managed memory are taken back, no gap of it is long. Between two operators of
    # PyTorch short ones are the framework's.
    by_framework = timeline.recorder is Recorder.PYTORCH or run.waits_for_launches
    if not host and not by_framework and work is not None:
        host = work.seconds
    # What follows a wait is the launches' as well, but where waits come after every few of them and cost more.
    by_waits = run.waits_often and run.wait_idle_seconds > run.launch_idle_seconds
    between = run.launch_idle_seconds + (0.0 if by_waits else run.wait_idle_seconds)
    most = max(0.0, run.span_seconds - run.busy_seconds - host)
    named = None if work is None or work.loader or work.communicates else work.culprit
    started = run.start_cause.culprit if run.start_cause is not None else run.outside_call
    yield RunLimiter.START_UP, run.one_time_seconds + _process_start_seconds(run), started
    yield RunLimiter.HOST_CODE, max(0.0, host + run.outside_code_seconds - loaded), named
    yield RunLimiter.LAUNCHES, min(between, most), None
    yield RunLimiter.ALLOCATION, run.allocation_idle_seconds, None
    # A call that copies, and holds the host up while the GPU is idle, waits for something, but for
    # the driver's staging of pageable memory. Where the host waits after every few launches, what does
    # not begin meanwhile is a wait's, too.
    waited = 0.0 if _mostly_pageable(timeline) else run.copy_idle_seconds
    if run.waits_often:
        waited += run.idle_while("queued") + run.queued_seconds + run.wait_idle_seconds
    yield RunLimiter.WAITS, waited, None


def _process_start_seconds(run: TracedRun) -> float:
    """Return what a process took before it called CUDA, where it does the rest of its start in calls.

    Longer than a process loads its libraries for it is the program's own work.
    """
    seconds = run.silent_before_seconds
    return seconds if run.one_time_seconds and seconds <= _LONGEST_PROCESS_START else 0.0


def _loading(run: TracedRun) -> Iterator[_Part]:
    """Yield the idle time in which a loader was asked for the next batch."""
    for idle in run.idle_causes:
        if idle.loader is not None:
            yield RunLimiter.DATA_LOADING, idle.culprit_seconds, idle.culprit


def _first_batch(run: TracedRun) -> Iterator[_Part]:
    """Yield the time before the GPU's first work in which a loader was asked for a batch."""
    before = run.before_cause
    if before is not None and before.loader in ("itself", "workers"):
        yield RunLimiter.DATA_LOADING, before.culprit_seconds, before.culprit


def _on_host_seconds(run: TracedRun) -> float:
    """Return the idle time in which the host itself communicated."""
    causes = (*run.idle_causes, run.before_cause)
    return sum(
        cause.culprit_seconds for cause in causes if cause is not None and cause.communicates
    )


def _between_gpus(run: TracedRun) -> Iterator[_Part]:
    """Yield communication that nothing hides, as waiting where most of it is."""
    seconds = run.exposed_communication_seconds
    on_host = _on_host_seconds(run)
    if on_host:
        yield RunLimiter.COMMUNICATION, seconds + on_host, None
        return
    waits = run.rank_wait_seconds >= _MOSTLY_WAITS * seconds and seconds > 0
    yield (RunLimiter.RANKS if waits else RunLimiter.COMMUNICATION), seconds, None


def _by_gpu(timeline: Timeline, run: TracedRun) -> Iterator[_Part]:
    """Yield the work of the GPU: copies, and kernels as one or as many."""
    exposed = timeline.exposed_copies_ns / _NS
    if _mostly_pageable(timeline):
        staged = 0.0 if run.sampled else run.copy_idle_seconds
        yield RunLimiter.PAGEABLE_COPIES, exposed + staged, None
    else:
        yield RunLimiter.COPIES, exposed, None
    computing = timeline.computing_ns / _NS
    by_name: dict[str, float] = {}
    for kernel in timeline.kernels:
        if not kernel.communicates:
            by_name[kernel.shape.name] = (
                by_name.get(kernel.shape.name, 0.0) + kernel.steady_ns / _NS
            )
    name = max(by_name, key=by_name.__getitem__, default=None)
    if name is None or by_name[name] < DOMINANT * computing:
        yield RunLimiter.MANY_KERNELS, computing, None
        return
    few = _has_few_blocks(timeline, name)
    limiter = RunLimiter.FEW_BLOCKS if few else RunLimiter.ONE_KERNEL
    yield limiter, min(computing, by_name[name]), name


def _mostly_pageable(timeline: Timeline) -> bool:
    """Return whether most of the copies' time is from or to pageable memory."""
    pageable = sum(copies.seconds for copies in timeline.steady_copies if copies.pageable)
    return 2 * pageable > sum(copies.seconds for copies in timeline.steady_copies)


def _has_few_blocks(timeline: Timeline, name: str) -> bool:
    """Return whether the longest launches of kernel *name* have fewer blocks than the GPU has SMs."""
    sms = (timeline.device.sm_count if timeline.device else None) or timeline.multiprocessors
    grid = next(kernel.shape.grid for kernel in timeline.kernels if kernel.shape.name == name)
    return bool(sms and grid and prod(grid) < sms)

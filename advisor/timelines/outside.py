"""What the host did before the GPU's first work and after its last, as far as calls of CUDA tell."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.timelines.activities import Recorder
from gpuadvise.advisor.timelines.calls import CallKind
from gpuadvise.advisor.timelines.intervals import Cover, length
from gpuadvise.advisor.timelines.start_up import (
    HeldUp,
    LongerThan,
    compiles,
    first_calls_of_operators,
    one_time_calls,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpuadvise.advisor.timelines.activities import CallRuns, KernelRuns, Recording
    from gpuadvise.advisor.timelines.host_events import Culprit, HostEvents
    from gpuadvise.advisor.timelines.intervals import Interval


_REACHES_GPU_NS = 50_000
_CONVOLUTION = re.compile(r"aten::(?:cudnn_|_?convolution|conv\dd)")
_UNLOADING = re.compile(r"cu(?:da)?(?:Module|Library)Unload")
# Later ones take some tenths of a millisecond under PyTorch's profiler.
_MAKES_HANDLE_NS = 1_000_000
# A kernel that does not begin within this time of its launch waits for what is not recorded.
_QUEUED_NS = 500_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """Nanoseconds from the first call to the GPU's first work, and from its last work to the last call.

    What PyTorch records of the host begins with its own long events, where these are earlier.
    ``calls_before_ns`` and ``calls_after_ns`` of them the host was in calls, or a context was made or a
    library set up: allocations, first launches, and what frees them. ``queued_ns`` of the first are those beside calls in which the
    first kernel had been launched and did not begin. ``call`` took most of what comes once, *call_ns*, the
    GPU's idle time in the span counted too; None: there was none. ``silent_before_ns`` and
    ``silent_after_ns`` lie further out: the program ran, and called nothing of CUDA yet, or any more.
    """

    before_ns: int = 0
    after_ns: int = 0
    calls_before_ns: int = 0
    calls_after_ns: int = 0
    queued_ns: int = 0
    silent_before_ns: int = 0
    silent_after_ns: int = 0
    call: str | None = None
    call_ns: int = 0
    culprit: Culprit | None = None  # what the host did for most of the time before
    starts: bool = False  # that is a compiler, or the first call of an operator that launched it

    @property
    def once_ns(self) -> int:
        """The time of what a program does once: in calls, compilers and first calls of operators."""
        return self.calls_before_ns + self.calls_after_ns + self._started_ns

    @property
    def before_code_ns(self) -> int:
        """The time before the GPU's first work in which the host was in its own code."""
        return self._first_ns - self._started_ns

    @property
    def _first_ns(self) -> int:
        return self.before_ns - self.calls_before_ns - self.queued_ns

    @property
    def _started_ns(self) -> int:
        """The time of a first call: what stands around one that takes most of it belongs to it."""
        if self.culprit is None or not self.starts:
            return 0
        covered = self.culprit.covered_ns
        return self._first_ns if 2 * covered >= self._first_ns else covered

    @property
    def after_code_ns(self) -> int:
        """The time behind the GPU's last work in which the host was in no call."""
        return self.after_ns - self.calls_after_ns


def outside_of(
    recording: Recording,
    span: Interval,
    kernels: Iterable[KernelRuns] = (),
    launched_ns: int | None = None,
) -> Outside:
    """Return what the host did outside of *span*, the time from the first work of *kernels* and copies to the last.

    The call that launched the first of the kernels came back at *launched_ns*, None where that is not known.
    """
    kernels = tuple(kernels)
    begun, ended = span
    called = {
        name: calls
        for name, calls in recording.calls.items()
        # Waits tell nothing of work, nor does what the driver unloads as the process ends.
        if calls.kind is not CallKind.SYNCHRONIZATION and not _UNLOADING.match(name)
    }
    cover = Cover([*(calls.times for calls in called.values()), recording.set_up_times])
    last, before, after = ended, 0, 0
    # Short calls, which are in no cover, begin a recording too.
    first = begun if recording.first_call_ns is None else min(begun, recording.first_call_ns)
    events = recording.host_events
    if recording.recorder is Recorder.PYTORCH and events.first_ns is not None:
        first = min(first, events.first_ns)
    for block in cover.blocks():
        first, last = min(first, block.starts[0]), max(last, block.ends[-1])
        if block.starts[0] < begun:
            before += sum(max(0, min(end, begun) - start) for start, end in block)
        if block.ends[-1] > ended:
            after += sum(max(0, end - max(start, ended)) for start, end in block)
    began = first if recording.began_ns is None else min(first, recording.began_ns)
    over = last if recording.over_ns is None else max(last, recording.over_ns)
    silent_before = first - began - _held_up(recording, (began, first))
    silent_after = over - last - _held_up(recording, (last, over))
    if first == begun and last == ended:
        return Outside(silent_before_ns=silent_before, silent_after_ns=silent_after)
    until, queued = begun, 0
    if launched_ns is not None and begun - launched_ns >= _QUEUED_NS:
        until = max(first, launched_ns)
        queued = (
            begun
            - until
            - length(Cover((one.times for one in called.values()), clip=(until, begun)))
        )
    spent = _spent_once(called, kernels, (first, last), span)
    call = max(spent, key=spent.__getitem__, default=None)
    (culprit,) = (
        events.culprits([(first, until)], of_many=True, work=span) if first < until else (None,)
    )
    return Outside(
        before_ns=begun - first,
        after_ns=last - ended,
        calls_before_ns=before,
        calls_after_ns=after,
        queued_ns=queued,
        silent_before_ns=silent_before,
        silent_after_ns=silent_after,
        # What is beside calls has no name: none takes most of it where that is more.
        call=call if call and spent[call] > length(Cover([recording.set_up_times])) else None,
        call_ns=spent[call] if call else 0,
        culprit=culprit,
        starts=culprit is not None and _starts(culprit, (first, until), kernels, events),
    )


def _held_up(recording: Recording, window: Interval) -> int:
    """Return the nanoseconds of *window* in which the profiler held the host up."""
    return length(Cover([recording.profiler_times], clip=window))


def _spent_once(
    called: dict[str, CallRuns], kernels: Iterable[KernelRuns], whole: Interval, span: Interval
) -> dict[str, int]:
    """Return the nanoseconds in calls of each function outside of *span*, and in its first ones inside."""
    once = one_time_calls(called, kernels)
    spent = {}
    for name, calls in called.items():
        spent[name] = length(Cover([calls.times], clip=(whole[0], span[0])))
        spent[name] += length(Cover([calls.times], clip=(span[1], whole[1])))
        least = 0 if calls.kind is CallKind.MODULE_LOAD else once.get(name)
        if least is not None:
            inside = LongerThan(Cover([calls.times], clip=span), least)
            spent[name] += sum(block.length() for block in inside.blocks())
    return spent


def _starts(
    culprit: Culprit, before: Interval, kernels: Iterable[KernelRuns], events: HostEvents
) -> bool:
    """Return whether a program begins with *culprit*, and does it once."""
    begin, end = before
    if culprit.loader is not None:
        return False
    if compiles(culprit, end - begin):
        return True
    if culprit.operator is None:
        return False
    name, since, until = culprit.operator
    # An operator that gave the GPU its first work, comes again, and never takes half as long then.
    launched, again = until + _REACHES_GPU_NS >= end, events.longest_of(name, until)
    if launched and 0 < 2 * again < until - since:
        return True
    # A convolution that takes so long on the host makes cuDNN's handle or searches for its algorithm.
    if launched and not again and _CONVOLUTION.match(name) and until - since >= _MAKES_HANDLE_NS:
        return True
    call = HeldUp(start_ns=begin, end_ns=end, operator=name, since_ns=since, until_ns=until)
    return bool(first_calls_of_operators([call], {}, kernels))

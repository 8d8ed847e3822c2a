"""What the host did before the GPU's first work and after its last, as far as calls of CUDA tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.timelines.activities import Recorder
from gpuadvise.advisor.timelines.calls import CallKind
from gpuadvise.advisor.timelines.intervals import Cover, length
from gpuadvise.advisor.timelines.start_up import HeldUp, compiles, first_calls_of_operators

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpuadvise.advisor.timelines.activities import KernelRuns, Recording
    from gpuadvise.advisor.timelines.host_events import Culprit
    from gpuadvise.advisor.timelines.intervals import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """Nanoseconds from the first call to the GPU's first work, and from its last work to the last call.

    What PyTorch records of the host begins with its own long events, where these are earlier.
    ``calls_before_ns`` and ``calls_after_ns`` of them the host was in calls: contexts, allocations,
    first launches, and what frees them. ``call`` took most of that, *call_ns*; None: there was none.
    """

    before_ns: int = 0
    after_ns: int = 0
    calls_before_ns: int = 0
    calls_after_ns: int = 0
    call: str | None = None
    call_ns: int = 0
    culprit: Culprit | None = None  # what the host did for most of the time before
    starts: bool = False  # that is a compiler, or the first call of an operator that launched it

    @property
    def once_ns(self) -> int:
        """The time of what a program does once: in calls, compilers and first calls of operators."""
        first = self.before_ns - self.calls_before_ns if self.starts else 0
        return self.calls_before_ns + self.calls_after_ns + first

    @property
    def before_code_ns(self) -> int:
        """The time before the GPU's first work in which the host was in its own code."""
        return 0 if self.starts else self.before_ns - self.calls_before_ns

    @property
    def after_code_ns(self) -> int:
        """The time behind the GPU's last work in which the host was in no call."""
        return self.after_ns - self.calls_after_ns


def outside_of(recording: Recording, span: Interval, kernels: Iterable[KernelRuns] = ()) -> Outside:
    """Return what the host did outside of *span*, the time from the first work of *kernels* and copies to the last."""
    begun, ended = span
    called = {
        name: calls
        for name, calls in recording.calls.items()
        if calls.kind is not CallKind.SYNCHRONIZATION  # waits tell nothing of work
    }
    cover = Cover(calls.times for calls in called.values())
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
    if first == begun and last == ended:
        return Outside()
    spent = {
        name: length(Cover([calls.times], clip=(first, begun)))
        + length(Cover([calls.times], clip=(ended, last)))
        for name, calls in called.items()
    }
    call = max(spent, key=spent.__getitem__, default=None)
    (culprit,) = events.culprits([(first, begun)]) if first < begun else (None,)
    return Outside(
        before_ns=begun - first,
        after_ns=last - ended,
        calls_before_ns=before,
        calls_after_ns=after,
        call=call if call and spent[call] else None,
        call_ns=spent[call] if call else 0,
        culprit=culprit,
        starts=culprit is not None and _starts(culprit, (first, begun), kernels),
    )


def _starts(culprit: Culprit, before: Interval, kernels: Iterable[KernelRuns]) -> bool:
    """Return whether a program begins with *culprit*, and does it once."""
    begin, end = before
    if culprit.loader is not None:
        return False
    if compiles(culprit, end - begin):
        return True
    if culprit.operator is None:
        return False
    name, since, until = culprit.operator
    call = HeldUp(start_ns=begin, end_ns=end, operator=name, since_ns=since, until_ns=until)
    return bool(first_calls_of_operators([call], {}, kernels))

"""Time in which the GPU did nothing, and what the host did meanwhile."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate, chain, repeat
from operator import sub
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.timelines.activities import LATEST, Recorder
from gpuadvise.advisor.timelines.calls import CallKind, waits_to_free
from gpuadvise.advisor.timelines.intervals import Cover, CoverReader, Intervals
from gpuadvise.advisor.timelines.replay import Replay
from gpuadvise.advisor.timelines.sorted_runs import merged
from gpuadvise.advisor.timelines.start_up import (
    COMPILING_NS,
    LONGEST_COMPILING_NS,
    LONGEST_SET_UP_NS,
    HeldUp,
    LongerThan,
    UpTo,
    comes_promptly,
    compiles,
    first_calls,
    first_calls_of_operators,
    first_runs,
    is_warm_up,
    one_time_calls,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from gpuadvise.advisor.timelines.activities import KernelRuns, Recording
    from gpuadvise.advisor.timelines.host_events import Culprit
    from gpuadvise.advisor.timelines.intervals import Blocks, Interval, IntervalLog

# Gaps up to here are what giving the GPU its next piece of work takes: launches took 5 to 16 us
# under the profilers seen, and PyTorch's own work between two of them as much again.
PROMPT_NS = 50_000
# Gaps from here on are the host's own doing; between two operators of PyTorch, under its
# profiler, up to 0.4 ms were seen.
LONG_NS = 500_000
# What a launch takes until it begins on an idle GPU, at most: some microseconds, or tens of them where a driver gathers launches.
_LONGEST_LATENCY_NS = 200_000
# Gaps that a timeline keeps one by one; all of them are in its totals.
KEPT_GAPS = 200
# Of so many the program's start is told by what the host did in each: a search for algorithms makes hundreds.
_LOOKED_AT = 1_000
_MOST_ALLOCATIONS = 100_000
# A copy of so long is of a batch: some megabytes on any link.
_MUCH_COPIED_NS = 1_000_000


class GapCause(StrEnum):
    """What the host did in a gap, or what made the gap."""

    HOST_WORK = "host-work"
    SYNCHRONIZATION = "synchronization"
    QUEUED = "queued"  # the host waits for what it had queued, and the GPU does not begin it
    LAUNCH = "launch"
    COPY = "copy"
    ALLOCATION = "allocation"
    MODULE_LOAD = "module-load"
    OTHER_CALL = "other-call"
    START_UP = "start-up"  # calls that come once: contexts, streams, first launches and allocations
    PROFILER = "profiler"  # what recording adds to launches, and its own buffers


_CAUSES = {
    CallKind.LAUNCH: GapCause.LAUNCH,
    CallKind.GRAPH_LAUNCH: GapCause.LAUNCH,
    CallKind.SYNCHRONIZATION: GapCause.SYNCHRONIZATION,  # while another GPU works
    CallKind.MEMSET: GapCause.LAUNCH,
    CallKind.COPY: GapCause.COPY,
    CallKind.ALLOCATION: GapCause.ALLOCATION,
    CallKind.RELEASE: GapCause.ALLOCATION,
    CallKind.MODULE_LOAD: GapCause.MODULE_LOAD,
    CallKind.OTHER: GapCause.OTHER_CALL,
}
# Of time that several threads spent in calls at once, the first of these counts.
_FIRST = (
    GapCause.PROFILER,
    GapCause.START_UP,
    GapCause.MODULE_LOAD,
    GapCause.ALLOCATION,
    GapCause.COPY,
    GapCause.LAUNCH,
    GapCause.OTHER_CALL,
    GapCause.QUEUED,
    GapCause.SYNCHRONIZATION,
)
# Calls that come once, and from which share of a gap on all of it is the program's start: libraries are
# loaded around them, for twice as long at most.
_ONCE = (GapCause.START_UP, GapCause.MODULE_LOAD)
_STARTS = 1 / 3
# A program that frees less than every other of so many allocations keeps what it allocates.
_KEEPS, _FEWEST_KEPT = 2, 10
_WHOEVER_WAITS = (*_ONCE, GapCause.QUEUED)
# What the host does beside calls; each holds the profiler's part of a launch.
_BESIDE_CALLS = (GapCause.LAUNCH, GapCause.HOST_WORK)
# Nothing else explains these, so whatever emptied the queue does.
_NOT_BY_CALLS = (GapCause.HOST_WORK, GapCause.LAUNCH, GapCause.OTHER_CALL)

# Of a gap with long work of the host, what goes with that work.
_BESIDE_WORK = (GapCause.HOST_WORK, GapCause.LAUNCH, GapCause.SYNCHRONIZATION)

Parts = dict[GapCause, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A stretch in which the GPU was idle; nanoseconds, the start from the span's.

    ``cause`` is that of its largest part. ``waited_before`` says that the host had been waiting
    for the GPU when the gap began: nothing could be queued behind the work that had just ended.
    ``culprit`` is what the host did through most of a long gap, where the recording names it.
    """

    start_ns: int
    length_ns: int
    cause: GapCause
    waited_before: bool
    culprit: Culprit | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleTime:
    """All idle time of one cause: its nanoseconds, and the gaps of which it is the largest part."""

    cause: GapCause
    gaps: int
    total_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Idleness:
    """The gaps of a timeline: the longest one by one in order of time, all in ``totals``.

    Work began at ``start_ns`` and ended at ``end_ns`` of the recording's clock; the last of the
    program's first calls was over at ``started_ns``. Each nanosecond of a gap has one cause.
    ``long_host`` is the host's own work of at least LONG_NS in a gap.
    ``after_waits_ns`` is the time of gaps that waits began or filled, and that no copy, allocation
    or loading of code took: nothing could be queued in time.
    ``host_after_waits_ns`` of them is the host's own work in long gaps.
    ``saved_without_waits_ns`` is what a replay wins without the host's time in waits and copies.
    """

    start_ns: int
    end_ns: int
    started_ns: int
    longest: tuple[Gap, ...]
    totals: tuple[IdleTime, ...]  # the longest total first
    long_host: IdleTime
    after_waits_ns: int = 0
    host_after_waits_ns: int = 0
    saved_without_waits_ns: int = 0

    def total_ns(self, *causes: GapCause) -> int:
        """Return the idle nanoseconds of these causes, of all where none is named."""
        return sum(total.total_ns for total in self.totals if not causes or total.cause in causes)


def idleness(
    busy: Cover,
    recording: Recording,
    *,
    kernels: Iterable[KernelRuns] = (),
    copies: Cover | None = None,
    launch_overhead_ns: int = 0,
    first_steps_end_ns: int | None = None,
    compiled: Iterable[KernelRuns] = (),
    loads_on_demand: bool = False,
    launched_ns: Callable[[Collection[int]], Mapping[int, int]] | None = None,
) -> Idleness:
    """Return the gaps in *busy*, the cover of a GPU's work, and the causes of each nanosecond.

    Time inside of a call is that call's. The rest of a short gap is the launch of what follows,
    of a long one the host's own work, unless memory was freed as it began, or the host had waited
    until then. Of each launch or piece of the host's work *launch_overhead_ns* are the profiler's.
    What *kernels* ran for the first time, which of them were *compiled* at a first call, and which
    *copies* follow, tells first calls, and so does a framework that *loads_on_demand* what it calls;
    until *first_steps_end_ns* all that no loader is asked for is the program's start, None where no
    step takes longer than others. *launched_ns* tells when the kernels were launched that began at
    given times.
    Raises BadInput where nothing was busy.
    """
    calls = _Calls(recording, kernels)
    replay, sums = calls.replay(), _Sums(launch_overhead_ns)
    start, end = _walk(busy, calls, _Waits(recording), sums, replay, first_steps_end_ns)
    longest = sorted(sums.longest, key=lambda gap: gap.start)
    culprits = recording.host_events.culprits(
        [(gap.start, gap.end) for gap in longest], work=(start, end)
    )
    ran = _Ran(
        kernels=tuple(kernels),
        compiled=tuple(compiled),
        copies=copies or Cover([]),
        busy_ns=end - start - sums.idle_ns,
    )
    started_ns = first_steps_end_ns or start
    once = _starts(recording, longest, culprits, ran, started_ns)
    started_ns = max((longest[at].end for at in once), default=started_ns)
    # A library may load at any time: what came before it was no start.
    # PyTorch's traces hold the loading itself, and no call in which a compiler hands code over.
    loads = recording.recorder is Recorder.NSIGHT_SYSTEMS
    firsts = first_runs(ran.kernels) if loads else ()
    most_ns = LONGEST_COMPILING_NS if loads_on_demand else LONGEST_SET_UP_NS
    once |= _set_up(longest, culprits, recording.library_starts, firsts, most_ns)
    if loads and loads_on_demand:
        once |= _first_uses(longest, culprits, ran.kernels)
    for at in once:
        longest[at] = sums.started(longest[at])
    if launched_ns is not None:
        _give_to_queue(longest, sums, launched_ns)
    sums.finish(calls.handed_on, end - start, started_ns, kept=calls.keep_memory)
    return Idleness(
        start_ns=start,
        end_ns=end,
        started_ns=started_ns,
        longest=_kept(longest, culprits, sums, start),
        totals=sums.totals(),
        long_host=IdleTime(
            cause=GapCause.HOST_WORK, gaps=sums.long_host[0], total_ns=sums.long_host[1]
        ),
        after_waits_ns=sums.after_waits_ns,
        host_after_waits_ns=sums.host_after_waits_ns,
        saved_without_waits_ns=replay.saved_ns,
    )


class _Ran(NamedTuple):
    """What ran on a GPU, as far as it tells what a program does once."""

    kernels: Sequence[KernelRuns]
    compiled: Sequence[KernelRuns]
    copies: Cover
    busy_ns: int


def _walk(
    busy: Cover,
    calls: _Calls,
    waits: _Waits,
    sums: _Sums,
    replay: Replay,
    first_steps_end_ns: int | None,
) -> Interval:
    """Give *sums* and the *replay* all gaps in *busy*; return when work began and when it ended.

    Raises BadInput where nothing was busy.
    """
    start = end = None
    for block in busy.blocks():
        gaps = _between(end, block)
        if start is None:
            start = block.starts[0]
            replay.begin(start)
        if len(gaps):
            waited = waits.before(gaps)
            parts = calls.parts(gaps, waited)
            if first_steps_end_ns is not None:
                _start(gaps, parts, first_steps_end_ns)
            sums.add(gaps, parts, waited, start)
            replay.add(_again(gaps, parts))
        end = block.ends[-1]
    if start is None or end is None:
        raise BadInput("The recording holds no work of a GPU.")
    return start, end


def _starts(
    recording: Recording,
    longest: Sequence[_LongGap],
    culprits: Sequence[Culprit | None],
    ran: _Ran,
    first_steps_end_ns: int,
) -> set[int]:
    """Return the places of the *longest* gaps that are the program's start."""
    once = _one_time(longest, culprits, first_steps_end_ns)
    if recording.recorder is not Recorder.NSIGHT_SYSTEMS:
        once |= _first_calls(longest, culprits, ran.busy_ns, ran.copies)
    if recording.recorder is Recorder.PYTORCH:
        once |= _of_operators(longest, culprits, ran.kernels)
    return once | _compiled(longest, culprits, first_runs(ran.compiled))


def _kept(
    longest: Sequence[_LongGap], culprits: Sequence[Culprit | None], sums: _Sums, start: int
) -> tuple[Gap, ...]:
    """Return the very longest of the *longest* gaps, in order of time from *start* on."""
    kept = sorted(range(len(longest)), key=lambda at: (-longest[at].length, at))[:KEPT_GAPS]
    return tuple(
        Gap(
            start_ns=gap.start - start,
            length_ns=gap.length,
            cause=sums.cause_of(gap),
            waited_before=gap.waited,
            culprit=culprits[at],
        )
        for at in sorted(kept)
        for gap in (longest[at],)
    )


def _one_time(
    longest: Sequence[_LongGap], culprits: Sequence[Culprit | None], first_steps_end_ns: int
) -> set[int]:
    """Return which of the *longest* gaps are no loader's, and are a compiler's or end before the first steps do."""
    return {
        at
        for at, (gap, culprit) in enumerate(zip(longest, culprits, strict=True))
        if _asks_no_loader(culprit)
        and gap.cause is not GapCause.MODULE_LOAD
        and ((culprit and compiles(culprit, gap.length)) or gap.end <= first_steps_end_ns)
    }


def _compiled(
    longest: Sequence[_LongGap], culprits: Sequence[Culprit | None], firsts: Sequence[int]
) -> set[int]:
    """Return which of the *longest* gaps end as a kernel runs for the first time that its first call compiles."""
    new = set(firsts)
    return {
        at
        for at, (gap, culprit) in enumerate(zip(longest, culprits, strict=True))
        if gap.end in new
        and gap.length >= COMPILING_NS
        and gap.cause is GapCause.HOST_WORK
        and _asks_no_loader(culprit)
    }


def _give_to_queue(
    longest: list[_LongGap],
    sums: _Sums,
    launched_ns: Callable[[Collection[int]], Mapping[int, int]],
) -> None:
    """Count as queued what is left of the *longest* gaps when the kernel was launched that ends them."""
    places = {
        gap.end: at
        for at, gap in enumerate(longest)
        if gap.cause is GapCause.HOST_WORK and gap.length >= LONG_NS
    }
    for end, launched in launched_ns(places).items():
        gap = longest[places[end]]
        queued = min(end - max(launched, gap.start), gap.parts[GapCause.HOST_WORK])
        if queued >= LONG_NS:
            longest[places[end]] = sums.queued(gap, queued)


def _set_up(
    longest: Sequence[_LongGap],
    culprits: Sequence[Culprit | None],
    libraries: Sequence[int],
    firsts: Sequence[int],
    most_ns: int,
) -> set[int]:
    """Return which of the *longest* gaps hold a start of one of *libraries*, or code loaded for a kernel's first run.

    What is compiled, loaded and looked for then is beside the calls that tell of it: up to as long as that takes,
    *most_ns* where code is loaded, and behind a library's start. Half of a gap before it is the program's own work.
    """
    new = set(firsts)
    return {
        at
        for at, (gap, culprit) in enumerate(zip(longest, culprits, strict=True))
        if gap.cause is not GapCause.MODULE_LOAD
        and _asks_no_loader(culprit)
        and (
            (gap.length <= LONGEST_SET_UP_NS and _starts_library(gap, libraries))
            or (gap.length <= most_ns and GapCause.MODULE_LOAD in gap.parts and gap.end in new)
        )
    }


def _starts_library(gap: _LongGap, libraries: Sequence[int]) -> bool:
    middle = gap.start + gap.length // 2
    return bisect_left(libraries, gap.start) < bisect_left(libraries, middle)


def _first_uses(
    longest: Sequence[_LongGap], culprits: Sequence[Culprit | None], kernels: Iterable[KernelRuns]
) -> set[int]:
    """Return which of the *longest* gaps end as a kernel runs for the first time that comes promptly later on."""
    lengths = {gap.end: gap.length for gap in longest}
    starts = {runs.starts[0]: runs.starts for runs in kernels if runs.starts[1:]}
    return {
        at
        for at, (gap, culprit) in enumerate(zip(longest, culprits, strict=True))
        if gap.cause is GapCause.HOST_WORK
        and gap.end in starts
        and gap.length <= LONGEST_SET_UP_NS
        and _asks_no_loader(culprit)
        and comes_promptly(starts[gap.end], gap.end + 1, gap.length, lengths)
    }


def _asks_no_loader(culprit: Culprit | None) -> bool:
    return culprit is None or culprit.loader is None


def _start(gaps: Intervals, parts: dict[int, Parts], until: int) -> None:
    """Give the gaps before *until* to the program's start, but for long ones in the host's own work.

    What held the host up in those is looked at one by one.
    """
    for at in range(bisect_right(gaps.ends, until)):
        length = gaps.ends[at] - gaps.starts[at]
        cause = _largest(parts[at]) if at in parts else _without_calls(length)
        loads = cause is GapCause.MODULE_LOAD  # which has a rule of its own
        if not loads and (cause is not GapCause.HOST_WORK or length < LONG_NS):
            parts[at] = {GapCause.START_UP: length}


def _of_operators(
    longest: Sequence[_LongGap], culprits: Sequence[Culprit | None], kernels: Iterable[KernelRuns]
) -> set[int]:
    """Return the places of the gaps in which an operator was called for the first time."""
    held = {
        at: HeldUp(
            start_ns=gap.start,
            end_ns=gap.end,
            operator=operator[0],
            since_ns=operator[1],
            until_ns=operator[2],
        )
        for at, gap in enumerate(longest)
        if gap.cause is GapCause.HOST_WORK
        and (culprit := culprits[at]) is not None
        and culprit.loader is None
        and (operator := culprit.operator) is not None
    }
    if not held:
        return set()
    lengths: Mapping[int, int] = {gap.end: gap.length for gap in longest}
    places = list(held)
    first = first_calls_of_operators(list(held.values()), lengths, kernels)
    return {places[at] for at in first}


def _first_calls(
    longest: Sequence[_LongGap],
    culprits: Sequence[Culprit | None],
    busy_ns: int,
    copies: Cover,
) -> set[int]:
    """Return the places of the gaps in which a framework's first calls held the GPU up: no loader's.

    Nor one that ends in *copies* of much: what the host prepared was data, not code.
    """
    host = [
        at
        for at, gap in enumerate(longest)
        if gap.cause is GapCause.HOST_WORK and _asks_no_loader(culprits[at])
    ]
    gaps = [(longest[at].length, longest[at].busy_before) for at in host]
    found = {host[place] for place in first_calls(gaps, busy_ns)}
    if not found:
        return found
    ends = {longest[at].end: at for at in found}
    return found - {
        ends[start]
        for block in copies.blocks()
        for start, end in block
        if start in ends and end - start >= _MUCH_COPIED_NS
    }


def _again(gaps: Intervals, parts: dict[int, Parts]) -> Intervals:
    """Return the gaps that come again: a program's start, and what was queued, are as long whoever waits."""
    lasting = {at for at, shares in parts.items() if _largest(shares) in _WHOEVER_WAITS}
    if not lasting:
        return gaps
    kept = [gap for at, gap in enumerate(gaps) if at not in lasting]
    return Intervals([start for start, _ in kept], [end for _, end in kept])


def _between(end: int | None, block: Intervals) -> Intervals:
    """Return the time between the intervals of *block*, and since *end*, where work ended before."""
    gaps = Intervals(block.ends[:-1], block.starts[1:])
    if end is not None:
        gaps.starts.insert(0, end)
        gaps.ends.insert(0, block.starts[0])
    return gaps


class _LongGap(NamedTuple):
    """One of the longest gaps, in nanoseconds of the recording's clock."""

    length: int
    start: int
    cause: GapCause
    waited: bool  # when it began
    busy_before: int  # what the GPU had worked until then
    parts: Parts
    after_wait: bool  # counted as such
    host_ns: int  # long work of the host in it, and what goes with that

    @property
    def end(self) -> int:
        """When it was over."""
        return self.start + self.length


class _Sums:
    """Gaps by cause, and the longest of them one by one."""

    def __init__(self, launch_overhead_ns: int) -> None:
        self.by_cause = {cause: [0, 0] for cause in GapCause}
        self.longest: list[_LongGap] = []
        self.long_host = [0, 0]
        self.after_waits_ns = 0
        self.host_after_waits_ns = 0
        self.idle_ns = 0
        self._overhead_ns = launch_overhead_ns
        self._launches = 0  # gaps that hold one
        self._profiler_ns = dict.fromkeys(_BESIDE_CALLS, 0)
        self._busy_at_last_allocation = 0
        # Gaps that allocations had a part in, by their end: its nanoseconds, and whether it is the largest.
        self._allocations: dict[int, tuple[int, bool]] = {}
        self._once_until = 0  # first allocations end here

    def add(self, gaps: Intervals, parts: dict[int, Parts], waited: set[int], start: int) -> None:
        """Add the gaps of a block; *parts* are those of gaps that calls or waits tell of."""
        lengths = list(map(sub, gaps.ends, gaps.starts))
        allocating = [at for at, shares in parts.items() if GapCause.ALLOCATION in shares]
        if allocating:
            last = max(allocating)
            idle_ns = self.idle_ns + sum(lengths[: last + 1])
            self._busy_at_last_allocation = gaps.ends[last] - start - idle_ns
            for at in allocating[: _MOST_ALLOCATIONS - len(self._allocations)]:
                most = _largest(parts[at]) is GapCause.ALLOCATION
                self._allocations[gaps.ends[at]] = parts[at][GapCause.ALLOCATION], most
        idle_before = self.idle_ns
        self.idle_ns += sum(lengths)
        plain = [length for at, length in enumerate(lengths) if at not in parts]
        long = [length for length in plain if length > PROMPT_NS]
        self._move(GapCause.HOST_WORK, len(long), sum(long))
        self._move(GapCause.LAUNCH, len(plain) - len(long), sum(plain) - sum(long))
        self._carve(GapCause.HOST_WORK, long)
        self._carve(GapCause.LAUNCH, [length for length in plain if length <= PROMPT_NS])
        for at, shares in parts.items():
            self._add_parts(at, lengths[at], shares, waited)
        for length in long:
            self._add_long(length)
        for at in waited:
            if at not in parts:
                self.after_waits_ns += lengths[at]
                self.host_after_waits_ns += lengths[at] if lengths[at] >= LONG_NS else 0
        least = self.longest[-1].length if len(self.longest) == _LOOKED_AT else 0
        if max(lengths) <= least:
            return
        for at, idle_ns in enumerate(accumulate(lengths, initial=idle_before)):
            if at == len(lengths) or lengths[at] <= least:
                continue
            begun, waits = gaps.starts[at], at in waited
            shares = parts.get(at) or {_without_calls(lengths[at]): lengths[at]}
            first = _largest(shares)
            self.longest.append(
                _LongGap(
                    length=lengths[at],
                    start=begun,
                    cause=first,
                    waited=waits,
                    busy_before=begun - start - idle_ns,
                    parts=shares,
                    after_wait=_is_after_wait(first, waited=waits),
                    host_ns=_long_host_ns(shares),
                )
            )
        self.longest.sort(key=lambda gap: (-gap.length, gap.start))
        del self.longest[_LOOKED_AT:]

    def _add_parts(self, at: int, length: int, shares: Parts, waited: set[int]) -> None:
        first = _largest(shares)
        for cause, part in shares.items():
            self._move(cause, cause is first, part)
        for cause in _BESIDE_CALLS:
            if cause in shares:
                self._carve(cause, [shares[cause]])
        after_wait = _is_after_wait(first, waited=at in waited)
        self.after_waits_ns += length if after_wait else 0
        host_ns = _long_host_ns(shares)
        self._add_long(host_ns)
        self.host_after_waits_ns += host_ns if after_wait else 0

    def _add_long(self, host_ns: int) -> None:
        if host_ns >= LONG_NS:
            self.long_host[0] += 1
            self.long_host[1] += host_ns

    def _carve(self, cause: GapCause, lengths: list[int]) -> None:
        """Remember what the profiler added to the launches of gaps."""
        self._launches += len(lengths)
        self._profiler_ns[cause] += sum(map(min, lengths, repeat(self._overhead_ns)))

    def _move(self, cause: GapCause, gaps: int, total_ns: int) -> None:
        self.by_cause[cause][0] += gaps
        self.by_cause[cause][1] += total_ns

    def started(self, gap: _LongGap) -> _LongGap:
        """Return a *gap* of the program's start, counted as that from now on: before `finish`."""
        own = {
            cause: part for cause, part in gap.parts.items() if cause is not GapCause.MODULE_LOAD
        }
        for cause, part in own.items():
            self._move(cause, -(cause is gap.cause), -part)
            if cause in _BESIDE_CALLS:
                self._launches -= 1
                self._profiler_ns[cause] -= min(part, self._overhead_ns)
        self._move(GapCause.START_UP, 1, sum(own.values()))
        self._allocations.pop(gap.end, None)
        self.long_host[0] -= gap.host_ns > 0
        self.long_host[1] -= gap.host_ns
        if gap.after_wait:
            self.after_waits_ns -= gap.length
            self.host_after_waits_ns -= gap.host_ns
        return gap._replace(cause=GapCause.START_UP)

    def queued(self, gap: _LongGap, queued_ns: int) -> _LongGap:
        """Return a *gap*, *queued_ns* of which were no work of the host, counted as that from now on: before `finish`."""
        parts = {**gap.parts, GapCause.QUEUED: gap.parts.get(GapCause.QUEUED, 0) + queued_ns}
        parts[GapCause.HOST_WORK] -= queued_ns
        now = gap._replace(cause=_largest(parts), parts=parts, host_ns=_long_host_ns(parts))
        moved = now.cause is not gap.cause
        self._move(GapCause.HOST_WORK, -moved, -queued_ns)
        self._move(GapCause.QUEUED, 0, queued_ns)
        self._move(now.cause, moved, 0)
        self.long_host[0] -= gap.host_ns > 0 and not now.host_ns
        self.long_host[1] -= gap.host_ns - now.host_ns
        if gap.after_wait:
            self.after_waits_ns -= queued_ns
            self.host_after_waits_ns -= gap.host_ns - now.host_ns
        return now

    def finish(self, handed_on: int, span_ns: int, started_ns: int, *, kept: bool) -> None:
        """Take off what recording cost, and first allocations; *handed_on* calls gave the GPU work.

        The program's start was over at *started_ns*. What is *kept* is allocated once, too.
        """
        share = min(1.0, handed_on / self._launches) if self._launches else 0.0
        for cause, profiler_ns in self._profiler_ns.items():
            taken = int(profiler_ns * share)
            self._move(cause, 0, -taken)
            self._move(GapCause.PROFILER, 0, taken)
        if kept or is_warm_up(self._busy_at_last_allocation, span_ns - self.idle_ns):
            gaps, total_ns = self.by_cause[GapCause.ALLOCATION]
            self._once_until = LATEST
        else:
            self._once_until = started_ns
            early = [part for end, part in self._allocations.items() if end <= started_ns]
            gaps, total_ns = sum(first for _, first in early), sum(part for part, _ in early)
        self._move(GapCause.ALLOCATION, -gaps, -total_ns)
        self._move(GapCause.START_UP, gaps, total_ns)

    def cause_of(self, gap: _LongGap) -> GapCause:
        """Return the cause of a gap: of one that allocations made the start, where they come once."""
        once = gap.cause is GapCause.ALLOCATION and gap.end <= self._once_until
        return GapCause.START_UP if once else gap.cause

    def totals(self) -> tuple[IdleTime, ...]:
        """Return the sums, the largest first."""
        return tuple(
            IdleTime(cause=cause, gaps=gaps, total_ns=total)
            for cause, (gaps, total) in sorted(self.by_cause.items(), key=lambda item: -item[1][1])
            if gaps or total
        )


def _is_after_wait(first: GapCause, *, waited: bool) -> bool:
    """Return whether a gap whose largest part is *first* is one that a wait made."""
    return first is GapCause.SYNCHRONIZATION or (waited and first in _NOT_BY_CALLS)


def _long_host_ns(shares: Parts) -> int:
    """Return the host's long work in a gap, and what goes with it.

    With the work done meanwhile, the next launch would have been there in time.
    """
    if shares.get(GapCause.HOST_WORK, 0) < LONG_NS:
        return 0
    return sum(shares.get(cause, 0) for cause in _BESIDE_WORK)


def _largest(parts: Parts) -> GapCause:
    return max(parts, key=parts.__getitem__)


def _without_calls(length_ns: int) -> GapCause:
    return GapCause.HOST_WORK if length_ns > PROMPT_NS else GapCause.LAUNCH


class _Calls:
    """The host's calls, read beside the gaps from front to back."""

    def __init__(self, recording: Recording, kernels: Iterable[KernelRuns]) -> None:
        self._recording = recording
        self._one_time = one_time_calls(recording.calls, kernels)
        self._readers = [(cause, CoverReader(blocks)) for cause, blocks in self._covers(recording)]
        self._releases = CoverReader(
            Cover(
                calls.times
                for name, calls in recording.calls.items()
                if calls.kind is CallKind.RELEASE and waits_to_free(name)
            )
        )
        queueing = (CallKind.LAUNCH, CallKind.GRAPH_LAUNCH, CallKind.COPY, CallKind.MEMSET)
        self.handed_on = sum(
            calls.durations.summary().count
            for calls in recording.calls.values()
            if calls.kind in queueing and calls.durations
        )

    @property
    def keep_memory(self) -> bool:
        """Whether most of the memory that was allocated was never freed: a pool that fills once."""
        count = {
            kind: sum(
                calls.durations.summary().count
                for calls in self._recording.calls.values()
                if calls.kind is kind and calls.durations
            )
            for kind in (CallKind.ALLOCATION, CallKind.RELEASE)
        }
        allocated = count[CallKind.ALLOCATION]
        return allocated >= _FEWEST_KEPT and _KEEPS * count[CallKind.RELEASE] < allocated

    def _covers(self, recording: Recording) -> Iterator[tuple[GapCause, Blocks]]:
        """Yield when the host was in calls of each cause, without short launches."""
        groups: dict[GapCause, list[IntervalLog]] = {}
        for name, calls in recording.calls.items():
            cause, least = _CAUSES[calls.kind], self._one_time.get(name)
            if least is None:
                groups.setdefault(cause, []).append(calls.times)
            else:
                yield GapCause.START_UP, LongerThan(Cover([calls.times]), least)
                yield cause, UpTo(Cover([calls.times]), least)
        yield GapCause.PROFILER, Cover([recording.profiler_times])
        yield GapCause.MODULE_LOAD, Cover([recording.load_times])
        for cause, logs in groups.items():
            yield cause, Cover(logs)

    def replay(self) -> Replay:
        """Return a replay of the run without the host's time in waits and in copies.

        They come together: a value that is read back is waited for, and so is a copy from
        pageable memory.
        """
        blocking = (CallKind.SYNCHRONIZATION, CallKind.COPY)
        logs = [calls.times for calls in self._recording.calls.values() if calls.kind in blocking]
        return Replay(Cover(logs))

    def parts(self, gaps: Intervals, waited: set[int]) -> dict[int, Parts]:
        """Return the parts of gaps that calls and waits tell of, by the gap's place."""
        inside = self._inside(gaps)
        freed = set(_begun_in(gaps, self._releases))
        parts: dict[int, Parts] = {}
        short = {at for at in waited if gaps.ends[at] - gaps.starts[at] <= PROMPT_NS}
        for at in {*inside, *freed, *short}:
            length = gaps.ends[at] - gaps.starts[at]
            parts[at] = shares = _shared_out(length, inside.get(at, {}))
            rest = length - sum(shares.values())
            if not rest:
                continue
            cause = _beside_calls(length, shares, freed=at in freed, waited=at in short)
            shares[cause] = shares.get(cause, 0) + rest
        return parts

    def _inside(self, gaps: Intervals) -> dict[int, Parts]:
        """Return the nanoseconds of gaps inside of calls, by the gap's place."""
        times: dict[int, Parts] = {}
        all_places: Sequence[int] = range(len(gaps))
        # The host waits for all that is queued, not for what comes next in the queue: of short
        # gaps a wait says nothing.
        long = [at for at in all_places if gaps.ends[at] - gaps.starts[at] > PROMPT_NS]
        for cause, reader in self._readers:
            places = long if cause is GapCause.SYNCHRONIZATION else all_places
            starts, ends = [gaps.starts[at] for at in places], [gaps.ends[at] for at in places]
            for block in reader.until(gaps.ends[-1]):
                for start, end in block if places else ():
                    for at in range(bisect_right(ends, start), len(places)):
                        if starts[at] >= end:
                            break
                        inside = min(end, ends[at]) - max(start, starts[at])
                        spent = times.setdefault(places[at], {})
                        # A wait that goes on has work queued before it: what begins now is that. Short
                        # parts are what any launch takes until it begins, which the wait let show.
                        queued = cause is GapCause.SYNCHRONIZATION and end > ends[at]
                        queued = queued and inside >= _LONGEST_LATENCY_NS
                        part = GapCause.QUEUED if queued else cause
                        spent[part] = spent.get(part, 0) + inside
        return times


def _beside_calls(length: int, shares: Parts, *, freed: bool, waited: bool) -> GapCause:
    """Return the cause of what is left of a gap beside its calls."""
    if sum(shares.get(cause, 0) for cause in _ONCE) >= _STARTS * length:
        return GapCause.START_UP  # libraries are loaded around such calls
    # cudaFree() waits for the GPU: whatever follows it could not be queued before.
    # Likewise what follows a wait, where the host did nothing long meanwhile.
    if freed:
        return GapCause.ALLOCATION
    return GapCause.SYNCHRONIZATION if waited else _without_calls(length)


def _shared_out(length: int, inside: Parts) -> Parts:
    """Return the parts of a gap of *length*: no more of them than it has."""
    if sum(inside.values()) <= length:
        return dict(inside)
    shares = {}
    for cause in _FIRST:
        if part := min(inside.get(cause, 0), length):
            shares[cause] = part
            length -= part
    return shares


def _begun_in(gaps: Intervals, calls: CoverReader) -> Iterator[int]:
    """Yield the places of the gaps that began in one of *calls*."""
    for block in calls.until(gaps.ends[-1]):
        for start, end in block:
            first, after = bisect_left(gaps.starts, start), bisect_left(gaps.starts, end)
            yield from range(first, after)


class _Waits:
    """The calls that waited for the GPU, in the order in which they came back."""

    def __init__(self, recording: Recording) -> None:
        waits = [calls.waits for calls in recording.calls.values() if calls.waits is not None]
        self._rows: Iterator[Interval] = chain.from_iterable(merged(waits))
        self._next = next(self._rows, None)

    def before(self, gaps: Intervals) -> set[int]:
        """Return the places of the gaps in which such a call came back."""
        waited = set()
        while self._next is not None and self._next[0] <= gaps.ends[-1]:
            end, start = self._next
            at = bisect_left(gaps.ends, end)
            if start < gaps.starts[at] <= end:
                waited.add(at)
            self._next = next(self._rows, None)
        return waited

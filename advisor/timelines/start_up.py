"""What a program does once: contexts, streams, the loading and compiling of code, first allocations.

No repair of a loop wins that time, and a longer run has no more of it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from gpuadvise.advisor.timelines.calls import CallKind
from gpuadvise.advisor.timelines.intervals import Cover, Intervals
from gpuadvise.advisor.timelines.steps import median_low

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gpuadvise.advisor.timelines.activities import CallRuns, KernelRuns
    from gpuadvise.advisor.timelines.host_events import Culprit

# Calls of the interface whose time does not hang on the amount of work.
_KINDS = (
    CallKind.LAUNCH,
    CallKind.GRAPH_LAUNCH,
    CallKind.MEMSET,
    CallKind.ALLOCATION,
    CallKind.RELEASE,
    CallKind.OTHER,
)
# Nor do these of them: they move the pages that they are asked for.
_BY_BYTES = re.compile(r"MemPrefetch|MemAdvise")
# A launch that loads code took 15 to 1,565 ms where the others took 5 to 16 us.
_TIMES_THE_MEDIAN = 100
_LEAST_NS = 1_000_000
# Of few calls none is typical; where they load code, shorter ones are first ones too.
_FEW, _LEAST_OF_FEW_NS = 8, 5_000_000
# More than so many of a function are no start, unless they load what runs for the first time.
_MOST = 8
# A compiled region that is only called takes less than a millisecond, and compiling one 0.3 s at least.
COMPILING_NS = 100_000_000
# The first calls of a script or a jitted function take so many times as long as what comes later.
_TIMES_LATER = 10
# A first step is the start where it takes so much longer than those that follow: contexts, handles of
# libraries and the loading of code take tens of milliseconds each.
_LEAST_OF_A_STEP_NS = 50_000_000
# So does one in which the GPU is idle for so many times as long as in later ones: what comes again shows there.
_TIMES_LATER_IDLE, _LEAST_IDLE_NS = 5, 1_000_000
_ALIKE = 2
# More steps than the first, and one in which a code path is new, are slow for what they do.
_MOST_FIRST_STEPS = 2
# What computes so many times as much, and repeats nothing, is no first step of what follows.
_LIKE_STEPS = 2
# A launch reaches the GPU within this time of the call that made it.
_REACHES_GPU_NS = 50_000
# Of an operator's last launch the kernel begins before that of the next operator could.
_BEFORE_THE_NEXT_NS = 5_000
_OF_PYTORCH = ("aten::", "c10d::")
# So many gaps in operators, none of which is a first call, tell what their stalls are like.
_SEVERAL = 3
# An operator's long calls are its first ones where these hold two thirds of their time.
_MOSTLY_FIRST = 2
# A library is loaded, and sets itself up, in this time: cuBLAS and cuDNN took 0.1 to 0.7 s.
LONGEST_SET_UP_NS = 1_000_000_000
# Kernels of Triton and its like are compiled in seconds, by processes of their own too.
LONGEST_COMPILING_NS = 10_000_000_000
# Allocations that all come before this share of the GPU's work fill a pool once.
_WARM_UP = 1 / 3


def one_time_calls(
    calls: Mapping[str, CallRuns], kernels: Iterable[KernelRuns] = ()
) -> dict[str, int]:
    """Return from how many nanoseconds on a call of a function is one of the program's start.

    A few long calls are the start, and any number where most of them give a kernel to the GPU that
    never ran before: its code is loaded in that call.
    """
    least = {
        name: bound for name, runs in calls.items() if (bound := _least_ns(name, runs)) is not None
    }
    firsts = first_runs(kernels)
    once = {}
    for name, bound in least.items():
        long, few = Cover([calls[name].times]), calls[name].durations.summary().count < _FEW
        # No launch takes so long once its code is there, however few of a recording are without.
        shorter = few or calls[name].kind is CallKind.LAUNCH
        count, loading = _loading(LongerThan(long, _LEAST_NS if shorter else bound), firsts)
        if count and loading * (_MOSTLY_FIRST + 1) >= _MOSTLY_FIRST * count:
            once[name] = _LEAST_NS if shorter else bound
        elif sum(map(len, LongerThan(long, bound).blocks())) in range(1, _MOST + 1):
            once[name] = bound
    return once


def first_runs(kernels: Iterable[KernelRuns]) -> list[int]:
    """Return when each of *kernels* ran for the first time, in order."""
    return sorted(first for runs in kernels if (first := runs.first_ns) is not None)


def _loading(long: LongerThan, firsts: Sequence[int]) -> tuple[int, int]:
    """Return how many calls are *long*, and behind how many of them a kernel ran for the first time, at *firsts*."""
    count = loading = 0
    for block in long.blocks():
        count += len(block)
        loading += sum(
            bisect_left(firsts, start) < bisect_left(firsts, end + _REACHES_GPU_NS)
            for start, end in block
        )
    return count, loading


def _least_ns(name: str, runs: CallRuns) -> int | None:
    if runs.kind not in _KINDS or not runs.durations or _BY_BYTES.search(name):
        return None
    summary = runs.durations.summary()
    if summary.count < _FEW:
        return _LEAST_OF_FEW_NS if summary.largest >= _LEAST_NS else None
    bound = max(_LEAST_NS, _TIMES_THE_MEDIAN * summary.median)
    least = _LEAST_NS if runs.kind is CallKind.LAUNCH else bound
    return bound if summary.largest >= least else None


def is_warm_up(busy_at_last_ns: int, busy_ns: int) -> bool:
    """Return whether allocations were over when the GPU had worked *busy_at_last_ns* of *busy_ns*."""
    return busy_at_last_ns < _WARM_UP * busy_ns


def first_calls(gaps: Sequence[tuple[int, int]], busy_ns: int) -> list[int]:
    """Return the places of the *gaps* that a framework's first calls made.

    *gaps* are the long ones in which the host worked on its own: how long each was, and what the
    GPU, which worked for *busy_ns* in all, had worked before it. A just-in-time compiler of which no
    event tells takes the first calls: each as long as several later ones, and before a third of the
    GPU's work.
    """
    first = [at for at, (_, before) in enumerate(gaps) if is_warm_up(before, busy_ns)]
    later_ns = max((gaps[at][0] for at in {*range(len(gaps))}.difference(first)), default=0)
    least = max(COMPILING_NS, _TIMES_LATER * later_ns)
    return [at for at in first if gaps[at][0] >= least]


def first_steps_end(bounds: Sequence[int]) -> int | None:
    """Return when the first steps are over that take ten times as long as those that follow.

    *bounds* are the begins of the steps and the end of the last. None where no step does: what a
    program does once shows by measurement, whatever it is.
    """
    lengths = [later - earlier for earlier, later in pairwise(bounds)]
    over = 0
    while over < len(lengths) // 2:
        usual = median_low(lengths[over + 1 :])
        if lengths[over] < max(_TIMES_LATER * usual, usual + _LEAST_OF_A_STEP_NS):
            break
        over += 1
    return bounds[over] if over else None


def held_up_steps_end(
    bounds: Sequence[int], idle: Sequence[int], computed: Sequence[int]
) -> int | None:
    """Return when the first steps are over in which the GPU was *idle* for far longer than in later ones.

    They *computed* what the others do, in nanoseconds. None where there is none such.
    """
    over = 0
    while over < len(idle) // 2 and _waits_longer(idle[over], idle[over + 1 :]):
        over += 1
    if not over or over > _MOST_FIRST_STEPS:
        return None
    usual = median_low(computed[over:])
    return bounds[over] if max(computed[:over]) <= _LIKE_STEPS * usual else None


def _waits_longer(idle: int, later: Sequence[int]) -> bool:
    """Return whether the GPU was *idle* far longer than in *later* steps, but for one of several."""
    ascending = sorted(later)
    several = len(ascending) >= _SEVERAL
    most = ascending[-2 if several else -1]
    # Two steps tell what is usual where they are alike.
    if not several and most > max(_ALIKE * ascending[0], _LEAST_IDLE_NS / 2):
        return False
    return idle >= max(_TIMES_LATER_IDLE * most, median_low(later) + _LEAST_IDLE_NS)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldUp:
    """A gap from *start_ns* to *end_ns* that the host spent in a call of *operator*.

    The call went from *since_ns* to *until_ns*.
    """

    start_ns: int
    end_ns: int
    operator: str
    since_ns: int
    until_ns: int

    @property
    def length_ns(self) -> int:
        """How long it was."""
        return self.end_ns - self.start_ns


def first_calls_of_operators(
    gaps: Sequence[HeldUp], long_gaps: Mapping[int, int], kernels: Iterable[KernelRuns]
) -> set[int]:
    """Return the places of the *gaps* in which an operator was called for the first time.

    Its call is the first where it launches a kernel that never ran before, and that comes again
    later without such a gap before it: a handle was made, code loaded, an algorithm searched for.
    *long_gaps* are the lengths of all long gaps by their end. Of an operator whose long calls come
    again none is the first, nor is a gap that is like those in which operators stall.
    """
    begins = sorted(
        (sorted(runs.starts) for runs in kernels if runs.starts), key=lambda one: one[0]
    )
    firsts = [starts[0] for starts in begins]
    first = set()
    for at, gap in enumerate(gaps):
        until = max(gap.until_ns, gap.end_ns) + _REACHES_GPU_NS
        launched = begins[bisect_left(firsts, gap.since_ns) : bisect_left(firsts, until)]
        if any(comes_promptly(starts, until, gap.length_ns, long_gaps) for starts in launched):
            first.add(at)
        elif all(starts[-1] < until for starts in launched) and _is_no_work(gap, firsts):
            first.add(at)  # of one pass alone, in which nothing comes again
    named: dict[str, list[int]] = {}
    for at, gap in enumerate(gaps):
        named.setdefault(gap.operator, []).append(at)
    found: set[int] = set()
    for places in named.values():
        own = [at for at in places if at in first]
        total = sum(gaps[at].length_ns for at in places)
        if (
            own
            and sum(gaps[at].length_ns for at in own) * (_MOSTLY_FIRST + 1) >= _MOSTLY_FIRST * total
        ):
            last = max(gaps[at].end_ns for at in own)
            found |= {at for at in places if gaps[at].end_ns <= last}
    # Where operators stall now and then, one that does so in the first step is none of its own.
    stalls = [gap.length_ns for at, gap in enumerate(gaps) if at not in found]
    if len(stalls) < _SEVERAL:
        return found
    return {at for at in found if gaps[at].length_ns >= _TIMES_LATER * median_low(stalls)}


def _is_no_work(gap: HeldUp, firsts: Sequence[int]) -> bool:
    """Return whether an operator of PyTorch that launched a kernel took the host a tenth of a second.

    What such an operator does itself on the host takes microseconds.
    """
    if gap.length_ns < COMPILING_NS or not gap.operator.startswith(_OF_PYTORCH):
        return False
    at = bisect_left(firsts, gap.since_ns)
    return at < len(firsts) and firsts[at] <= gap.until_ns + _BEFORE_THE_NEXT_NS


def comes_promptly(
    starts: Sequence[int], since: int, length_ns: int, long_gaps: Mapping[int, int]
) -> bool:
    """Return whether a kernel that ran at *starts* runs again after *since*, mostly behind no gap like *length_ns*."""
    again = starts[bisect_left(starts, since) :]
    held = sum(_TIMES_LATER * long_gaps.get(start, 0) >= length_ns for start in again)
    return 2 * held < len(again)


def compiles(culprit: Culprit, length_ns: int) -> bool:
    """Return whether a gap of *length_ns*, which the host spent in *culprit*, is a compiler at work."""
    return culprit.compiles and length_ns >= COMPILING_NS


class LongerThan:
    """The intervals of a cover from *least* nanoseconds on."""

    def __init__(self, cover: Cover, least: int) -> None:
        self._cover = cover
        self._least = least

    def blocks(self) -> Iterator[Intervals]:
        """Yield them in order, some thousand at a time."""
        for block in self._cover.blocks():
            kept = [(start, end) for start, end in block if self._keeps(end - start)]
            if kept:
                yield Intervals(*zip(*kept, strict=True))

    def _keeps(self, length: int) -> bool:
        return length >= self._least


class UpTo(LongerThan):
    """The other intervals."""

    def _keeps(self, length: int) -> bool:
        return length < self._least

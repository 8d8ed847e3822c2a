"""When a context was made, and libraries set themselves up, as an export of Nsight Systems tells.

No call tells it. A context is made within the first call that needs one, before the recorder notes
that call, and the recorder's own work for a new context marks when. A library that brings a copy of
the CUDA runtime looks up all of the driver's functions before it calls any. What the host does from
the call before such a mark to the call behind it is neither the program's own work nor a wait.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from gpuadvise.advisor.thresholds import number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from gpuadvise.advisor.timelines.intervals import Interval

# What the recorder does for a new context: CUPTI's resources, and handing on what it has so far.
CONTEXT_MARKS = ("CUPTI%Resource Management", "%data flush on context created")
# Every library that a process loads, and those among them that set much up.
LOADED = ("dlopen(%",)
LOADING_MARKS = tuple(
    f"dlopen(lib{name}%" for name in ("cublas", "cudnn", "cufft", "cusolver", "cusparse", "nvrtc")
)
LOOK_UPS = ("cuGetProcAddress%", "cuInit%", "cuModuleGetLoadingMode%", "cuDriverGetVersion%")
FEWEST_LOOK_UPS = number(
    50,
    "functions of the driver that a copy of the CUDA runtime looks up, at least",
    "calls",
    "380 to 420 were seen from each library; a program asks for some single ones",
)
_SET_UP = number(
    0.5,
    "time on each side of such a mark that belongs to it, at most",
    "s",
    "our judgement: making a context under the recorder took 0.1 to 0.4 s",
)
SET_UP_NS = round(_SET_UP * 1e9)


def runs_of_look_ups(times: Sequence[int], others: Sequence[int]) -> Iterator[int]:
    """Yield when a library looked up many of the driver's functions, with no *others* of its calls between.

    Both are in order.
    """
    at = 0
    while at < len(times):
        following = bisect_right(others, times[at])
        until = others[following] if following < len(others) else times[-1] + 1
        after = bisect_left(times, until, at + 1)
        if after - at >= FEWEST_LOOK_UPS:
            yield times[at]
        at = after


def around_marks(
    marks: Iterable[int], neighbours: Callable[[int], tuple[int | None, int | None]]
) -> Iterator[Interval]:
    """Yield the time from the call before each of *marks* to the call behind it, in order and apart.

    *neighbours* tells when the last call before a mark came back, and when the next one began. More
    than half a second on a side is something else, and nothing is before the first call.
    """
    last = None
    for mark in sorted(marks):
        if last is not None and mark <= last[1]:
            continue
        before, behind = neighbours(mark)
        if before is None:  # the recording begins with the first call
            last = (mark, behind or mark)
            continue
        start = max(mark - SET_UP_NS, before, before if last is None else last[1])
        end = mark if behind is None else min(mark + SET_UP_NS, behind)
        last = (start, max(start, end))
        yield last

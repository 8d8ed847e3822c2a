"""What PyTorch's allocator had handed out of a GPU's memory, by step: events of ``profile_memory=True``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.timelines.sorted_runs import SortedRuns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.timelines.chrome import Event

NAME = "[memory]"
CATEGORY = "cpu_instant_event"
_CUDA = 1  # as PyTorch counts types of devices
_MOST = 2**62
_MOST_GPUS = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryOfStep:
    """Bytes of the GPU that PyTorch had handed out: the most in a step, and at its end."""

    step: str
    peak_bytes: int
    end_bytes: int


class MemoryLog:
    """Allocations that are being read, in any order."""

    def __init__(self) -> None:
        self._rows = SortedRuns(width=3)  # GPU, time, bytes that are handed out then
        self._peaks: dict[int, int] = {}  # by GPU

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, event: Event) -> None:
        """Add an event, if it is about a GPU's memory and can be read."""
        args, time = event.get("args"), event.get("ts")
        if event.get("name") != NAME or not isinstance(args, dict):
            return
        gpu, total = args.get("Device Id", 0), args.get("Total Allocated")
        if args.get("Device Type") != _CUDA or not isinstance(time, int | float):
            return
        if not isinstance(gpu, int) or not isinstance(total, int) or not 0 <= total < _MOST:
            return
        if 0 <= gpu < _MOST_GPUS and abs(time) * 1000 < _MOST:
            self._rows.add(gpu, round(time * 1000), total)
            self._peaks[gpu] = max(total, self._peaks.get(gpu, 0))

    @property
    def fullest(self) -> int | None:
        """The GPU on which the most was handed out; None where nothing was."""
        return max(self._peaks, key=lambda gpu: self._peaks[gpu], default=None)

    def by_step(
        self, steps: Sequence[tuple[str, int, int]], gpu: int | None
    ) -> tuple[MemoryOfStep, ...]:
        """Return the memory of *gpu* in *steps*, each a name, its start and its end, in order of time."""
        found: dict[str, tuple[int, int]] = {}
        if gpu not in self._peaks or not steps:
            return ()
        at = 0
        for number, time, total in self._rows:
            if number != gpu:
                continue
            while at < len(steps) and time > steps[at][2]:
                at += 1
            if at < len(steps) and time >= steps[at][1]:
                name = steps[at][0]
                found[name] = (max(found.get(name, (0, 0))[0], total), total)
        return tuple(
            MemoryOfStep(step=name, peak_bytes=peak, end_bytes=end)
            for name, (peak, end) in found.items()
        )

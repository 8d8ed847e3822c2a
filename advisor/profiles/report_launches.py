"""Launches of one report held against each other: what one reads that the last one wrote, and the same work otherwise."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.library_kernels import base_name, library_of
from gpuadvise.advisor.facts.report_launches import Handover, OtherLaunch, PassChain
from gpuadvise.advisor.profiles.pass_chains import chain_around
from gpuadvise.advisor.profiles.passes import handed_over
from gpuadvise.advisor.thresholds import number

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpuadvise.advisor.facts.kernel_profile import KernelProfile

_SAME_WORK = number(
    0.05,
    "bytes of the same work, but for",
    "share",
    "our judgement: counters differ from run to run",
)
_SLOWER = number(
    1.05,
    "time of the same work, more than",
    "time / time of the faster one",
    "our judgement: noise",
)
_COMPARED_BYTES = number(
    1000000.0,
    "bytes of work that is compared",
    "bytes",
    "our judgement: fewer are alike by chance",
)
# What is written may still be in L2 when a launch ends.
_MOVED_LEAST = number(
    0.6,
    "bytes moved by the same work",
    "share",
    "50 MB of L2 beside what is written",
)


@dataclass(slots=True)
class ReportLaunches:
    """The launches of one report, by their numbers and by what they do."""

    _by_number: dict[tuple[str, int], KernelProfile] = field(default_factory=dict)
    _ordered: dict[int, list[KernelProfile]] = field(default_factory=dict)
    _by_kernel: dict[tuple[str, str | None, str], list[KernelProfile]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def add(self, file: str, profile: KernelProfile, numbers: Iterable[int] = ()) -> None:
        """Take in a launch of *file*, which stands for those with these *numbers*."""
        for at in numbers or ((profile.number,) if profile.number is not None else ()):
            self._by_number[file, at] = profile
        self._by_kernel[_kernel(file, profile)].append(profile)

    def handover(
        self, file: str, profile: KernelProfile, numbers: Iterable[int] = ()
    ) -> Handover | None:
        """Return what *profile* reads of what the launch just before it wrote; None where it is no mere pass over it."""
        own = tuple(numbers) or ((profile.number,) if profile.number is not None else ())
        earlier = [self._by_number.get((file, at - 1)) for at in own]
        before = next((launch for launch in earlier if launch is not None), None)
        if before is None:
            return None
        return handed_over(before, profile, sum(launch is before for launch in earlier))

    def chain(
        self, file: str, profile: KernelProfile, numbers: Iterable[int] = ()
    ) -> PassChain | None:
        """Return the launches in a row around *profile* that pass over arrays of one size; None where they are too few."""
        at = next(iter(numbers), profile.number)
        return (
            None
            if at is None
            else chain_around(profile, lambda step: self._by_number.get((file, at + step)))
        )

    def faster(self, file: str, profile: KernelProfile) -> tuple[OtherLaunch, ...]:
        """Return the launches of the same kernel and work in other shapes or versions that took less time, the fastest first.

        Of a library's kernel there are none: its block size is not its caller's, and its versions are other operations.
        """
        alike = self._by_kernel[_kernel(file, profile)]
        if len(alike) < 2 or profile.seconds is None or library_of(profile.kernel) is not None:
            return ()
        others = [
            other
            for other in self._of_as_many_bytes(alike, profile)
            if _is_otherwise(other, profile) and _same_work(other, profile)
        ]
        ordered = sorted(others, key=lambda other: other.seconds or 0.0)
        return tuple(
            _shown(other, profile)
            for other in ordered
            if other.seconds and profile.seconds > _SLOWER * other.seconds
        )

    def _of_as_many_bytes(
        self, alike: list[KernelProfile], profile: KernelProfile
    ) -> list[KernelProfile]:
        """Return the launches among *alike* that move about as many bytes: thousands of one kernel may stand there."""
        moved = profile.dram_bytes
        if moved is None:
            return []
        ordered = self._ordered.get(id(alike))
        if ordered is None or len(ordered) != len(alike):
            ordered = sorted(alike, key=_moved)
            self._ordered[id(alike)] = ordered
        first = bisect_left(ordered, moved * _MOVED_LEAST, key=_moved)
        return ordered[first : bisect_right(ordered, moved / _MOVED_LEAST, key=_moved)]


def _moved(profile: KernelProfile) -> float:
    return profile.dram_bytes or 0.0


def _kernel(file: str, profile: KernelProfile) -> tuple[str, str | None, str]:
    return file, profile.device, _base_name(profile.kernel)


_base_name = lru_cache(maxsize=1024)(base_name)  # a report holds few kernels, many times


def _is_otherwise(one: KernelProfile, other: KernelProfile) -> bool:
    """Return whether two launches of somebody's own kernel differ in their block or in their version."""
    versions = [launch.mangled or launch.kernel for launch in (one, other)]
    return one is not other and (one.block != other.block or versions[0] != versions[1])


def _same_work(one: KernelProfile, other: KernelProfile) -> bool:
    """Return whether two launches store as many bytes and read as many from device memory, or move as many.

    How often a thread asks for a byte is what versions differ in.
    """
    first, second = one.global_stores.bytes_used, other.global_stores.bytes_used
    if first is None or second is None:
        return _alike(one.dram_bytes, other.dram_bytes)
    few = max(first, second) < _COMPARED_BYTES  # sums, as many as there are blocks
    return (few or _alike(first, second)) and _alike(one.dram_read, other.dram_read)


def _alike(one: float | None, other: float | None) -> bool:
    """Return whether two amounts are the same and large enough not to be so by chance."""
    if one is None or other is None or min(one, other) < _COMPARED_BYTES:
        return False
    return math.isclose(one, other, rel_tol=_SAME_WORK)


def _shown(other: KernelProfile, profile: KernelProfile) -> OtherLaunch:
    return OtherLaunch(
        block=other.block or (1, 1, 1),
        grid=other.grid or (1, 1, 1),
        seconds=other.seconds or 0.0,
        registers=other.registers,
        name=other.kernel if other.kernel != profile.kernel else None,
    )

"""Launches of one report held against each other: what one reads that the last one wrote, and the same work otherwise."""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.library_kernels import base_name, library_of
from gpuadvise.advisor.facts.report_launches import Handover, OtherLaunch, PassChain
from gpuadvise.advisor.thresholds import LaunchSet, number

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpuadvise.advisor.facts.kernel_profile import KernelProfile, WarpRequests

# Caches are emptied before each profiled launch, so that device memory reads each byte that a launch needs once.
_SAME = number(
    0.03,
    "bytes read that the launch before wrote, but for",
    "share",
    "rows of a bias, or a sum per row, come beside",
)
_LEAST_BYTES = number(
    8000000.0,
    "bytes handed over",
    "bytes",
    "our judgement: with fewer the launch takes the time, and small arrays are often of one size by chance",
)
# A pass asks for each byte once, computes little with it, and writes about as much.
_ONCE = number(
    1.25,
    "bytes asked for by a pass",
    "per byte read",
    "our judgement",
)
_COMPUTING = number(
    60.0,
    "instructions of a pass",
    "per 4 bytes",
    "our judgement",
)
_LEAST_WRITTEN = number(
    0.2,
    "bytes that a pass writes",
    "per byte read",
    "a conversion to a quarter of the size",
)
_MOST_WRITTEN = number(
    2.1,
    "bytes that a pass writes, at most",
    "per byte read",
    "a conversion to twice the size",
)
_LEAST_BUSY = number(
    0.35,
    "device memory that a pass keeps busy",
    "share of its peak",
    "our judgement: below, something else than its bytes takes its time",
)
# Launches in a row over arrays of one size may be that by chance, or versions of each other: not three of different names.
_SHORTEST_CHAIN = number(
    3,
    "launches in a row that pass over arrays of one size",
    "",
    "our judgement: two are often alike by chance",
    LaunchSet.NINTH,
)
_LONGEST_CHAIN = 64  # launches that are looked at in either direction
_MOST_ARRAYS = number(
    6,
    "arrays that a pass loads, at most",
    "",
    "our judgement: an optimiser's step loads four",
)
_OF_A_SUM = number(
    0.05,
    "bytes that a sum over an array writes, at most",
    "per byte of the array",
    "our judgement",
)
# Those whose passes their caller can join: of the others two passes are steps of one call.
_JOINED_BY_CALLERS = ("PyTorch", "CuPy", "XLA", "torch.compile")
_OPERATOR = re.compile(r"elementwise|softmax|norm", re.IGNORECASE)  # of PyTorch, one kernel each
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
_WORD, _LANES = 4.0, 32


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
        return _handed_over(before, profile, sum(launch is before for launch in earlier))

    def chain(
        self, file: str, profile: KernelProfile, numbers: Iterable[int] = ()
    ) -> PassChain | None:
        """Return the launches in a row around *profile* that pass over arrays of one size; None where they are too few."""
        at = next(iter(numbers), profile.number)
        size = _size_of_arrays(profile)
        if at is None or size is None:
            return None
        links = [profile]
        for step in (-1, 1):
            for distance in range(1, _LONGEST_CHAIN):
                link = self._by_number.get((file, at + step * distance))
                if link is None or not _passes_over(link, size) or link.device != profile.device:
                    break
                if any(link.kernel == other.kernel for other in links):
                    break  # the next round of a loop, or what another program does at once
                links.insert(0, link) if step < 0 else links.append(link)
        return _chained(links)

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


def _handed_over(before: KernelProfile, profile: KernelProfile, times: int) -> Handover | None:
    written, read = _used(before.global_stores), profile.dram_read
    if not written or not read or not before.seconds or not profile.seconds:
        return None
    if written < _LEAST_BYTES or before.device != profile.device:
        return None
    if abs(read - written) > _SAME * read or not _joined_by_callers(profile.kernel):
        return None
    if not _is_pass(profile, read) or _of_one_stem(before.kernel, profile.kernel):
        return None
    return Handover(
        kernel=before.kernel,
        read_bytes=written,
        other_bytes=max(0.0, read - written),
        written_bytes=_used(profile.global_stores) or 0.0,
        seconds=profile.seconds,
        before_read_bytes=before.dram_read or 0.0,
        before_seconds=before.seconds,
        times=times,
    )


def _size_of_arrays(profile: KernelProfile) -> float | None:
    """Return the bytes of the arrays that *profile* passes over; None where it is no mere pass."""
    stored, loaded = _used(profile.global_stores), _used(profile.global_loads)
    if stored is None or loaded is None:
        return None
    size = loaded if stored <= _OF_A_SUM * loaded else stored
    return size if _passes_over(profile, size) else None


def _passes_over(profile: KernelProfile, size: float) -> bool:
    """Return whether a launch loads arrays of *size* bytes once each and stores one, or a sum over them, and computes little."""
    stored, loaded = _used(profile.global_stores), _used(profile.global_loads)
    if stored is None or loaded is None or size < _LEAST_BYTES or not profile.seconds:
        return False
    arrays = round(loaded / size)
    if not 1 <= arrays <= _MOST_ARRAYS or abs(loaded - arrays * size) > _SAME * loaded:
        return False
    if stored > _OF_A_SUM * size and abs(stored - size) > _SAME * size:
        return False
    if any(profile.tensor_operations.values()) or profile.global_reductions.requests:
        return False
    if max(profile.dram_busy or 0.0, profile.l2_busy or 0.0) < _LEAST_BUSY:
        return False
    per_word = (profile.instructions or math.inf) * _LANES / (loaded / _WORD)
    return per_word <= _COMPUTING and _joined_by_callers(profile.kernel)


def _chained(links: list[KernelProfile]) -> PassChain | None:
    """Return *links* as a chain, where they are enough, two of them store what others may load, and none is another's version."""
    stems = [_stem(link.kernel) for link in links if library_of(link.kernel) is None]
    stored = [_used(link.global_stores) or 0.0 for link in links]
    arrays = [size for size in stored if size > _OF_A_SUM * max(stored)]
    if len(links) < _SHORTEST_CHAIN or len(arrays) < 2 or len(set(stems)) < len(stems):
        return None
    moved = [
        (_used(link.global_loads) or 0.0) + written
        for link, written in zip(links, stored, strict=True)
    ]
    seconds = [link.seconds or 0.0 for link in links]
    return PassChain(
        kernels=tuple(link.kernel for link in links),
        array_bytes=max(arrays),
        bytes=sum(moved),
        most_bytes=max(moved),
        seconds=sum(seconds),
        longest_seconds=max(seconds),
    )


def _joined_by_callers(kernel: str) -> bool:
    """Return whether who calls *kernel*, or wrote it, decides what else it does."""
    library = library_of(kernel)
    if library is None:
        return True
    operator = library.name != "PyTorch" or _OPERATOR.search(base_name(kernel))
    return library.name in _JOINED_BY_CALLERS and bool(operator)


def _used(ways: WarpRequests) -> float | None:
    """Return the bytes that threads stored or loaded, of the sectors that moved; None where nobody counted."""
    if ways.sectors is None or ways.used_bytes is None:
        return None
    return ways.sectors * ways.used_bytes


def _is_pass(profile: KernelProfile, read: float) -> bool:
    """Return whether a launch asks for each byte once, computes little, and writes about as many."""
    loaded, written = _used(profile.global_loads), _used(profile.global_stores)
    if loaded is None or written is None or not profile.instructions:
        return False
    if any(profile.tensor_operations.values()) or profile.global_reductions.requests:
        return False
    if (profile.dram_busy or 0.0) < _LEAST_BUSY:
        return False
    per_word = profile.instructions * _LANES / (read / _WORD)
    return (
        loaded <= _ONCE * read
        and _LEAST_WRITTEN * read <= written <= _MOST_WRITTEN * read
        and per_word <= _COMPUTING
    )


def _of_one_stem(one: str, other: str) -> bool:
    """Return whether two kernels of somebody's own are versions of one by their names: the same first word."""
    if library_of(one) or library_of(other):
        return False
    return _stem(one) == _stem(other)


def _stem(kernel: str) -> str:
    return re.split(r"[_\d]|(?<=[a-z])(?=[A-Z])", base_name(kernel).lstrip("_"))[0].lower()


def _is_otherwise(one: KernelProfile, other: KernelProfile) -> bool:
    """Return whether two launches of somebody's own kernel differ in their block or in their version."""
    versions = [launch.mangled or launch.kernel for launch in (one, other)]
    return one is not other and (one.block != other.block or versions[0] != versions[1])


def _same_work(one: KernelProfile, other: KernelProfile) -> bool:
    """Return whether two launches store as many bytes and read as many from device memory, or move as many.

    How often a thread asks for a byte is what versions differ in.
    """
    first, second = _used(one.global_stores), _used(other.global_stores)
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

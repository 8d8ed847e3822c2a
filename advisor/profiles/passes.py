"""Launches that only pass over memory, held against their neighbours: what one kernel for both or all would save."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.library_kernels import base_name, library_of
from gpuadvise.advisor.facts.report_launches import Handover, PassChain
from gpuadvise.advisor.thresholds import LaunchSet, number

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpuadvise.advisor.facts.kernel_profile import KernelProfile

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
_VALUE_PER_ROW = number(
    0.065,
    "bytes that a pass loads beside its arrays",
    "per byte of an array",
    "arithmetic: a value of a row, which each warp loads beside 32 elements of 2 or 4 bytes",
)
_ISSUING = number(
    0.5,
    "issue slots of a pass, on a page that counts no requests",
    "share of the peak",
    "our judgement: 0.05 to 0.42 in eleven passes, 0.62 to 0.71 in three stencils",
    LaunchSet.NINTH,
)
_OF_A_SUM = number(
    0.05,
    "bytes that a sum over an array writes, at most",
    "per byte of the array",
    "our judgement",
)
# Those whose passes their caller can join: of the others two passes are steps of one call.
_JOINED_BY_CALLERS = ("PyTorch", "CuPy", "XLA", "torch.compile")
_OPERATOR = re.compile(r"elementwise|softmax|norm|reduce", re.IGNORECASE)  # of PyTorch
_FUSED = re.compile(
    r"softmax|norm", re.IGNORECASE
)  # several passes already, however many stand before it
_WORD, _LANES = 4.0, 32


def handed_over(before: KernelProfile, profile: KernelProfile, times: int) -> Handover | None:
    """Return what *profile* reads of what the launch *before* wrote; None where it is no mere pass over it."""
    written, read = before.global_stores.bytes_used, profile.dram_read
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
        written_bytes=profile.global_stores.bytes_used or 0.0,
        seconds=profile.seconds,
        before_read_bytes=before.dram_read or 0.0,
        before_seconds=before.seconds,
        times=times,
    )


def _is_pass(profile: KernelProfile, read: float) -> bool:
    """Return whether a launch asks for each byte once, computes little, and writes about as many."""
    loaded, written = profile.global_loads.bytes_used, profile.global_stores.bytes_used
    if loaded is None or written is None or (profile.dram_busy or 0.0) < _LEAST_BUSY:
        return False
    return (
        loaded <= _ONCE * read
        and _LEAST_WRITTEN * read <= written <= _MOST_WRITTEN * read
        and _computes_little(profile, read)
    )


def _computes_little(profile: KernelProfile, loaded: float) -> bool:
    """Return whether a launch has few instructions for the bytes it *loaded*, none of tensor cores and no reductions."""
    if any(profile.tensor_operations.values()) or profile.global_reductions.requests:
        return False
    return (profile.instructions or math.inf) * _LANES <= _COMPUTING * loaded / _WORD


def chain_around(
    profile: KernelProfile, neighbour: Callable[[int], KernelProfile | None]
) -> PassChain | None:
    """Return the launches in a row around *profile* that pass over the same arrays; None where they are too few.

    *neighbour* gives the launch so many places behind (or, below 0, before) *profile*. Where a page counts no bytes,
    launches of one shape stand for those over arrays of one size.
    """
    size = _size_of_arrays(profile)
    if size is None and not _passes_uncounted(profile):
        return None
    links = [profile]
    for step in (-1, 1):
        for distance in range(1, _LONGEST_CHAIN):
            link = neighbour(step * distance)
            if link is None or link.device != profile.device:
                break
            if not (_passes_like(profile, link) if size is None else _passes_over(link, size)):
                break
            if any(link.kernel == other.kernel for other in links):
                break  # the next round of a loop, or what another program does at once
            links.insert(0, link) if step < 0 else links.append(link)
    return _chained(links)


def _size_of_arrays(profile: KernelProfile) -> float | None:
    """Return the bytes of the arrays that *profile* passes over; None where it is no mere pass."""
    stored, loaded = profile.global_stores.bytes_used, profile.global_loads.bytes_used
    if stored is None or loaded is None:
        return None
    size = loaded if stored <= _OF_A_SUM * loaded else stored
    return size if _passes_over(profile, size) else None


def _passes_over(profile: KernelProfile, size: float) -> bool:
    """Return whether a launch loads arrays of *size* bytes once each and stores one, or a sum over them, and computes little."""
    stored, loaded = profile.global_stores.bytes_used, profile.global_loads.bytes_used
    if stored is None or loaded is None or size < _LEAST_BYTES:
        return False
    arrays = round(loaded / size)
    beside = loaded - arrays * size
    if not 1 <= arrays <= _MOST_ARRAYS or not -_SAME * loaded <= beside <= _VALUE_PER_ROW * loaded:
        return False
    if stored > _OF_A_SUM * size and abs(stored - size) > _SAME * size:
        return False
    return _takes_the_time_of_its_bytes(profile, loaded)


def _passes_uncounted(profile: KernelProfile) -> bool:
    """Return whether a launch of which a page counts no requests moves memory and computes little."""
    moved = profile.dram_bytes or 0.0
    counted = profile.global_stores.bytes_used is not None
    if counted or profile.grid is None or moved < _LEAST_BYTES:
        return False
    if profile.issue_busy is None or profile.issue_busy > _ISSUING:
        return False
    return _takes_the_time_of_its_bytes(profile, moved)


def _takes_the_time_of_its_bytes(profile: KernelProfile, loaded: float) -> bool:
    busy = max(profile.dram_busy or 0.0, profile.l2_busy or 0.0)
    computes_little = _computes_little(profile, loaded) and _joined_by_callers(profile.kernel)
    return bool(profile.seconds) and busy >= _LEAST_BUSY and computes_little


def _passes_like(profile: KernelProfile, link: KernelProfile) -> bool:
    same_shape = (link.grid, link.block) == (profile.grid, profile.block)
    return same_shape and _passes_uncounted(link)


def _chained(links: list[KernelProfile]) -> PassChain | None:
    """Return *links* as a chain, where they are enough, two of them store what others may load, and none is another's version."""
    stems = [_stem(link.kernel) for link in links if library_of(link.kernel) is None]
    if len(links) < _SHORTEST_CHAIN or len(set(stems)) < len(stems):
        return None
    stored = [link.global_stores.bytes_used for link in links]
    known = [size for size in stored if size is not None]
    arrays = [size for size in known if size > _OF_A_SUM * max(known)]
    if known and len(arrays) < 2:
        return None
    moved = [_moved(link) for link in links]
    seconds = [link.seconds or 0.0 for link in links]
    return PassChain(
        kernels=tuple(link.kernel for link in links),
        array_bytes=max(arrays, default=None),
        bytes=sum(moved),
        most_bytes=max(moved),
        seconds=sum(seconds),
        longest_seconds=max(seconds),
        ends_bytes=_loaded(links[0]) + stored[-1] if stored[-1] is not None else None,
        one_shape=_of_one_shape(links),
        least_seconds=max(moved)
        * min(time / size for time, size in zip(seconds, moved, strict=True)),
    )


def _moved(link: KernelProfile) -> float:
    stored = link.global_stores.bytes_used
    return link.dram_bytes or 0.0 if stored is None else _loaded(link) + stored


def _loaded(link: KernelProfile) -> float:
    return link.global_loads.bytes_used or 0.0


def _of_one_shape(links: list[KernelProfile]) -> bool:
    """Return whether *links* are of one library, or all somebody's own, and take as many threads for as many elements.

    Each template of PyTorch gives a thread elements in a number of its own. What is fused already may be one for another call.
    """
    if any(_FUSED.search(base_name(link.kernel)) for link in links if library_of(link.kernel)):
        return False
    shapes: dict[str, set[object]] = {}
    libraries = set()
    for link in links:
        library = library_of(link.kernel)
        libraries.add(library and library.name)
        template = base_name(link.kernel) if library and library.name == "PyTorch" else ""
        shapes.setdefault(template, set()).add((link.grid, link.block))
    return len(libraries) == 1 and all(len(seen) == 1 for seen in shapes.values())


def _joined_by_callers(kernel: str) -> bool:
    """Return whether who calls *kernel*, or wrote it, decides what else it does."""
    library = library_of(kernel)
    if library is None:
        return True
    operator = library.name != "PyTorch" or _OPERATOR.search(base_name(kernel))
    return library.name in _JOINED_BY_CALLERS and bool(operator)


def _of_one_stem(one: str, other: str) -> bool:
    """Return whether two kernels of somebody's own are versions of one by their names: the same first word."""
    if library_of(one) or library_of(other):
        return False
    return _stem(one) == _stem(other)


def _stem(kernel: str) -> str:
    return re.split(r"[_\d]|(?<=[a-z])(?=[A-Z])", base_name(kernel).lstrip("_"))[0].lower()

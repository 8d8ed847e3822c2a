"""Launches that only pass over memory, held against their neighbours: what one kernel for both or all would save."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.library_kernels import base_name, library_of
from gpuadvise.advisor.facts.report_launches import Handover
from gpuadvise.advisor.thresholds import LaunchSet, number

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile

# Caches are emptied before each profiled launch, so that device memory reads each byte that a launch needs once.
SAME = number(
    0.03,
    "bytes read that the launch before wrote, but for",
    "share",
    "rows of a bias, or a sum per row, come beside",
)
LEAST_BYTES = number(
    8000000.0,
    "bytes handed over",
    "bytes",
    "our judgement: with fewer the launch takes the time, and small arrays are often of one size by chance",
)
# A pass asks for each byte once, computes little with it, and writes about as much.
ONCE = number(
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
MOST_WRITTEN = number(
    2.1,
    "bytes that a pass writes, at most",
    "per byte read",
    "a conversion to twice the size",
)
LEAST_BUSY = number(
    0.35,
    "device memory that a pass keeps busy",
    "share of its peak",
    "our judgement: below, something else than its bytes takes its time",
)
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
_MOSTLY_STARTING = number(
    6e-6,
    "operation on elements that mostly starts and ends",
    "s",
    "as `short-launch` has it",
    LaunchSet.TENTH,
)
_OF_DEVICE_MEMORY = number(
    2.2,
    "L2 beside device memory in an operation on elements in order",
    "share of its peak / share of its peak",
    "1.1 to 1.4 in 30 launches, 2.9 to 4.4 where one walks across rows",
    LaunchSet.TENTH,
)
VALUE_OF_A_WARP = number(
    0.03125,
    "bytes of a value that each warp loads beside its array",
    "per byte of the array",
    "arithmetic: 4 bytes beside 32 elements of 4 bytes",
    LaunchSet.TENTH,
)
OF_A_SUM = number(
    0.05,
    "bytes that a sum over an array writes, at most",
    "per byte of the array",
    "our judgement",
)
# Those whose passes their caller can join: of the others two passes are steps of one call.
_JOINED_BY_CALLERS = ("PyTorch", "CuPy", "XLA", "torch.compile")
_OPERATOR = re.compile(r"elementwise|softmax|norm|reduce", re.IGNORECASE)  # of PyTorch
_WORD, _LANES = 4.0, 32


def handed_over(before: KernelProfile, profile: KernelProfile, times: int) -> Handover | None:
    """Return what *profile* reads of what the launch *before* wrote; None where it is no mere pass over it."""
    written, read = before.global_stores.bytes_used, profile.dram_read
    if not written or not read or not before.seconds or not profile.seconds:
        return None
    if written < LEAST_BYTES or before.device != profile.device:
        return None
    if abs(read - written) > SAME * read or not _joined_by_callers(profile.kernel):
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
    if loaded is None or written is None or (profile.dram_busy or 0.0) < LEAST_BUSY:
        return False
    return (
        loaded <= ONCE * read
        and _LEAST_WRITTEN * read <= written <= MOST_WRITTEN * read
        and _computes_little(profile, read)
    )


def _computes_little(profile: KernelProfile, loaded: float) -> bool:
    """Return whether a launch has few instructions for the bytes it *loaded*, none of tensor cores and no reductions."""
    if any(profile.tensor_operations.values()) or profile.global_reductions.requests:
        return False
    return (profile.instructions or math.inf) * _LANES <= _COMPUTING * loaded / _WORD


def size_of_arrays(profile: KernelProfile) -> float | None:
    """Return the bytes of the arrays that *profile* passes over; None where it is no mere pass."""
    stored, loaded = profile.global_stores.bytes_used, profile.global_loads.bytes_used
    if stored is None or loaded is None:
        return None
    size = loaded if stored <= OF_A_SUM * loaded else stored
    return size if passes_over(profile, size) else None


def passes_over(profile: KernelProfile, size: float) -> bool:
    """Return whether a launch loads arrays of *size* bytes once each and stores one, or a sum over them, and computes little."""
    stored, loaded = profile.global_stores.bytes_used, profile.global_loads.bytes_used
    if stored is None or loaded is None or size < LEAST_BYTES:
        return False
    arrays = round(loaded / size)
    beside = loaded - arrays * size
    if not 1 <= arrays <= _MOST_ARRAYS or not -SAME * loaded <= beside <= _VALUE_PER_ROW * loaded:
        return False
    if stored > OF_A_SUM * size and abs(stored - size) > SAME * size:
        return False
    return takes_the_time_of_its_bytes(profile, loaded)


def passes_uncounted(profile: KernelProfile) -> bool:
    """Return whether a launch of which a page counts no requests moves memory and computes little."""
    moved = profile.dram_bytes or 0.0
    counted = profile.global_stores.bytes_used is not None
    if counted or profile.grid is None or moved < LEAST_BYTES:
        return False
    if profile.issue_busy is None or profile.issue_busy > _ISSUING:
        return False
    return takes_the_time_of_its_bytes(profile, moved)


def is_operation(profile: KernelProfile) -> bool:
    """Return whether *profile*, by its name an operation on elements, takes the time of their bytes, or that of a launch."""
    if profile.seconds and profile.seconds < _MOSTLY_STARTING:
        return True
    moved = profile.global_stores.bytes_used or profile.dram_bytes or 0.0
    busy = max(profile.dram_busy or 0.0, profile.l2_busy or 0.0)
    in_order = (profile.l2_busy or 0.0) <= _OF_DEVICE_MEMORY * (profile.dram_busy or 0.0)
    return bool(profile.seconds) and moved >= LEAST_BYTES and busy >= LEAST_BUSY and in_order


def takes_the_time_of_its_bytes(profile: KernelProfile, loaded: float) -> bool:
    """Return whether a launch, whose caller may join it with others, computes little beside the bytes that it *loaded*."""
    busy = max(profile.dram_busy or 0.0, profile.l2_busy or 0.0)
    computes_little = _computes_little(profile, loaded) and _joined_by_callers(profile.kernel)
    return bool(profile.seconds) and busy >= LEAST_BUSY and computes_little


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
    return stem(one) == stem(other)


def stem(kernel: str) -> str:
    """Return the first word of a kernel's name."""
    return re.split(r"[_\d]|(?<=[a-z])(?=[A-Z])", base_name(kernel).lstrip("_"))[0].lower()

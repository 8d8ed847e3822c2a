"""Sums over each row of an array and the pass over it that uses them: a softmax or a norm in several launches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.library_kernels import library_of
from gpuadvise.advisor.profiles import passes
from gpuadvise.advisor.thresholds import LaunchSet, number

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gpuadvise.advisor.facts.kernel_profile import KernelProfile

_VALUE_OF_A_ROW = number(
    0.005,
    "bytes that a pass loads beside its array where it uses a sum per row",
    "per byte of the array, or more",
    "arithmetic: a value of 4 bytes for a warp that loads 512",
    LaunchSet.TENTH,
)
_SAME_ARRAY = number(
    0.01,
    "bytes that two passes over one array read, but for",
    "share",
    "0.0005 to 0.002 in four of one computation",
    LaunchSet.TENTH,
)
_MOST_SUMS = 3  # before the pass that uses them


def sums_and_their_use(
    profile: KernelProfile, neighbour: Callable[[int], KernelProfile | None]
) -> Sequence[KernelProfile]:
    """Return sums over each row of an array and the pass over it that uses them, where *profile* is one of them."""
    for ahead in range(_MOST_SUMS + 1):
        use = neighbour(ahead) if ahead else profile
        if use is None:
            break
        values = _values_of_rows(use)
        if not values:
            continue
        links = [use]
        for back in range(1, values + 1):
            total = neighbour(ahead - back) if ahead != back else profile
            if total is None or not _is_sum_over_what_is_used(total, use):
                break
            links.insert(0, total)
        return links if len(links) > 1 and any(link is profile for link in links) else ()
    return ()


def _values_of_rows(profile: KernelProfile) -> int:
    """Return how many values of a row each warp of *profile* may load beside an array, which it stores changed; 0: none."""
    loaded, read = profile.global_loads.bytes_used, profile.dram_read
    stored = profile.global_stores.bytes_used
    if not loaded or not read or not stored or stored <= passes.OF_A_SUM * loaded:
        return 0
    beside = (loaded - read) / read
    if not _VALUE_OF_A_ROW <= beside <= _MOST_SUMS * passes.VALUE_OF_A_WARP:
        return 0
    in_one_pass = loaded <= passes.ONCE * read and stored <= passes.MOST_WRITTEN * read
    if not in_one_pass or not passes.takes_the_time_of_its_bytes(profile, loaded):
        return 0
    return max(1, round(beside / passes.VALUE_OF_A_WARP))


def _is_sum_over_what_is_used(total: KernelProfile, use: KernelProfile) -> bool:
    loaded, read = total.global_loads.bytes_used, total.dram_read
    stored = total.global_stores.bytes_used
    if not loaded or not read or not stored or not use.dram_read or total.device != use.device:
        return False
    if stored > passes.OF_A_SUM * loaded or library_of(total.kernel) != library_of(use.kernel):
        return False
    same = abs(read - use.dram_read) <= _SAME_ARRAY * read
    return same and passes.takes_the_time_of_its_bytes(total, loaded)

"""Sums over each row of an array and the pass over it that uses them: a softmax or a norm in several launches."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.library_kernels import base_name, library_of
from gpuadvise.advisor.profiles import passes
from gpuadvise.advisor.thresholds import LaunchSet, number

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gpuadvise.advisor.facts.kernel_profile import KernelProfile

_SAME_ARRAY = number(
    0.01,
    "bytes that two passes over one array read, but for",
    "share",
    "0.0005 to 0.002 in four of one computation",
    LaunchSet.TENTH,
)
_ALL_OF_IT = 0.9  # of what a sum stores, at least, is loaded beside the array: counts are rounded
_SUM = re.compile(
    r"(?:^|_)(?:sums?|means?|max|min|peak|norms?|var|std|stats?|total|reduce|moments?|mass|amax|absmax)(?:_|\d|$)"
)
_MOST_SUMS = 3  # before the pass that uses them
_MOST_WEIGHTS = 2  # of each column: a factor and a summand


def sums_and_their_use(
    profile: KernelProfile, neighbour: Callable[[int], KernelProfile | None]
) -> Sequence[KernelProfile]:
    """Return sums over each row of an array and the pass over it that uses them, where *profile* is one of them.

    Where a page counts no bytes of loads and stores, names tell them: `row_mean` and `row_minus`.
    """
    for ahead in range(_MOST_SUMS + 2):
        use = neighbour(ahead) if ahead else profile
        if use is None:
            break
        named = passes.passes_uncounted(use) and not _is_named_a_sum(use)
        if not named and not _may_use_values_of_rows(use):
            continue
        links = [use]
        for back in range(1, _MOST_SUMS + 1):
            total = neighbour(ahead - back) if ahead != back else profile
            if total is None or total.device != use.device:
                break
            if not (_goes_before(total, use) if named else _is_sum_over_what_is_used(total, use)):
                break
            links.insert(0, total)
        if len(links) == 1:
            continue
        source = neighbour(place) if (place := ahead - len(links)) else profile
        if source is not None and not named and _stores_what_is_summed(source, links[0]):
            links.insert(0, source)
        if any(link is profile for link in links):
            return links
    return ()


def _stores_what_is_summed(source: KernelProfile, total: KernelProfile) -> bool:
    """Return whether *source* is a pass that stores as much as *total* reads: a residual that is added before a norm."""
    read, stored = total.dram_read or 0.0, source.global_stores.bytes_used or 0.0
    return (
        source.device == total.device
        and library_of(source.kernel) is library_of(total.kernel) is None
        and passes.stem(source.kernel) != passes.stem(total.kernel)
        and abs(read - stored) <= _SAME_ARRAY * read
        and passes.passes_over(source, stored)
    )


def _may_use_values_of_rows(profile: KernelProfile) -> bool:
    """Return whether *profile* passes over an array, which it stores changed, and loads at most a few values of each row beside it.

    Weights of the columns, which every row loads and a cache has, are as many bytes as the array.
    """
    loaded, read = profile.global_loads.bytes_used, profile.dram_read
    stored = profile.global_stores.bytes_used
    if not loaded or not read or not stored or stored <= passes.OF_A_SUM * loaded:
        return False
    weights = min(max(0, round(loaded / read) - 1), _MOST_WEIGHTS)
    of_rows = loaded - (1 + weights) * read
    if weights and of_rows <= 0:
        return False
    in_one_pass = loaded <= (passes.ONCE + weights) * read and stored <= passes.MOST_WRITTEN * read
    few = of_rows <= _MOST_SUMS * passes.VALUE_OF_A_WARP * read
    return few and in_one_pass and passes.takes_the_time_of_its_bytes(profile, loaded)


def _is_sum_over_what_is_used(total: KernelProfile, use: KernelProfile) -> bool:
    """Return whether *total* is a sum over the array of *use*, which loads at least as much more as that stores."""
    loaded, read = total.global_loads.bytes_used, total.dram_read
    stored, used = total.global_stores.bytes_used, use.global_loads.bytes_used
    if not loaded or not read or not stored or not used or not use.dram_read:
        return False
    if stored > passes.OF_A_SUM * loaded:
        return False
    if library_of(total.kernel) != library_of(use.kernel) or used - loaded < _ALL_OF_IT * stored:
        return False
    same = abs(read - use.dram_read) <= _SAME_ARRAY * read
    return same and passes.takes_the_time_of_its_bytes(total, loaded)


def _is_named_a_sum(profile: KernelProfile) -> bool:
    return bool(_SUM.search(base_name(profile.kernel)))


def _goes_before(total: KernelProfile, use: KernelProfile) -> bool:
    """Return whether *total* is, by its name, a sum for *use*: of the same first word, over as much memory, stores apart."""
    moved, most = total.dram_bytes or 0.0, passes.MOST_WRITTEN
    return (
        passes.passes_uncounted(total)
        and _is_named_a_sum(total)
        and library_of(total.kernel) is library_of(use.kernel) is None
        and passes.stem(total.kernel) == passes.stem(use.kernel)
        and (1 - passes.SAME) * moved <= (use.dram_bytes or 0.0) <= most * moved
    )

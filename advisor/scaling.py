"""What parallelising part of a program can win: Amdahl, Gustafson, and targets.

Guide, "Strong Scaling and Amdahl's Law" and "Weak Scaling and Gustafson's Law". *parallel* is
the fraction of the sequential run time that can be parallelised, 0 to 1.
"""

from __future__ import annotations

from math import ceil, inf

from gpuadvise.advisor.errors import BadInput


def amdahl(parallel: float, processors: float) -> float:
    """Return the speed-up of a problem of fixed size: 1 / ((1 - P) + P / N)."""
    _check(parallel, processors)
    return 1 / ((1 - parallel) + parallel / processors)


def amdahl_limit(parallel: float) -> float:
    """Return the speed-up that no number of processors exceeds: 1 / (1 - P), or infinity."""
    _check(parallel, 1)
    return inf if parallel == 1 else 1 / (1 - parallel)


def gustafson(parallel: float, processors: float) -> float:
    """Return the speed-up of a problem that grows with the machine: N + (1 - P)(1 - N)."""
    _check(parallel, processors)
    return processors + (1 - parallel) * (1 - processors)


def needed_parallel(target: float, processors: float) -> float | None:
    """Return the fraction that *processors* need to reach the speed-up *target*, or None.

    None when even a wholly parallel program stays below it.
    """
    _check(0, processors)
    if target <= 1:
        return 0.0
    if target > processors:
        return None
    return (1 - 1 / target) / (1 - 1 / processors)


def needed_processors(target: float, parallel: float) -> int | None:
    """Return the fewest processors that reach the speed-up *target*, None if none do."""
    _check(parallel, 1)
    if target <= 1:
        return 1
    if parallel == 1:
        return ceil(target)
    left = 1 / target - (1 - parallel)
    return ceil(parallel / left - 1e-9) if left > 1e-12 else None


def _check(parallel: float, processors: float) -> None:
    if not 0 <= parallel <= 1:
        raise BadInput(f"A parallel fraction is 0 to 1, not {parallel:g}.")
    if not 1 <= processors < inf:
        raise BadInput(f"Processors number 1 or more, not {processors:g}.")

"""One kernel compiled with several register caps: which of them are worth running.

Measured on an H200 with seven kernels, three block sizes and eleven caps each: a cap below the
compiler's own choice that wins a block per SM spilled in 70 of 71 cases and was faster in none;
dropping what spills kept the fastest candidate of every kernel.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gpuadvise.advisor.occupancy.budget import register_budget

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gpuadvise.advisor.limits import Limits
    from gpuadvise.advisor.occupancy.answer import Occupancy

# Fewer registers than this make any kernel spill (the caps that were measured begin here).
FEWEST_REGISTERS = 24
# Guide, "Occupancy": beyond this share, more of it no longer hides more latency.
_ENOUGH = 0.5
# Guide, "Thread and Block Heuristics": a good start is between 128 and 256 threads.
_GOOD_BLOCK = 256
_MOST_LOWER, _MOST_HIGHER = 5, 5
# Times that differ less are the same: they do from one run to the next.
_CLOSE = 1.02

SAME_CODE = "same code"  # begins the reason of what is dropped as such


@dataclass(frozen=True, slots=True, kw_only=True)
class CappedKernel:
    """One way to compile and launch a kernel, and what came of it.

    *cap* in registers per thread, None for the compiler's own choice. *local_bytes* and spills
    are bytes per thread, *static_shared* bytes per block. *dropped* says why it is out.
    """

    threads: int
    cap: int | None
    registers: int
    local_bytes: int
    spill_stores: int
    spill_loads: int
    static_shared: int
    code: bytes  # the machine instructions
    occupancy: Occupancy
    dropped: str | None = None

    @property
    def spilled(self) -> int:
        """Bytes that spills move, stores and loads."""
        return self.spill_stores + self.spill_loads


@dataclass(frozen=True, slots=True, kw_only=True)
class Picked:
    """The candidate to begin with and *why*; *others* are worth measuring against it."""

    candidate: CappedKernel
    why: str
    others: tuple[CappedKernel, ...]


def caps_to_try(limits: Limits, blocks: Iterable[int], registers: int) -> tuple[int, ...]:
    """Return the caps at which some block size wins or loses a block per SM.

    Those nearest to *registers*, the compiler's own choice; the choice itself is not among them.
    """
    steps: set[int] = set()
    for threads in blocks:
        for resident in range(1, limits.max_threads_per_sm // threads + 1):
            budget = register_budget(limits, threads, resident)
            if budget is not None:
                steps.add(min(budget, limits.max_registers_per_thread))
    lower = sorted(s for s in steps if FEWEST_REGISTERS <= s < registers)[-_MOST_LOWER:]
    higher = sorted(s for s in steps if s > registers)[:_MOST_HIGHER]
    return (*lower, *higher)


def judged(candidates: Sequence[CappedKernel]) -> tuple[CappedKernel, ...]:
    """Return *candidates* with the reason why each is dropped; the compiler's choices stay.

    A candidate is dropped when it cannot be launched, spills more than the compiler's own choice
    of its block size, is the same code, has a cap that this choice keeps to anyway, or has fewer
    registers without a warp more for it.
    """
    own = {c.threads: c for c in candidates if c.cap is None}
    result: list[CappedKernel] = []
    for candidate in candidates:
        rivals = [c for c in candidates if c.threads == candidate.threads and c is not candidate]
        reason = _reason(candidate, own.get(candidate.threads), rivals)
        result.append(replace(candidate, dropped=reason))
    return tuple(result)


def _reason(
    candidate: CappedKernel, own: CappedKernel | None, rivals: list[CappedKernel]
) -> str | None:
    if not candidate.occupancy.launchable:
        return "cannot be launched"
    if candidate.cap is None or own is None:
        return None
    if candidate.spilled > own.spilled:
        return f"spills {candidate.spilled - own.spilled:,} bytes more"
    if _same_code(candidate, own):
        return f"{SAME_CODE} as the compiler's choice"
    if _fits_already(candidate, own):
        return "the compiler's choice fits in it"
    for rival in rivals:
        if rival.spilled > candidate.spilled or not rival.occupancy.launchable:
            continue
        if _same_code(rival, candidate) and rival.cap is not None and rival.cap < candidate.cap:
            return f"{SAME_CODE} as the cap {rival.cap}"
        fewer = rival.cap is None and candidate.registers < rival.registers
        if fewer and candidate.occupancy.warps_per_sm <= rival.occupancy.warps_per_sm:
            return "fewer registers, and no more warps"
    return None


def _fits_already(candidate: CappedKernel, own: CappedKernel) -> bool:
    """Return whether a cap that *own* keeps to anyway wins neither registers, spills nor warps."""
    return (
        candidate.cap is not None
        and candidate.cap >= own.registers >= candidate.registers
        and candidate.spilled == own.spilled
        and candidate.occupancy.warps_per_sm == own.occupancy.warps_per_sm
    )


def _same_code(first: CappedKernel, second: CappedKernel) -> bool:
    return first.registers == second.registers and first.code == second.code


def pick(candidates: Sequence[CappedKernel]) -> Picked | None:
    """Return the one of *candidates*, as ``judged`` left them, to begin with; None for none.

    Fewest spills, then enough occupancy, then the compiler's own choice, then the block size
    nearest to the guide's.
    """
    left = [c for c in candidates if c.dropped is None]
    if not left:
        return None
    best = min(left, key=_preference)
    rivals = tuple(c for c in left if c is not best and c.threads == best.threads)
    return Picked(candidate=best, why=_why(best, left), others=rivals)


def _preference(candidate: CappedKernel) -> tuple[int, float, bool, int]:
    short = max(0.0, _ENOUGH - candidate.occupancy.occupancy)
    return candidate.spilled, short, candidate.cap is not None, abs(candidate.threads - _GOOD_BLOCK)


def _why(best: CappedKernel, left: list[CappedKernel]) -> str:
    share = f"{best.occupancy.occupancy:.0%}".replace("%", " %")
    if best.cap is None:
        text = f"The compiler's own choice of {best.registers} registers"
        text += " does not spill" if not best.spilled else " spills least"
        enough = best.occupancy.occupancy >= _ENOUGH
        reach = (
            "enough to hide latency"
            if enough
            else "and no other candidate reaches more without spilling"
        )
        return f"{text} and reaches {share} occupancy, {reach}."
    return (
        f"A cap of {best.cap} registers reaches {share} occupancy without more spills; "
        "the compiler's own choice reaches less."
    )


def fastest(candidates: Sequence[CappedKernel], seconds: Sequence[float]) -> CappedKernel:
    """Return which of *candidates* won; the compiler's own choice wins where the two are close."""
    times = sorted(zip(seconds, range(len(candidates)), strict=True))
    best = times[0][0]
    close = [candidates[number] for took, number in times if took <= best * _CLOSE]
    return next((c for c in close if c.cap is None), close[0])

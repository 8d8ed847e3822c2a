"""What to change, in sentences: the fix, the next steps, the block sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.occupancy.changes import Knob
from gpuadvise.advisor.prose import and_list, plural
from gpuadvise.advisor.quantity import show_share
from gpuadvise.cli.occupancy.words import NOUNS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.occupancy.steps import NextStep
    from gpuadvise.cli.occupancy.case import Case

# More ways out than this are a list, not advice; JSON has them all.
_MOST_FIXES = 3
_UNITS = {
    Knob.THREADS: "threads per block",
    Knob.REGISTERS: "registers per thread",
    Knob.SHARED_MEMORY: "bytes of shared memory per block",
    Knob.CARVEOUT: "bytes of shared memory per SM",
    Knob.BARRIERS: "barriers per block",
}
# Knobs whose step names a call or an option; the figures of the others say it all.
_SAYS_MORE = (Knob.REGISTERS, Knob.CARVEOUT)


def advice(case: Case) -> list[str]:
    """Return what helps, the smallest change first."""
    if case.found.fault:
        return [fix.how for fix in case.fixes[:_MOST_FIXES]]
    sizes = list(_sizes(case))
    steps = [_step(step) for step in case.steps if not (sizes and step.knob is Knob.THREADS)]
    return [*sizes, *steps, *_free(case)]


def _step(step: NextStep) -> str:
    after = step.after
    also = ""
    if step.together_with:
        nouns = [NOUNS[resource] for resource in step.together_with]
        also = f", together with the step of {and_list(nouns)}"
    gain = f"{plural(after.blocks_per_sm, 'block')}, {show_share(after.occupancy)}."
    change = f"{step.to:,} {_UNITS[step.knob]} instead of {step.start:,}{also}: {gain}"
    return f"{change} {step.how}" if step.knob in _SAYS_MORE else change


def _free(case: Case) -> Iterator[str]:
    room, launch = case.room, case.found.launch
    free = []
    if room.registers and room.registers > (launch.registers or 0):
        free.append(f"{room.registers} registers per thread")
    if room.dynamic_shared and room.dynamic_shared > launch.dynamic_shared:
        free.append(f"{room.dynamic_shared:,} bytes of dynamic shared memory")
    if free:
        yield f"Free, each alone: up to {and_list(free, 'or')}."


def _sizes(case: Case) -> Iterator[str]:
    """Yield the block sizes that keep most warps resident, if this one does not."""
    suggestion = case.suggestion
    if not suggestion or case.found.warps_per_sm >= suggestion.helper.warps_per_sm:
        return
    helper = suggestion.helper
    reached = f"threads per block instead of {case.found.launch.threads:,}"
    if suggestion.guide:
        sizes = [str(found.launch.threads) for found in suggestion.guide]
        blocks = {found.blocks_per_sm for found in suggestion.guide}
        gain = plural(blocks.pop(), "block") + ", " if len(blocks) == 1 else ""
        share = show_share(suggestion.guide[0].occupancy)
        yield f"{and_list(sizes, 'or')} {reached}: {gain}{share}, the most of any size."
    else:
        gain = f"{plural(helper.blocks_per_sm, 'block')}, {show_share(helper.occupancy)}"
        yield f"{helper.launch.threads:,} {reached}: {gain}, the most of any size."

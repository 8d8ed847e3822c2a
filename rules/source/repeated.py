"""One finding for a fault that a function, or a file, repeats: the first place speaks for all."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import and_list
from gpuadvise.advisor.source.diagnostic import FurtherPlace
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.source import cuda_check
from gpuadvise.rules.source.model import Extent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.source.diagnostic import Diagnostic

_MOST_LINES = number(12, "lines that a sentence names", "", "our judgement: more are hard to read")


def joined(diagnostics: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return *diagnostics* of one file, with one for each fault that a function or the file repeats.

    The first of those that are not minor, or the one about most calls, speaks for all, in its place. Edits of all of them stay.
    """
    groups: dict[tuple[str, str | None], list[Diagnostic]] = {}
    leading: dict[tuple[str, str | None], Diagnostic] = {}
    for one in diagnostics:
        if extent := cuda_check(one.rule).said_once:
            key = one.rule, None if extent is Extent.FILE else one.kernel
            groups.setdefault(key, []).append(one)
            if key not in leading or _weight(one) > _weight(leading[key]):
                leading[key] = one
    said = {id(lead): _with_further(lead, groups[key]) for key, lead in leading.items()}
    return tuple(
        said.get(id(one), one)
        for one in diagnostics
        if id(one) in said or not cuda_check(one.rule).said_once
    )


def _weight(one: Diagnostic) -> tuple[bool, int]:
    """Return what makes a finding speak for others: that it is not minor, and how many calls it is about."""
    return not one.minor, int(one.detail.get("calls", "1"))


def _with_further(lead: Diagnostic, group: list[Diagnostic]) -> Diagnostic:
    others = [one for one in group if one is not lead]
    if not others:
        return lead
    lines = sorted({one.where.line for one in others})
    named = [str(line) for line in lines[:_MOST_LINES]]
    if len(lines) > _MOST_LINES:
        named.append(f"{len(lines) - _MOST_LINES} more")
    places = f"{len(others)} more place{'s' if len(others) > 1 else ''}"
    said = f"Likewise at {places} of this {cuda_check(lead.rule).said_once} (line{'s' if len(lines) > 1 else ''} {and_list(named)})."
    return replace(
        lead,
        message=f"{lead.message} {said}",
        edits=tuple(edit for one in group for edit in one.edits),
        further=tuple(
            FurtherPlace(where=one.where, seen=one.seen, kernel=one.kernel) for one in others
        ),
    )

"""Every source rule over one CUDA file."""

from __future__ import annotations

import gc
import re
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.cuda_file import CudaFile, read_cuda
from gpuadvise.advisor.source.faults import (
    arithmetic,
    control_flow,
    kernels,
    math_calls,
    memory,
    runtime_calls,
)
from gpuadvise.advisor.source.launches import Launches
from gpuadvise.advisor.source.rule_context import RuleContext
from gpuadvise.advisor.source.suppressions import Suppression, suppressed, suppressions_in
from gpuadvise.advisor.source.text import SourceText, source_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic, SourceRange
    from gpuadvise.advisor.source.rule_context import SourceCheck
    from gpuadvise.advisor.source.scopes import SourceFunction


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRule:
    """What looks for a fault; *rules* are the ids of all that it reports.

    It looks at device code when *on_device*, at host code when not, at both when None. One that is *opt_in* runs only when it is asked for: the source alone does not prove it.
    """

    rules: tuple[str, ...]
    check: SourceCheck
    on_device: bool | None = None
    opt_in: bool = False


# What only HIP writes, and what a file names that means CUDA as well or instead.
_HIP = re.compile(rb"^[ \t]*#[ \t]*include[ \t]*[<\"]hip/|\bhip[A-Z]\w+\(", re.MULTILINE)
_CUDA = re.compile(rb"\bcuda[A-Z_]\w+|[<\"/]cuda|cooperative_groups|nvcuda")
CUDA_RULES = (
    SourceRule(
        rules=("divergent-barriers",), check=control_flow.divergent_barriers, on_device=True
    ),
    SourceRule(
        rules=("divergent-branches",), check=control_flow.divergent_branches, on_device=True
    ),
    SourceRule(rules=("unchecked-errors",), check=runtime_calls.unchecked_errors, on_device=False),
    SourceRule(
        rules=("exceeded-launch-bounds", "impossible-launch"), check=kernels.exceeded_launch_bounds
    ),
    SourceRule(
        rules=("legacy-warp-intrinsics",), check=kernels.legacy_warp_intrinsics, on_device=True
    ),
    SourceRule(
        rules=("unsynchronized-timers",), check=runtime_calls.unsynchronized_timers, on_device=False
    ),
    SourceRule(rules=("misplaced-events",), check=runtime_calls.misplaced_events, on_device=False),
    SourceRule(
        rules=("default-stream-work", "blocking-copies"),
        check=runtime_calls.default_stream_work,
        on_device=False,
    ),
    SourceRule(
        rules=("repeated-allocations",), check=runtime_calls.repeated_allocations, on_device=False
    ),
    SourceRule(
        rules=("unprefetched-managed-memory",),
        check=runtime_calls.unprefetched_managed_memory,
        on_device=False,
    ),
    SourceRule(
        rules=("overstated-launch-bounds",), check=kernels.overstated_launch_bounds, on_device=True
    ),
    SourceRule(rules=("partial-warp",), check=kernels.partial_warp),
    SourceRule(
        rules=("general-math-functions",), check=math_calls.general_math_functions, on_device=True
    ),
    SourceRule(rules=("slow-math",), check=math_calls.slow_math, on_device=True),
    SourceRule(
        rules=("scalar-half-arithmetic",), check=kernels.scalar_half_arithmetic, on_device=True
    ),
    SourceRule(rules=("unaligned-words",), check=kernels.unaligned_words, on_device=True),
    SourceRule(rules=("integer-division",), check=arithmetic.integer_division, on_device=True),
    SourceRule(rules=("implicit-double",), check=arithmetic.implicit_double, on_device=True),
    SourceRule(
        rules=("narrow-integer-arithmetic",),
        check=arithmetic.narrow_integer_arithmetic,
        on_device=True,
    ),
    SourceRule(
        rules=("unsigned-loop-counters",), check=control_flow.unsigned_loop_counters, on_device=True
    ),
    SourceRule(rules=("narrow-elements",), check=kernels.narrow_loads, on_device=True),
    SourceRule(
        rules=("unrestricted-pointers",), check=kernels.unrestricted_pointers, on_device=True
    ),
    SourceRule(rules=("synchronous-staging",), check=kernels.synchronous_staging, on_device=True),
    SourceRule(rules=("uncoalesced-access",), check=memory.strided_accesses, on_device=True),
    SourceRule(rules=("bank-conflicts",), check=memory.columns_of_tiles, on_device=True),
    SourceRule(
        rules=("rolled-loops",), check=control_flow.rolled_loops, on_device=True, opt_in=True
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LintedFile:
    """What one file holds: faults in the order of the text, and what could not be checked.

    *unparsed* is syntax that the parser does not know, *dropped* are branches of conditional
    compilation that cannot stand beside the one that was read. A file of *hip* is written for
    another vendor's compiler, and nothing was checked. *not_understood* says that kernels may
    stand where the parser could not follow.
    """

    file: str
    diagnostics: tuple[Diagnostic, ...]
    accepted: tuple[Diagnostic, ...] = ()
    unused: tuple[Suppression, ...] = ()
    unparsed: tuple[SourceRange, ...] = ()
    dropped: tuple[SourceRange, ...] = ()
    hip: bool = False
    not_understood: bool = False


def selected_rules(
    rules: Iterable[SourceRule], select: Collection[str], ignore: Collection[str]
) -> frozenset[str]:
    """Return the ids to check: *select*, or all that are not opt-in, less those to *ignore*."""
    ids = {i for rule in rules for i in rule.rules if (i in select if select else not rule.opt_in)}
    return frozenset(ids.difference(ignore))


def lint_cuda(
    data: bytes, file: str, *, select: Collection[str] = (), ignore: Collection[str] = ()
) -> LintedFile:
    """Return the faults of a CUDA source file.

    Raises BadInput when *data* is no text, or larger than lint reads.
    """
    text = source_text(data, file)
    if b"hip" in text.content and _HIP.search(text.content) and not _CUDA.search(text.content):
        return LintedFile(file=file, diagnostics=(), hip=True)
    selected = selected_rules(CUDA_RULES, select, ignore)
    with _no_collection():
        return _linted_cuda(text, selected)


def _linted_cuda(text: SourceText, selected: frozenset[str]) -> LintedFile:
    facts = read_cuda(text)
    diagnostics = {(d.rule, d.where.start): d for d in _diagnostics(facts, selected)}
    facts.tree.release()
    file = linted(
        text,
        diagnostics.values(),
        selected,
        unparsed=facts.tree.unparsed,
        dropped=facts.preprocessed.dropped,
    )
    return replace(file, not_understood=_hides_kernels(facts))


_KERNEL = b"__global__"


def _hides_kernels(facts: CudaFile) -> bool:
    """Whether the parser lost its way where kernels stand: most files have some syntax unknown to it."""
    code = facts.preprocessed.text
    if not facts.functions and facts.tree.unparsed:
        return _KERNEL in code
    return any(_KERNEL in code[start:end] for start, end in facts.tree.unparsed)


def linted(
    text: SourceText,
    diagnostics: Iterable[Diagnostic],
    selected: frozenset[str],
    *,
    unparsed: tuple[tuple[int, int], ...] = (),
    dropped: tuple[tuple[int, int], ...] = (),
) -> LintedFile:
    """Return *diagnostics* in order, less what comments accept."""
    ordered = sorted(diagnostics, key=lambda d: (d.where.start, d.rule))
    judged = suppressed(ordered, suppressions_in(text), selected)
    return LintedFile(
        file=text.file,
        diagnostics=judged.diagnostics,
        accepted=judged.accepted,
        unused=judged.unused,
        unparsed=tuple(text.where(*stretch) for stretch in unparsed),
        dropped=tuple(text.where(*stretch) for stretch in dropped),
    )


def _diagnostics(facts: CudaFile, selected: frozenset[str]) -> Iterator[Diagnostic]:
    rules = [rule for rule in CUDA_RULES if not selected.isdisjoint(rule.rules)]
    checks = {
        place: [rule.check for rule in rules if rule.on_device in (None, place)]
        for place in (True, False)
    }
    launches = Launches(facts)
    opened: list[SourceFunction] = []
    for function in facts.functions:
        context = RuleContext(facts, function, launches)
        for check in checks[function.on_device]:
            for diagnostic in check(context):
                if diagnostic.rule in selected:
                    yield diagnostic
        opened.append(function)
        if facts.tree.is_full:
            launches.forget(opened)
            facts.close(opened)
            opened.clear()


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep the garbage collector from walking a growing tree again and again."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()

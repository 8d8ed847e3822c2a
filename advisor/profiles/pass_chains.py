"""Launches in a row that pass over the same arrays, as far as counters and names tell: what one kernel would do."""

from __future__ import annotations

import re
from math import isclose, prod
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.framework_operators import as_many_elements, may_store, operator_of
from gpuadvise.advisor.facts.library_kernels import base_name, library_of
from gpuadvise.advisor.facts.report_launches import PassChain
from gpuadvise.advisor.profiles import passes
from gpuadvise.advisor.profiles.row_sums import sums_and_their_use
from gpuadvise.advisor.profiles.step_launches import steps_of_one
from gpuadvise.advisor.thresholds import LaunchSet, number

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gpuadvise.advisor.facts.kernel_profile import KernelProfile

# Launches in a row over arrays of one size may be that by chance, or versions of each other: not three of different names.
_SHORTEST_CHAIN = number(
    3,
    "launches in a row that pass over arrays of one size",
    "",
    "our judgement: two are often alike by chance",
    LaunchSet.NINTH,
)
_LONGEST_CHAIN = 32  # launches that are looked at in either direction
_OF_PEAK = number(
    0.95,
    "bandwidth of device memory that one kernel reaches at most",
    "of its peak",
    "measured: 0.92 to 0.94 on an H200",
)
_SAME_MOVED = 0.1  # of passes that load one array and store one, but for: L2 keeps some of it
_SAME_LOADS = 0.01  # of two versions, but for
_MANY_ARRAYS = 3  # that a pass and the one before it load, neither more
_MOST_IN_A_ROW = 2  # of one operator in an expression: x * y * z
# Each operator of an expression is a launch, whatever its name.
_BY_STATEMENTS = ("PyTorch", "CuPy")


def chain_around(
    profile: KernelProfile, neighbour: Callable[[int], KernelProfile | None]
) -> PassChain | None:
    """Return the launches in a row around *profile* that pass over the same arrays; None where they are too few.

    *neighbour* gives the launch so many places behind (or, below 0, before) *profile*. Where a page counts no bytes,
    launches of one shape stand for those over arrays of one size.
    """
    using = sums_and_their_use(profile, neighbour)
    if using:
        return _joined(using, one_shape=True)
    run, at = _run(profile, neighbour)
    links = _statement(run, at)
    links = _without_sums_at_start(links)
    if any(link is profile for link in links) and _is_chain(links):
        return _joined(links, one_shape=_of_one_shape(links))
    steps = steps_of_one(profile, neighbour)
    return _joined(steps, one_shape=True) if len(steps) > 1 else None


def _run(
    profile: KernelProfile, neighbour: Callable[[int], KernelProfile | None]
) -> tuple[list[KernelProfile], int]:
    """Return the launches around *profile* of which each may go on with what the one before left, and its place there."""
    run, at = [profile], 0
    for step in (-1, 1):
        last = profile
        for distance in range(1, _LONGEST_CHAIN):
            link = neighbour(step * distance)
            if link is None or not (_goes_on(link, last) if step < 0 else _goes_on(last, link)):
                break
            run.insert(0, link) if step < 0 else run.append(link)
            at += step < 0
            last = link
    return run, at


def _goes_on(before: KernelProfile, profile: KernelProfile) -> bool:
    """Return whether *profile* may pass over what the launch *before* it did."""
    if before.device != profile.device or _library(before) != _library(profile):
        return False
    first, second = operator_of(before.kernel), operator_of(profile.kernel)
    if first and second:
        if not second.follows(first) or not as_many_elements(before, profile):
            return False
        stored, read = before.global_stores.bytes_used, profile.dram_read
        reads = not stored or read is None or read >= (1 - passes.SAME) * stored
        return reads and passes.is_operation(before) and passes.is_operation(profile)
    size = passes.size_of_arrays(profile)
    if library_of(profile.kernel) and not all(map(_is_sum_or_operator, (before, profile))):
        return False
    if size is None and library_of(profile.kernel) and bool(first) != bool(second):
        return _sums_up(before, profile) if second else _sums_up(profile, before)
    if size is None:
        shape = _threads(before) == _threads(profile)
        return shape and passes.passes_uncounted(before) and passes.passes_uncounted(profile)
    if passes.passes_over(before, size):
        return not _is_rewritten(before, profile)
    return first is second is None and _hands_over(before, profile)


def _is_sum_or_operator(profile: KernelProfile) -> bool:
    """Return whether a framework's kernel is no change of layout."""
    if _library(profile) != "PyTorch":
        return True
    return bool(operator_of(profile.kernel)) or bool(_REDUCED.search(base_name(profile.kernel)))


def _sums_up(total: KernelProfile, operation: KernelProfile) -> bool:
    """Return whether *total* moves as much as the array that *operation* stores, on a page that counts no bytes of either."""
    uncounted = passes.passes_uncounted(total) and passes.is_operation(operation)
    return uncounted and may_store(operation, total.dram_bytes or 0.0)


def _is_rewritten(before: KernelProfile, profile: KernelProfile) -> bool:
    """Return whether both load as much, three times or more what each stores: one is the other written anew."""
    return (
        library_of(profile.kernel) is None
        and isclose(_loaded(before), _loaded(profile), rel_tol=_SAME_LOADS)
        and _loaded(profile) >= _MANY_ARRAYS * (profile.global_stores.bytes_used or 0.0) > 0
    )


def _hands_over(before: KernelProfile, profile: KernelProfile) -> bool:
    """Return whether *profile* passes in the same threads over what the one *before* wrote, and stores it in another type."""
    shape = (before.grid, before.block) == (profile.grid, profile.block)
    return shape and passes.handed_over(before, profile, 1) is not None


def _statement(run: Sequence[KernelProfile], at: int) -> Sequence[KernelProfile]:
    """Return those of *run* that belong to one round of a loop, or to one version, with the one *at* that place."""
    start = 0
    for place in range(1, len(run)):
        if _begins_anew(run[start:place], run[place:]):
            if place > at:
                return _without_replacements(run[start:place])
            start = place
    return _without_replacements(run[start:])


def _begins_anew(links: Sequence[KernelProfile], rest: Sequence[KernelProfile]) -> bool:
    """Return whether *rest* is the next round of a loop, what another program does at once, or the same in another type.

    An operator of a framework comes again in one expression, so that a row of them has to come again there.
    """
    done, coming = [link.kernel for link in links], [link.kernel for link in rest]
    if library_of(coming[0]) is None:
        return _is_another_version(coming[0], done)
    if _library(rest[0]) not in _BY_STATEMENTS:
        return coming[0] in done
    if any(_is_version(coming[0], other) for other in done):
        return True
    if _streak(coming) > _MOST_IN_A_ROW or _streak(done[::-1]) > _MOST_IN_A_ROW:
        return done[-1] != coming[0]  # one operator, timed again and again, is nothing's next step
    return any(coming[:count] == done[-count:] for count in range(2, len(done) + 1))


def _is_another_version(kernel: str, done: Sequence[str]) -> bool:
    """Return whether *kernel*, somebody's own, is one of those *done* again or, by its name, a version of one or of all of them."""
    if any(
        passes.stem(kernel) == passes.stem(other) for other in done if library_of(other) is None
    ):
        return True
    words = _words_of(kernel)
    return "fused" in words or sum(not words.isdisjoint(_words_of(other)) for other in done) > 1


def _words_of(kernel: str) -> frozenset[str]:
    """Return the words of a kernel's name, but for those that say nothing of what it does."""
    return frozenset(map(str.lower, _WORD.findall(base_name(kernel)))) - _OF_NO_OPERATION


def _streak(kernels: Sequence[str]) -> int:
    """Return how often the first of *kernels* stands there in a row."""
    return next((at for at, kernel in enumerate(kernels) if kernel != kernels[0]), len(kernels))


def _is_version(kernel: str, other: str) -> bool:
    """Return whether *kernel* is the operator that *other* is on another type or, of PyTorch, in another layout."""
    operator, before = operator_of(kernel), operator_of(other)
    if operator is None or before is None or operator.name != before.name:
        return False
    return operator.result != before.result or (operator.library == "PyTorch" and kernel != other)


def _without_replacements(links: Sequence[KernelProfile]) -> Sequence[KernelProfile]:
    """Return *links* without what at their end is several operations already, and may be what replaces the others."""
    count = len(links)
    while count and (operator := operator_of(links[count - 1].kernel)) and operator.composite:
        count -= 1
    return links[:count]


def _without_sums_at_start(links: Sequence[KernelProfile]) -> Sequence[KernelProfile]:
    """Return *links* without sums before the first pass that somebody's own kernels make: of what was summed nothing stands there."""
    start = 0
    while start < len(links) and library_of(links[start].kernel) is None:
        stored, loaded = links[start].global_stores.bytes_used, _loaded(links[start])
        if stored is None or stored > passes.OF_A_SUM * loaded:
            break
        start += 1
    return links[start:]


def _is_chain(links: Sequence[KernelProfile]) -> bool:
    """Return whether *links* are enough, two of them store what others may load, and none is another's version."""
    kernels = {link.kernel for link in links}
    if all(operator_of(kernel) for kernel in kernels):
        # A list of operators that are each timed twice has none that stands alone.
        names = [None, *(link.kernel for link in links), None]
        alone = any(
            names[at] not in (names[at - 1], names[at + 1]) for at in range(1, len(names) - 1)
        )
        return len(kernels) > 1 and alone
    own = all(library_of(link.kernel) is None for link in links)
    if len(links) == 2 and own and _works_in_place(links[1].kernel):
        moved = [link.dram_bytes or 0.0 for link in links]
        alike = isclose(*moved, rel_tol=_SAME_MOVED) and passes.passes_uncounted(links[0])
        return alike or _hands_over(links[0], links[1])
    if len(links) < _SHORTEST_CHAIN:
        return False
    known = [size for link in links if (size := link.global_stores.bytes_used) is not None]
    return not known or sum(size > passes.OF_A_SUM * max(known) for size in known) > 1


def _works_in_place(kernel: str) -> bool:
    """Return whether the only array that *kernel* takes, by its parameters, is one that it may change."""
    parameters = kernel.partition("(")[2]
    return parameters.count("*") == 1 and "const" not in parameters


def _joined(links: Sequence[KernelProfile], *, one_shape: bool) -> PassChain:
    stored = [link.global_stores.bytes_used for link in links]
    known = [size for size in stored if size is not None]
    moved = [_moved(link) for link in links]
    seconds = [link.seconds or 0.0 for link in links]
    return PassChain(
        kernels=tuple(link.kernel for link in links),
        array_bytes=max(known, default=None),
        bytes=sum(moved),
        most_bytes=max(moved),
        seconds=sum(seconds),
        longest_seconds=max(seconds),
        ends_bytes=_loaded(links[0]) + stored[-1] if stored[-1] is not None else min(moved),
        one_shape=one_shape,
        least_seconds=max(moved) / _best_rate(links),
    )


def _best_rate(links: Sequence[KernelProfile]) -> float:
    """Return the bytes per second of one kernel for all *links*: what device memory allows, or what the fastest of them moves."""
    rates = [_moved(link) / link.seconds for link in links if link.seconds]
    rates += [
        _OF_PEAK * link.dram_bytes / link.seconds / busy
        for link in links
        if link.seconds and link.dram_bytes and (busy := link.dram_busy or 0.0) >= passes.LEAST_BUSY
    ]
    return max(rates)


def _moved(link: KernelProfile) -> float:
    stored = link.global_stores.bytes_used
    return link.dram_bytes or 0.0 if stored is None else _loaded(link) + stored


def _loaded(link: KernelProfile) -> float:
    return link.global_loads.bytes_used or 0.0


def _library(profile: KernelProfile) -> str | None:
    library = library_of(profile.kernel)
    return library.name if library else None


def _of_one_shape(links: Sequence[KernelProfile]) -> bool:
    """Return whether *links* take as many threads for as many elements.

    Each template of PyTorch gives a thread elements in a number of its own. What is fused already may be one for another call.
    """
    if all(operator_of(link.kernel) for link in links):
        return True
    if any(_FUSED.search(base_name(link.kernel)) for link in links if library_of(link.kernel)):
        return False
    shapes: dict[str, set[object]] = {}
    for link in links:
        template = base_name(link.kernel) if _library(link) == "PyTorch" else ""
        shapes.setdefault(template, set()).add(_threads(link))
    return all(len(seen) == 1 for seen in shapes.values())


def _threads(link: KernelProfile) -> int | None:
    return prod(link.grid) * prod(link.block) if link.grid and link.block else None


_WORD = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{2,}(?![a-z])")
_OF_NO_OPERATION = frozenset(
    ("kernel", "pass", "step", "stage", "of", "the", "and", "to", "by", "in")
)
_REDUCED = re.compile(r"reduce|softmax|norm", re.IGNORECASE)
# Several passes already, however many stand before it.
_FUSED = re.compile(r"softmax|norm", re.IGNORECASE)

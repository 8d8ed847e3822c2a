"""Which kernel of the old build is which of the new one."""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries.model import Exactness

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gpuadvise.advisor.binaries.model import Kernel


_HASHED = re.compile(r"_[0-9a-f]{8}(_\d{1,3}_\w{1,200}?_)[0-9a-f]{8}")
_TEMPORARY = re.compile(r"tmpxft_[0-9a-f]{8}_[0-9a-f]{8}")


def stable_name(name: str) -> str:
    """Return *name* as it would be in any other build of the same source."""
    if "_GLOBAL__N__" not in name and "__nv_static_" not in name and "_INTERNAL_" not in name:
        return name
    return _HASHED.sub(r"_#\1#", _TEMPORARY.sub("tmpxft", name))


Pair = tuple["Kernel | None", "Kernel | None"]
Groups = dict[object, list["Kernel"]]


def final(kernels: Iterable[Kernel]) -> list[Kernel]:
    """Return the kernels of *kernels* without device functions, copies with the same numbers once."""
    return list({(k.name, k.capability, numbers(k)): k for k in kernels if k.entry}.values())


def numbers(kernel: Kernel) -> tuple[int | None, ...]:
    """Return what is compared of a kernel; spills only where the file tells them exactly."""
    exact = kernel.spills_are is Exactness.EXACT
    return (
        kernel.registers,
        kernel.static_smem,
        kernel.stack,
        kernel.frame,
        kernel.spill_stores if exact else None,
        kernel.spill_loads if exact else None,
        kernel.max_threads,
        kernel.barriers,
    )


def paired(old: Iterable[Kernel], new: Iterable[Kernel], *, by_target: bool) -> Iterator[Pair]:
    """Yield each kernel of *old* with its successor in *new*; None where there is none.

    *by_target* keeps code for different targets apart; where one side does not name the
    target (a bare listing), the name alone decides.
    """
    groups = _grouped(old, by_target=by_target), _grouped(new, by_target=by_target)
    alone: list[Pair] = []
    for pair in _matched(*groups):
        if None in pair:
            alone.append(pair)
        else:
            yield pair
    yield from _without_targets(alone)


def _without_targets(alone: list[Pair]) -> Iterator[Pair]:
    """Pair by name those that have no target, with whatever is left of that name."""
    nameless = {_stable(pair) for pair in alone if _only(pair).capability is None}
    yield from (pair for pair in alone if _stable(pair) not in nameless)
    loose = [pair for pair in alone if _stable(pair) in nameless]
    old = _grouped((one for one, _ in loose if one), by_target=False)
    yield from _matched(old, _grouped((other for _, other in loose if other), by_target=False))


def _only(pair: Pair) -> Kernel:
    kernel = pair[0] or pair[1]
    assert kernel is not None
    return kernel


def _stable(pair: Pair) -> str:
    return stable_name(_only(pair).name)


def _grouped(kernels: Iterable[Kernel], *, by_target: bool) -> Groups:
    groups: Groups = {}
    for kernel in kernels:
        key = (stable_name(kernel.name), kernel.capability if by_target else None)
        groups.setdefault(key, []).append(kernel)
    return groups


def _matched(old: Groups, new: Groups) -> Iterator[Pair]:
    for key in dict.fromkeys([*old, *new]):
        yield from _within(old.get(key, []), new.get(key, []))


def _within(old: list[Kernel], new: list[Kernel]) -> Iterator[Pair]:
    """Pair kernels of one name: the same numbers first, the rest in the order of theirs."""
    if len(old) == len(new) == 1:
        yield old[0], new[0]
        return
    twins: dict[object, list[Kernel]] = {}
    for kernel in new:
        twins.setdefault((kernel.name, numbers(kernel)), []).append(kernel)
    changed = []
    for kernel in old:
        same = twins.get((kernel.name, numbers(kernel)))
        if same:
            yield kernel, same.pop()
        else:
            changed.append(kernel)
    rest = [kernel for same in twins.values() for kernel in same]
    yield from zip_longest(sorted(changed, key=_order), sorted(rest, key=_order))


def _order(kernel: Kernel) -> tuple[int, ...]:
    return tuple(-1 if number is None else number for number in numbers(kernel))

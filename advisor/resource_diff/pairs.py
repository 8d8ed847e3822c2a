"""Which kernel of the old build is which of the new one."""

from __future__ import annotations

import re
from collections import Counter
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries.model import Exactness
from gpuadvise.advisor.binaries.names import stable_name

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    from gpuadvise.advisor.binaries.model import Kernel


# What changes in a member's path from release to release: libfoo.so.12.4, foo-1.2.3.dist-info,
# foo.cpython-311-x86_64-linux-gnu.so, foo64_12.dll. A bare number (cuda124) may mean another library.
_VERSION = re.compile(
    r"(?<=\.so)(?:\.\d+)+|[-_.]v?\d+(?:\.\d+)+|\.cpython-\d+[\w-]*|\.cp\d+-\w+|(?<=64)_\d+(?=\.dll)"
)


def stable_member(kernel: Kernel) -> str | None:
    """Return the path of the member that holds *kernel*, as in any other release; None: no member."""
    member = kernel.place.member
    return None if member is None else _VERSION.sub("", member)


Pair = tuple["Kernel | None", "Kernel | None"]
Groups = dict[object, list["Kernel"]]


def final(kernels: Iterable[Kernel]) -> list[Kernel]:
    """Return *kernels* without device functions, copies in a member with the same numbers once."""
    unique = {(stable_member(k), k.name, k.capability, numbers(k)): k for k in kernels if k.entry}
    return list(unique.values())


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
    target (a bare listing), the name alone decides. Kernels of a wheel or archive are paired
    within the same member; then those that moved between members that both builds have; a
    library that only one build holds has no successor. Last come renamed kernels.
    """
    old, new = list(old), list(new)
    members = {stable_member(k) for k in old}, {stable_member(k) for k in new}
    if len(members[0]) == len(members[1]) == 1 or None in members[0] | members[1]:
        alone = yield from _complete(
            _by_name(old, by_target=by_target, by_member=False),
            _by_name(new, by_target=by_target, by_member=False),
        )
    else:
        alone = yield from _complete(
            _by_name(old, by_target=by_target, by_member=True),
            _by_name(new, by_target=by_target, by_member=True),
        )
        both = members[0] & members[1]
        yield from (pair for pair in alone if stable_member(_only(pair)) not in both)
        alone = yield from _again([p for p in alone if stable_member(_only(p)) in both], by_target)
    yield from _renamed(list(_without_targets(alone)))


def _again(alone: list[Pair], by_target: bool) -> Generator[Pair, None, list[Pair]]:
    left, right = _sides(alone)
    return (
        yield from _complete(
            _by_name(left, by_target=by_target, by_member=False),
            _by_name(right, by_target=by_target, by_member=False),
        )
    )


def _sides(pairs: Iterable[Pair]) -> tuple[list[Kernel], list[Kernel]]:
    pairs = list(pairs)
    return [old for old, _ in pairs if old], [new for _, new in pairs if new]


def _complete(old: Groups, new: Groups) -> Generator[Pair, None, list[Pair]]:
    """Yield the pairs of both; return what is left alone."""
    alone: list[Pair] = []
    for pair in _matched(old, new):
        if None in pair:
            alone.append(pair)
        else:
            yield pair
    return alone


def _without_targets(alone: list[Pair]) -> Iterator[Pair]:
    """Pair by name those that have no target, with whatever is left of that name."""
    nameless = {_stable(pair) for pair in alone if _only(pair).capability is None}
    yield from (pair for pair in alone if _stable(pair) not in nameless)
    old, new = _sides(pair for pair in alone if _stable(pair) in nameless)
    yield from _matched(
        _by_name(old, by_target=False, by_member=False),
        _by_name(new, by_target=False, by_member=False),
    )


# Less alike, and a single kernel that went and one that came have nothing to do with each other.
_ALIKE = 0.6
_LONGEST_COMPARED = 2000


def _renamed(pairs: list[Pair]) -> Iterator[Pair]:
    """Pair the one kernel of a member and target that went with the one that came, if alike."""
    places = [None if None not in pair else _place(pair) for pair in pairs]
    gone = Counter(p for p, (_, new) in zip(places, pairs, strict=True) if p and new is None)
    came = Counter(p for p, (old, _) in zip(places, pairs, strict=True) if p and old is None)
    unpaired: dict[object, dict[bool, Kernel]] = {}
    for place, pair in zip(places, pairs, strict=True):
        if place is None or not gone[place] == came[place] == 1:
            yield pair
        else:
            unpaired.setdefault(place, {})[pair[0] is None] = _only(pair)
    for both in unpaired.values():
        if _alike(both[False].name, both[True].name):
            yield both[False], both[True]
        else:
            yield both[False], None
            yield None, both[True]


def _place(pair: Pair) -> tuple[object, ...]:
    kernel = _only(pair)
    return (stable_member(kernel), kernel.capability)


def _alike(old: str, new: str) -> bool:
    matcher = SequenceMatcher(None, old[:_LONGEST_COMPARED], new[:_LONGEST_COMPARED], False)
    return matcher.ratio() >= _ALIKE


def _only(pair: Pair) -> Kernel:
    kernel = pair[0] or pair[1]
    assert kernel is not None
    return kernel


def _stable(pair: Pair) -> str:
    return stable_name(_only(pair).name)


def _by_name(kernels: Iterable[Kernel], *, by_target: bool, by_member: bool) -> Groups:
    groups: Groups = {}
    for kernel in kernels:
        member = stable_member(kernel) if by_member else None
        key = (member, stable_name(kernel.name), kernel.capability if by_target else None)
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

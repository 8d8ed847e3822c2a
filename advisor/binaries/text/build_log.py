"""Kernels out of what ``ptxas -v``, nvcc, NVRTC and nvlink print while they build.

The lines of one kernel belong together by their order alone: most carry no name. A build that
runs several compilers into one stream can mix them; numbers that could then belong to more
than one kernel are left unknown, and said to be so.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TYPE_CHECKING, Generic, TypedDict, TypeGuard, TypeVar, assert_never

from gpuadvise.advisor.binaries.model import Damage, Exactness, Kernel, Place, Source
from gpuadvise.advisor.binaries.reserved_shared import split_smem
from gpuadvise.advisor.binaries.text.build_log_line import (
    Compiling,
    Frame,
    FunctionProperties,
    LinkedUse,
    Linking,
    RefusedKernel,
    Stopped,
    Unbounded,
    Use,
    parse_line,
)
from gpuadvise.advisor.prose import plural, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gpuadvise.advisor.binaries.model import Item
    from gpuadvise.advisor.binaries.text.build_log_line import Line
    from gpuadvise.advisor.capability import Capability


class FrameFields(TypedDict, total=False):
    """What a frame line says."""

    frame: int
    spill_stores: int
    spill_loads: int
    spills_are: Exactness


class UseFields(TypedDict, total=False):
    """What a use line says."""

    linked: bool | None
    registers: int
    barriers: int | None
    static_smem: int | None
    reserved_smem: int | None
    stack: int | None
    stack_unbounded: bool | None
    constant_banks: tuple[tuple[int, int], ...] | None


def frame_fields(frame: Frame | None) -> FrameFields:
    """Return the fields of *frame*; none when its line is missing or cannot be told apart."""
    if frame is None:
        return {}
    return {
        "frame": frame.frame,
        "spill_stores": frame.stores,
        "spill_loads": frame.loads,
        "spills_are": Exactness.EXACT,
    }


def use_fields(use: Use, frame: Frame | None, unbounded: bool) -> UseFields:
    """Return the fields of *use*, read beside the function's *frame*.

    From 12.6 on (where barriers are told) a frame without a stack means a later link, for
    which shared memory is not told either.
    """
    unlinked = use.barriers is not None and use.stack is None and bool(frame and frame.frame)
    return {
        "linked": False if unlinked else None,
        "registers": use.registers,
        "barriers": use.barriers,
        "static_smem": use.smem if use.smem or unlinked else 0,
        "reserved_smem": use.reserved_smem,
        "stack": None if unbounded else use.stack,
        "stack_unbounded": unbounded or None,
        "constant_banks": use.constant_banks or None,
    }


Value = TypeVar("Value", Frame, Use)


@dataclass(slots=True, kw_only=True, eq=False)
class Draft:
    """A function whose lines are still coming."""

    name: str
    capability: Capability | None
    line: int
    entry: bool = True
    frame: Frame | None = None


@dataclass(slots=True)
class Pending(Generic[Value]):
    """Functions that wait for a line without a name, and such lines not given out yet."""

    drafts: list[Draft] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)

    def settle(self, value: Value) -> list[tuple[Draft, Value | None]]:
        """Return who got what, once each that waits has a line; None: they cannot be matched."""
        if not self.drafts:
            return []
        self.values.append(value)
        if len(self.values) < len(self.drafts):
            return []
        agreed = value if all(written == value for written in self.values) else None
        settled = [(draft, agreed) for draft in self.drafts]
        self.clear()
        return settled

    def forget(self, name: str) -> None:
        """Wait no longer for the lines of *name*."""
        self.drafts[:] = [draft for draft in self.drafts if draft.name != name]

    def clear(self) -> None:
        """Forget all that waits."""
        self.drafts.clear()
        self.values.clear()


# More kernels than this begun and not finished: the rest of their lines is not coming.
_MAX_OPEN = 64
# What is kept for the lines of a device link, which come last: no build of device links is larger.
_MAX_HELD = 1 << 16


def read_log(lines: Iterable[tuple[str, int]], place: Place) -> Iterator[Item]:
    """Yield the kernels and device functions of a build's numbered *lines* as they complete.

    A kernel that was compiled for later linking appears twice: as the compiler saw it, and,
    from nvlink's lines, *linked*, with the numbers that count.
    """
    reader = _Reader(place)
    for text, number in lines:
        line = parse_line(text)
        if line is not None:
            yield from reader.read_line(line, number)
    yield from reader.abandon("the log ends before its numbers")


class _Reader:
    """The functions under way, and which of them the next unnamed line can be about."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._used: Pending[Use] = Pending()
        self._framed: Pending[Frame] = Pending()
        self._last: Capability | None = None
        self._linking: tuple[Linking, int] | None = None
        self._unbounded: set[str] = set()
        self._compiled: dict[str, dict[Capability | None, Frame | None]] = {}

    def read_line(self, line: Line, number: int) -> Iterator[Item]:
        """Yield what *line*, the one with *number*, completes."""
        match line:
            case Compiling(name=name, capability=capability):
                yield from self._begin(Draft(name=name, capability=capability, line=number))
            case FunctionProperties(name=name):
                self._framed.drafts.append(self._announced(name, number))
            case Frame():
                yield from self._frame(line)
            case Use():
                yield from self._use(line)
            case Linking():
                self._linking = (line, number)
            case LinkedUse(use=use):
                yield from self._linked(use)
            case Unbounded(name=name):
                self._unbounded.add(name)
            case RefusedKernel(name=name, why=why):
                self._used.forget(name)
                self._framed.forget(name)
                yield self._damage(number, f"{quoted(name)} {why}")
            case Stopped():
                yield from self.abandon("the compiler stopped before its numbers")
            case other:
                assert_never(other)

    def abandon(self, why: str) -> Iterator[Item]:
        """Yield that no more lines are coming for what was begun."""
        for draft in self._used.drafts:
            yield self._damage(draft.line, f"{quoted(draft.name)}: {why}")
        self._used.clear()
        self._framed.clear()

    def _begin(self, draft: Draft) -> Iterator[Item]:
        if len(self._used.drafts) >= _MAX_OPEN:
            yield from self.abandon("its numbers are missing")
        self._used.drafts.append(draft)
        self._last = draft.capability

    def _announced(self, name: str, number: int) -> Draft:
        for draft in self._used.drafts:
            if draft.name == name and draft.frame is None and draft not in self._framed.drafts:
                return draft
        targets = {draft.capability for draft in self._used.drafts} or {self._last}
        target = targets.pop() if len(targets) == 1 else None
        return Draft(name=name, capability=target, line=number, entry=False)

    def _frame(self, line: Frame) -> Iterator[Item]:
        settled = self._framed.settle(line)
        for draft, frame in settled:
            draft.frame = frame
            if not draft.entry:
                yield self._kernel(draft, None)
        yield from self._mixed(settled)

    def _use(self, line: Use) -> Iterator[Item]:
        settled = self._used.settle(line)
        for draft, use in settled:
            if len(self._compiled) < _MAX_HELD:
                self._compiled.setdefault(draft.name, {})[draft.capability] = draft.frame
            yield self._kernel(draft, use)
        yield from self._mixed(settled)

    def _mixed(
        self, settled: list[tuple[Draft, Frame | None]] | list[tuple[Draft, Use | None]]
    ) -> Iterator[Item]:
        if settled and settled[0][1] is None:
            message = (
                f"the lines of {plural(len(settled), 'function')} are mixed by a parallel build "
                "(make --output-sync keeps them apart)"
            )
            yield self._damage(settled[0][0].line, message)

    def _kernel(self, draft: Draft, use: Use | None) -> Kernel:
        return Kernel(
            name=draft.name,
            source=Source.PTXAS_LOG,
            place=self._at(draft.line),
            capability=draft.capability,
            entry=draft.entry,
            **frame_fields(draft.frame),
            **(use_fields(use, draft.frame, self._is_unbounded(draft.name)) if use else {}),
        )

    def _linked(self, use: Use) -> Iterator[Item]:
        if self._linking is None:
            return
        linking, number = self._linking
        self._linking = None
        frames = self._compiled.get(linking.name, {})
        target = linking.capability or (next(iter(frames)) if len(frames) == 1 else None)
        frame = frames.get(target)
        used = use_fields(use, frame, self._is_unbounded(linking.name))
        used["linked"] = True
        used["static_smem"], used["reserved_smem"] = split_smem(use.smem or 0, target)
        yield Kernel(
            name=linking.name,
            source=Source.NVLINK_LOG,
            place=self._at(number),
            capability=target,
            **frame_fields(frame),
            **used,
        )

    def _is_unbounded(self, name: str) -> bool:
        return name in self._unbounded

    def _at(self, line: int) -> Place:
        return Place(path=self._place.path, member=self._place.member, line=line)

    def _damage(self, line: int, message: str) -> Damage:
        return Damage(place=self._at(line), message=message)


def without_superseded(items: Iterator[Item]) -> Iterator[Item]:
    """Yield *items* of a log but for the kernels that a device link named again.

    Those of a log of more than any build has are passed on as they are.
    """
    held = list(islice(items, _MAX_HELD))
    linked = {(k.name, k.capability) for k in held if _is(k, Source.NVLINK_LOG)}
    anywhere = {name for name, capability in linked if capability is None}
    for item in chain(held, items):
        if not (_is(item, Source.PTXAS_LOG) and _named(item, linked, anywhere)):
            yield item


def _is(item: Item, source: Source) -> TypeGuard[Kernel]:
    return isinstance(item, Kernel) and item.source is source


def _named(kernel: Kernel, linked: set[tuple[str, Capability | None]], anywhere: set[str]) -> bool:
    return (kernel.name, kernel.capability) in linked or kernel.name in anywhere

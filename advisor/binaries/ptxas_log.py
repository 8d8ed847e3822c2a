"""Kernels out of what ``ptxas -v``, nvcc, NVRTC and nvlink print while they build.

The lines of one kernel belong together by their order alone: most carry no name. A build that
runs several compilers into one stream can mix them; numbers that could then belong to more
than one kernel are left unknown, and said to be so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from gpuadvise.advisor.binaries.log_fields import frame_fields, use_fields
from gpuadvise.advisor.binaries.log_line import (
    Compiling,
    Frame,
    LinkedUse,
    Linking,
    Properties,
    Stopped,
    Unbounded,
    Use,
    parse_line,
)
from gpuadvise.advisor.binaries.model import Damage, Kernel, Place, Source
from gpuadvise.advisor.binaries.pending import Draft, Pending
from gpuadvise.advisor.binaries.reserve import split_smem
from gpuadvise.advisor.prose import plural, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gpuadvise.advisor.binaries.log_line import Line
    from gpuadvise.advisor.binaries.model import Item
    from gpuadvise.advisor.capability import Capability

# More kernels than this begun and not finished: the rest of their lines is not coming.
_MOST_OPEN = 64


def read_log(lines: Iterable[tuple[str, int]], place: Place) -> Iterator[Item]:
    """Yield the kernels and device functions of a build's numbered *lines* as they complete.

    A kernel that was compiled for later linking appears twice: as the compiler saw it, and,
    from nvlink's lines, *linked*, with the numbers that count.
    """
    reader = _Reader(place)
    for text, number in lines:
        line = parse_line(text)
        if line is not None:
            yield from reader.take(line, number)
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

    def take(self, line: Line, number: int) -> Iterator[Item]:
        """Yield what *line*, the one with *number*, completes."""
        match line:
            case Compiling(name=name, capability=capability):
                yield from self._begin(Draft(name=name, capability=capability, line=number))
            case Properties(name=name):
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
        if len(self._used.drafts) >= _MOST_OPEN:
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

"""The items of all files, filtered as asked, while damage is put aside."""

from __future__ import annotations

import os
import sys
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass, field, fields, replace
from functools import partial
from io import BytesIO
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from gpuadvise.advisor.backends.compiler_options import SUFFIXES
from gpuadvise.advisor.backends.user_files import is_file, is_pipe, opened
from gpuadvise.advisor.binaries.model import Content, Damage, Entry, Item, Kernel, Place, Source
from gpuadvise.advisor.binaries.names import demangle
from gpuadvise.advisor.binaries.options import ReadOptions
from gpuadvise.advisor.binaries.read import read, read_folder, read_stream
from gpuadvise.advisor.binaries.tally import EntryTally
from gpuadvise.advisor.compatibility.targets import number, sass_fits
from gpuadvise.advisor.errors import BadInput, OtherText, Unavailable
from gpuadvise.cli.kernels.request import STDIN, KernelsRequest
from gpuadvise.cli.progress import Progress, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gpuadvise.advisor.binaries.folder import FolderContents
    from gpuadvise.advisor.binaries.kernel_table import KernelTable
    from gpuadvise.advisor.capability import Capability
    from gpuadvise.advisor.engines.engine import TaskEngine


T = TypeVar("T")

# Files that a worker reads together: a process that starts takes as long as 10 MB of cubins.
_BATCH = range(8, 401)
_BATCH_BYTES = 32 << 20


@dataclass(slots=True)
class GatheredItems:
    """What went by that is no answer itself."""

    entries: int = 0
    kernels: int = 0  # before any filter
    listed: int = 0  # kernels after it
    damage: list[Damage] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # of source files that were compiled
    empty: list[str] = field(default_factory=list)  # files without device code
    unlisted: list[str] = field(default_factory=list)  # files of whose code nothing was asked for
    code: int = 0  # kernels, and entries that a driver could load
    functions: int = 0  # device functions that were not asked for
    selected: int = 0  # images and PTX programs whose kernels were read
    unloaded: bool = False  # the GPU would load nothing of a module
    # What the modules hold that have nothing for a target of --arch.
    untargeted: set[tuple[Content, Capability | None]] = field(default_factory=set)
    unmatched: int = 0  # kernels that --filter leaves out
    unfit: Counter[Capability] = field(default_factory=Counter)  # kernels that the GPU cannot run
    unasked: Counter[Capability | None] = field(default_factory=Counter)  # kernels not of --arch

    @property
    def total(self) -> int:
        """All that went by."""
        return self.entries + self.kernels + len(self.damage)

    def add(self, other: GatheredItems) -> None:
        """Take note of what went by elsewhere."""
        for name in (each.name for each in fields(self)):
            mine, theirs = getattr(self, name), getattr(other, name)
            if isinstance(mine, list):
                mine.extend(theirs)
            elif isinstance(mine, set | Counter):
                mine.update(theirs)
            else:  # a count, or whether there was any
                setattr(self, name, type(mine)(mine + theirs))

    def count(self, item: Item | EntryTally | KernelTable) -> None:
        """Take note of *item*."""
        if isinstance(item, Kernel):  # most are
            self.kernels += 1
            self.code += item.entry
        elif isinstance(item, Entry):
            self.entries += 1
            self.code += item.content in (Content.SASS, Content.PTX) and not item.link_input
        elif isinstance(item, Damage):
            self.damage.append(item)
        elif isinstance(item, EntryTally):
            self.entries += item.times
        else:
            self.kernels += len(item.resources)
            self.code += item.entries


@dataclass(slots=True)
class Gatherer:
    """Reads the files of *request*, for *gpu* when the user named one."""

    request: KernelsRequest
    gpu: Capability | None
    gathered: GatheredItems = field(default_factory=GatheredItems)
    progress: Progress = field(default_factory=Progress)
    engine: TaskEngine | None = None  # None: this process, as it goes
    beside: bool = False  # other files are read elsewhere

    def entries(self, *, tally: bool = False) -> Iterator[Entry | EntryTally]:
        """Yield the entries of every container; *tally*: may collapse identical entries into a count."""
        if self.engine is not None:
            yield from self._elsewhere(self.engine, partial(Gatherer.entries, tally=tally))
            return
        for item in self._items(ReadOptions(kernels=False, tally=tally)):
            if isinstance(item, Entry | EntryTally) and self._matches_gpu(item.capability):
                yield item

    def kernels(self) -> Iterator[Kernel]:
        """Yield the kernels that were asked for, as they are read."""
        if self.engine is not None:
            yield from self._elsewhere(self.engine, Gatherer.kernels)
            return
        for item in self._items(self._options()):
            if isinstance(item, Kernel) and self._wanted(item):
                self.gathered.listed += 1
                yield item

    def tables(self) -> Iterator[Kernel | KernelTable]:
        """Yield what ``kernels`` does, many as tables, in which device functions are as well.

        Names are not looked at: what the user asked for must have no pattern.
        """
        if self.engine is not None:
            yield from self.kernels()
            return
        from gpuadvise.advisor.binaries.kernel_table import KernelTable  # the screen alone has any

        for item in self._items(self._options()._replace(tables=True)):
            if isinstance(item, KernelTable):
                listed = len(item.resources) if self.request.functions else item.entries
                self.gathered.listed += listed
                yield item
            elif isinstance(item, Kernel) and self._wanted(item):
                self.gathered.listed += 1
                yield item

    def _options(self) -> ReadOptions:
        return ReadOptions(
            select=self._select, processes=self.request.jobs, instructions=self.request.advise
        )

    def _items(self, options: ReadOptions) -> Iterator[Item | EntryTally | KernelTable]:
        options = options._replace(progress=self.progress.unpacking)
        for path in self.request.files:
            if path.endswith(SUFFIXES):
                items = self._compiled(path)
            elif path == STDIN or is_pipe(path):
                items = _piped(path, options)
            elif os.path.isdir(path):
                items = self._folder(path, options)
            else:
                items = read(path, options)
            before, listed, code = self.gathered.total, self.gathered.listed, self.gathered.code
            try:
                for item in shown(items, self.progress):
                    self.gathered.count(item)
                    yield item
            except OtherText:  # what a pattern of the shell names beside the files that count
                if len(self.request.files) == 1 and not self.beside:
                    raise
            self._look_back(path, before, listed, code)

    def _look_back(self, path: str, before: int, listed: int, code: int) -> None:
        """Keep *path* where nothing came of it; the counts are those from before it was read."""
        if self.gathered.total == before:
            self.gathered.empty.append(path)
        elif self.gathered.listed == listed and self.gathered.code > code:
            self.gathered.unlisted.append(path)

    def _elsewhere(
        self, engine: TaskEngine, asked: Callable[[Gatherer], Iterator[T]]
    ) -> Iterator[T]:
        """Yield what *asked* does of each file, read by *engine*, with what goes by there."""
        from gpuadvise.advisor.engines.engine import Lost, files_together

        units = list(self._units())
        results = engine.map(
            partial(read_units, replace(self.request, files=()), self.gpu, asked),
            units,
            batch=files_together((unit.file for unit in units), _BATCH_BYTES, _BATCH),
            named=attrgetter("file"),
            here=lambda unit: not is_file(unit.file) or unit.file.endswith(SUFFIXES),
        )
        seen = self.gathered
        for _, group in groupby(zip(units, results, strict=True), lambda pair: pair[0].place):
            before, listed, code = seen.total, seen.listed, seen.code
            for unit, result in group:
                if isinstance(result, Lost):
                    seen.count(Damage(place=Place(path=unit.file), message=result.reason))
                    continue
                items, gathered = result
                seen.add(gathered)
                yield from items
            if unit.folder is not None:
                for damage in unit.folder.damage():
                    seen.count(damage)
                seen.notes += unit.folder.notes()
            self._look_back(self.request.files[unit.place], before, listed, code)

    def _units(self) -> Iterator[CodeUnit]:
        """Yield the files of the request, those of folders one by one; raises BadInput for an empty one."""
        from gpuadvise.advisor.binaries.folder import folder_contents, refuse_empty

        alone = len(self.request.files) == 1
        for place, path in enumerate(self.request.files):
            if path == STDIN or not os.path.isdir(path):
                yield CodeUnit(place, path, alone)
                continue
            contents = folder_contents(path)
            refuse_empty(contents)
            for file in contents.files:
                yield CodeUnit(place, file, alone, folder=contents)

    def _folder(self, path: str, options: ReadOptions) -> Iterator[Item]:
        """Yield what the files of the folder *path* hold; raises BadInput when none may hold code."""
        from gpuadvise.advisor.binaries.folder import folder_contents, refuse_empty

        contents = folder_contents(path)
        refuse_empty(contents)
        self.gathered.notes += contents.notes()
        yield from read_folder(contents, options)

    def _compiled(self, path: str) -> Iterator[Item]:
        """Yield what the source file *path* compiles to, target by target."""
        from gpuadvise.advisor.backends.cuda_sources import (
            compile_source,
            missing_notes,
            read_cuda_source,
            source_notes,
        )

        source = read_cuda_source(path, self.request.build)
        self.gathered.notes += source_notes(source)
        for target in self.request.source_targets(self.gpu):
            image = compile_source(source, target)
            self.gathered.notes += missing_notes(source, image)
            yield from read_stream(
                BytesIO(image.cubin), path, ReadOptions(instructions=self.request.advise)
            )

    def _select(self, entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
        fitting = tuple(entry for entry in entries if self._matches_gpu(entry.capability))
        if not fitting:
            self.gathered.untargeted.update((entry.content, entry.capability) for entry in entries)
            return ()
        selected = self._loaded(fitting)
        self.gathered.selected += len(selected)
        self.gathered.unloaded |= not selected
        return selected

    def _loaded(self, entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
        """Return those of one module's *entries* that the GPU would load, or else its images."""
        if self.gpu is not None:
            from gpuadvise.advisor.compatibility.verdict import loaded

            return loaded(entries, self.gpu)
        images = tuple(entry for entry in entries if entry.content is Content.SASS)
        return images or entries

    def _matches_gpu(self, target: Capability | None) -> bool:
        if not self.request.targets:
            return True
        return target is not None and any(same(target, named) for named in self.request.targets)

    def _wanted(self, kernel: Kernel) -> bool:
        if not kernel.entry and not self.request.functions:
            self.gathered.functions += 1
            return False
        if kernel.source not in (Source.CUBIN, Source.PTX) and not self._fits(kernel):
            return False
        pattern = self.request.pattern
        if pattern is None or pattern.search(kernel.name):
            return True
        matches = bool(pattern.search(demangle(kernel.name) or ""))
        self.gathered.unmatched += not matches
        return matches

    def _fits(self, kernel: Kernel) -> bool:
        # Containers were sorted out entry by entry; a log or listing names a target per kernel.
        target = kernel.capability
        if not self._matches_gpu(target):
            self.gathered.unasked[target] += 1
            return False
        if target is None or self.gpu is None or sass_fits(target, self.gpu):
            return True
        self.gathered.unfit[target] += 1
        return False


class CodeUnit(NamedTuple):
    """A *file* to read: that at this *place* of the request, *alone* or not, or one of a *folder*."""

    place: int
    file: str
    alone: bool
    folder: FolderContents | None = None


def read_units(
    request: KernelsRequest,
    gpu: Capability | None,
    asked: Callable[[Gatherer], Iterator[T]],
    units: Iterable[CodeUnit],
) -> Iterator[tuple[list[T], GatheredItems]]:
    """Yield what *asked* says of each of *units*, and what went by; raises as reading one here does."""
    for unit in units:
        gatherer = Gatherer(replace(request, files=(unit.file,)), gpu, beside=not unit.alone)
        items: list[T] = []
        try:
            items += asked(gatherer)
        except (BadInput, Unavailable) as error:
            if unit.folder is None:
                raise
            gatherer.gathered.count(Damage(place=Place(path=unit.file), message=error.message))
        gatherer.gathered.empty.clear()  # whoever has all files of a folder says so
        gatherer.gathered.unlisted.clear()
        yield items, gatherer.gathered


def _piped(path: str, options: ReadOptions) -> Iterator[Item]:
    """Yield what comes through the pipe *path*, stdin or what the shell makes of ``<(command)``."""
    here = options._replace(processes=1)  # others cannot open it
    with nullcontext(sys.stdin.buffer) if path == STDIN else opened(path) as pipe:
        yield from read_stream(pipe, "standard input" if path == STDIN else path, here)


def same(target: Capability, capability: Capability) -> bool:
    """Return whether *target* is the one *capability* for; ``90`` means ``90a``, too."""
    return number(target) == number(capability) and capability.variant in ("", target.variant)

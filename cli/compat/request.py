"""What ``compat`` is asked, gathered: the code of the files, the GPU and the driver."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.backends.user_files import is_file
from gpuadvise.advisor.binaries.model import Content, Damage, Entry, Item, Kernel, Place
from gpuadvise.advisor.binaries.options import ReadOptions
from gpuadvise.advisor.binaries.read import read, read_stream
from gpuadvise.advisor.binaries.tally import EntryTally
from gpuadvise.advisor.compatibility.drivers import Driver, parse_driver
from gpuadvise.advisor.compatibility.survey import Survey, survey
from gpuadvise.advisor.engines.engine import Lost, TaskEngine
from gpuadvise.advisor.errors import BadInput, OtherText, Unavailable
from gpuadvise.advisor.prose import and_list, quoted
from gpuadvise.cli import options
from gpuadvise.cli.damage import damage_notes, unreadable
from gpuadvise.cli.progress import Progress, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from gpuadvise.advisor.backends.choose import Choice
    from gpuadvise.advisor.backends.installed_package import InstalledPackage
    from gpuadvise.advisor.binaries.dynamic_section import DynamicSection

STDIN = "-"


class SharedLibrary(NamedTuple):
    """A shared library of the file (or the file), and what it asks the loader for."""

    path: str
    dynamic: DynamicSection


class Held(NamedTuple):
    """The device code of one file, under the name it goes by, and what could not be read."""

    path: str
    name: str
    survey: Survey
    damage: tuple[Damage, ...]
    libraries: tuple[SharedLibrary, ...] = ()
    package: InstalledPackage | None = None

    @property
    def empty(self) -> bool:
        """Whether there is no device code, or only empty images that compilers leave behind."""
        return not self.survey.loadable and set(self.survey.unloadable) <= {Content.STUB}

    @property
    def unreadable(self) -> bool:
        """Whether nothing of the file could be read."""
        return self.empty and bool(self.damage)

    @property
    def notes(self) -> tuple[str, ...]:
        """What to say about the damage beside the answer."""
        return damage_notes(self.damage)


def held_by_all(paths: Sequence[str]) -> list[Held]:
    """Return the device code of each of *paths*, some of which may not be readable.

    Raises BadInput, also where none of them can be read, and Unavailable.
    """
    held = [held_by(path, alone=len(paths) == 1) for path in paths]
    if all(file.unreadable for file in held):
        raise unreadable(and_list([quoted(_called(path)) for path in paths]), held[0].damage)
    return held


def held_by_each(
    paths: Sequence[str], engine: TaskEngine, named: Callable[[Held], Held]
) -> list[Held]:
    """Return what ``held_by_all`` does, each with what *named* makes of it, read by *engine*.

    Standard input, pipes and installed packages are read here. Raises as ``held_by_all`` and the
    engine do.
    """
    results = engine.map(
        partial(_held_and_named, named, len(paths) == 1),
        paths,
        here=lambda path: not (is_file(path) or os.path.isdir(path)),
    )
    held = [
        _unread(path, result.reason) if isinstance(result, Lost) else result
        for path, result in zip(paths, results, strict=True)
    ]
    if all(file.unreadable for file in held):
        raise unreadable(and_list([quoted(_called(path)) for path in paths]), held[0].damage)
    return held


def _held_and_named(
    named: Callable[[Held], Held], alone: bool, paths: Iterable[str]
) -> Iterator[Held]:
    for path in paths:
        held = held_by(path, alone=alone)
        yield held if held.unreadable else named(held)


def _unread(path: str, reason: str) -> Held:
    """Return the file *path* as one that nobody could read."""
    damage = Damage(place=Place(path=path), message=reason)
    return Held(path, _called(path), survey(()), (damage,))


def held_by(path: str, *, alone: bool = True) -> Held:
    """Return the device code of the file, folder or installed package *path*, perhaps none.

    Beside others a text of another kind holds none. Raises BadInput, Unavailable.
    """
    damage: list[Damage] = []
    libraries: list[SharedLibrary] = []
    package = None if path == STDIN or is_file(path) or os.path.exists(path) else _package(path)
    try:
        code = survey(_entries(path, package, damage, libraries))
    except OtherText:
        if alone:
            raise
        code = survey(())
    name = f"{package.name} {package.version}" if package else _called(path)
    whole = f"What can be read of {name}" if damage else name
    return Held(path, whole, code, tuple(damage), tuple(libraries), package)


def with_kernel_names(held: Held) -> Held:
    """Return *held* with the names of its kernels, for which every module is unpacked.

    Standard input cannot be read again: as it was, and so is what cannot be unpacked.
    """
    if held.path == STDIN:
        return held
    names = _kernel_names(held.path, held.package)
    listed = ReadOptions(kernels=False, toolkits=True)
    items = _of_package(held.package, listed) if held.package else _items(held.path, listed)
    entries = (
        item._replace(kernels=names.get(_where(item))) for item in items if isinstance(item, Entry)
    )
    return held._replace(survey=survey(entries))


def _kernel_names(path: str, package: InstalledPackage | None) -> dict[Where, frozenset[str]]:
    """Return the names of the kernels of every image, and of PTX without one, by where it is."""
    chosen: list[Entry] = []

    def select(module: tuple[Entry, ...]) -> tuple[Entry, ...]:
        """Return all images, or else PTX: an image may lack a kernel that its neighbours have."""
        images = tuple(entry for entry in module if entry.content is Content.SASS) or module
        chosen.extend(images)
        return images

    progress = Progress()
    options = ReadOptions(select=select, progress=progress.unpacking)
    items = _of_package(package, options) if package else read(path, options)
    names: dict[Where, set[str]] = {}
    lost: set[Where] = set()
    for item in shown(items, progress):
        if isinstance(item, Damage):
            lost.add(_where(item))
        elif isinstance(item, Kernel) and item.entry:
            names.setdefault(_where(item), set()).add(item.name)
    if package:
        members = {path: name for name, path in package.files}
        chosen = [
            entry._replace(
                place=entry.place._replace(path=package.name, member=members[entry.place.path])
            )
            for entry in chosen
        ]
    wheres = set(map(_where, chosen)) - lost
    return {where: frozenset(names.get(where, ())) for where in wheres}


# File, member and offset.
Where = tuple[str, str | None, int | None]


def _where(item: Entry | Kernel | Damage) -> Where:
    return item.place.path, item.place.member, item.place.offset


def _package(name: str) -> InstalledPackage | None:
    """Return the installed package *name*; None: it is no name of one. Raises BadInput."""
    from gpuadvise.advisor.backends.installed_package import installed_package  # files need none

    package = installed_package(name)
    if package is None and name.replace("-", "").replace("_", "").isalnum():
        raise BadInput(
            f"There is no file {quoted(name)}, and no installed package of that name.",
            hint="Packages are looked for in the active environment, and where gpuadvise is.",
        )
    return package


def _called(path: str) -> str:
    return "Standard input" if path == STDIN else os.path.basename(os.path.normpath(path))


def _entries(
    path: str,
    package: InstalledPackage | None,
    damage: list[Damage],
    libraries: list[SharedLibrary],
) -> Iterator[Entry | EntryTally]:
    progress = Progress()
    options = ReadOptions(
        kernels=False,
        tally=True,
        toolkits=True,
        dynamic=lambda name, dynamic: libraries.append(SharedLibrary(name, dynamic)),
        progress=progress.unpacking,
    )
    items = _of_package(package, options) if package else _items(path, options)
    for item in shown(items, progress):
        if isinstance(item, Entry | EntryTally):
            yield item
        elif isinstance(item, Damage):
            damage.append(item)
        else:  # a build log or a listing
            raise BadInput(
                f"{quoted(path)} names kernels but holds no device code.",
                hint="Give the library, object or PTX that was built.",
            )


def _items(path: str, options: ReadOptions) -> Iterator[Item | EntryTally]:
    if path == STDIN:
        return read_stream(sys.stdin.buffer, "standard input", options)
    return read(path, options)


def _of_package(package: InstalledPackage, options: ReadOptions) -> Iterator[Item | EntryTally]:
    """Yield what the files of an installed package hold, as members of it."""
    for name, path in package.files:
        try:
            for item in read(path, _named(options, name)):
                yield _within(package.name, name, item)
        except OtherText:
            continue
        except (BadInput, Unavailable) as error:
            gone = "The package lists it, and it is not there."
            message = error.message if os.path.exists(path) else gone
            yield Damage(place=Place(path=package.name, member=name), message=message)


def _named(options: ReadOptions, name: str) -> ReadOptions:
    """Return *options* that tell what the file of a package asks for by its *name* within it."""
    tell = options.dynamic

    def tell_by_name(_: str, section: DynamicSection) -> None:
        if tell is not None:
            tell(name, section)

    return options._replace(dynamic=tell_by_name)


def _within(package: str, name: str, item: Item | EntryTally) -> Item | EntryTally:
    """Return *item* as one of the member *name* of *package*."""
    if isinstance(item, EntryTally):
        place = item.entry.place._replace(path=package, member=name)
        return item._replace(entry=item.entry._replace(place=place))
    place = item.place._replace(path=package, member=name)
    return replace(item, place=place) if isinstance(item, Damage) else item._replace(place=place)


def driver_for(text: str | None, choice: Choice) -> Driver | None:
    """Return the driver that *text* names, else that of a live or recorded GPU, else None."""
    if text is not None:
        given: Driver = options.read("driver", text)
        return given
    machine = choice.machine
    known = machine and (machine.cuda_version or machine.driver_version)
    if not machine or not known:
        return None
    return parse_driver(known)._replace(version=machine.driver_version)

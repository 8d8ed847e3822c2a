"""What ``compat`` is asked, gathered: the code of the files, the GPU and the driver."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.binaries.model import Content, Damage, Entry
from gpuadvise.advisor.binaries.options import ReadOptions
from gpuadvise.advisor.binaries.read import read, read_stream
from gpuadvise.advisor.binaries.tally import EntryTally
from gpuadvise.advisor.compatibility.drivers import Driver, parse_driver
from gpuadvise.advisor.compatibility.survey import Survey, survey
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import quoted
from gpuadvise.cli import options
from gpuadvise.cli.damage import damage_notes, unreadable
from gpuadvise.cli.progress import Progress, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.backends.choose import Choice
    from gpuadvise.advisor.binaries.model import Item

STDIN = "-"


class Held(NamedTuple):
    """The device code of one file, under the name it goes by, and what could not be read."""

    path: str
    name: str
    survey: Survey
    damage: tuple[Damage, ...]

    @property
    def empty(self) -> bool:
        """Whether there is no device code, or only empty images that compilers leave behind."""
        return not self.survey.loadable and set(self.survey.unloadable) <= {Content.STUB}

    @property
    def notes(self) -> tuple[str, ...]:
        """What to say about the damage beside the answer."""
        return damage_notes(self.damage)


def held_by(path: str) -> Held:
    """Return the device code in the file at *path*, perhaps none; raises BadInput, Unavailable."""
    damage: list[Damage] = []
    found = survey(_entries(path, damage))
    name = _called(path)
    if damage and not found.loadable and set(found.unloadable) <= {Content.STUB}:
        raise unreadable(quoted(name), damage)
    whole = f"What can be read of {name}" if damage else name
    return Held(path=path, name=whole, survey=found, damage=tuple(damage))


def _called(path: str) -> str:
    return "Standard input" if path == STDIN else os.path.basename(os.path.normpath(path))


def _entries(path: str, damage: list[Damage]) -> Iterator[Entry | EntryTally]:
    progress = Progress()
    options = ReadOptions(kernels=False, tally=True, progress=progress.unpacking)
    for item in shown(_items(path, options), progress):
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

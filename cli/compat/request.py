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
    from collections.abc import Iterator, Sequence

    from gpuadvise.advisor.backends.choose import Choice
    from gpuadvise.advisor.binaries.model import Item

STDIN = "-"


class Held(NamedTuple):
    """The device code of the files, under the name they go by, and what could not be read."""

    name: str
    survey: Survey
    damage: tuple[Damage, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """What to say about the damage beside the answer."""
        return damage_notes(self.damage)


def held_by(paths: Sequence[str]) -> Held:
    """Return the device code in the files at *paths*; raises BadInput when there is none."""
    damage: list[Damage] = []
    found = survey(_entries(paths, damage))
    name = _called(paths)
    if not found.loadable and set(found.unloadable) <= {Content.STUB}:
        if damage:
            raise unreadable(quoted(name), damage)
        only = ", only empty images that compilers leave behind" if found.unloadable else ""
        raise BadInput(
            f"{quoted(name)} holds no device code{only}.",
            hint="Python and C++ libraries may keep it in others.",
        )
    whole = f"What can be read of {name}" if damage else name
    return Held(name=whole, survey=found, damage=tuple(damage))


def _called(paths: Sequence[str]) -> str:
    if len(paths) > 1:
        return f"The code of {len(paths)} files"
    return "Standard input" if paths[0] == STDIN else os.path.basename(paths[0])


def _entries(paths: Sequence[str], damage: list[Damage]) -> Iterator[Entry | EntryTally]:
    progress = Progress()
    options = ReadOptions(kernels=False, tally=True, progress=progress.unpacking)
    for path in paths:
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

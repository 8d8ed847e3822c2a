"""What the sources of a folder show of each other: names that they use, headers that they include, who is of PyTorch."""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.headers import (
    Declarations,
    declared_in,
    included_by,
    joined_declarations,
)
from gpuadvise.advisor.source.host_effects import (
    NO_EFFECTS,
    HostEffects,
    effects_in,
    joined_effects,
)
from gpuadvise.advisor.source.surroundings import (
    Surroundings,
    functions_in,
    starts_program,
    words_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_OF_TORCH = re.compile(rb"^[ \t]*#[ \t]*include[ \t]*[<\"](?:torch/|ATen/|c10/|THC/)", re.MULTILINE)
_TORCH = (b"torch/", b"ATen/", b"c10/", b"THC/")
_MOST_HEADERS = 40  # that a file includes, itself and by others
_IN_PAIR = 2  # files that name a function which one of them has and the other calls


@dataclass(slots=True)
class _Folder:
    """The sources of a folder: their names, and what has been read of each."""

    read: Callable[[str], bytes]
    paths: tuple[str, ...]
    by_name: dict[str, list[str]] = field(default_factory=dict)
    includes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    declares: dict[str, Declarations] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for path in self.paths:
            self.by_name.setdefault(os.path.basename(path), []).append(path)

    def included(self, path: str, names: Iterable[str]) -> Iterator[str]:
        """Yield the files of the folder that *path* includes as *names*."""
        for name in names:
            beside = os.path.normpath(os.path.join(os.path.dirname(path), name))
            same = self.by_name.get(os.path.basename(name), [])
            found = [p for p in same if os.path.normpath(p) == beside] or (
                same if len(same) == 1 else [p for p in same if p.endswith("/" + name)]
            )
            yield from found[:1]

    def headers_of(self, path: str) -> list[str]:
        """Return the headers that *path* includes, those of headers behind them."""
        found: list[str] = []
        waiting = [*self.included(path, self.includes_of(path))]
        while waiting and len(found) < _MOST_HEADERS:
            header = waiting.pop(0)
            if header not in found:
                found.append(header)
                waiting += self.included(header, self.includes_of(header))
        return found

    def includes_of(self, path: str) -> tuple[str, ...]:
        """Return the names that *path* includes."""
        if path not in self.includes:
            self.includes[path] = included_by(self.read(path))
        return self.includes[path]

    def declared(self, header: str) -> Declarations:
        """Return what *header* declares."""
        if header not in self.declares:
            self.declares[header] = declared_in(self.read(header))
        return self.declares[header]


def surroundings_of(
    found: list[str], texts: Iterable[str], read: Callable[[str], bytes]
) -> dict[str, Surroundings]:
    """Return what the *texts* of a folder show of each of the files *found* in it."""
    folder = _Folder(read, tuple(sorted(set(texts))))
    own = {path: functions_in(read(path)) for path in found}
    names = frozenset[bytes]().union(*own.values())
    naming: Counter[bytes] = Counter()
    of_program = False
    torch_words: set[bytes] = set()
    torch_headers: set[str] = set()
    effects: dict[str, HostEffects] = {}
    for path in folder.paths:
        data = read(path)
        folder.includes[path] = included_by(data)
        words = names & words_of(data)
        naming.update(words)
        of_program = of_program or starts_program(data)
        if (found_there := effects_in(data)) is not NO_EFFECTS:
            effects[path] = found_there
        if any(name in data for name in _TORCH) and _OF_TORCH.search(data):
            torch_words |= words
            torch_headers.update((path, *folder.headers_of(path)))
    joined = joined_effects(effects.values())
    around = {}
    for path, named in own.items():
        headers = folder.headers_of(path)
        bound = any(naming[name] == _IN_PAIR and name in torch_words for name in named)
        around[path] = Surroundings(
            in_folder=True,
            unnamed=frozenset(n.decode("utf-8", "replace") for n in named if naming[n] <= 1),
            of_program=of_program,
            declared=joined_declarations(map(folder.declared, headers)),
            effects=_called(joined, effects.get(path, NO_EFFECTS), named),
            of_torch=bound or not torch_headers.isdisjoint((path, *headers)),
        )
    return around


def _called(all_: HostEffects, own: HostEffects, named: frozenset[bytes]) -> HostEffects:
    """Return those of *all_* that a file names and does not define itself."""
    words = frozenset(name.decode("utf-8", "replace") for name in named)
    return HostEffects(
        launching=(all_.launching & words) - own.launching,
        waiting=(all_.waiting & words) - own.waiting,
        reading=(all_.reading & words) - own.reading,
    )

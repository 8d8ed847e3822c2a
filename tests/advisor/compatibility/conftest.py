from __future__ import annotations

from collections.abc import Callable

import pytest

from gpuadvise.advisor.binaries.model import Content, Entry, Place
from gpuadvise.advisor.capability import parse_capability

Notation = Callable[[str], list[Entry]]

CONTENT = {
    "sass": Content.SASS,
    "rdc": Content.SASS,
    "ptx": Content.PTX,
    "rptx": Content.PTX,
    "lto": Content.LTO,
    "stub": Content.STUB,
    "tile": Content.TILE,
}

INPUTS = ("rdc", "rptx")


def _entry(word: str, module: int) -> Entry:
    kind, _, rest = word.partition(":")
    target, _, version = rest.partition("@")
    isa = tuple(int(part) for part in version.split(".")) if version else None
    return Entry(
        content=CONTENT[kind],
        place=Place(path="lib.so", section="__nv_relfatbin" if kind in INPUTS else ".nv_fatbin"),
        capability=parse_capability(target.rstrip("+")) if target else None,
        new_abi=target.endswith("+") if CONTENT[kind] is Content.SASS else None,
        size=100,
        ptx_version=(isa[0], isa[1]) if isa else None,
        module=module,
        link_input=kind in INPUTS,
    )


@pytest.fixture
def entries() -> Notation:
    """Entries from ``sass:80 ptx:90@8.4 | sass:90a``: a bar between modules, a plus for the new ABI."""

    def read(text: str) -> list[Entry]:
        modules = enumerate(text.split("|"))
        return [_entry(word, index * 4096) for index, words in modules for word in words.split()]

    return read

"""What a library or program asks the loader for: the shared libraries it needs, and where it looks.

Field meanings: System V ABI, "Dynamic Section".
"""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.binaries import elf

if TYPE_CHECKING:
    from gpuadvise.advisor.binaries.span import Span

_SECTION_DYNAMIC = 6
_NEEDED, _RPATH, _RUNPATH = 1, 15, 29
_ENTRY = struct.Struct("<QQ")
# Some hundreds in the largest libraries; their names are a few hundred bytes at most.
_MAX_BYTES = 1 << 20
_MAX_NAMES = 1 << 26
_LONGEST = 4096
# What stands for a path of the machine that linked the file: it may name its users and folders.
ABSOLUTE, RELATIVE = "an absolute path", "a relative path"
_BESIDE_THE_FILE = r"\$(ORIGIN|\{ORIGIN\})(/.*)?"
# Folders that are alike on every Linux machine: the loader's own, and those of CUDA's packages.
_OF_THE_SYSTEM = (
    r"(/usr(/local)?)?/lib(32|64|x32)?(/[a-z0-9_]+-linux-[a-z0-9]+)?/*"
    r"|/usr/local/cuda(-\d+(\.\d+)*)?(/targets/[a-z0-9_]+-linux|/extras/CUPTI|/nvvm)?"
    r"/(lib(64)?(/stubs)?|compat)/*"
)


class DynamicSection(NamedTuple):
    """*needed* by name, in the loader's order; *search*: where, from ``$ORIGIN`` or in the system.

    Any other folder is ``ABSOLUTE`` or ``RELATIVE``, once for each.
    """

    needed: tuple[str, ...] = ()
    search: tuple[str, ...] = ()


def read_dynamic(span: Span) -> DynamicSection:
    """Return what the ELF file *span* asks for; nothing of another file.

    Raises Damaged when its tables are broken.
    """
    if span.size < _HEAD or span.read(0, 6) != elf.MAGIC + b"\x02\x01":
        return DynamicSection()
    sections = elf.read_sections(span, elf.read_header(span))
    dynamic = next((s for s in sections if s.type == _SECTION_DYNAMIC), None)
    if dynamic is None or dynamic.size > _MAX_BYTES or dynamic.link >= len(sections):
        return DynamicSection()
    strings = sections[dynamic.link]
    if strings.size > _MAX_NAMES:
        return DynamicSection()
    table = elf.read_section(span, dynamic)
    names = elf.read_section(span, strings)
    texts: dict[int, list[str]] = {_NEEDED: [], _RPATH: [], _RUNPATH: []}
    for tag, value in _ENTRY.iter_unpack(table[: len(table) - len(table) % _ENTRY.size]):
        if tag in texts:
            texts[tag].append(elf.text_at(names, value, _LONGEST))
    paths = texts[_RUNPATH] or texts[_RPATH]  # the older is not looked at beside the newer
    return DynamicSection(
        needed=tuple(name.rpartition("/")[2] for name in texts[_NEEDED]),
        search=tuple(_public(path) for listed in paths for path in listed.split(":") if path),
    )


def _public(path: str) -> str:
    """Return *path* where it says nothing of the machine that linked the file, else its kind."""
    if re.fullmatch(_BESIDE_THE_FILE, path) or re.fullmatch(_OF_THE_SYSTEM, path):
        return path
    return ABSOLUTE if path.startswith("/") else RELATIVE


_HEAD = 64

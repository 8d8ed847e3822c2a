"""The machine code of one function of a cubin."""

from __future__ import annotations

from io import BytesIO

from gpuadvise.advisor.binaries import elf
from gpuadvise.advisor.binaries.span import FileSpan


def code_of(image: bytes, name: str) -> bytes | None:
    """Return the code of function *name* in the cubin *image*, None where it has none."""
    span = FileSpan(BytesIO(image), len(image))
    header = elf.read_header(span)
    sections = elf.read_sections(span, header)
    names = elf.read_names(span, header, sections)
    wanted = f".text.{name}"
    for section in sections:
        if elf.text_at(names, section.name, len(wanted) + 1) == wanted:
            return elf.read_section(span, section)
    return None

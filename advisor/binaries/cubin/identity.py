"""What a cubin was made for, and by which toolkit: two ABIs keep it in different places."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries import elf
from gpuadvise.advisor.binaries.cubin.nv_info import walk
from gpuadvise.advisor.binaries.span import Damaged
from gpuadvise.advisor.capability import Capability

if TYPE_CHECKING:
    from gpuadvise.advisor.binaries.elf import Header, Section
    from gpuadvise.advisor.binaries.span import Span

_OLD_ABI = 0x33
NEW_ABI = 0x41
_OLD_SPECIFIC = 0x800
_NEW_SPECIFIC = 0x8
_DEBUG_BUILD = 0x0B  # top byte of the flags, new ABI

_SECTION_NOTE = 7
_SECTION_COMPAT = 0x70000086
SECTIONS = (_SECTION_NOTE, _SECTION_COMPAT)  # kinds that say something
_COMPAT_SPECIFIC = 9
_RELEASE = rb"release (\d{1,3}\.\d{1,3})"
_ARCH = rb"sm_(\d{2,3})([af]?)"
MAX_NOTES = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class CubinIdentity:
    """Target, toolkit and ABI of one image."""

    capability: Capability
    toolkit: tuple[int, int] | None
    linked: bool
    new_abi: bool
    debug: bool

    @property
    def sm(self) -> int:
        """The SM number, such as 90."""
        return self.capability.major * 10 + self.capability.minor

    @property
    def release(self) -> str | None:
        """The toolkit, such as ``12.8``."""
        return "{}.{}".format(*self.toolkit) if self.toolkit else None


def identify(image: Span, header: Header, sections: list[Section], names: bytes) -> CubinIdentity:
    """Return what a cubin was made for; raises Damaged when it is no cubin we know."""
    if header.machine != elf.MACHINE_CUDA:
        raise Damaged("It is an ELF file, but not for a GPU.", 18)
    if header.os_abi not in (_OLD_ABI, NEW_ABI):
        raise Damaged(f"Its ABI {header.os_abi:#x} is not known.", 7)
    new = header.os_abi == NEW_ABI
    notes = _notes(image, sections) if new else b""
    sm = header.flags >> 8 & 0xFF if new else header.flags & 0xFF
    return CubinIdentity(
        capability=Capability(sm // 10, sm % 10, _variant(image, header, sections, notes, new=new)),
        toolkit=_release(notes) if new else divmod(header.version, 10),
        linked=header.type != elf.TYPE_RELOCATABLE,
        new_abi=new,
        # ptxas alone sets the flag; nvcc 13 sets another one, which is not only of debug builds.
        debug=b"\0.nv_debug_info_reg_sass\0" in names
        or (new and header.flags >> 24 == _DEBUG_BUILD),
    )


def toolkit_of(image: Span) -> tuple[int, int] | None:
    """Return the toolkit that made *image*; raises Damaged when its sections cannot be read."""
    header = elf.read_header(image)
    sections = elf.read_sections(image, header)
    if header.os_abi != NEW_ABI:
        return divmod(header.version, 10)
    return _release(_notes(image, sections))


def _variant(
    image: Span, header: Header, sections: list[Section], notes: bytes, *, new: bool
) -> str:
    if header.flags & (_NEW_SPECIFIC if new else _OLD_SPECIFIC):
        return "a"
    if not new:
        return ""
    named = re.search(_ARCH, notes)
    if named and named[2]:
        return named[2].decode()
    return "a" if _specific(image, sections) else ""


def _specific(image: Span, sections: list[Section]) -> bool:
    # Toolkit 13 no longer sets the flag; a compatibility record says it.
    for section in sections:
        if section.type == _SECTION_COMPAT and section.size <= MAX_NOTES:
            records = walk(elf.read_section(image, section), frozenset({_COMPAT_SPECIFIC}))
            return any(value == 1 for _, value, _ in records)
    return False


def _notes(image: Span, sections: list[Section]) -> bytes:
    return b"".join(
        elf.read_section(image, section)
        for section in sections
        if section.type == _SECTION_NOTE and section.size <= MAX_NOTES
    )


def _release(notes: bytes) -> tuple[int, int] | None:
    match = re.search(_RELEASE, notes)
    if not match:
        return None
    major, minor = match[1].decode().split(".")
    return int(major), int(minor)

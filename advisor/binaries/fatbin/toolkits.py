"""Which toolkit made an image, without reading more of it than tells.

Images of the old ABI say it in their first 24 bytes, whose packed form is as short; those of the new one
in a note, for which the whole image is unpacked: one of each target, and one of a container, since nvcc
writes a container in one run. Who calls `fatbinary` can join images of several toolkits: the first one read
then stands for all of that ABI.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries.elf import MACHINE_CUDA, MAGIC
from gpuadvise.advisor.binaries.fatbin.decompress import first_bytes
from gpuadvise.advisor.binaries.model import Compression, Content
from gpuadvise.advisor.binaries.span import Damaged
from gpuadvise.advisor.errors import Unavailable

if TYPE_CHECKING:
    from gpuadvise.advisor.binaries.fatbin.entry import Packed
    from gpuadvise.advisor.binaries.fatbin.images import Images
    from gpuadvise.advisor.binaries.model import Entry
    from gpuadvise.advisor.binaries.span import FileSpan

Version = tuple[int, int]

_HEAD = struct.Struct("<4s3xB10xHI")  # magic, ABI, machine, version
_OLD_ABI = 0x33
# An image larger than this is not unpacked for its note; the next of its target may be smaller.
_MOST_UNPACKED = 1 << 22
_FIRST_BLOCK = 1 << 18  # of Zstandard, header included: at most 128 KiB of contents
_MOST_TRIED = 2  # of one target


class Toolkits:
    """The toolkits of one file's or member's images."""

    def __init__(self, span: FileSpan, images: Images) -> None:
        self._span = span
        self._images = images
        self._known: dict[object, Version] = {}
        self._tried: dict[object, int] = {}
        self._of_container: dict[int, Version] = {}

    def marked(self, packed: Packed) -> Packed:
        """Return *packed* with the toolkit in its entry, where that can be told."""
        toolkit = self._of(packed) if packed.entry.content is Content.SASS else None
        if toolkit is None:
            return packed
        return packed._replace(entry=packed.entry._replace(toolkit=toolkit))

    def _of(self, packed: Packed) -> Version | None:
        entry = packed.entry
        try:
            if _is_short(packed):
                return _in_head(self._span.read(packed.at, min(_HEAD.size, packed.size)))
            kind = (entry.capability, entry.new_abi, entry.compression)
            if kind in self._known or self._tried.get(kind, 0) == _MOST_TRIED:
                return self._known.get(kind)
            self._tried[kind] = self._tried.get(kind, 0) + 1
            toolkit = self._read(packed)
        except (Damaged, Unavailable):
            return None  # reading its kernels will say so
        if toolkit:
            self._known[kind] = toolkit
        return toolkit

    def _read(self, packed: Packed) -> Version | None:
        if not packed.entry.new_abi and packed.part is None:
            payload = self._span.read(packed.at, min(packed.size, _FIRST_BLOCK))
            return _in_head(first_bytes(payload, packed.entry.compression, _HEAD.size))
        container = packed.entry.module
        if container in self._of_container:
            return self._of_container[container]
        if packed.unpacked_size > _MOST_UNPACKED:
            return None
        from gpuadvise.advisor.binaries.cubin.identity import toolkit_of  # few listings need it

        toolkit = toolkit_of(self._images.open(packed))
        if toolkit and container is not None:
            self._of_container[container] = toolkit
        return toolkit


def _is_short(packed: Packed) -> bool:
    """Return whether the image lies there as it is, and its header tells."""
    entry: Entry = packed.entry
    return entry.compression is Compression.NONE and packed.part is None and not entry.new_abi


def _in_head(head: bytes) -> Version | None:
    """Return the toolkit in the first bytes of an image of the old ABI; None: not in them."""
    if len(head) < _HEAD.size:
        return None
    magic, abi, machine, version = _HEAD.unpack_from(head)
    if magic != MAGIC or abi != _OLD_ABI or machine != MACHINE_CUDA:
        return None
    toolkit = divmod(int(version), 10)
    return toolkit if toolkit[0] else None

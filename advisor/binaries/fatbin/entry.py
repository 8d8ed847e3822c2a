"""The header of one fatbin entry, and where its payload lies."""

from __future__ import annotations

import struct
from functools import lru_cache, partial
from typing import Any, NamedTuple

from gpuadvise.advisor.binaries.model import Compression, Content, Entry, Place
from gpuadvise.advisor.capability import Capability

_PAIR = struct.Struct("<II")
_LONGEST_TEXT = 1 << 16
# The host section of what a device link consumes; what it makes is in .nv_fatbin.
LINK_INPUT = "__nv_relfatbin"

_CONTENT = {
    1: Content.PTX,
    2: Content.SASS,
    4: Content.SASS,
    8: Content.LTO,
    16: Content.SASS,
    32: Content.INDEX,
    64: Content.RELOCATABLE_PTX,
    128: Content.TILE,
}
CONCATENATED = 256  # several images behind one header
_PROGRAMS = (Content.PTX, Content.RELOCATABLE_PTX)
_NEW_ABI = (1, 8)
_DEBUG = 0x2
_PACKED = {0: Compression.NONE, 0x2000: Compression.LZ4, 0x8000: Compression.ZSTD}
_PACKED_BITS = 0xF000
_SPECIFIC, _FAMILY = 0x100000, 0x200000


class EntryFields(NamedTuple):
    """The 64 bytes that start an entry; offsets in them count from the entry's start."""

    kind: int
    version: int
    header_size: int
    payload_size: int  # padded
    packed_size: int  # exact; 0 when the payload is stored as it is
    extra_at: int
    minor: int
    major: int
    arch: int
    name_at: int
    name_size: int
    flags: int
    reserved: int
    unpacked_size: int


LAYOUT = struct.Struct("<HHIQIIHHIIIQQQ")


class Packed(NamedTuple):
    """An entry and where its payload lies."""

    entry: Entry
    at: int  # of the payload in the span
    size: int  # of the payload as stored
    unpacked_size: int
    part: tuple[int, int] | None = None  # offset and size in a payload that several share


# What _make does, without its Python frame: libraries have ten thousands of entries.
_as_packed = partial(tuple.__new__, Packed)
_as_entry = partial(tuple.__new__, Entry)
_as_place = partial(tuple.__new__, Place)


def entry_of(fields: tuple[Any, ...], header: bytes, within: Place, at: int, module: int) -> Entry:
    """Return what the *header* at *at* says about its entry, *fields* being the ``Fields`` in it."""
    path, member, section, _, line = within
    kind, _, _, payload, packed, extra_at, minor, major, arch, name_at, size, flags, _, most = (
        fields
    )
    content, capability, compression, ptx_version, new_abi, debug = _kind(
        kind, flags, arch, major, minor
    )
    return _as_entry(
        (
            content,
            _as_place((path, member, section, at, line)),
            capability,
            packed or payload,
            compression,
            payload if compression is Compression.NONE else most,
            ptx_version,
            new_abi,
            text_in(header, name_at, size) if name_at else None,
            _options(header, extra_at) if extra_at and content is not Content.SASS else None,
            debug,
            section == LINK_INPUT,
            module,
            None,  # toolkit and kernels: on request
            None,
        )
    )


def as_stub(packed: Packed) -> Packed:
    """Return *packed* with its entry marked as a stub."""
    entry = _as_entry((Content.STUB, *packed.entry[1:]))  # in a tenth of the time of _replace
    return _as_packed((entry, *packed[1:]))


def packed_as(entry: Entry, at: int) -> Packed:
    """Return *entry* with its payload, which it has to itself, at *at*."""
    return _as_packed((entry, at, entry.size, entry.unpacked_size or 0, None))


class _Kind(NamedTuple):
    """What many entries of a library have in common."""

    content: Content
    capability: Capability | None
    compression: Compression
    ptx_version: tuple[int, int] | None
    new_abi: bool | None
    debug: bool


@lru_cache(maxsize=256)
def _kind(kind: int, flags: int, arch: int, major: int, minor: int) -> _Kind:
    version = (major, minor)
    content = _CONTENT.get(kind, Content.UNKNOWN)
    return _Kind(
        content=content,
        capability=_target(arch, flags) if arch else None,
        compression=_compression(flags),
        ptx_version=version if content in _PROGRAMS else None,
        new_abi=version >= _NEW_ABI if content is Content.SASS else None,
        debug=bool(flags & _DEBUG),
    )


def _target(arch: int, flags: int) -> Capability:
    variant = "a" if flags & _SPECIFIC else "f" if flags & _FAMILY else ""
    return Capability(arch // 10, arch % 10, variant)


def compression_of(fields: EntryFields) -> Compression:
    """Return how the payload is packed."""
    return _compression(fields.flags)


def _compression(flags: int) -> Compression:
    return _PACKED.get(flags & _PACKED_BITS, Compression.UNKNOWN)


def text_in(header: bytes, at: int, size: int) -> str | None:
    """Return a text inside an entry's header; None when there is none, or not inside."""
    if not at or not 0 < size <= _LONGEST_TEXT or at + size > len(header):
        return None
    return header[at : at + size].rstrip(b"\0").decode("utf-8", "replace")


def _options(header: bytes, at: int) -> str | None:
    if not at or at + _PAIR.size > len(header):
        return None
    return text_in(header, *_PAIR.unpack_from(header, at))

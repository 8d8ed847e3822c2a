"""What a file is, told from its first bytes."""

from __future__ import annotations

from enum import StrEnum

from gpuadvise.advisor.binaries.elf import MAGIC
from gpuadvise.advisor.binaries.fatbin.region import PATTERN
from gpuadvise.advisor.binaries.host_file import DOS_MAGIC

# Of files that hold device code, inside of a wheel and by themselves.
MEMBER_SUFFIXES = (
    ".so", ".pyd", ".dll", ".exe", ".dylib", ".a", ".lib", ".o", ".obj", ".cubin", ".fatbin",
    ".bin", ".ptx",
)  # fmt: skip
CODE_SUFFIXES = (".whl", *MEMBER_SUFFIXES)
_ZIP = b"PK\x03\x04"
_TAR, _TAR_AT = b"ustar", 257
ARCHIVE = b"!<arch>\n"
THIN_ARCHIVE = b"!<thin>\n"
# What starts with these is unpacked by other tools: images packed whole have no container left.
_PACKED = (
    b"\x1f\x8b",
    b"BZh",
    b"\xfd7zXZ\0",
    b"\x28\xb5\x2f\xfd",
    b"7z\xbc\xaf",
    b"\xed\xab\xee\xdb",
)
_REPORT = b"NVR\0"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class FileType(StrEnum):
    """What a file is."""

    CUBIN = "cubin"
    HOST = "host"  # ELF or PE: an object, library or program
    FATBIN = "fatbin"
    ARCHIVE = "archive"
    ZIP = "zip"
    TAR = "tar"  # not packed
    PACKED = "packed"  # gzip, bzip2, xz, zstd, 7-zip or rpm, whatever is in it
    TEXT = "text"
    REPORT = "report"  # of Nsight Compute
    OTHER = "other"  # searched for containers all the same


def file_type_of(head: bytes) -> FileType:
    """Return what a file is that starts with *head*."""
    if head.startswith(MAGIC):
        return FileType.CUBIN if head[18:20] == b"\xbe\0" else FileType.HOST
    if head.startswith(PATTERN):
        return FileType.FATBIN
    if head.startswith((ARCHIVE, THIN_ARCHIVE)):
        return FileType.ARCHIVE
    if head.startswith(_ZIP):
        return FileType.ZIP
    if head.startswith(_REPORT):
        return FileType.REPORT
    if head[_TAR_AT : _TAR_AT + len(_TAR)] == _TAR:
        return FileType.TAR
    if head.startswith(_PACKED):
        return FileType.PACKED
    if head.startswith(_UTF16) or b"\0" not in head:
        return FileType.TEXT
    return FileType.HOST if head.startswith(DOS_MAGIC) else FileType.OTHER

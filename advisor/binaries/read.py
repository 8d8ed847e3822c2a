"""Read any supported binary or text: tell the file type from its first bytes, then dispatch."""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO, assert_never, cast

from gpuadvise.advisor.binaries.fatbin.containers import read_containers
from gpuadvise.advisor.binaries.file_type import FileType, file_type_of
from gpuadvise.advisor.binaries.model import Damage, Item, Place
from gpuadvise.advisor.binaries.options import ReadOptions
from gpuadvise.advisor.binaries.source import kept, opened
from gpuadvise.advisor.binaries.span import Damaged, FileSpan
from gpuadvise.advisor.binaries.triton import launched_by_triton
from gpuadvise.advisor.errors import BadInput, Unavailable
from gpuadvise.advisor.prose import quoted_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gpuadvise.advisor.binaries.dynamic_section import DynamicSection
    from gpuadvise.advisor.binaries.folder import FolderContents

_SNIFFED = 1 << 12
# What members of archives are read as.
_IMAGES = (FileType.CUBIN, FileType.HOST, FileType.FATBIN, FileType.OTHER)
_MAX_DAMAGE = 1000
_MAX_MEMBERS = 200_000
MAX_LOADED = 1 << 28  # bytes handed to a driver in one piece


def read(path: str, options: ReadOptions | None = None) -> Iterator[Item]:
    """Yield the entries, kernels and damage of the file or folder at *path*, as they are met.

    Raises BadInput when it is neither, or a text in a format that is not supported; Unavailable
    when it cannot be read or a package to decompress it is missing.
    """
    options = options or ReadOptions()
    if os.path.isdir(path):
        from gpuadvise.advisor.binaries.folder import folder_contents

        yield from read_folder(folder_contents(path), options)
        return
    with opened(path) as (file, span):
        items = _read(file, span, Place(path=path), options)
        yield from _limited(launched_by_triton(items, path))


def read_folder(contents: FolderContents, options: ReadOptions) -> Iterator[Item]:
    """Yield what is in the files of a folder; what cannot be read is damage of the folder."""
    for path in contents.files:
        try:
            yield from read(path, options)
        except (BadInput, Unavailable) as error:
            yield Damage(place=Place(path=path), message=error.message)
    yield from contents.damage()


def read_stream(stream: BinaryIO, name: str, options: ReadOptions | None = None) -> Iterator[Item]:
    """Yield what is in all of *stream*, under *name*; raises as ``read`` does."""
    with kept(stream, name) as (file, span):
        yield from _limited(_read(file, span, Place(path=name), options or ReadOptions()))


def whole_image(path: str) -> bytes | None:
    """Return a file that a driver can load as it is: a cubin, fatbin or text; None for another.

    Raises as ``read`` does.
    """
    with opened(path) as (_, span):
        form = _type_of(span)
        if form not in (FileType.CUBIN, FileType.FATBIN, FileType.TEXT) or span.size > MAX_LOADED:
            return None
        return span.read(0, span.size)


def ptx_texts(path: str) -> list[bytes]:
    """Return the PTX programs of a file: PTX text itself, or what a library or fatbin holds.

    Raises as ``read`` does.
    """
    with opened(path) as (_, span):
        head = span.read(0, min(_SNIFFED, span.size))
        form = file_type_of(head)
        if form is FileType.TEXT:
            return [span.read(0, span.size)] if b".version" in head else []
        if form in (FileType.HOST, FileType.FATBIN, FileType.OTHER):
            from gpuadvise.advisor.binaries.fatbin.containers import ptx_programs

            try:
                return list(ptx_programs(span, Place(path=path)))
            except Damaged as damage:
                raise BadInput(f"{quoted_path(path)}: {damage.message}") from None
        return []


def _type_of(span: FileSpan) -> FileType:
    return file_type_of(span.read(0, min(_SNIFFED, span.size)))


def _read(file: BinaryIO, span: FileSpan, place: Place, options: ReadOptions) -> Iterator[Item]:
    head = span.read(0, min(_SNIFFED, span.size))
    form = file_type_of(head)
    if place.member is None and _is_wheel(place.path) and not head.startswith(b"PK"):
        yield Damage(
            place=place,
            message="It is no zip archive, as wheels are: perhaps a page that a server sent "
            "instead, or a pointer of Git LFS.",
        )
        return
    try:
        match form:
            case FileType.ZIP:
                yield from _zip(file, place, options)
            case FileType.ARCHIVE:
                yield from _archive(span, place, options)
            case FileType.TAR:
                yield from _tar(file, span, place, options)
            case FileType.TEXT:
                from gpuadvise.advisor.binaries.text.reader import read_text  # most files are none

                file.seek(0)
                yield from read_text(file, place, options)
            case FileType.REPORT:
                from gpuadvise.advisor.profiles.ncu_kernels import read_report_file

                file.seek(0)
                yield from read_report_file(file, place)
            case FileType.PACKED:
                yield from _packed(file, head, place, options)
            case FileType.CUBIN | FileType.HOST | FileType.FATBIN | FileType.OTHER:
                yield from _image(form, span, place, options)
            case other:
                assert_never(other)
    except Damaged as damage:
        yield Damage(place=place.at(damage.offset), message=damage.message)


def _packed(file: BinaryIO, head: bytes, place: Place, options: ReadOptions) -> Iterator[Item]:
    """Yield what is in a report of Nsight Compute, or a text, that is packed as a whole."""
    from gpuadvise.advisor.compression.packed_file import packing_of, unpacked
    from gpuadvise.advisor.profiles.ncu_file import BOUNDS

    form = None
    if packing := packing_of(head):
        file.seek(0)
        content = unpacked(file, packing, place.path, BOUNDS)
        inner = content.read(_SNIFFED)
        content.seek(0)
        form = file_type_of(inner) if inner else None
    match form:
        case FileType.REPORT:
            from gpuadvise.advisor.profiles.ncu_kernels import read_report_file

            yield from read_report_file(content, place)
        case FileType.TEXT:
            from gpuadvise.advisor.binaries.text.reader import read_text

            yield from read_text(content, place, options)
        case _:
            raise BadInput(
                f"{quoted_path(place.path)} is packed as a whole.",
                hint="Unpack it, and name the libraries in it.",
            )


def _image(form: FileType, span: FileSpan, place: Place, options: ReadOptions) -> Iterator[Item]:
    if form is FileType.CUBIN:
        from gpuadvise.advisor.binaries.cubin.reader import read_bare_cubin  # most are containers

        yield from read_bare_cubin(span, place, options)
        return
    if options.dynamic is not None and form is FileType.HOST:
        _tell_dynamic(span, place, options.dynamic)
    nothing = True
    for item in read_containers(span, place, options):
        nothing = False
        yield item
    if nothing:
        from gpuadvise.advisor.binaries.embedded import read_embedded  # few files need it

        yield from read_embedded(span, place, options)


def _tell_dynamic(
    span: FileSpan, place: Place, tell: Callable[[str, DynamicSection], None]
) -> None:
    from gpuadvise.advisor.binaries.dynamic_section import read_dynamic

    with suppress(Damaged):  # the search for containers says so
        tell(place.member or place.path, read_dynamic(span))


def _archive(span: FileSpan, place: Place, options: ReadOptions) -> Iterator[Item]:
    from gpuadvise.advisor.binaries import archive

    if archive.is_thin(span):
        count = sum(1 for _ in archive.read_members(span))
        text = f"A thin archive only names its {count:,} members. Give the object files themselves."
        yield Damage(place=place, message=text)
        return
    for member in archive.read_members(span):
        part = span.part(member.at, member.size)
        within = place._replace(member=_joined(place.member, member.name))
        form = _type_of(part)
        if form in _IMAGES:
            try:
                yield from _image(form, part, within, options)
            except Damaged as damage:
                yield Damage(place=within.at(damage.offset), message=damage.message)


def _tar(file: BinaryIO, span: FileSpan, place: Place, options: ReadOptions) -> Iterator[Item]:
    """Yield what the members of a tar that is not packed hold."""
    import tarfile

    try:
        file.seek(0)
        with tarfile.open(fileobj=file, mode="r:") as archive:
            for member in islice(archive, _MAX_MEMBERS):
                if not member.isreg() or not member.size:
                    continue
                part = span.part(member.offset_data, member.size)
                within = place._replace(member=_joined(place.member, member.name))
                form = _type_of(part)
                if form in _IMAGES:
                    yield from _image(form, part, within, options)
    except (tarfile.TarError, OSError, ValueError) as error:
        raise Damaged(f"Its members cannot be followed: {error}.") from None


def _zip(file: BinaryIO, place: Place, options: ReadOptions) -> Iterator[Item]:
    from gpuadvise.advisor.binaries import wheel

    for member in wheel.read_members(file, options.progress):
        if isinstance(member, Damaged):
            yield Damage(place=place, message=member.message)
            continue
        within = place._replace(member=_joined(place.member, member.name))
        unpacked = cast("BinaryIO", member.file)
        span = FileSpan(unpacked, member.size)
        if not member.size or _type_of(span) is FileType.ZIP:
            continue
        try:
            yield from _read(unpacked, span, within, options)
        except BadInput:
            continue  # a member may be any text


def _is_wheel(path: str) -> bool:
    """Return whether *path* is named as a wheel, which is a zip archive and nothing else."""
    return path.lower().endswith(".whl")


def _joined(outer: str | None, inner: str) -> str:
    return f"{outer}!{inner}" if outer else inner


def _limited(items: Iterator[Item]) -> Iterator[Item]:
    """Yield *items*, but no endless list of damage."""
    damaged = 0
    for item in items:
        if not isinstance(item, Damage):
            yield item
            continue
        damaged += 1
        if damaged < _MAX_DAMAGE:
            yield item
        elif damaged == _MAX_DAMAGE:
            yield Damage(place=item.place, message="There is more damage, which is not listed.")

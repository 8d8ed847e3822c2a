from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING

import pytest

from gpuadvise.advisor.binaries.model import Damage, Entry, Kernel
from gpuadvise.advisor.binaries.read import read_stream

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gpuadvise.advisor.binaries.model import Item

TARGET = "-gencode=arch=compute_90,code=sm_90"


@pytest.fixture(scope="module")
def library(build: Callable) -> bytes:
    path: Path = build("library.o", "-c", TARGET)
    return path.read_bytes()


def wheel(method: int = zipfile.ZIP_DEFLATED, **members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name.replace("__", "."), data)
    return file.getvalue()


def items(data: bytes) -> list[Item]:
    return list(read_stream(io.BytesIO(data), "w.whl"))


def archive(data: bytes) -> bytes:
    header = b"one.o/          0           0     0     644     %-10d`\n" % len(data)
    return b"!<arch>\n" + header + data + b"\n" * (len(data) % 2)


@pytest.mark.parametrize(
    "method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
)
def test_members_that_hold_code(method: int, library: bytes) -> None:
    data = wheel(
        method,
        a__so=library,
        b__a=archive(library),
        c__py=library,  # not looked at
        d__txt=b"text " * 100,
        e=b"text " * 100,
        f__so=wheel(x__so=library),  # a zip in a zip is not opened
    )
    found = items(data)
    assert not any(isinstance(item, Damage) for item in found)
    assert {item.place.member for item in found} == {"a.so", "b.a!one.o"}
    assert sum(isinstance(item, Kernel) for item in found) == 28


def test_large_members_pass_through_a_file(library: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    from gpuadvise.advisor.binaries import wheel as reader

    monkeypatch.setattr(reader, "_IN_MEMORY", 1000)
    assert sum(isinstance(item, Kernel) for item in items(wheel(a__so=library))) == 14


def test_a_member_that_cannot_be_unpacked(library: bytes) -> None:
    data = bytearray(wheel(a__so=library, b__so=library))
    at = data.index(b"a.so") + 2000
    data[at : at + 50] = bytes(50)
    found = items(bytes(data))
    (damage,) = (item for item in found if isinstance(item, Damage))
    assert damage.message.startswith("a.so cannot be unpacked: ")
    assert {item.place.member for item in found if isinstance(item, Entry)} == {"b.so"}


def test_damage_in_a_member_of_an_archive(library: bytes) -> None:
    broken = b"\x7fELF\x02\x01\x01" + bytes(11) + b"\xbe\0" + bytes(100)
    found = items(wheel(a__a=archive(broken), b__so=library))
    (damage,) = (item for item in found if isinstance(item, Damage))
    assert damage.place.member == "a.a!one.o"
    assert any(isinstance(item, Kernel) for item in found)


def test_members_that_share_their_bytes_are_not_unpacked(library: bytes) -> None:
    data = bytearray(wheel(zipfile.ZIP_STORED, **{f"m{n}__so": library for n in range(9)}))
    first = data.index(b"PK\x01\x02")
    start = data.index(b"PK\x03\x04", 4)
    directory = bytearray(data[first:])
    at = 0
    while (at := directory.find(b"PK\x01\x02", at)) >= 0:
        directory[at + 42 : at + 46] = bytes(4)  # every member is the first one
        directory[at + 46 : at + 48] = b"m0"
        at += 4
    end = directory.rfind(b"PK\x05\x06")
    directory[end + 16 : end + 20] = start.to_bytes(4, "little")
    found = items(bytes(data[:start] + directory))
    (damage,) = (item for item in found if isinstance(item, Damage))
    assert damage.message == "m0.so shares bytes with another member: it is no honest zip."
    assert not any(isinstance(item, Kernel) for item in found)


def test_a_member_without_a_name(library: bytes) -> None:
    data = wheel(a__so=library).replace(b"a.so", b"\0.so")
    assert items(data) == []

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from gpuadvise.advisor.binaries.archive import read_members
from gpuadvise.advisor.binaries.file_type import ARCHIVE as MAGIC
from gpuadvise.advisor.binaries.span import Damaged, FileSpan

if TYPE_CHECKING:
    from gpuadvise.advisor.binaries.archive import Member


def member(name: bytes, data: bytes) -> bytes:
    size = str(len(data)).encode()
    return name.ljust(48) + size.ljust(10) + b"`\n" + data + b"\n" * (len(data) % 2)


def members(data: bytes) -> list[Member]:
    return list(read_members(FileSpan(io.BytesIO(data), len(data))))


def test_names_of_every_kind() -> None:
    long = b"a-very-long-name-of-an-object.o/\nanother-very-long-name.o/\n"
    found = members(
        MAGIC
        + member(b"/", b"symbols")
        + member(b"//", long)
        + member(b"short.o/", b"12345")
        + member(b"/33", b"second")
        + member(b"/0", b"first")
        + member(b"#1/12", b"bsd-name.o\0\0data")
        + member(b"__.SYMDEF", b"")
    )
    assert [(one.name, one.size) for one in found] == [
        ("short.o", 5),
        ("another-very-long-name.o", 6),
        ("a-very-long-name-of-an-object.o", 5),
        ("bsd-name.o", 4),
    ]


def test_long_names_of_windows_end_with_a_nul() -> None:
    long = b"a-long-name-of-an-object.obj\0another-long-name.obj\0"
    found = members(MAGIC + member(b"//", long) + member(b"/0", b"1") + member(b"/29", b"2"))
    assert [one.name for one in found] == ["a-long-name-of-an-object.obj", "another-long-name.obj"]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (MAGIC + member(b"a.o/", b"")[:-2] + b"xx", "header of a member"),
        (MAGIC + member(b"a.o/", b"").replace(b"0 ", b"-1"), "header of a member"),
        (MAGIC + member(b"a.o/", b"12").replace(b"2 ", b"99"), "more than the file has left"),
    ],
)
def test_damage(data: bytes, sentence: str) -> None:
    with pytest.raises(Damaged, match=sentence):
        members(data)


def test_too_many_members(monkeypatch: pytest.MonkeyPatch) -> None:
    from gpuadvise.advisor.binaries import archive

    monkeypatch.setattr(archive, "_MAX_MEMBERS", 3)
    with pytest.raises(Damaged, match="more than 3 members"):
        members(MAGIC + member(b"a.o/", b"") * 5)


def test_a_name_past_the_table_is_short_not_fatal() -> None:
    assert members(MAGIC + member(b"/99", b"x"))[0].name == ""

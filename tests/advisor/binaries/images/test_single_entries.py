"""Listing takes containers of one entry each in one pass, and says what reading each does."""

from __future__ import annotations

import io
import struct
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuadvise.advisor.binaries import tally
from gpuadvise.advisor.binaries.fatbin.entry import LAYOUT
from gpuadvise.advisor.binaries.fatbin.region import PATTERN
from gpuadvise.advisor.binaries.host_file import HostSection, Sections
from gpuadvise.advisor.binaries.model import Content, Entry
from gpuadvise.advisor.binaries.options import ReadOptions
from gpuadvise.advisor.binaries.read import read, read_stream
from gpuadvise.advisor.binaries.tally import EntryTally

if TYPE_CHECKING:
    from pathlib import Path

LIST = ReadOptions(kernels=False)
COUNT = ReadOptions(kernels=False, tally=True)
OPTIONS = struct.pack("<II", 72, 4) + b"-O3\0" + bytes(4)


def entry(kind: int, flags: int, size: int, tail: bytes = b"", wrong: int = 0) -> bytes:
    fields = (kind, 257, 64 + len(tail), size + wrong, 0, 64 if tail else 0)
    fields += (5, 7, 86, 0, 0, flags, 0, 3 * size)
    return LAYOUT.pack(*fields) + tail + bytes(range(7)) * (size // 7) + bytes(size % 7)


def region(*entries: bytes, longer: int = 0) -> bytes:
    body = b"".join(entries)
    return PATTERN + struct.pack("<Q", len(body) + longer) + body


entries = st.builds(
    entry,
    st.sampled_from([1, 2, 8, 64, 128, 256, 1000]),
    st.sampled_from([0x11, 0x2011, 0x8013, 0x5011]),
    st.sampled_from([8, 56, 872, 2496, 2504, 4000]),
    st.sampled_from([b"", bytes(8), OPTIONS]),
    st.sampled_from([0] * 20 + [8, 1 << 40]),
)
regions = st.builds(
    lambda held, padding, longer: region(*held, longer=longer) + bytes(padding),
    st.lists(entries, min_size=0, max_size=2),
    st.sampled_from([0, 8, 24, 3, 64, 200, 5000]),
    st.sampled_from([0] * 20 + [8, 1 << 40]),
)
files = st.lists(regions, min_size=1, max_size=12).map(
    lambda found: bytes(16) + b"".join(found) + bytes(2000)
)


def listed(data: bytes, options: ReadOptions) -> list[Any]:
    return list(read_stream(io.BytesIO(data), "case", options))


@settings(max_examples=300, deadline=None)
@given(files)
def test_a_listing_holds_the_entries_that_reading_does(data: bytes) -> None:
    whole = [item for item in listed(data, ReadOptions()) if isinstance(item, Entry)]
    assert [item for item in listed(data, LIST) if isinstance(item, Entry)] == whole


@settings(max_examples=300, deadline=None)
@given(files)
def test_counts_say_what_the_listing_says(data: bytes) -> None:
    counts: Counter[object] = Counter()
    sizes: Counter[object] = Counter()
    rest = []
    for item in listed(data, COUNT):
        one, count, size = (
            item if isinstance(item, EntryTally) else (item, 1, getattr(item, "size", 0))
        )
        if not isinstance(one, Entry):
            rest.append(one)
            continue
        counts[_kind(one)] += count
        sizes[_kind(one)] += size
    every = listed(data, LIST)
    assert counts == Counter(_kind(item) for item in every if isinstance(item, Entry))
    for item in every:
        if isinstance(item, Entry):
            sizes[_kind(item)] -= item.size
    assert not any(sizes.values())
    assert rest == [item for item in every if not isinstance(item, Entry)]


def _kind(one: Entry) -> object:
    return one._replace(place=one.place.at(None), size=0, unpacked_size=None, module=None)


@pytest.mark.parametrize("packed", [0x11, 0x2011])
def test_many_that_are_alike_come_as_one_and_a_number(tmp_path: Path, packed: int) -> None:
    one, other = region(entry(8, packed, 4000, OPTIONS)), region(entry(2, packed, 3000))
    path = tmp_path / "many.bin"
    path.write_bytes(bytes(8) + (one + bytes(24)) * 50 + other * 30 + one * 20 + bytes(3000))
    found = list(read(str(path), COUNT))
    firsts = [item for item in found if isinstance(item, Entry)]
    assert [first.content for first in firsts] == [Content.LTO, Content.LTO, Content.SASS]
    assert firsts[0].options == "-O3"
    assert {item[:2] for item in found if isinstance(item, EntryTally)} == {
        (firsts[1], 68),
        (firsts[2], 29),
    }
    assert len(list(read(str(path), LIST))) == 100


def test_only_so_many_kinds_are_kept_to_be_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tally, "_MAX_KINDS", 2)
    kinds = [region(entry(kind, 0x2011, 4000)) for kind in (8, 2, 8, 2, 128)]
    found = listed(bytes(8) + b"".join(kinds * 10) + bytes(3000), COUNT)
    assert sum(item.times for item in found if isinstance(item, EntryTally)) == 37
    assert sum(isinstance(item, Entry) for item in found) == 13


def test_what_a_section_holds_ends_with_it_or_with_the_next() -> None:
    outer, inner = (
        HostSection(8, 100, "outer", skipped=False),
        HostSection(40, 50, "inner", skipped=False),
    )
    sections = Sections([outer, inner, HostSection(200, 300, "last", skipped=False)])
    holds = [0, 8, 40, 50, 99, 100, 200, 300]
    assert [sections.until(at) for at in holds] == [8, 40, 50, 200, 200, 200, 300, None]
    for at in holds:
        until = sections.until(at) or 400
        assert {sections.at(other) for other in range(at, until)} == {sections.at(at)}

"""Files made or broken so that a reader would crash, hang or eat memory."""

from __future__ import annotations

import importlib.util
import io
import os
import struct
import time
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import lz4.block
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuadvise.advisor.binaries.fatbin.entry import LAYOUT
from gpuadvise.advisor.binaries.fatbin.region import PATTERN
from gpuadvise.advisor.binaries.model import Damage, Entry, Kernel
from gpuadvise.advisor.binaries.read import read, read_stream
from gpuadvise.advisor.errors import BadInput, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpuadvise.advisor.binaries.model import Item

ROOT = Path(__file__).parents[4]


def items(data: bytes) -> list[Item]:
    return list(read_stream(io.BytesIO(data), "case"))


def damage(data: bytes) -> list[str]:
    return [item.message for item in items(data) if isinstance(item, Damage)]


def region(*entries: bytes) -> bytes:
    body = b"".join(entries)
    return PATTERN + struct.pack("<Q", len(body)) + body


def entry(
    payload: bytes = b"",
    *,
    kind: int = 2,
    header: int = 64,
    size: int | None = None,
    flags: int = 0x11,
    decompressed: int = 0,
    packed: int = 0,
    extra: int = 0,
    name: tuple[int, int] = (0, 0),
) -> bytes:
    padded = payload + bytes(-len(payload) % 8)
    stored = len(padded) if size is None else size
    fields = (kind, 257, header, stored, packed, extra, 0, 8, 80, *name, flags, 0, decompressed)
    return LAYOUT.pack(*fields) + padded


@pytest.fixture(scope="module")
def seeds(assemble: Callable, build: Callable) -> list[bytes]:
    """Real files of every binary kind; the mutations start from them."""
    two = ("-gencode=arch=compute_80,code=[sm_80,compute_80]",)
    packed = build("small.o", "-c", "-Xfatbin=-compress-all", *two).read_bytes()
    stored = build("small.fatbin", "-fatbin", *two).read_bytes()
    cubins = [
        assemble("sm_90").path,
        assemble("sm_90", old=True).path,
        assemble("sm_52", old=True).path,
    ]
    header = b"small.o/        0           0     0     644     %-10d`\n" % len(packed)
    wheel = io.BytesIO()
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a/lib.so", packed)
    archive = b"!<arch>\n" + header + packed
    return [packed, stored, archive, wheel.getvalue(), *(path.read_bytes() for path in cubins)]


def test_mutations(seeds: list[bytes]) -> None:
    spec = importlib.util.spec_from_file_location("mutations", ROOT / "benchmarks" / "mutations.py")
    assert spec
    assert spec.loader
    mutations = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(mutations)
    outcomes = set()
    for number, data in mutations.cases(seeds, 3000):
        start = time.process_time()
        outcomes.add(mutations.outcome(data))
        assert time.process_time() - start < mutations.MOST_SECONDS, number
    assert outcomes == {"read", "damaged", "refused"}


@settings(max_examples=150, deadline=2000)
@given(
    st.binary(max_size=4096),
    st.sampled_from(
        [PATTERN, b"\x7fELF\x02\x01\x01\x41\x08", b"!<arch>\n", b"MZ", b"PK\x03\x04", b""]
    ),
)
def test_anything_ends(data: bytes, start: bytes) -> None:
    try:
        for item in items(start + data):
            assert isinstance(item, Kernel | Entry | Damage)
    except BadInput:
        pass


@settings(max_examples=150, deadline=2000)
@given(st.lists(st.integers(0, 2**64 - 1), min_size=8, max_size=40))
def test_forged_containers_end(words: list[int]) -> None:
    items(region(b"".join(struct.pack("<Q", word) for word in words)))


def test_many_images_that_unpack_to_much_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    from gpuadvise.advisor.binaries.fatbin import images

    monkeypatch.setattr(images, "_SLACK_FILE", 1 << 20)
    size = 1 << 20
    packed = zstandard.ZstdCompressor().compress(bytes(size)).ljust(size // 400, b"\0")
    bomb = entry(packed, packed=len(packed), flags=0x8011, decompressed=size)
    said = damage(region(*[bomb] * 9))
    assert len(said) == 9
    assert "unpack to far more than such a file can hold" in said[-1]
    assert "unpack to far more" not in said[0]


def test_truncation_at_every_hundredth(seeds: list[bytes]) -> None:
    for whole in seeds[:3]:
        for cut in range(1, len(whole), max(1, len(whole) // 100)):
            found = items(whole[:cut]) if b"\0" in whole[:cut] else []
            assert len(found) < 10_000


def test_the_rest_of_a_damaged_file_is_listed() -> None:
    good = region(entry(kind=8), entry(kind=8))
    bad = region(entry(kind=8), entry(kind=8, header=3), entry(kind=8))
    found = items(good + bad + good)
    assert sum(isinstance(item, Entry) for item in found) == 5
    (broken,) = (item for item in found if isinstance(item, Damage))
    assert broken.place.offset == len(good) + 16 + 64
    assert "3 bytes of header" in broken.message


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (PATTERN + struct.pack("<Q", 2**63), "bytes early"),
        (PATTERN + struct.pack("<Q", 2**64 - 1) + entry(), "bytes early"),
        (region(entry(size=2**63)), "9,223,372,036,854,775,808 of payload"),
        (region(entry(header=0)), "0 bytes of header"),
        (region(entry(header=2**32 - 1)), "bytes of header"),
        (region(entry(bytes(16), packed=17, flags=0x2011, decompressed=100)), "17 of 16"),
        (region(entry(bytes(64), flags=0x4011)), "not known"),
        (region(entry(bytes(64), flags=0x2011, packed=64, decompressed=2**62)), "claims to unpack"),
        (
            region(entry(bytes(64), flags=0x2011, packed=64, decompressed=3000)),
            "LZ4 data are broken",
        ),
        (
            region(entry(bytes(64), flags=0x8011, packed=64, decompressed=3000)),
            "Zstandard data are broken",
        ),
        (region(entry(bytes(64))), "not a 64-bit little-endian ELF"),
        (region(entry(kind=256, extra=60)), "table of images"),
        (
            region(entry(struct.pack("<II", 2**31, 2**31), kind=256, header=72, size=0, extra=64)),
            "does not fit",
        ),
    ],
)
def test_damage_is_a_sentence(data: bytes, sentence: str) -> None:
    assert any(sentence in message for message in damage(data + bytes(8)))


def test_bombs_are_not_unpacked() -> None:
    zeros = bytes(64 << 20)
    packed = zstandard.ZstdCompressor(level=19).compress(zeros)
    bomb = region(entry(packed, flags=0x8011, packed=len(packed), decompressed=len(zeros)))
    assert "claims to unpack" in damage(bomb)[0]
    # A frame that states more than its container: the library would believe the frame.
    liar = region(entry(packed + bytes(1000), flags=0x8011, packed=len(packed), decompressed=4000))
    assert "Its frame holds 67,108,864 bytes, not the 4,000" in damage(liar)[0]
    wheel = io.BytesIO()
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a.so", bytes(256 << 20))
    assert damage(wheel.getvalue()) == ["a.so claims to unpack to 256 MiB."]


def test_a_payload_that_unpacks_to_less() -> None:
    packed = lz4.block.compress(b"abcd" * 1000, store_size=False)
    short = region(entry(packed, flags=0x2011, packed=len(packed), decompressed=5000))
    assert damage(short) == [
        "An image cannot be unpacked. It unpacks to 4,000 bytes, not the 5,000 it claims."
    ]


def test_names_outside_the_header_are_left_out() -> None:
    for name in ((64, 8), (2**32 - 1, 2**32 - 1), (1, 2**20), (60, 5)):
        (found,) = (
            item for item in items(region(entry(kind=8, name=name))) if isinstance(item, Entry)
        )
        assert found.identifier is None


def test_more_entries_than_any_file_has() -> None:
    found = items(region(entry(kind=8) * 100_001))
    assert sum(isinstance(item, Entry) for item in found) == 100_000
    assert "more than 100,000 entries" in found[0].message


def test_endless_damage_is_cut_short() -> None:
    found = damage(region(entry(header=1)) * 3000)
    assert len(found) == 1000
    assert found[-1] == "There is more damage, which is not listed."


def section(
    kind: int, offset: int, size: int, *, link: int = 0, info: int = 0, flags: int = 6
) -> bytes:
    return struct.pack("<IIQQQQIIQQ", 0, kind, flags, 0, offset, size, link, info, 0, 0)


def cubin(body: bytes, *sections: bytes, count: int | None = None, names: int = 0) -> bytes:
    at = 64 + len(body)
    head = struct.pack(
        "<4s5B7xHHIQQQIHHHHHH", b"\x7fELF", 2, 1, 1, 0x41, 8, 2, 190, 1, 0, 0, at, 0x6005A04, 64, 0, 0, 64,
        len(sections) if count is None else count, names,
    )  # fmt: skip
    return head + body + b"".join(sections)


SYMBOLS = b"k\0" + struct.pack("<IBBHQQ", 0, 0x12, 0x10, 1, 0, 0)
NULL = section(0, 0, 0)
SYMBOL_TABLE = section(2, 66, 24, link=2)
STRINGS = section(3, 64, 2)


def test_the_smallest_cubin() -> None:
    found = items(cubin(SYMBOLS, NULL, SYMBOL_TABLE, STRINGS, section(1, 64, 16)))
    (kernel,) = (item for item in found if isinstance(item, Kernel))
    assert (kernel.name, kernel.capability.target) == ("k", "sm_90")
    assert kernel.registers is kernel.stack is kernel.spill_stores is None


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (cubin(SYMBOLS, NULL, count=60000), "past the end"),
        (cubin(SYMBOLS, section(0, 0, 2**40), count=0), "1,099,511,627,776 sections"),
        (cubin(SYMBOLS, NULL, names=7), "section 7 of 1"),
        (cubin(SYMBOLS, section(0, 0, 0, link=9), names=0xFFFF), "section 9 of 1"),
        (cubin(SYMBOLS, NULL, section(2, 66, 24, link=77)), "symbol names are in section 77"),
        (cubin(SYMBOLS, NULL, SYMBOL_TABLE, STRINGS, section(1, 64, 16, info=5)), "symbol 5"),
        (cubin(b"k\0" + struct.pack("<IBBHQQ", 9, 0, 0, 1, 0, 0), NULL, SYMBOL_TABLE, STRINGS, section(1, 64, 16)), "name is at byte 9"),
        (cubin(SYMBOLS, NULL, SYMBOL_TABLE, STRINGS, section(1, 64, 16), section(0x70000000, 64, 1 << 40, info=3)), "attributes claim"),
        (cubin(SYMBOLS, NULL, SYMBOL_TABLE, STRINGS, section(1, 64, 16), section(0x70000000, 64, 8, info=3), section(0x70000000, 64, 8, info=3)), "Two sections"),
        (cubin(SYMBOLS, NULL, section(0x70000000, 2**63, 2**63)), "past the end"),
        (cubin(SYMBOLS, NULL).replace(b"\x41\x08", b"\x99\x08", 1), "ABI 0x99"),
    ],
)  # fmt: skip
def test_forged_cubins(data: bytes, sentence: str) -> None:
    assert any(sentence in message for message in damage(data)), damage(data)


def test_sections_laid_over_each_other_are_not_read_again_and_again() -> None:
    body = SYMBOLS + bytes(1 << 20)
    texts = section(1, 64, 16) * 2000
    infos = b"".join(section(0x70000000, 100, 1 << 20, info=3 + n) for n in range(2000))
    data = cubin(body, NULL, SYMBOL_TABLE, STRINGS, *[texts, infos], count=4003)
    start = time.process_time()
    found = damage(data)
    assert time.process_time() - start < 2
    assert found == [
        "A function cannot be read. Its sections overlap: reading them all would take far too long."
    ]


def test_an_image_inside_an_image_is_not_looked_for(assemble: Callable) -> None:
    inner = assemble("sm_90").path.read_bytes()
    outer = region(entry(region(entry(inner)), kind=1))
    found = [item for item in items(outer) if isinstance(item, Entry)]
    assert len(found) == 1


def test_places_that_are_no_files(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    (tmp_path / "empty.so").touch()
    locked = tmp_path / "locked.so"
    locked.touch(mode=0)
    for path, sentence in (
        (fifo, "a pipe, not a file"),
        (tmp_path / "empty.so", "is empty"),
        (tmp_path / "none.so", "there is no such file"),
        (Path("/dev/null"), "a device or socket"),
        (Path("a\0b"), "cannot be the name of a file"),
        (Path("/proc/self/mem"), "cannot be read"),
    ):
        with pytest.raises((BadInput, Unavailable)) as caught:
            list(read(str(path)))
        assert sentence in str(caught.value)


def test_a_file_that_shrinks_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "shrinks.fatbin"
    path.write_bytes(region(entry(bytes(1 << 12), kind=8)) * 8000)
    reading = read(str(path))
    assert isinstance(next(reading), Entry)
    os.truncate(path, 1 << 20)
    found = list(reading)
    assert isinstance(found[-1], Damage)
    assert "it shrank" in found[-1].message


def test_standard_input_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    from gpuadvise.advisor.binaries import source

    monkeypatch.setattr(source, "_MAX_PIPED", 1 << 20)
    with pytest.raises(BadInput, match="larger than"):
        items(bytes(2 << 20))
    with pytest.raises(BadInput, match="empty"):
        items(b"")

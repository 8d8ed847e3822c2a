"""Images and containers forged against the reader of many images at once."""

from __future__ import annotations

import random
import resource
import struct
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
import zstandard

from gpuadvise.advisor.binaries.cubin.reader import MAX_INFO, read_cubin
from gpuadvise.advisor.binaries.fatbin import containers, images
from gpuadvise.advisor.binaries.fatbin.decompress import decompress, decompress_into
from gpuadvise.advisor.binaries.fatbin.entry import LAYOUT, Packed
from gpuadvise.advisor.binaries.fatbin.images import Images
from gpuadvise.advisor.binaries.fatbin.region import PATTERN
from gpuadvise.advisor.binaries.model import Compression, Content, Damage, Entry, Kernel, Place
from gpuadvise.advisor.binaries.parallel import prefetch
from gpuadvise.advisor.binaries.parallel.batches import ImageBatch, batches
from gpuadvise.advisor.binaries.parallel.prefetch import Buffers
from gpuadvise.advisor.binaries.read import read
from gpuadvise.advisor.binaries.span import Damaged, MemorySpan
from gpuadvise.advisor.binaries.vectorized.reader import read_images
from gpuadvise.advisor.capability import Capability

if TYPE_CHECKING:
    from pathlib import Path

ENTRY = Entry(content=Content.SASS, place=Place(path="forged"), capability=Capability(9, 0), size=1)
_HEADER = struct.Struct("<4s5B7xHHIQQQIHHHHHH")
_INFO, _CONSTANT_0, _NOTE = 0x70000000, 0x70000064, 7

# type, info, and the bytes or claimed size of a section
Section = tuple[int, int, bytes | int]


def forged(extra: list[Section], functions: int = 1) -> bytes:
    """Return an image of so many functions and *extra* sections; equal bytes lie at one place."""
    symbols = struct.pack("<IBBHQQ", 1, 2, 0x10, 1, 0, 0) * (functions + 2)
    rows: list[tuple[int, int, int, int, bytes | int]] = [(0, 0, 0, 0, 0)]
    rows += [(1, 6, 0, index + 1, bytes(128)) for index in range(functions)]
    rows += [(2, 0, functions + 2, 0, symbols), (3, 0, 0, 0, b"\0kernel\0")]
    rows += [(kind, 0, 0, info, content) for kind, info, content in extra]
    rows.append((3, 0, 0, 0, b"\0"))
    data = bytearray(64)
    places: dict[bytes, int] = {}
    table = b""
    for kind, flags, link, info, content in rows:
        at, size = 0, content if isinstance(content, int) else len(content)
        if isinstance(content, bytes):
            if content not in places:
                data += bytes(-len(data) % 16)
                places[content] = len(data)
                data += content
            at = places[content]
        table += struct.pack("<IIQQQQII16x", 0, kind, flags, 0, at, size, link, info)
    data += bytes(-len(data) % 16)
    count = len(rows)
    fields = (190, 1, 0, 0, len(data), 90 << 8, 64, 0, 0, 64, count, count - 1)
    data[:64] = _HEADER.pack(b"\x7fELF", 2, 1, 1, 0x41, 8, 2, *fields)
    return bytes(data + table)


def both(image: bytes) -> tuple[list[Kernel] | None, list[Kernel | Damage]]:
    alone = list(read_cubin(MemorySpan(image), ENTRY.place, target=ENTRY.capability))
    return read_images([ENTRY], [memoryview(image)])[0], alone


def test_a_forged_image_without_harm_is_read() -> None:
    together, alone = both(forged([]))
    assert together == alone
    assert isinstance(alone[0], Kernel)


def test_notes_over_each_other_are_for_the_other_reader() -> None:
    """Looked at one by one they would be gigabytes."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    together, alone = both(forged([(_NOTE, 0, bytes(1 << 16))] * 5000))
    assert together is None
    assert isinstance(alone[0], Damage)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # KiB


def test_records_too_long_are_for_the_other_reader() -> None:
    together, alone = both(forged([(_INFO, 1, bytes(MAX_INFO + 4))]))
    assert together is None
    assert isinstance(alone[0], Damage)
    # Each one is not too long, but all of them are.
    records = [(_INFO, index + 1, bytes(MAX_INFO - 4 * index)) for index in range(5)]
    together, alone = both(forged(records, functions=5))
    assert together is None
    assert len(alone) == 5


def test_what_walking_takes_is_bounded_for_all_images_together() -> None:
    """Each record takes thirty times its four bytes."""
    image = forged([(_INFO, 1, bytes([2, 1, 0, 0]) * (MAX_INFO // 4))])
    alone = list(read_cubin(MemorySpan(image), ENTRY.place, target=ENTRY.capability))
    assert read_images([ENTRY] * 3, [memoryview(image)] * 3) == [alone, alone, None]


def test_one_function_may_have_all_the_constants() -> None:
    image = forged([(_CONSTANT_0, 1, size) for size in range(30_000)])
    start = time.process_time()
    together, alone = both(image)
    assert time.process_time() - start < 1
    assert together == alone
    assert together
    assert len(together[0].constant_banks or ()) == 30_000


@pytest.mark.parametrize("cut", [0, 1, 4])
def test_a_check_that_is_cut_off_is_missed(cut: int) -> None:
    frame = zstandard.ZstdCompressor(write_checksum=True).compress(b"image" * 1000)
    memory = memoryview(bytearray(5000))
    if not cut:
        decompress_into(memoryview(frame), Compression.ZSTD, memory)
        assert bytes(memory) == b"image" * 1000
        return
    with pytest.raises(Damaged):
        decompress(frame[:-cut], Compression.ZSTD, 5000)
    with pytest.raises(Damaged):
        decompress_into(memoryview(frame)[:-cut], Compression.ZSTD, memory)


@pytest.mark.parametrize("cut", [1, 3000])
def test_a_frame_that_ends_early_is_broken_either_way(cut: int) -> None:
    """What lies beside an image decides how it is unpacked, and not what is said about it."""
    data = random.Random(1).randbytes(300_000)
    frame = zstandard.compress(data)[:-cut]
    with pytest.raises(Damaged) as alone:
        decompress(frame, Compression.ZSTD, len(data))
    with pytest.raises(Damaged) as together:
        decompress_into(memoryview(frame), Compression.ZSTD, memoryview(bytearray(len(data))))
    assert together.value.message == alone.value.message == "Its Zstandard data are broken."


def _entry(payload: bytes, decompressed: int, flags: int = 0x8011) -> bytes:
    stored = payload + bytes(-len(payload) % 8)
    fields = (2, 257, 64, len(stored), len(payload), 0, 0, 8, 80, 0, 0, flags, 0, decompressed)
    return LAYOUT.pack(*fields) + stored


def _written(path: Path, *entries: bytes) -> str:
    body = b"".join(entries)
    path.write_bytes(PATTERN + struct.pack("<Q", len(body)) + body)
    return str(path)


@pytest.mark.parametrize("least", [1, 1 << 40])
def test_what_cannot_be_true_costs_the_others_nothing(
    least: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(containers, "_WORTH_ARRAYS", least)
    image = forged([])
    good = _entry(zstandard.compress(image), len(image))
    liars = [_entry(b"\x28\xb5\x2f\xfd" * 8, 1 << 30, flags) for flags in (0x2011, 0x8011)]
    found = list(read(_written(tmp_path / "liars.fatbin", *liars * 20, good)))
    messages = {item.message for item in found if isinstance(item, Damage)}
    assert len(messages) == 1
    assert "claims to unpack 32 bytes to 1,073,741,824" in messages.pop()
    assert isinstance(found[-1], Kernel)


def _step(at: int, size: int, decompressed: int, part: tuple[int, int] | None = None) -> Packed:
    return Packed(ENTRY, at, size, decompressed, part)


def test_only_small_payloads_are_kept(tmp_path: Path) -> None:
    """Whatever stands behind a small image would be kept with it."""
    image = forged([])
    payload = zstandard.compress(image)
    for behind, kept in ((0, 1), (20_000, 0)):
        images._small_decompressed.cache_clear()
        entries = [_entry(payload + bytes(behind), len(image))] * 3
        found = list(read(_written(tmp_path / "small.fatbin", *entries)))
        assert sum(isinstance(item, Kernel) for item in found) == 3
        assert images._small_decompressed.cache_info().currsize == kept


def test_small_frames_are_judged_like_large_ones(tmp_path: Path) -> None:
    said = []
    for size in (2_000, 20_000):
        packing = zstandard.ZstdCompressor().compressobj(size=size)
        frame = packing.compress(random.Random(size).randbytes(size))
        frame += packing.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
        frame += packing.flush()[:-3]  # without the empty block that ends it
        *_, damage = read(_written(tmp_path / "cut.fatbin", _entry(frame, size)))
        assert isinstance(damage, Damage)
        said.append(damage.message)
    assert said[0] == said[1]


def test_batches_are_bounded_by_what_is_read_too() -> None:
    large = [_step(at << 20, 1 << 20, 8) for at in range(64)]
    assert max(len(batch.items) for batch in batches(large, 1 << 25, 1) if batch) == 8
    shared = [_step(0, 10, 1 << 22, (16 * part, 16)) for part in range(300)]
    assert [len(batch.items) for batch in batches(shared, 1 << 25, 1) if batch] == [300]


def test_workers_share_a_batch() -> None:
    one = 1 << 20
    several = [_step(at, 10, one // 2) for at in range(1, 11)]
    assert [len(share) for share in prefetch._shares(several, one)] == [2] * 5
    shared = [_step(0, 10, 4 * one, (16 * part, 16)) for part in range(300)]
    assert [len(share) for share in prefetch._shares([*shared, *several], one)] == [300, *[2] * 5]
    assert list(prefetch._shares([], one)) == []


def test_what_is_tiny_is_not_shared() -> None:
    batch = ImageBatch([_step(at, 8, 8) for at in range(4096)], 4096 * 8)
    with ThreadPoolExecutor(1) as pool:
        images = Images(MemorySpan(bytes(1 << 15)))
        assert len(prefetch._start(batch, pool, images, Buffers(), 4).openings) == 1


def test_what_is_not_packed_is_not_read_ahead(tmp_path: Path) -> None:
    """It is read where it lies, and once."""

    class Counting(MemorySpan):
        def part(self, offset: int, size: int) -> Counting:
            asked.append(size)
            return Counting(self.read(offset, size))

    asked: list[int] = []
    stored = Packed(ENTRY, 0, 4096, 4096)
    from gpuadvise.advisor.binaries.parallel.prefetch import Buffers

    Images(Counting(bytes(8192))).open_all([stored], Buffers().acquire(0))  # type: ignore[arg-type]  # of a file
    assert asked == [4096]

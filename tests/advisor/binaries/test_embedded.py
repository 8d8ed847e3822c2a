"""Device code at odd places is found, and what is made to exhaust us is refused."""

from __future__ import annotations

import io
import struct
import tarfile
import time
from pathlib import Path
from typing import ClassVar

import pytest
from made_fatbins import fatbin_of

from gpuadvise.advisor.binaries.fatbin import containers
from gpuadvise.advisor.binaries.fatbin.decompress import MAX_UNPACKED
from gpuadvise.advisor.binaries.fatbin.entry import Packed
from gpuadvise.advisor.binaries.fatbin.images import Opened
from gpuadvise.advisor.binaries.model import Content, Damage, Entry, Kernel, Place
from gpuadvise.advisor.binaries.options import ReadOptions
from gpuadvise.advisor.binaries.parallel.prefetch import Buffers, decompressed_ahead
from gpuadvise.advisor.binaries.read import read
from gpuadvise.advisor.binaries.span import Damaged
from gpuadvise.advisor.binaries.text.reader import read_program

RECORDED = Path(__file__).parents[2] / "cli" / "recorded"
ONE = fatbin_of("sass:90")
ELF = struct.Struct("<4s5B7xHHIQQQIHHHHHH")


def cubin() -> bytes:
    """Return an image for sm_90 with no more than a header and an empty section table."""
    flags = 90 << 8 | 0x5 | 90  # both places where toolkits wrote the target
    head = ELF.pack(b"\x7fELF", 2, 1, 1, 0x33, 7, 2, 190, 0x7D, 0, 0, 64, flags, 64, 0, 0, 64, 1, 0)
    return head + bytes(64)


def items(path: Path, *, kernels: bool = False) -> list[object]:
    return list(read(str(path), ReadOptions(kernels=kernels)))


def tar(content: bytes) -> bytes:
    with io.BytesIO() as buffer:
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            info = tarfile.TarInfo("cache/k.cubin")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        return buffer.getvalue()


@pytest.mark.parametrize("content", [ONE, cubin()], ids=["container", "cubin"])
@pytest.mark.parametrize(
    "around",
    [
        lambda c: b"0123456789abcdef0123456789abcdef01234567" + c,  # a checksum, as CuPy does
        lambda c: bytes(64) + c,
        lambda c: bytes(7) + c + b"end",
        lambda c: b"\x80\x04\x95\0" + c + b"\x94.",  # as in a pickle
        lambda c: (
            b"!<arch>\n" + b"a.obj/".ljust(48) + b"%-10d`\n" % (len(c) + 3) + b"\x64\x86\0" + c
        ),
        tar,
        lambda c: bytes(3 << 20) + b"x" + c,
    ],
    ids=["checksum", "zeros", "odd", "pickle", "COFF in a library", "tar", "far"],
)
def test_device_code_is_found_at_any_byte(tmp_path: Path, around, content: bytes) -> None:
    path = tmp_path / "file.bin"
    path.write_bytes(around(content))
    entries = [item for item in items(path) if isinstance(item, Entry)]
    # The cubin has no code: an empty image that was found all the same.
    assert [e.content for e in entries] == [Content.SASS if content is ONE else Content.STUB]
    if content is ONE:
        assert str(entries[0].capability) == "9.0"


def region_of(image: bytes, times: int) -> bytes:
    """Return one region of a fatbin with *image* for sm_90 so many times."""
    entry = struct.pack("<HHIQIIHHIIIQQQ", 2, 257, 64, len(image), 0, 0, 0, 8, 90, 0, 0, 1, 0, 0)
    body = (entry + image) * times
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def test_as_many_images_as_are_read_as_one_table_are_read_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "file.bin"
    image = RECORDED.joinpath("spilling.cubin").read_bytes()
    count = containers._MOST_AHEAD // 2  # an image and its entry are two of the items looked at
    path.write_bytes(bytes(103) + region_of(image, count))
    read_items = list(read(str(path), ReadOptions(tables=True)))
    entries = [item.place.offset for item in read_items if isinstance(item, Entry)]
    kernels = [item.place.offset for item in read_items if isinstance(item, Kernel)]
    assert len(set(entries)) == count
    assert entries[0] == 103 + 16  # behind the region's header
    assert kernels == entries


def test_offsets_are_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "file.bin"
    path.write_bytes(bytes(103) + ONE)
    (entry,) = (item for item in items(path) if isinstance(item, Entry))
    assert entry.place.offset == 103 + 16


def test_a_file_of_forged_containers_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "forged.bin"
    path.write_bytes(struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 1 << 60) * (1 << 19))
    for kernels in (False, True):
        start = time.process_time()
        found = items(path, kernels=kernels)
        assert time.process_time() - start < 5
        assert all(isinstance(item, Damage) for item in found)


def test_holes_of_a_sparse_file_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "sparse.bin"
    with path.open("wb") as file:
        file.truncate(100 << 30)
        file.seek(50 << 30)
        file.write(ONE)
    if path.stat().st_blocks * 512 > 1 << 30:
        pytest.skip("this file system stores holes")
    start = time.process_time()
    entries = [item for item in items(path) if isinstance(item, Entry)]
    assert time.process_time() - start < 2
    assert [entry.place.offset for entry in entries] == [(50 << 30) + 16]


def test_a_sparse_file_of_nothing_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "sparse.bin"
    with path.open("wb") as file:
        file.truncate(100 << 30)
    start = time.process_time()
    assert items(path) == []
    assert time.process_time() - start < 2


def bomb(kind: int, blocks: int, size: int) -> bytes:
    """Return a container of LZ4 entries that each claim *size* bytes."""
    lz4 = pytest.importorskip("lz4.block")
    packed = lz4.compress(bytes(size), store_size=False)
    entry = struct.Struct("<HHIQIIHHIIIQQQ")
    body = b""
    for _ in range(blocks):
        head = (
            kind,
            0x0101,
            entry.size,
            len(packed),
            len(packed),
            0,
            0,
            8,
            90,
            0,
            0,
            0x2000,
            0,
            size,
        )
        body += entry.pack(*head) + packed
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


@pytest.mark.parametrize("kind", [1, 2], ids=["PTX", "image"])
def test_an_lz4_bomb_is_refused_before_it_is_unpacked(tmp_path: Path, kind: int) -> None:
    path = tmp_path / "bomb.fatbin"
    path.write_bytes(bomb(kind, 8, 64 << 20))
    before = peak()
    start = time.process_time()
    damage = [item for item in items(path, kernels=True) if isinstance(item, Damage)]
    assert len(damage) == 8
    assert time.process_time() - start < 5
    assert peak() - before < 64 << 20


def peak() -> int:
    """Return the most memory this process had, in bytes."""
    resource = pytest.importorskip("resource")
    return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * 1024


def test_ptx_of_blanks_is_short() -> None:
    text = (
        b".version 8.0\n.target sm_90\n" + b"\n" * (100 << 20) + b".visible .entry k() { ret; }\n"
    )
    start = time.process_time()
    assert [kernel.name for kernel in read_program(text, Place(path="p"))] == ["k"]
    assert time.process_time() - start < 5


def test_ptx_that_no_compiler_wrote_is_refused() -> None:
    with pytest.raises(Damaged, match="outside of functions"):
        read_program(b".version 8.0\n.target sm_90\n" + b";\n" * (20 << 20), Place(path="p"))
    with pytest.raises(Damaged, match="more than any compiler"):
        read_program(bytes((1 << 27) + 1), Place(path="p"))


def test_images_unpacked_ahead_are_bounded() -> None:
    """Batches wait for those before them when together they would take too much."""
    place = Place(path="p")
    entry = Entry(content=Content.SASS, place=place, capability=None, size=1)
    image = Packed(entry=entry, at=0, size=1, unpacked_size=MAX_UNPACKED, part=None)
    steps = [image._replace(at=number) for number in range(8)]

    class Images:
        size = 1 << 30
        alive: ClassVar[set[int]] = set()
        most = 0

        def open_all(self, packed: list[Packed], memory: object) -> list[Opened]:
            self.alive.update(one.at for one in packed)
            Images.most = max(Images.most, len(self.alive))
            return [Opened(one, Damaged("not opened")) for one in packed]

    images = Images()
    for opened in decompressed_ahead(iter(steps), images, Buffers()):
        for one in opened:
            images.alive.discard(one.packed.at)
    assert 1 <= Images.most * MAX_UNPACKED <= 1 << 29

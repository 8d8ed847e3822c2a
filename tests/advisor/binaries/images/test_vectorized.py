"""Kernels read by arrays are those that the reader of single images finds, or are left to it."""

from __future__ import annotations

import os
import random
import struct
import subprocess
import sys
import time
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nvidia_wheels import LIBRARIES, present

from gpuadvise.advisor.binaries.cubin import sass
from gpuadvise.advisor.binaries.cubin.nv_info import walk
from gpuadvise.advisor.binaries.cubin.reader import describe, read_cubin
from gpuadvise.advisor.binaries.cubin.sass import spilled
from gpuadvise.advisor.binaries.elf import read_header, read_sections
from gpuadvise.advisor.binaries.fatbin import containers
from gpuadvise.advisor.binaries.fatbin.entry import Packed
from gpuadvise.advisor.binaries.fatbin.images import Images
from gpuadvise.advisor.binaries.kernel_table import KernelTable, Resources
from gpuadvise.advisor.binaries.model import Content, Damage, Entry, Item, Kernel, Place
from gpuadvise.advisor.binaries.options import ReadOptions
from gpuadvise.advisor.binaries.parallel import batches
from gpuadvise.advisor.binaries.parallel.prefetch import Buffers
from gpuadvise.advisor.binaries.read import read
from gpuadvise.advisor.binaries.source import opened
from gpuadvise.advisor.binaries.span import MemorySpan
from gpuadvise.advisor.binaries.vectorized import records
from gpuadvise.advisor.binaries.vectorized.reader import read_images, read_table
from gpuadvise.advisor.binaries.vectorized.spills import Notes, spills_alone, spills_in
from gpuadvise.advisor.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from gpuadvise.advisor.binaries.cubin.sass import Spills

    Image = tuple[Entry, bytes]

TWO = ("-gencode=arch=compute_80,code=sm_80", "-gencode=arch=compute_90,code=sm_90")


def alone(image: Image) -> list[Kernel | Damage]:
    entry, data = image
    return list(
        read_cubin(MemorySpan(data), entry.place, target=entry.capability, debug=entry.debug)
    )


def together(images: list[Image]) -> list[list[Kernel] | None]:
    return read_images([entry for entry, _ in images], [memoryview(data) for _, data in images])


def agreeing(images: list[Image]) -> int:
    """Return how many of *images* were read together, all of them rightly."""
    found = together(images)
    assert len(found) == len(images)
    for image, kernels in zip(images, found, strict=True):
        if kernels is not None:
            expected = alone(image)
            assert kernels == expected
            # True and 1 are equal, and other words in every answer.
            assert [list(map(type, one)) for one in kernels] == [
                list(map(type, one)) for one in expected
            ]
    return sum(kernels is not None for kernels in found)


def same_as_table(images: list[Image], seed: int = 1) -> None:
    """Check the table of *images*, some of which come again elsewhere, against their kernels."""
    chance = random.Random(seed)
    copies = [*range(len(images)), *chance.choices(range(len(images)), k=3)]
    placed = [(number, Place("elsewhere", offset=at)) for at, number in enumerate(copies)]
    table = read_table(
        [entry for entry, _ in images], [memoryview(data) for _, data in images], placed
    )
    if table is None:
        assert None in together(images)
        return
    expected = [
        kernel._replace(place=place)
        for number, place in placed
        for kernel in cast("list[Kernel]", together([images[number]])[0])
    ]
    assert table.kernels(range(len(expected))) == expected
    some = chance.choices(range(len(expected)), k=9)
    assert table.kernels(some) == [expected[row] for row in some]
    fields = Resources._fields
    assert [tuple(map(type, row)) for row in table.resources] == [
        tuple(type(getattr(kernel, name)) for name in fields) for kernel in expected
    ]
    assert table.resources == [
        tuple(getattr(kernel, name) for name in fields) for kernel in expected
    ]


def bare(path: Path) -> Image:
    data = path.read_bytes()
    return describe(MemorySpan(data), Place(path=str(path))), data


def packed_in(path: Path) -> Iterator[Image]:
    with opened(str(path)) as (_, span):
        images = Images(span.part(0, span.size))
        for step in containers._items(span, Place(path=str(path)), ReadOptions()):
            if isinstance(step, Packed) and step.entry.content is Content.SASS:
                image = images.open(step)
                yield step.entry, image.read(0, image.size)


@pytest.fixture(scope="session")
def cubins(build: Callable[..., Path], assemble: Callable) -> list[Image]:
    """Images of both ABIs: linked and not, with and without debug information, old and new."""
    made = [
        *(assemble(target).path for target in ("sm_75", "sm_90", "sm_90a", "sm_100f", "sm_120")),
        *(assemble(target, old=True).path for target in ("sm_52", "sm_70", "sm_80", "sm_90a")),
        assemble("sm_80", "-g").path,
        assemble("sm_90", "-maxrregcount=24").path,
        assemble("sm_61", "-maxrregcount=24", old=True).path,
        assemble("sm_90", "-c").path,
        assemble("sm_86", "-c", old=True).path,
        build("lined.cubin", "-cubin", "-lineinfo", "-arch=sm_89"),
    ]
    return [bare(path) for path in made]


def test_images_of_every_make_are_read_the_same(cubins: list[Image]) -> None:
    assert agreeing(cubins) == len(cubins)
    assert agreeing(cubins[:1]) == 1
    assert together([]) == []


def test_a_table_has_the_same_kernels(cubins: list[Image]) -> None:
    same_as_table(cubins)
    same_as_table(cubins[:1])


@pytest.mark.parametrize("name", ["libcurand.so.10", "libnvjpeg.so.13"])
def test_images_of_libraries_are_read_the_same(name: str) -> None:
    images = list(packed_in(present(LIBRARIES / name)))
    assert len(images) > 5
    assert agreeing(images) == len(images)
    same_as_table(images[-20:])


def test_what_is_no_image_is_left_to_the_other_reader(cubins: list[Image]) -> None:
    entry, data = cubins[0]
    header = bytearray(data)
    strange = [
        b"",
        b"no image at all" * 10,
        data[:64],
        data[: len(data) // 2],
        bytes(header[:58] + struct.pack("<H", 40) + header[60:]),  # size of a section header
        bytes(header[:60] + struct.pack("<H", 0) + header[62:]),  # no sections
        bytes(header[:62] + struct.pack("<H", 9999) + header[64:]),  # names nowhere
        bytes(header[:7] + b"\0" + header[8:]),  # another ABI
        bytes(header[:18] + b"\x3e" + header[19:]),  # another machine
    ]
    found = together([(entry, one) for one in (*strange, data)])
    assert found[:-1] == [None] * len(strange)
    assert found[-1] == alone((entry, data))


@pytest.mark.parametrize("seed", range(24))
def test_broken_images_are_left_alone_or_read_the_same(cubins: list[Image], seed: int) -> None:
    """Damage in one of them changes nothing about its neighbours."""
    chance = random.Random(seed)
    broken = [_broken(cubins[chance.randrange(len(cubins))], chance) for _ in range(60)]
    mixed = [image for pair in zip(broken, cubins * 4, strict=False) for image in pair]
    read = agreeing(mixed)
    assert len(mixed) // 2 <= read <= len(mixed)
    for image, kernels in zip(mixed, together(mixed), strict=True):
        if kernels is None:
            assert image not in cubins
    same_as_table(mixed[:4], seed)


def _broken(image: Image, chance: random.Random) -> Image:
    """Return *image* with a few bytes of its tables or records changed."""
    entry, data = image
    changed = bytearray(data)
    header = read_header(MemorySpan(data))
    sections = read_sections(MemorySpan(data), header)
    for _ in range(chance.randrange(1, 4)):
        section = sections[chance.randrange(len(sections))]
        table = header.sections_at + 64 * sections.index(section)
        places = [(table, 64), (section.offset, min(section.size, len(data) - section.offset))]
        start, size = places[chance.randrange(2)]
        if size > 0:
            at = start + chance.randrange(size)
            changed[at] = chance.choice([0, 1, 4, 0x7F, 0xFF, chance.randrange(256)])
    return entry, bytes(changed)


@pytest.fixture
def library(build: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Many packed images, one of them broken, of which a batch holds a few."""
    whole = build("bulk.fatbin", "-fatbin", "-Xfatbin=-compress-all", *TWO).read_bytes()
    path = tmp_path / "many.fatbin"
    path.write_bytes(whole)
    image = next(item for item in read(str(path)) if item.content is Content.SASS)
    broken = bytearray(whole)
    broken[image.place.offset + 64 : image.place.offset + 200] = bytes(136)
    path.write_bytes((whole * 3 + bytes(broken)) * 6)
    monkeypatch.setattr(batches, "_BATCH_BYTES", 1 << 18)
    return str(path)


def test_a_library_is_read_the_same_in_batches(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_by_one: list[Item] = list(read(library))
    monkeypatch.setattr(containers, "_WORTH_ARRAYS", 1)
    assert list(read(library)) == one_by_one
    assert sum(isinstance(item, Damage) for item in one_by_one) == 6
    # Batches without damage are tables, where those are wanted; the others stay rows.
    items = list(read(library, ReadOptions(tables=True)))
    tables = [item for item in items if isinstance(item, KernelTable)]
    rows = [item for item in items if isinstance(item, Kernel)]
    kernels = [item for item in one_by_one if isinstance(item, Kernel)]
    assert tables
    assert rows
    assert len(rows) + sum(len(table.resources) for table in tables) == len(kernels)
    assert len(items) - len(rows) - len(tables) == len(one_by_one) - len(kernels)
    # Who stops early leaves nothing behind.
    before = sys.getswitchinterval()
    reading = read(library)
    assert next(reading) == one_by_one[0]
    reading.close()
    assert sys.getswitchinterval() == before


def test_without_numpy_images_are_read_one_by_one(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_by_one = list(read(library))
    monkeypatch.setattr(containers, "_WORTH_ARRAYS", 1)
    monkeypatch.setitem(sys.modules, "gpuadvise.advisor.binaries.vectorized.reader", None)
    assert list(read(library)) == one_by_one


@pytest.mark.parametrize("given", [None, "3"])
def test_numpy_is_loaded_without_threads(given: str | None, library: str) -> None:
    """And what the user set for it stays set."""
    script = (
        "import os, sys, time; from gpuadvise.advisor.binaries.fatbin import containers\n"
        "from gpuadvise.advisor.binaries.read import read\n"
        "containers._WORTH_ARRAYS = 1; list(read(sys.argv[1]))\n"
        "assert 'numpy' in sys.modules\n"
        # The system lists the reader's own threads for a moment after they were joined.
        "until = time.monotonic() + 10\n"
        "while len(os.listdir('/proc/self/task')) > 1 and time.monotonic() < until: time.sleep(0.01)\n"
        "print(len(os.listdir('/proc/self/task')), os.environ.get('OPENBLAS_NUM_THREADS'))"
    )
    environment = {name: value for name, value in os.environ.items() if "OPENBLAS" not in name}
    if given:
        environment["OPENBLAS_NUM_THREADS"] = given
    said = subprocess.run(
        [sys.executable, "-c", script, library],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert said[1] == str(given)
    assert given or said[0] == "1"


def test_instructions_are_counted_one_by_one(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(containers, "_WORTH_ARRAYS", 1)
    found = read(library, ReadOptions(instructions=True))
    assert all(one.instructions for one in found if isinstance(one, Kernel))


def test_memory_is_handed_out_again() -> None:
    buffers = Buffers()
    first, second = buffers.acquire(10), buffers.acquire(10)
    assert first is not second
    buffers.release(first)
    assert buffers.acquire(20) is first
    buffers.release(second)
    larger = buffers.acquire(len(second) + 1)  # in whose favour the smaller one goes
    assert len(larger) > len(second)
    assert buffers.acquire(1) is not second
    with pytest.raises(Unavailable, match="No memory is left"):
        buffers.acquire(1 << 55)


_WORDS = st.one_of(
    st.sampled_from([0x000C1704, 0x00081204, 0x00043D04, 0x00FF1B03, 0x00014C02, 0x00021204]),
    st.integers(0, 0xFFFFFFFF),
    st.integers(0, 5),
)


@given(st.lists(st.lists(_WORDS, max_size=30), min_size=1, max_size=40))
def test_records_are_walked_the_same(lanes: list[list[int]]) -> None:
    """Each lane as ``walk`` walks it alone: parameters, which it skips, apart."""
    begin = np.cumsum([0, *map(len, lanes)])
    words = np.array([word for lane in lanes for word in lane] or [0], "<u4")
    whose, places = records._walked(words, begin[:-1], begin[1:], np.ones(256, bool))
    for number, lane in enumerate(lanes):
        found = [int(words[place]) for place in places[whose == number]]
        data = struct.pack(f"<{len(lane)}I", *lane)
        expected = [attribute for attribute, *_ in walk(data, frozenset(range(256)))]
        assert [word >> 8 & 0xFF for word in found if word != 0x000C1704] == expected


def test_a_million_records_do_not_take_long() -> None:
    count, size = 40, 1 << 15
    words = np.full(count * size, 0x00FF1B03, "<u4")
    begin = np.arange(count) * size
    start = time.monotonic()
    whose, places = records._walked(words, begin, begin + size, np.ones(256, bool))
    assert time.monotonic() - start < 2
    assert len(whose) == len(places) == count * size


_INSTRUCTION = st.sampled_from(
    [(0x7387, 4 << 1), (0x7983, 5 << 1), (0x7387, 6 << 1), (0x7387, 7 << 1), (0x7984, 2), (0, 0)]
)


@pytest.mark.parametrize("mode", ["size", "none"])
def test_small_images_that_are_repeated_are_read_once(
    cuda: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    """Each kernel comes as often as its image, with its own place and target."""
    source, fatbin = tmp_path / "small.cu", tmp_path / "small.fatbin"
    source.write_text("__global__ void small(int *p) { *p = 1; }")
    target = ("-gencode=arch=compute_80,code=sm_80", "--compress-mode=" + mode)
    cuda("nvcc", "-fatbin", *target, "-Xfatbin=-compress-all", "-o", fatbin, source)
    module = fatbin.read_bytes()
    elsewhere = bytearray(module)
    struct.pack_into("<I", elsewhere, 16 + 28, 86)  # the target that its entry states
    fatbin.write_bytes((module + elsewhere) * 40)
    alone = list(read(str(fatbin)))
    given: list[int] = []

    def counted(entries: list[Entry], images: list[memoryview]) -> list[list[Kernel] | None]:
        given.append(len(images))
        return read_images(entries, images)

    monkeypatch.setattr(containers, "_WORTH_ARRAYS", 1)
    monkeypatch.setattr(batches, "array_reader", lambda: counted)
    found = list(read(str(fatbin)))
    assert found == alone
    kernels = [item for item in found if isinstance(item, Kernel)]
    assert [str(kernel.capability) for kernel in kernels] == ["8.0", "8.6"] * 40
    assert len({kernel.place.offset for kernel in kernels}) == 80
    assert sum(given) <= 2 * len(given) < 40


@st.composite
def code(draw: st.DrawFn) -> bytes:
    one = draw(st.lists(_INSTRUCTION, max_size=40))
    words = [struct.pack("<QQ", low, high << 8) for low, high in one]
    return b"".join(words) * draw(st.sampled_from([1, 1, 700])) + draw(st.binary(max_size=17))


_ANNOTATIONS = st.lists(
    st.tuples(st.sampled_from([1, 1, 1, 1, 2]), st.integers(0, 800)), min_size=1, max_size=60
)


def annotated(named: list[tuple[int, int]], off: int) -> list[int]:
    """Return the words of a record, its offsets *off* the instructions."""
    return [word for kind, place in named for word in (kind, place * 16 + off)]


def noted(codes: list[bytes], words: list[list[int]]) -> list[Spills]:
    """Return what is found in all *codes* at once."""
    count = np.array([len(own) for own in words])
    flat = np.array([word for own in words for word in own], "<u4")
    notes = Notes(words=flat, at=np.cumsum(count) - count, count=count)
    return spills_in([memoryview(code) for code in codes], notes)


@given(st.lists(st.tuples(code(), _ANNOTATIONS, st.booleans(), st.booleans()), min_size=1))
def test_annotated_spills_are_counted_the_same(
    functions: list[tuple[bytes, list[tuple[int, int]], bool, bool]],
) -> None:
    codes = [code for code, *_ in functions]
    # An odd word at the end says nothing.
    words = [annotated(named, off) + [1] * odd for _, named, off, odd in functions]
    alone = [spilled(own, code, 90) for own, code in zip(words, codes, strict=True)]
    assert noted(codes, words) == alone


@given(code(), st.sampled_from([61, 70]), st.one_of(st.just([]), _ANNOTATIONS), st.booleans())
def test_other_spills_are_counted_the_same(
    code: bytes, sm: int, named: list[tuple[int, int]], off: bool
) -> None:
    words = annotated(named, off) if sm == 61 else []
    assert spills_alone(memoryview(code), np.array(words, "<u4"), sm) == spilled(words, code, sm)


def test_what_annotations_cannot_hold_is_a_bound_here_too() -> None:
    code = struct.pack("<QQ", 0x387, 4 << 9) * (2 * sass.MAX_ANNOTATIONS)
    named = annotated([(1, place) for place in range(5000)], 0)
    ((stores, *rest),) = noted([code], [named])
    assert (stores, *rest) == spilled(named, code, 90)
    assert stores == 2 * sass.MAX_ANNOTATIONS * 4

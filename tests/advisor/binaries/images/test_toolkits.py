"""The toolkit of an image, told from its first bytes or, packed, from as little as can be unpacked."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import lz4.block
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from made_fatbins import fatbin_of, old_image

from gpuadvise.advisor.binaries.fatbin.decompress import first_bytes
from gpuadvise.advisor.binaries.model import Compression, Entry
from gpuadvise.advisor.binaries.options import ReadOptions
from gpuadvise.advisor.binaries.read import read
from gpuadvise.advisor.binaries.span import Damaged
from gpuadvise.advisor.binaries.tally import EntryTally

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LISTED = ReadOptions(kernels=False, toolkits=True)


def toolkits(path: Path) -> list[tuple[int, int] | None]:
    return [item.toolkit for item in read(str(path), LISTED) if isinstance(item, Entry)]


@pytest.mark.parametrize("packing", ["none", "speed", "balance", "size"])
@pytest.mark.parametrize(
    ("sm", "old", "toolkit"),
    [
        ("sm_80", True, (12, 9)),
        ("sm_90", True, (12, 9)),
        ("sm_90", False, (13, 5)),
        ("sm_120", False, (13, 5)),
    ],
)
def test_what_the_assembler_was(
    assemble: Callable,
    cuda: Callable,
    tmp_path: Path,
    packing: str,
    sm: str,
    old: bool,
    toolkit: tuple[int, int],
) -> None:
    image, path = assemble(sm, old=old).path, tmp_path / "one.fatbin"
    cuda(
        "fatbinary", "-64", f"--compress-mode={packing}", "--compress-all", f"--create={path}",
        f"--image3=kind=elf,sm={sm[3:]},file={image}",
    )  # fmt: skip
    assert toolkits(path) == [toolkit]
    assert toolkits(image) == [toolkit]


@given(st.binary(max_size=600), st.integers(1, 300), st.integers(1, 64))
def test_the_first_bytes_of_what_is_packed(pattern: bytes, times: int, size: int) -> None:
    whole = pattern * times
    packed = lz4.block.compress(whole, store_size=False)
    assert first_bytes(packed, Compression.LZ4, size) == whole[:size]
    assert first_bytes(zstandard.compress(whole), Compression.ZSTD, size) == whole[:size]
    assert first_bytes(whole, Compression.NONE, size) == whole[:size]


@given(st.binary(max_size=200))
def test_broken_data_end(data: bytes) -> None:
    for compression in Compression:
        try:
            assert len(first_bytes(data, compression, 24)) <= 24
        except Damaged:
            continue


def test_lengths_without_end_are_not_followed() -> None:
    assert first_bytes(b"\xff" * (1 << 20), Compression.LZ4, 24) == b""


def test_the_same_kind_again_is_counted_with_it(tmp_path: Path) -> None:
    path = tmp_path / "many.fatbin"
    path.write_bytes(fatbin_of(" | ".join(["sass:80=12.6"] * 5)))
    found = list(read(str(path), LISTED._replace(tally=True)))
    assert {item.toolkit for item in found if isinstance(item, Entry)} == {(12, 6)}
    assert [item.entry.toolkit for item in found if isinstance(item, EntryTally)] == [(12, 6)]
    assert toolkits(path) == [(12, 6)] * 5
    without = ReadOptions(kernels=False)
    assert {item.toolkit for item in read(str(path), without)} == {None}


@pytest.mark.parametrize(
    ("at", "value"), [(0, 0), (7, 0x41), (18, 62), (20, 0)], ids=["magic", "ABI", "machine", "none"]
)
def test_a_header_that_is_another(tmp_path: Path, at: int, value: int) -> None:
    image = bytearray(old_image("12.6"))
    struct.pack_into("<B", image, at, value)
    path = tmp_path / "one.fatbin"
    path.write_bytes(fatbin_of("sass:80=12.6").replace(old_image("12.6"), bytes(image)))
    assert toolkits(path) == [None]

from __future__ import annotations

import builtins
import io
import sys
from typing import TYPE_CHECKING

import lz4.block
import pytest
import zstandard

from gpuadvise.advisor.binaries.fatbin.decompress import (
    decompress,
    decompress_into,
    first_bytes,
)
from gpuadvise.advisor.binaries.model import Compression, Entry
from gpuadvise.advisor.binaries.options import ReadOptions
from gpuadvise.advisor.binaries.read import read
from gpuadvise.advisor.binaries.span import Damaged
from gpuadvise.advisor.compression import lz4_block, zstd
from gpuadvise.advisor.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DATA = b"a kernel and another " * 100


@pytest.mark.parametrize(
    ("compression", "payload"),
    [
        (Compression.LZ4, lz4.block.compress(DATA, store_size=False)),
        (Compression.ZSTD, zstandard.ZstdCompressor().compress(DATA)),
        (Compression.ZSTD, zstandard.ZstdCompressor(write_content_size=False).compress(DATA)),
    ],
)
def test_what_was_packed_comes_back(compression: Compression, payload: bytes) -> None:
    assert decompress(payload, compression, len(DATA)) == DATA
    for wrong in (len(DATA) - 1, len(DATA) + 1):
        with pytest.raises(Damaged):
            decompress(payload, compression, wrong)


PACKAGES = {Compression.LZ4: "lz4", Compression.ZSTD: "zstandard"}
# From 3.14 on Python reads Zstandard by itself.
ERRORS = {
    "missing": (ModuleNotFoundError("no such module"), "is not installed.", "pip install "),
    "broken": (ImportError("no such ABI"), "cannot be loaded: no such ABI.", "again, or give"),
}


@pytest.fixture
def refuse(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[ImportError], None]]:
    """Let no package that unpacks be imported."""
    real = builtins.__import__

    def start(error: ImportError) -> None:
        def imported(name: str, *rest: object):
            if name in (*PACKAGES.values(), "compression.zstd"):
                raise error
            return real(name, *rest)

        monkeypatch.setattr(builtins, "__import__", imported)
        monkeypatch.setitem(sys.modules, "compression.zstd", None)
        _forget()

    yield start
    _forget()


def _forget() -> None:
    for known in (zstd._implementation, lz4_block._package, lz4_block._decompress_safe):
        known.cache_clear()


@pytest.mark.parametrize("name", ERRORS)
def test_a_missing_package_of_zstandard_is_named(name: str, refuse: Callable) -> None:
    error, why, install = ERRORS[name]
    refuse(error)
    for unpack in (decompress, first_bytes):
        with pytest.raises(Unavailable, match=f"zstandard {why}") as caught:
            unpack(b"x" * 100, Compression.ZSTD, 200)
        assert install in (caught.value.hint or "")
    with pytest.raises(Unavailable, match=f"zstandard {why}"):
        decompress_into(memoryview(b"x" * 100), Compression.ZSTD, memoryview(bytearray(200)))


@pytest.mark.parametrize("name", ERRORS)
def test_without_its_package_lz4_is_unpacked_all_the_same(name: str, refuse: Callable) -> None:
    payload = lz4.block.compress(DATA, store_size=False)
    refuse(ERRORS[name][0])
    assert lz4_block._package() is None
    assert decompress(payload, Compression.LZ4, len(DATA)) == DATA
    memory = bytearray(len(DATA))
    decompress_into(memoryview(payload), Compression.LZ4, memoryview(memory))
    assert memory == DATA
    for wrong in (0, len(DATA) - 1, len(DATA) + 1):
        with pytest.raises(Damaged):
            decompress(payload, Compression.LZ4, wrong)
        with pytest.raises(Damaged):
            decompress_into(memoryview(payload), Compression.LZ4, memoryview(bytearray(wrong)))


def test_an_image_packed_with_lz4_needs_no_package(build: Callable, refuse: Callable) -> None:
    options = ("-fatbin", "-Xfatbin=-compress-all", "-gencode=arch=compute_90,code=sm_90")
    path = str(build("packed.fatbin", *options))
    whole = list(read(path))
    refuse(ERRORS["missing"][0])
    assert len(list(read(path, ReadOptions(kernels=False)))) == 1
    packed_with = {item.compression for item in whole if isinstance(item, Entry)}
    if packed_with == {Compression.LZ4}:
        assert list(read(path)) == whole
    else:
        with pytest.raises(Unavailable):
            list(read(path))


def test_more_than_any_payload_can_hold() -> None:
    with pytest.raises(Damaged, match="claims to unpack 10 bytes to 1,073,741,825"):
        decompress(bytes(10), Compression.LZ4, (1 << 30) + 1)
    assert (
        io.BytesIO(decompress(lz4.block.compress(b"", store_size=False), Compression.LZ4, 0)).read()
        == b""
    )


@pytest.mark.parametrize("reachable", [True, False])
def test_lz4_fills_the_memory_it_is_given(reachable: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the C function beneath the package, and where a build of it hides that."""
    if reachable:
        assert lz4_block._decompress_safe() is not None
    else:
        monkeypatch.setattr(lz4_block, "_decompress_safe", lambda: None)
    payload = lz4.block.compress(DATA, store_size=False)
    memory = bytearray(len(DATA) + 8)
    decompress_into(memoryview(payload), Compression.LZ4, memoryview(memory)[4:-4])
    assert bytes(memory) == bytes(4) + DATA + bytes(4)
    for size in (0, len(DATA) - 1, len(DATA) + 1):
        with pytest.raises(Damaged) as alone:
            decompress(payload, Compression.LZ4, size)
        with pytest.raises(Damaged) as into:
            decompress_into(memoryview(payload), Compression.LZ4, memoryview(bytearray(size)))
        assert into.value.message == alone.value.message
    with pytest.raises(Damaged, match="broken"):
        decompress_into(memoryview(b"\xff" * 9), Compression.LZ4, memoryview(bytearray(999)))

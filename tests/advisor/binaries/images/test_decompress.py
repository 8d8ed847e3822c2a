from __future__ import annotations

import builtins
import io

import lz4.block
import pytest
import zstandard

from gpuadvise.advisor.binaries.fatbin import decompress as module
from gpuadvise.advisor.binaries.fatbin.decompress import decompress, decompress_into
from gpuadvise.advisor.binaries.model import Compression
from gpuadvise.advisor.binaries.span import Damaged
from gpuadvise.advisor.errors import Unavailable

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


@pytest.mark.parametrize(
    ("compression", "package"), [(Compression.LZ4, "lz4"), (Compression.ZSTD, "zstandard")]
)
@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ModuleNotFoundError("no such module"), ("is not installed.", "pip install ")),
        (ImportError("no such ABI"), ("cannot be loaded: no such ABI.", "again, or give it more")),
    ],
)
def test_a_missing_package_is_named(
    compression: Compression,
    package: str,
    error: ImportError,
    said: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = builtins.__import__

    def refuse(name: str, *rest: object):
        if name == package:
            raise error
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(Unavailable, match=f"{package} {said[0]}") as caught:
        decompress(b"x" * 100, compression, 200)
    assert said[1] in (caught.value.hint or "")


def test_listing_needs_no_package(build, monkeypatch: pytest.MonkeyPatch) -> None:
    from gpuadvise.advisor.binaries.options import ReadOptions
    from gpuadvise.advisor.binaries.read import read

    options = ("-fatbin", "-Xfatbin=-compress-all", "-gencode=arch=compute_90,code=sm_90")
    path = str(build("packed.fatbin", *options))
    real = builtins.__import__

    def refuse(name: str, *rest: object):
        if name in ("lz4", "zstandard"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse)
    assert len(list(read(path, ReadOptions(kernels=False)))) == 1
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
        assert module._lz4_decompress_safe() is not None
    else:
        monkeypatch.setattr(module, "_lz4_decompress_safe", lambda: None)
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

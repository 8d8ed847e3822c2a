"""Zstandard by each module that there is: both read, and refuse, the same frames."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.compression import zstd

if TYPE_CHECKING:
    from collections.abc import Iterator

DATA = b"a kernel and another " * 500
FRAMES = {
    "sized": zstandard.ZstdCompressor().compress(DATA),
    "unsized": zstandard.ZstdCompressor(write_content_size=False).compress(DATA),
    "checked": zstandard.ZstdCompressor(write_checksum=True).compress(DATA),
}


def implementations() -> list[str]:
    """Return what can be tried here: Python has a module of its own from 3.14 on."""
    return ["package", *(["standard"] if sys.version_info >= (3, 14) else [])]


@pytest.fixture(params=implementations())
def _used(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if request.param == "standard":
        monkeypatch.setitem(sys.modules, "zstandard", None)
    zstd._implementation.cache_clear()
    yield
    zstd._implementation.cache_clear()


@pytest.mark.usefixtures("_used")
@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_comes_back(name: str) -> None:
    frame = FRAMES[name]
    assert zstd.frame_size(frame) == (None if name == "unsized" else len(DATA))
    assert zstd.decompress(frame, len(DATA)) == DATA
    assert zstd.first_bytes(frame, 30) == DATA[:30]
    memory = bytearray(len(DATA))
    if zstd.fill(memoryview(frame), memoryview(memory)):
        assert memory == DATA


@pytest.mark.usefixtures("_used")
@pytest.mark.parametrize("name", FRAMES)
def test_less_and_more_than_a_frame_is_refused(name: str) -> None:
    frame = FRAMES[name]
    for broken in (frame[: len(frame) // 2], b"\0" * 20):
        with pytest.raises(zstd.BrokenFrame):
            zstd.decompress(broken, len(DATA))
    with pytest.raises(zstd.BrokenFrame):
        zstd.frame_size(b"\0" * 20)
    if name == "unsized":
        with pytest.raises(zstd.BrokenFrame):
            zstd.decompress(frame, len(DATA) - 1)


@pytest.mark.usefixtures("_used")
def test_a_check_sum_is_looked_at() -> None:
    frame = FRAMES["checked"][:-1] + bytes([FRAMES["checked"][-1] ^ 1])
    with pytest.raises(zstd.BrokenFrame):
        zstd.decompress(frame, len(DATA))


@pytest.mark.usefixtures("_used")
@pytest.mark.parametrize("piece", [1, 7, 1000])
def test_a_stream_of_pieces(piece: int) -> None:
    stream, _ = zstd.stream()
    packed = FRAMES["checked"] + b"behind"
    out, at = b"", 0
    while not stream.eof:
        out += stream.decompress(packed[at : at + piece])
        at += piece
    assert out == DATA
    assert stream.unused_data + packed[at:] == b"behind"
    broken, error = zstd.stream()
    with pytest.raises(error):
        broken.decompress(b"no frame at all")


@pytest.mark.skipif(sys.version_info < (3, 14), reason="Python has no such module before 3.14")
@given(st.binary(min_size=1, max_size=300), st.data())
def test_both_modules_agree_on_damaged_frames(data: bytes, draw: st.DataObject) -> None:
    frame = bytearray(zstandard.ZstdCompressor(write_checksum=True).compress(data))
    at = draw.draw(st.integers(0, len(frame) - 1))
    frame[at] ^= draw.draw(st.integers(0, 255))
    payload = bytes(frame[: draw.draw(st.integers(1, len(frame)))])
    answers = []
    for module in (zstd._Package(zstandard), zstd._Standard(import_module("compression.zstd"))):
        try:
            sized = module.frame_size(payload) in (None, len(data))
            answers.append(module.decompress(payload, len(data)) if sized else None)
        except (module.error, zstd.BrokenFrame):
            answers.append(None)
    assert answers[0] == answers[1]


def test_without_either_the_error_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("zstandard", "compression", "compression.zstd"):
        monkeypatch.setitem(sys.modules, module, None)
    zstd._implementation.cache_clear()
    with pytest.raises(ImportError, match="zstandard"):
        zstd.decompress(FRAMES["sized"], len(DATA))
    monkeypatch.undo()
    assert zstd.decompress(FRAMES["sized"], len(DATA)) == DATA

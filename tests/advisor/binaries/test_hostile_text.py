"""Recorded output, broken in a thousand ways: every reader must end, with kernels or a sentence."""

from __future__ import annotations

import io
import random
import time
from pathlib import Path

import pytest

from gpuadvise.advisor.binaries.model import Kernel
from gpuadvise.advisor.binaries.read import read_stream
from gpuadvise.advisor.errors import BadInput

FILES = sorted((Path(__file__).parent / "data").iterdir())
SECONDS = 2.0  # for any one of these, each of which is small
TOKENS = (
    b"{", b"}", b"/*", b"*/", b"//", b'"', b"'", b".entry ", b".func ", b".shared .b8 x[", b"[", b"]",
    b"9" * 400, b"\0", b"\xff\xfe", b"\r", b"\n", b"\x1b[31m", b"Compiling entry function '",
    b"Used 255 registers", b" bytes stack frame, 1 bytes spill stores, 2 bytes spill loads",
    b"Function properties for ", b"REG:", b"SHARED:", "٣²".encode(), b"A" * 5000,
)  # fmt: skip


def broken(data: bytes, rng: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        at = rng.randrange(len(out) + 1)
        match rng.randrange(5):
            case 0:
                out[at:at] = rng.choice(TOKENS) * rng.choice((1, 3, 50))
            case 1:
                del out[at : at + rng.choice((1, 100, 2000))]
            case 2:
                start = rng.randrange(len(out) + 1)
                out[at:at] = out[start : start + rng.choice((10, 3000))]
            case 3:
                lines = out.split(b"\n")
                rng.shuffle(lines)
                out = bytearray(b"\n".join(lines))
            case _:
                out = out[:at]
    return bytes(out)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_broken_text_ends_with_an_answer(path: Path) -> None:
    data = path.read_bytes()
    rng = random.Random(path.name)
    for _ in range(100):
        case = broken(data, rng)
        started = time.process_time()
        try:
            items = list(read_stream(io.BytesIO(case), "case"))
        except BadInput:
            items = []
        assert time.process_time() - started < SECONDS
        assert all(item.name for item in items if isinstance(item, Kernel))

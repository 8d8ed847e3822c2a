from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

from gpuadvise.advisor.binaries.model import Content, Entry
from gpuadvise.advisor.binaries.options import ReadOptions
from gpuadvise.advisor.binaries.read import read

if TYPE_CHECKING:
    from pathlib import Path

HEADER = b".version 9.0\n.target sm_75\n.address_size 64\n"


@pytest.mark.parametrize(
    ("program", "content"),
    [
        (HEADER, Content.STUB),
        (HEADER + b"\n" * 20 + b"\0", Content.STUB),
        (HEADER + b".entry k(){ret;}", Content.PTX),
        (HEADER + b".global .u32 x;", Content.PTX),
        (HEADER + b"// " + b"x" * 400, Content.PTX),  # too long to be what compilers leave
    ],
)
def test_ptx_without_code_is_no_program(tmp_path: Path, program: bytes, content: Content) -> None:
    payload = program + bytes(-len(program) % 8)
    head = (1, 0x0101, 64, len(payload), 0, 0, 0, 9, 75, 0, 0, 0, 0, 0)
    entry = struct.pack("<HHIQIIHHIIIQQQ", *head) + payload
    path = tmp_path / "empty.fatbin"
    path.write_bytes(struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entry)) + entry)
    (found,) = read(str(path), ReadOptions(kernels=False))
    assert isinstance(found, Entry)
    assert found.content is content

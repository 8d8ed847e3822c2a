"""Whole commands over broken files: an answer or one sentence, never a traceback, never long."""

from __future__ import annotations

import importlib.util
import io
import struct
import sys
import tarfile
import time
from hashlib import sha1
from pathlib import Path
from typing import TYPE_CHECKING

import lz4.block
import pytest
import zstandard

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "tests" / "cli" / "recorded"
FILES = (
    "80.cubin", "90a.cubin", "libsmall.so", "mixed.fatbin", "small-1.0-py3-none-any.whl", "small.a",
    "small.o", "spilling.cubin", "relocatable.cubin", "two.fatbin", "two.ptx", "old.log",
    "pageable.trace.json",
)  # fmt: skip
CASES = 800


@pytest.fixture(scope="module")
def mutations() -> ModuleType:
    path = ROOT / "benchmarks" / "mutations.py"
    spec = importlib.util.spec_from_file_location("mutations", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["mutations"] = module
    spec.loader.exec_module(module)
    return module


def region(*payloads: tuple[bytes, int, int]) -> bytes:
    """Return a fatbin of *payloads*, each with its flags and what it claims to unpack to."""
    layout = struct.Struct("<HHIQIIHHIIIQQQ")
    body = b""
    for payload, flags, size in payloads:
        padded = payload + bytes(-len(payload) % 8)
        packed = len(payload) if flags & 0xF000 else 0
        fields = (2, 257, 64, len(padded), packed, 0, 0, 8, 80, 0, 0, flags, 0, size)
        body += layout.pack(*fields) + padded
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def hostile() -> dict[str, bytes]:
    """Return what the readers were once led astray by, small: bombs, forgeries, odd places."""
    cubin = (RECORDED / "80.cubin").read_bytes()
    fatbin = (RECORDED / "two.fatbin").read_bytes()
    zeros = bytes(1 << 20)
    bomb = (lz4.block.compress(zeros, store_size=False), 0x2011, len(zeros))
    lz4_packed = (lz4.block.compress(cubin, store_size=False), 0x2011, len(cubin))
    zstd_packed = (zstandard.compress(cubin), 0x8011, len(cubin))
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as archive:
        member = tarfile.TarInfo("a.cubin")
        member.size = len(cubin)
        archive.addfile(member, io.BytesIO(cubin))
    section = struct.pack(
        "<8sIIIIIIHHI", b".nv_fatb", 0, 0, len(fatbin), 60, 0, 0, 0, 0, 0x40000040
    )
    coff = struct.pack("<HHIIIHH", 0x8664, 1, 0, 0, 0, 0, 0) + section + fatbin
    forged = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 1 << 62)
    return {
        "cupy.cubin": sha1(cubin).hexdigest().encode() + cubin,
        "cubins.tar": tar.getvalue(),
        "one.obj": coff,
        "one.lib": b"!<arch>\n" + b"one.obj/".ljust(48) + b"%-10d`\n" % len(coff) + coff,
        "bomb.fatbin": region(bomb, bomb),
        "packed.fatbin": region(lz4_packed, zstd_packed),
        "headers.bin": forged * 60,
        "prefixed.bin": bytes(64) + cubin,
    }


def test_whole_commands(mutations: ModuleType, tmp_path: Path) -> None:
    seeds = [RECORDED / name for name in FILES]
    for name, data in hostile().items():
        (tmp_path / name).write_bytes(data)
        seeds.append(tmp_path / name)
    contents = [path.read_bytes() for path in seeds]
    codes = set()
    for number, data in mutations.cases(contents, CASES):
        began = time.process_time()
        ran = mutations.run_command(seeds[number % len(seeds)], data, number, tmp_path)
        codes.add(ran.code)
        assert ran.fault is None, (number, ran)
        assert time.process_time() - began < mutations.MOST_SECONDS, number
    assert codes == {0, 1, 2, 3}


@pytest.mark.parametrize("name", sorted(hostile()))
@pytest.mark.parametrize("line", ["kernels {}", "compat {} --gpu a100", "diff {} {}"])
def test_what_is_hidden_is_found(cli, tmp_path: Path, name: str, line: str) -> None:
    path = tmp_path / name
    path.write_bytes(hostile()[name])
    began = time.process_time()
    ran = cli(*line.format(path, path).split())
    assert time.process_time() - began < 2
    if name in ("bomb.fatbin", "headers.bin"):  # nothing in it can be read
        assert ran.code in (0, 2, 3)
    else:
        assert ran.code == 0, ran.err

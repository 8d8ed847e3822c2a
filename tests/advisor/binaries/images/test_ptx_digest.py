from __future__ import annotations

import io
import time

import pytest

from gpuadvise.advisor.binaries.model import Kernel, Place
from gpuadvise.advisor.binaries.text.lines import read_pieces
from gpuadvise.advisor.binaries.text.ptx import read_ptx
from gpuadvise.advisor.binaries.text.ptx_digest import digest

HEAD = b".version 8.0\n.target sm_80\n.address_size 64\n"


def facts(program: bytes) -> list[tuple[object, ...]]:
    items = read_ptx(read_pieces(io.BytesIO(program)), Place(path="p"))
    return [
        (k.name, k.max_block, k.min_blocks, k.static_smem, k.dynamic_smem, k.capability)
        for k in items
        if isinstance(k, Kernel)
    ]


def function(name: str, body: str, directives: str = "") -> bytes:
    return f".visible .entry {name}(\n.param .u64 a\n)\n{directives}\n{{\n{body}\n}}\n\n".encode()


def test_a_compiled_program_says_the_same(ptx_source: str) -> None:
    program = ptx_source.encode()
    short = digest(program)
    assert len(short) < len(program) / 5
    assert facts(short) == facts(program)
    assert len(facts(short)) >= 14


@pytest.mark.parametrize(
    "program",
    [
        HEAD + function("k", "\t.shared .align 4 .b8 tile[400];\n\tld.shared.f32 %f1, [tile];"),
        HEAD + b".shared .align 4 .b8 tile[400];\n" + function("k", "\tmov.u32 %r1, tile;"),
        HEAD + b".shared .align 4 .b8 tile[400];\n" + function("k", "\tmov.u32 %r1, tiles;"),
        HEAD + b".extern .shared .align 16 .b8 buf[];\n" + function("k", "\tmov.u32 %r1, buf;"),
        HEAD + function("k", "\t{\n\t.reg .pred p;\n}\n\t.shared .b8 late[64];\n\tret;"),
        HEAD + function("k", "ret;", ".maxntid 128, 1, 1\n.minnctapersm 3"),
        HEAD
        + b".shared .b8 a[8];\n.func helper(\n)\n{\n\tmov.u32 %r1, a;\n}\n"
        + function("k", "\tcall.uni helper;")
        + function("l", "ret;"),
        HEAD + b".visible .entry k(){ ret; }\n" + function("l", "ret;"),
        HEAD + b".visible .entry k()\n{ .shared .b8 x[4]; ret; }\n",
        HEAD + function("k", "\t{\n{\n\tret;\n\t}}"),
        HEAD + b".visible .entry k()\n{\n\tret;\n",
        HEAD
        + function("k", "{\n.reg .b32 t;\n}\n.shared .b8 late[64];\n{\nret;\n}")
        + function("l", "ret;"),
        HEAD + function("k", "ret;") + b".section .debug_str\n{\n.b8 1\n}\n.shared .b8 z[4];\n",
        # A name that is a part of other words, seldom and more often than is searched for.
        HEAD + b".shared .b8 a[8];\n" + function("k", "\tmov.u32 %ra, ba;\n\tmov.u32 %r1, a;"),
        HEAD
        + b".shared .b8 a[8];\n"
        + function("k", "\tadd.s32 %ra, ba;\n" * 2000 + "\tmov.u32 %r1, a;"),
        HEAD + b".shared .b8 a[8];\n" + function("k", "\tadd.s32 %ra, ba;\n" * 2000),
        b"",
        HEAD,
    ],
)
def test_every_layout_says_the_same(program: bytes) -> None:
    assert facts(digest(program)) == facts(program)


def test_lines_of_megabytes_take_no_longer() -> None:
    table = b".global .align 4 .b8 table[] = {" + b"1, 2, .shared, " * 300_000 + b"};\n"
    start = time.process_time()
    assert facts(digest(HEAD + table + function("k", "ret;")))
    assert time.process_time() - start < 5


def test_many_names_in_many_bodies_take_one_pass() -> None:
    names = [f"_ZN6kernel{number:05}_shared" for number in range(4000)]
    shared = "".join(f".shared .align 4 .b8 {name}[16];\n" for name in names).encode()
    bodies = b"".join(
        function(
            f"k{number}",
            "\n".join([f"mov.u32 %r1, {names[number]};"] + ["add.s32 %r1, %r2, %r3;"] * 200),
        )
        for number in range(4000)
    )
    start = time.process_time()
    short = digest(HEAD + shared + bodies)
    assert time.process_time() - start < 10  # 4000 x 4000 searches took minutes
    assert len(short) < len(bodies) / 10
    assert {row[3] for row in facts(short)} == {16}

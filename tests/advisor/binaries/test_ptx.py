from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.binaries.model import Content, Entry, Exactness, Item, Kernel, Place
from gpuadvise.advisor.binaries.text.lines import LONGEST
from gpuadvise.advisor.binaries.text.ptx import read_ptx

if TYPE_CHECKING:
    from pathlib import Path

Reading = Callable[[bytes], list[Item]]
TOP = ".version 8.4\n.target sm_90a, debug\n.address_size 64\n"


def read(text: str) -> tuple[dict[str, Kernel], list[Entry]]:
    items = list(
        read_ptx(((line, n) for n, line in enumerate(text.splitlines(True), 1)), Place(path="p"))
    )
    kernels = {item.name: item for item in items if isinstance(item, Kernel)}
    return kernels, [item for item in items if isinstance(item, Entry)]


def test_a_module_of_nvidias_compiler(ptx: Reading, data: Path) -> None:
    content = (data / "nvrtc-12.9-compute_90a.ptx").read_bytes()
    *kernels, entry = ptx(content)
    assert isinstance(entry, Entry)
    assert (entry.content, entry.ptx_version, entry.size) == (Content.PTX, (8, 8), len(content))
    assert entry.capability
    assert entry.capability.target == "sm_90a"
    found = {k.name: k for k in kernels if isinstance(k, Kernel)}
    assert [(k.static_smem, k.dynamic_smem, k.max_threads) for k in found.values()] == [
        (1024, False, None),
        (1024, False, None),
        (0, False, None),
        (0, False, None),
        (0, False, None),
        (0, False, None),
        (0, True, 128),
    ]
    assert found["dynamic"].place.line is not None
    assert content.splitlines()[found["dynamic"].place.line - 1] == b".visible .entry dynamic("


def test_llvm_writes_only_the_numbers_it_has() -> None:
    kernels, entries = read(
        TOP
        + ".visible .entry k(.param .u64 p)\n.maxntid 256\n.minnctapersm 2 .maxnreg 64\n{\n ret;\n}\n"
    )
    kernel = kernels["k"]
    assert kernel.max_block == (256, 1, 1)
    assert (kernel.min_blocks, kernel.min_blocks_are) == (2, Exactness.EXACT)
    assert kernel.register_cap == 64
    assert entries[0].debug


def test_clusters_and_required_blocks() -> None:
    kernels, _ = read(
        TOP + ".entry k .reqntid 16, 8, 2 .reqnctapercluster 2, 1, 1 .maxclusterrank 4 { ret; }"
    )
    kernel = kernels["k"]
    assert (kernel.required_block, kernel.max_threads) == ((16, 8, 2), 256)
    assert (kernel.cluster, kernel.max_cluster_rank) == ((2, 1, 1), 4)
    assert kernel.min_blocks_are is None


def test_shared_variables_count_where_they_are_reached() -> None:
    text = (
        TOP
        + """
    .shared .align 16 .b8 big[1000];  .shared .f64 one;
    .extern .shared .align 8 .b8 pool[];
    .func inner() { .shared .v4 .f32 own[2][3]; mov.u64 %rd1, big; ret; }
    .func (.param .b32 r) outer (.param .b32 x) { call.uni inner, (); ret; }
    .func declared (.param .b32 x) ;
    .entry direct() { ld.shared.f64 %f, [one]; st.shared.v2.f32 [pool], {%a, %b}; }
    .entry indirect() { { call (r), outer, (x); } }
    .entry none() { ret; }
    """
    )
    kernels, _ = read(text)
    assert {name: (k.static_smem, k.dynamic_smem) for name, k in kernels.items()} == {
        "direct": (8, True),
        "indirect": (96 + 1000, False),
        "none": (0, False),
    }


def test_alignment_takes_its_room() -> None:
    body = ".shared .b8 a[1];\n.shared .align 16 .b8 b[4];\n.shared .b16 c;\n"
    kernels, _ = read(TOP + ".entry k() {\n" + body + "ret; }")
    assert kernels["k"].static_smem == 16 + 4 + 2


@pytest.mark.parametrize(
    "noise",
    [
        "// .entry fake() { }\n",
        "/* .entry fake() {\n } */",
        '.file 1 "a{b.cu"\n',
        ".global .align 1 .b8 s[4] = {1, 2, 3, 4};\n",
        ".section .debug_str { .b8 123,1,125 }\n",
        ".visible .entry fake(.param .u64 p) ;\n",
        "\n" * 50,
    ],
)
def test_what_only_looks_like_code_is_passed_over(noise: str) -> None:
    kernels, entries = read(TOP + noise + ".entry real() { // }\n ret; /* } */ }\n" + noise)
    assert list(kernels) == ["real"]
    assert entries[0].ptx_version == (8, 4)


def test_names_in_tables_belong_to_no_kernel() -> None:
    text = TOP + ".shared .b8 s[8];\n.entry k() { ret; }\n.global .u64 t[1] = { s };\n"
    kernels, _ = read(text)
    assert kernels["k"].static_smem == 0


def test_a_table_longer_than_any_line_does_not_lose_the_kernels_after_it(ptx: Reading) -> None:
    table = ".global .b8 t[9] = {" + "1, " * LONGEST + "1};\n"
    items = ptx((TOP + table + ".entry after() { ret; }\n").encode())
    assert [item.name for item in items if isinstance(item, Kernel)] == ["after"]


def test_a_kernel_that_reaches_very_many_functions_is_left_open() -> None:
    functions = "".join(f".func f{n}() {{ call f{n - 1}; }}\n" for n in range(1, 400))
    kernels, _ = read(TOP + ".func f0() { ret; }\n" + functions + ".entry k() { call f399; }\n")
    assert (kernels["k"].static_smem, kernels["k"].dynamic_smem) == (None, None)


def test_text_without_a_header_is_no_module() -> None:
    assert read("hello\n") == ({}, [])


def test_a_forged_size_stays_a_number() -> None:
    size = "[999999999999]" * 8
    kernels, _ = read(TOP + ".entry k() { .shared .b64 x" + size + "; ret; }")
    assert kernels["k"].static_smem == 1 << 32


WORDS = st.sampled_from(
    [
        ".entry",
        ".func",
        "k",
        "(",
        ")",
        "{",
        "}",
        ";",
        "/*",
        "*/",
        "//",
        '"',
        "\n",
        " ",
        ".shared",
        ".b8",
        "x[4]",
        ".target sm_90",
        ".version 8.0",
        ".maxntid 3,",
        ".pragma",
        ".align 0",
        "call k",
    ]
)


@given(st.lists(WORDS, max_size=80))
def test_any_words_are_ptx(words: list[str]) -> None:
    read(" ".join(words))


@given(st.text(max_size=400))
def test_any_text_is_ptx(text: str) -> None:
    read(TOP + text)


@pytest.mark.parametrize(
    "filler",
    [
        "{" * LONGEST,
        "/*" * (LONGEST // 2),
        ".func(" * 10000,
        '"' * LONGEST,
        ".shared " * 8000,
        ".entry k(" * 7000,
        "}{" * 30000,
        "/* */" * 13000,
        ".entry a { } " * 5000,
    ],
)
def test_no_text_takes_long(filler: str) -> None:
    read(TOP + filler)
    read(TOP + ".entry k {" + filler)
    read(TOP + "\n".join([filler] * 4))

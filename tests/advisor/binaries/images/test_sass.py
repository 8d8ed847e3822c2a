"""Instructions counted, against the vendor's disassembler."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from gpuadvise.advisor.binaries.model import Kernel
from gpuadvise.advisor.binaries.options import ReadOptions
from gpuadvise.advisor.binaries.read import read

if TYPE_CHECKING:
    from collections.abc import Callable

_NAME = re.compile(r"^\s*\.text\.(\S+):", re.MULTILINE)
_INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*)")
DOUBLE = {"DADD", "DMUL", "DFMA", "DSETP", "DMMA"}


def disassembled(text: str) -> dict[str, tuple[int, int]]:
    counts = {}
    parts = _NAME.split(text)
    for name, code in zip(parts[1::2], parts[2::2], strict=True):
        names = [each for each in _INSTRUCTION.findall(code) if each != "NOP"]
        counts[name] = len(names), sum(each in DOUBLE for each in names)
    return counts


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"])
def test_as_disassembled(target: str, assemble: Callable, cuda: Callable) -> None:
    path = assemble(target).path
    said = disassembled(cuda("nvdisasm", path))
    items = list(read(str(path), ReadOptions(instructions=True)))
    kernels = [item for item in items if isinstance(item, Kernel)]
    counted = {item.name: (item.instructions, item.fp64_instructions) for item in kernels}
    assert counted == said
    assert sum(double for _, double in counted.values()) > 20


def test_matrix_instructions_in_double_precision(cuda: Callable, tmp_path) -> None:
    source = tmp_path / "dmma.ptx"
    source.write_text(
        ".version 8.7\n.target sm_80\n.address_size 64\n"
        ".visible .entry k(.param .u64 a)\n{\n.reg .f64 %d<5>;\n.reg .b64 %r<2>;\n"
        "ld.param.u64 %r1, [a];\nld.global.f64 %d1, [%r1];\nld.global.f64 %d2, [%r1+8];\n"
        "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d3,%d4}, {%d1}, {%d2}, {%d1,%d2};\n"
        "st.global.f64 [%r1], %d3;\nst.global.f64 [%r1+8], %d4;\nret;\n}\n"
    )
    cuda("ptxas", "-arch=sm_80", source, "-o", tmp_path / "dmma.cubin")
    said = disassembled(cuda("nvdisasm", tmp_path / "dmma.cubin"))
    (kernel,) = (
        item
        for item in read(str(tmp_path / "dmma.cubin"), ReadOptions(instructions=True))
        if isinstance(item, Kernel)
    )
    assert (kernel.instructions, kernel.fp64_instructions) == said["k"]
    assert kernel.fp64_instructions == 1


def test_older_code_and_unasked_counts_are_unknown(assemble: Callable) -> None:
    old = assemble("sm_60", old=True).path
    for path, options in (
        (old, ReadOptions(instructions=True)),
        (assemble("sm_90").path, ReadOptions()),
    ):
        kernels = [item for item in read(str(path), options) if isinstance(item, Kernel)]
        assert all(kernel.instructions is None for kernel in kernels)

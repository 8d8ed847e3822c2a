"""Every number of every kernel, against what the assembler said when it made it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gpuadvise.advisor.binaries.model import Entry, Exactness, Kernel
from gpuadvise.advisor.binaries.read import read

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NEW = ["sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a",
       "sm_100f", "sm_103", "sm_110", "sm_120", "sm_120f", "sm_121"]  # fmt: skip
OLD = ["sm_50", "sm_52", "sm_60", "sm_61", "sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90",
       "sm_90a", "sm_100", "sm_100a", "sm_120"]  # fmt: skip


def kernels_of(path: Path) -> dict[str, Kernel]:
    items = list(read(str(path)))
    assert all(isinstance(item, Kernel | Entry) for item in items)
    return {item.name: item for item in items if isinstance(item, Kernel) and item.entry}


def check(assembled, target: str, toolkit: str) -> None:
    kernels = kernels_of(assembled.path)
    assert kernels.keys() == assembled.log.keys()
    for name, said in assembled.log.items():
        kernel = kernels[name]
        assert {
            "registers": kernel.registers,
            "stack": kernel.frame,
            "stores": kernel.spill_stores,
            "loads": kernel.spill_loads,
            "barriers": kernel.barriers,
            "smem": kernel.static_smem,
        } == said, name
        assert kernel.capability
        assert kernel.capability.target == target
        assert kernel.toolkit == toolkit
        assert kernel.linked
        assert kernel.spills_are is Exactness.EXACT


@pytest.mark.parametrize("target", NEW)
def test_new_abi(assemble: Callable, target: str) -> None:
    check(assemble(target), target, "13.5")


@pytest.mark.parametrize("target", OLD)
def test_toolkit_12(assemble: Callable, target: str) -> None:
    check(assemble(target, old=True), target, "12.9")


def test_the_kernels_do_spill(assemble: Callable) -> None:
    log = assemble("sm_90").log
    assert sum(kernel["stores"] > 0 for kernel in log.values()) >= 3
    assert log["_Z11local_arrayPfi"]["stack"] > 0
    assert log["_Z11local_arrayPfi"]["stores"] == 0


@pytest.mark.parametrize("old", [False, True])
def test_launch_bounds(assemble: Callable, old: bool) -> None:
    kernels = kernels_of(assemble("sm_80", old=old).path)
    bounded = kernels["_Z7boundedPfi"]
    assert bounded.max_block == (256, 1, 1)
    assert bounded.max_threads == 256
    assert (bounded.min_blocks, bounded.min_blocks_are) == (4, Exactness.INFERRED)
    assert bounded.register_cap == 64
    plain = kernels["_Z5plainPf"]
    assert plain.max_threads is plain.min_blocks is plain.register_cap is None


def test_register_cap_without_bounds_infers_nothing(assemble: Callable) -> None:
    kernel = kernels_of(assemble("sm_80", "-maxrregcount=40").path)["_Z14many_registersPfi"]
    assert kernel.register_cap == 40
    assert kernel.registers == 40
    assert kernel.min_blocks is None


def test_parameters_constants_and_code(assemble: Callable) -> None:
    kernels = kernels_of(assemble("sm_90").path)
    large = kernels["_Z15large_parameter5LargePd"]
    assert large.param_bytes == 1608
    assert large.code_bytes % 128 == 0
    assert large.constant_banks
    assert large.constant_banks[0][0] == 0
    assert large.constant_banks[0][1] >= 1608


def test_debug_build_has_no_spill_count(assemble: Callable) -> None:
    for old in (False, True):
        kernel = kernels_of(assemble("sm_90", "-g", old=old).path)["_Z8spillingPfi"]
        assert kernel.debug
        assert kernel.spill_stores is kernel.spills_are is None


@pytest.mark.parametrize("old", [False, True])
def test_line_information_is_no_debug_build(assemble: Callable, old: bool) -> None:
    kernel = kernels_of(assemble("sm_90", "-lineinfo", old=old).path)["_Z8spillingPfi"]
    assert not kernel.debug
    assert kernel.spill_stores


def test_dynamic_shared_memory_is_a_property_of_the_module(assemble: Callable) -> None:
    kernels = kernels_of(assemble("sm_90").path)
    assert kernels["_Z12dynamic_onlyPf"].dynamic_smem
    assert kernels["_Z7boundedPfi"].dynamic_smem is None


def test_recursion_is_unknown_where_the_toolkit_says_so(assemble: Callable) -> None:
    new = kernels_of(assemble("sm_90").path)["_Z9recursivePi"]
    assert new.stack is None
    assert new.stack_unbounded
    silent = kernels_of(assemble("sm_90", old=True).path)["_Z9recursivePi"]
    assert silent.stack_unbounded is None  # 12.9 writes 0 for recursion, too


def test_relocatable_image(assemble: Callable) -> None:
    items = list(read(str(assemble("sm_90", "-c").path)))
    (entry,) = (item for item in items if isinstance(item, Entry))
    assert entry.link_input
    functions = {item.name: item for item in items if isinstance(item, Kernel)}
    assert not functions["_Z9fibonaccii"].entry
    assert functions["_Z9fibonaccii"].registers
    kernel = functions["_Z7boundedPfi"]
    assert kernel.entry
    assert kernel.linked is False
    assert (kernel.static_smem, kernel.reserved_smem) == (400, 0)
    assert kernel.stack is None

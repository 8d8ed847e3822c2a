from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

from gpuadvise.advisor.binaries.cubin import nv_info, reader, sass
from gpuadvise.advisor.binaries.model import Exactness, Kernel
from gpuadvise.advisor.binaries.read import read

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def kernels_of(path: Path) -> dict[str, Kernel]:
    return {item.name: item for item in read(str(path)) if isinstance(item, Kernel) and item.entry}


@pytest.mark.parametrize("target", ["sm_52", "sm_61", "sm_70", "sm_80", "sm_90", "sm_120"])
def test_without_annotations_all_local_traffic_is_counted(
    target: str, assemble: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an image of a toolkit before 12.6 gives: the same code, no annotations."""
    assembled = assemble(target, old=True)
    monkeypatch.setattr(sass, "ANNOTATED_SINCE", (99, 0))
    monkeypatch.setattr(reader, "WANTED", reader.WANTED - {nv_info.ANNOTATIONS})
    arrays = {"_Z11local_arrayPfi", "_Z16spills_and_arrayPdi", "_Z8printingi"}
    for name, kernel in kernels_of(assembled.path).items():
        said = (assembled.log[name]["stores"], assembled.log[name]["loads"])
        counted = (kernel.spill_stores, kernel.spill_loads)
        if name in arrays:
            assert counted[0] >= said[0]
            assert counted[1] >= said[1]
        else:
            assert counted == said, name
        exact = counted == (0, 0)
        assert kernel.spills_are is (Exactness.EXACT if exact else Exactness.UPPER_BOUND)


def test_annotations_end_at_another_kind() -> None:
    store = struct.pack("<QQ", 0x387, 4 << 9)
    code = store * 4
    assert sass.annotated((1, 0, 1, 16, 2, 32), code, 90) == (8, 0)


def test_annotations_outside_the_code_are_passed_over() -> None:
    store = struct.pack("<QQ", 0x387, 4 << 9)
    assert sass.annotated((1, 0, 1, 1 << 30), store, 90) == (4, 0)
    assert sass.annotated((), store, 90) == (0, 0)
    assert sass.annotated((1, 0), b"", 90) == (0, 0)


@pytest.mark.parametrize(("code", "size"), list(enumerate((1, 1, 2, 2, 4, 8, 16))))
def test_widths(code: int, size: int) -> None:
    wide = struct.pack("<QQ", 0x387, code << 9) + struct.pack("<QQ", 0x983, code << 9)
    assert sass.local_traffic(wide, 80) == (size, size)
    control = struct.pack("<Q", 0xEF50 << 48)  # never an instruction
    store = struct.pack("<Q", 0xEF50 << 48 | code << 48)
    load = struct.pack("<Q", 0xEF40 << 48 | code << 48)
    assert sass.local_traffic(control + store + load + bytes(8), 61) == (size, size)

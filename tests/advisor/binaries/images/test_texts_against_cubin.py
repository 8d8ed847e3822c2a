"""What logs, listings and PTX say of a kernel, against what its image says."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from gpuadvise.advisor.binaries.model import Kernel, Source
from gpuadvise.advisor.binaries.read import read, read_stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from gpuadvise.advisor.binaries.model import Item

SOURCE = __file__.replace("test_texts_against_cubin.py", "kernels.cu")


def entries(items: Iterable[Item]) -> dict[str, Kernel]:
    return {item.name: item for item in items if isinstance(item, Kernel) and item.entry}


def of_text(text: str) -> dict[str, Kernel]:
    return entries(read_stream(io.BytesIO(text.encode()), "text"))


@pytest.mark.parametrize(
    ("target", "old"),
    [
        *((target, False) for target in ("sm_75", "sm_80", "sm_90a", "sm_100f", "sm_121")),
        *((target, True) for target in ("sm_52", "sm_70", "sm_86", "sm_90", "sm_100")),
    ],
)
def test_a_log_says_what_the_image_says(assemble: Callable, target: str, old: bool) -> None:
    made = assemble(target, old=old)
    logged, built = of_text(made.text), entries(read(str(made.path)))
    assert logged.keys() == built.keys()
    for name, said in logged.items():
        has = built[name]
        assert said.capability == has.capability
        for field in (
            "registers",
            "static_smem",
            "frame",
            "spill_stores",
            "spill_loads",
            "barriers",
        ):
            assert getattr(said, field) == getattr(has, field), (name, field)
        assert said.stack is None or said.stack == has.stack, name


@pytest.mark.parametrize("target", ["sm_75", "sm_90a", "sm_120"])
def test_a_listing_says_what_the_image_says(
    assemble: Callable, cuda: Callable, target: str
) -> None:
    path = assemble(target).path
    listed, built = of_text(cuda("cuobjdump", "-res-usage", path)), entries(read(str(path)))
    assert listed.keys() == built.keys()
    for name, said in listed.items():
        has = built[name]
        assert said.registers == has.registers
        assert said.static_smem in (None, has.static_smem)
        assert (said.stack, said.stack_unbounded or None) == (
            has.stack,
            has.stack_unbounded or None,
        )
        assert dict(said.constant_banks or ()).items() <= dict(has.constant_banks or ()).items()


def test_a_device_link_says_what_the_linked_image_says(cuda: Callable, tmp_path: Path) -> None:
    library = tmp_path / "linked.so"
    options = ("-w", "-rdc=true", "-arch=sm_90", "-shared", "-Xcompiler=-fPIC")
    text = cuda("nvcc", *options, "-Xptxas=-v", "-Xnvlink=-v", "-o", library, SOURCE)
    items = list(read_stream(io.BytesIO(text.encode()), "log"))
    linked = entries(i for i in items if isinstance(i, Kernel) and i.source is Source.NVLINK_LOG)
    built = entries(read(str(library)))
    assert linked.keys() == built.keys()
    for name, said in linked.items():
        has = built[name]
        assert (said.registers, said.static_smem, said.reserved_smem) == (
            has.registers, has.static_smem, has.reserved_smem,
        )  # fmt: skip
        assert said.capability == has.capability


def test_ptx_says_what_its_image_says(assemble: Callable, ptx_source: str) -> None:
    programs, built = of_text(ptx_source), entries(read(str(assemble("sm_80").path)))
    assert programs.keys() == built.keys()
    for name, said in programs.items():
        has = built[name]
        assert (said.static_smem, said.max_threads) == (has.static_smem, has.max_threads), name
        assert said.required_block == has.required_block
        assert said.register_cap in (None, has.register_cap)

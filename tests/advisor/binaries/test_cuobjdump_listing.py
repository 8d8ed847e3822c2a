from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.binaries.model import Item, Kernel, Place, Source
from gpuadvise.advisor.binaries.text.cuobjdump_listing import read_usage

if TYPE_CHECKING:
    from pathlib import Path

Reading = Callable[[bytes], list[Item]]
FLOATS = "_Z5scaleIfLi256EEvPT_PKS0_S0_"


def found(items: list[Item], target: str | None) -> dict[str, Kernel]:
    return {
        k.name: k
        for k in items
        if isinstance(k, Kernel) and (k.capability and k.capability.target) == target
    }


def test_each_target_of_an_object(usage: Reading, data: Path) -> None:
    items = usage((data / "cuobjdump-13.2-object.txt").read_bytes())
    ampere, hopper = found(items, "sm_80"), found(items, "sm_90")
    assert len(ampere) == len(hopper) == len(found(items, "sm_120f")) == 8
    assert ampere["spilling"].registers == 32
    assert ampere["spilling"].stack == 9760
    assert (ampere[FLOATS].static_smem, ampere[FLOATS].reserved_smem) == (1024, 0)
    assert (hopper[FLOATS].static_smem, hopper[FLOATS].reserved_smem) == (1024, 1024)
    assert (hopper["dynamic"].static_smem, hopper["dynamic"].reserved_smem) == (0, 1024)
    assert ampere["plain"].constant_banks == ((0, 364),)
    assert ampere["plain"].source is Source.CUOBJDUMP


def test_device_functions_have_no_parameter_bank(usage: Reading, data: Path) -> None:
    items = usage((data / "cuobjdump-13.2-library.txt").read_bytes())
    library = found(items, "sm_90")
    assert not library["callee"].entry
    assert library["callee"].registers is None  # the tool's 0 is not a number
    assert library["local_array"].entry
    assert library["recursive"].stack_unbounded
    assert library["recursive"].stack is None


def test_a_bare_cubin_has_no_target_and_its_reserve_stays_open(usage: Reading, data: Path) -> None:
    kernels = found(usage((data / "cuobjdump-13.2-cubin.txt").read_bytes()), None)
    assert kernels["plain"].static_smem == 0
    assert kernels[FLOATS].static_smem is None
    assert kernels["plain"].place.line == 15


def test_the_next_image_forgets_the_last_target(usage: Reading) -> None:
    text = (
        b"arch = sm_80\n Function a:\n  REG:1 SHARED:4\nFatbin elf code:\n Function b:\n  REG:2\n"
    )
    items = usage(text)
    assert [
        (k.name, k.capability and k.capability.target, k.static_smem)
        for k in items
        if isinstance(k, Kernel)
    ] == [
        ("a", "sm_80", 4),
        ("b", None, None),
    ]


@given(
    st.lists(
        st.sampled_from(
            [
                "Fatbin elf code:",
                "arch = sm_90a",
                " Function f:",
                "  REG:7 STACK:UNKNOWN SHARED:9 CONSTANT[0]:4",
                "  REG:",
                "Resource usage:",
                "x",
            ]
        )
        | st.text(max_size=80),
        max_size=30,
    )
)
def test_any_lines_are_a_listing(lines: list[str]) -> None:
    numbered = [(line, number) for number, line in enumerate(lines, 1)]
    for kernel in read_usage(numbered, Place(path="x")):
        assert kernel.registers is None or kernel.registers > 0

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.binaries.model import Damage, Exactness, Item, Kernel, Place, Source
from gpuadvise.advisor.binaries.text.build_log import read_log
from gpuadvise.advisor.binaries.text.lines import LONGEST

if TYPE_CHECKING:
    from pathlib import Path

Reading = Callable[[bytes], list[Item]]

FLOATS, DOUBLES = "_Z5scaleIfLi256EEvPT_PKS0_S0_", "_Z5scaleIdLi128EEvPT_PKS0_S0_"
ORDER = ["dynamic", "constants", "recursive", "local_array", "spilling", "plain", DOUBLES, FLOATS]


def kernels(items: list[Item], target: str | None = None) -> dict[str, Kernel]:
    assert not [item for item in items if isinstance(item, Damage)]
    found = [item for item in items if isinstance(item, Kernel) and item.entry]
    if target:
        found = [k for k in found if k.capability and k.capability.target == target]
    return {kernel.name: kernel for kernel in found}


@pytest.mark.parametrize(
    ("name", "target", "registers", "spills", "barriers"),
    [
        ("ptxas-11.8-sm_75.log", "sm_75", 64, (616, 616, 616), None),
        ("ptxas-12.4-sm_90.log", "sm_90", 32, (4360, 4552, 6860), None),
        ("ptxas-12.9-sm_120.log", "sm_120", 64, (600, 916, 916), 1),
        ("ptxas-13.5-sm_100f.log", "sm_100f", 32, None, 1),
        ("nvrtc-13.0-sm_90a.log", "sm_90a", 32, (10776, 16412, 19924), 1),
    ],
)
def test_each_toolkit_is_read(
    log: Reading,
    data: Path,
    name: str,
    target: str,
    registers: int,
    spills: tuple[int, int, int] | None,
    barriers: int | None,
) -> None:
    found = kernels(log((data / name).read_bytes()))
    assert list(found) == ORDER
    assert {k.capability.target for k in found.values() if k.capability} == {target}
    assert {k.source for k in found.values()} == {Source.PTXAS_LOG}
    spilling = found["spilling"]
    assert spilling.registers == registers
    assert spilling.spills_are is Exactness.EXACT
    if spills:
        assert (spilling.frame, spilling.spill_stores, spilling.spill_loads) == spills
    assert found["dynamic"].barriers == barriers
    assert found[FLOATS].static_smem == found[DOUBLES].static_smem == 1024
    assert found["plain"].static_smem == 0
    assert found["local_array"].frame == 64
    assert found["local_array"].spill_stores == 0


def test_device_functions_are_told_from_kernels(log: Reading, data: Path) -> None:
    items = log((data / "ptxas-12.4-sm_90.log").read_bytes())
    others = [k for k in items if isinstance(k, Kernel) and not k.entry]
    assert [(k.name, k.frame, k.registers) for k in others] == [
        ("_Z5depthi", 24, None),
        ("callee", 0, None),
    ]
    assert {k.capability.target for k in others if k.capability} == {"sm_90"}


def test_recursion_leaves_the_stack_unknown(log: Reading, data: Path) -> None:
    found = kernels(log((data / "ptxas-12.4-sm_90.log").read_bytes()))
    assert (found["recursive"].stack, found["recursive"].stack_unbounded) == (None, True)
    assert (found["local_array"].stack, found["local_array"].stack_unbounded) == (64, None)


def test_several_targets_are_kept_apart(log: Reading, data: Path) -> None:
    items = log((data / "nvcc-13.0-three-targets.log").read_bytes())
    for target in ("sm_80", "sm_90", "sm_120"):
        assert list(kernels(items, target)) == ORDER
    assert kernels(items, "sm_80")["plain"].constant_banks == ((0, 364),)
    assert kernels(items, "sm_90")["plain"].constant_banks is None


def test_after_a_device_link_its_numbers_count(log: Reading, data: Path) -> None:
    items = log((data / "nvcc-13.0-device-link.log").read_bytes())
    linked = [k for k in items if isinstance(k, Kernel) and k.linked]
    assert {k.source for k in linked} == {Source.NVLINK_LOG}
    hopper = {k.name: k for k in linked if k.capability and k.capability.target == "sm_90"}
    ampere = {k.name: k for k in linked if k.capability and k.capability.target == "sm_80"}
    assert set(hopper) == set(ampere) == set(ORDER)
    assert (hopper["local_array"].registers, hopper["local_array"].stack) == (46, 72)
    assert (hopper[FLOATS].static_smem, hopper[FLOATS].reserved_smem) == (1024, 1024)
    assert (ampere[FLOATS].static_smem, ampere[FLOATS].reserved_smem) == (1024, 0)
    assert hopper["recursive"].stack_unbounded
    assert hopper["spilling"].spill_stores == 16412  # the linker does not say: from ptxas
    unlinked = [k for k in items if isinstance(k, Kernel) and k.name == "spilling" and not k.linked]
    assert [(k.linked, k.static_smem) for k in unlinked] == [(False, None)] * 2


def test_a_link_that_names_no_target_leaves_what_depends_on_it_open(
    log: Reading, data: Path
) -> None:
    found = kernels(log((data / "nvlink-13.0-no-target.log").read_bytes()))
    assert found["plain"].capability is None
    assert (found["plain"].static_smem, found["plain"].reserved_smem) == (0, 0)
    assert (found[FLOATS].static_smem, found[FLOATS].reserved_smem) == (None, None)


def block(name: str, registers: int, frame: int = 0, target: str = "sm_80") -> list[str]:
    return [
        f"ptxas info    : Compiling entry function '{name}' for '{target}'",
        f"ptxas info    : Function properties for {name}",
        f"    {frame} bytes stack frame, {frame} bytes spill stores, {frame} bytes spill loads",
        f"ptxas info    : Used {registers} registers, 8 bytes smem",
    ]


def read(lines: list[str]) -> list[Item]:
    return list(read_log(((line, n) for n, line in enumerate(lines, 1)), Place(path="log")))


def test_lines_of_a_parallel_build_stay_apart_as_far_as_they_can() -> None:
    one, two = block("one", 10, 16), block("two", 20, 32)
    items = read([one[0], two[0], one[1], one[2], two[1], two[2], one[3], two[3]])
    found = {item.name: item for item in items if isinstance(item, Kernel)}
    assert [(k.registers, k.frame) for k in found.values()] == [(None, 16), (None, 32)]
    (damage,) = [item for item in items if isinstance(item, Damage)]
    assert "lines of 2 functions are mixed by a parallel build" in damage.message
    assert damage.place.line == 1


def test_mixed_lines_that_say_the_same_are_no_problem() -> None:
    one, two = block("one", 10), block("two", 10)
    items = read([one[0], two[0], one[1], two[1], two[2], one[2], two[3], one[3]])
    assert [(k.name, k.registers, k.frame) for k in items if isinstance(k, Kernel)] == [
        ("one", 10, 0),
        ("two", 10, 0),
    ]
    assert not [item for item in items if isinstance(item, Damage)]


def test_mixed_frames_are_not_guessed() -> None:
    one, two = block("one", 10, 16), block("two", 10, 32)
    items = read([one[0], two[0], one[1], two[1], two[2], one[2], two[3], one[3]])
    assert [k.spill_stores for k in items if isinstance(k, Kernel)] == [None, None]
    assert len([item for item in items if isinstance(item, Damage)]) == 1


def test_the_same_kernel_for_two_targets_at_once() -> None:
    one, two = block("k", 10, 16), block("k", 10, 16, target="sm_90")
    items = read([one[0], two[0], one[1], two[1], one[2], two[2], one[3], two[3]])
    found = [
        (k.capability.target, k.frame) for k in items if isinstance(k, Kernel) and k.capability
    ]
    assert found == [("sm_80", 16), ("sm_90", 16)]


def test_a_failed_compilation_is_named_and_the_next_one_read() -> None:
    lines = [*block("broken", 1)[:1], "ptxas fatal   : Memory allocation failure", *block("ok", 9)]
    damage, kernel = read(lines)
    assert isinstance(damage, Damage)
    assert damage.message == '"broken": the compiler stopped before its numbers'
    assert isinstance(kernel, Kernel)
    assert kernel.registers == 9


def test_a_log_that_ends_early_says_so() -> None:
    (damage,) = read(block("cut", 1)[:3])
    assert isinstance(damage, Damage)
    assert "the log ends before its numbers" in damage.message


def test_kernels_that_never_get_numbers_do_not_pile_up() -> None:
    lines = [block(f"k{n}", 1)[0] for n in range(1000)]
    items = read([*lines, *block("last", 7)])
    assert len([item for item in items if isinstance(item, Damage)]) == 1001
    assert all(item.place.line for item in items)


@pytest.mark.parametrize(
    "prefix", ["", "2026-01-02T03:04:05.678Z ", "#12 34.5 ", "[7/90] ", "\x1b[1m", "  | "]
)
def test_what_ci_systems_put_before_a_line_does_not_matter(prefix: str) -> None:
    (kernel,) = read([prefix + line for line in block("k", 12, 24)])
    assert isinstance(kernel, Kernel)
    assert (kernel.name, kernel.registers, kernel.spill_loads) == ("k", 12, 24)


def test_very_old_logs_have_two_part_sizes() -> None:
    lines = [
        *block("k", 1)[:1],
        "ptxas info    : Used 14 registers, 32+0 bytes lmem, 4120+16 bytes smem, 8 bytes cmem[1]",
    ]
    (kernel,) = read(lines)
    assert isinstance(kernel, Kernel)
    assert (kernel.static_smem, kernel.reserved_smem) == (4120, 16)
    assert kernel.constant_banks == ((1, 8),)


def test_lines_about_nothing_begun_are_passed_over() -> None:
    assert read(["ptxas info    : Used 10 registers", "nvlink info    : used 9 registers"]) == []
    assert read(block("k", 1)[2:3]) == []


NOISE = st.sampled_from(
    [
        *block("a", 3, 8),
        *block("b", 4, 9, "sm_90a"),
        "nvlink info    : Function properties for 'a':(target: sm_90)",
        "nvlink info    : used 46 registers, 136 stack, 1372 bytes smem (target: sm_90)",
        "ptxas warning : Stack size for entry function 'a' cannot be statically determined",
        "ptxas error   : no",
        "g++ -c x.cpp",
        "",
    ]
)


@given(st.lists(NOISE, max_size=60))
def test_any_order_of_lines_gives_kernels_or_damage(lines: list[str]) -> None:
    items = read(lines)
    begun = sum("Compiling" in line for line in lines)
    ended = [i for i in items if isinstance(i, Kernel) and i.entry and not i.linked]
    lost = [i for i in items if isinstance(i, Damage) and "mixed" not in i.message]
    assert len(ended) + len(lost) == begun


@given(st.binary(max_size=3000))
def test_any_bytes_are_a_log(content: bytes) -> None:
    text = content.decode("latin-1")
    assert (
        read([f"ptxas info    : Function properties for {text}", text, "Used 1 registers" + text])
        is not None
    )


@pytest.mark.parametrize(
    "filler",
    [
        "9" * LONGEST,
        "Compiling entry function '" * 2500,
        "Used 1 registers " * 3800,
        "'" * LONGEST,
        "nvlink info    : Function properties for '" * 1500,
        "1 bytes smem" * 5000,
        " " * LONGEST,
        "0 bytes stack frame, " * 3000,
    ],
)
def test_no_line_takes_long(filler: str) -> None:
    read([f"ptxas registers function bytes stack frame {filler}", filler])


def test_a_kernel_that_the_assembler_refuses_is_damage() -> None:
    lines = """\
ptxas info    : Compiling entry function 'k1' for 'sm_90'
ptxas error   : Entry function 'k1' uses too much shared data (0x20000 bytes, 0xc000 max)
ptxas info    : Compiling entry function 'k2' for 'sm_90'
ptxas info    : Used 32 registers, used 1 barriers, 0 bytes smem
""".splitlines()
    numbered = [(line, number) for number, line in enumerate(lines, 1)]
    damage, kernel = read_log(numbered, Place(path="a.log"))
    assert damage.message == '"k1" uses too much shared data (0x20000 bytes, 0xc000 max)'
    assert damage.place.line == 2
    assert (kernel.name, kernel.registers) == ("k2", 32)

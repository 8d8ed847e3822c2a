from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.binaries.kernel_occupancy import Residencies
from gpuadvise.advisor.binaries.model import Exactness, Kernel, Place, Source
from gpuadvise.advisor.binaries.names import stable_name
from gpuadvise.advisor.capability import parse_capability
from gpuadvise.advisor.resource_diff.change import Status, changes
from gpuadvise.advisor.resource_diff.pairs import final, paired


def kernel(name: str = "k", target: str | None = "90", **fields: object) -> Kernel:
    made = Kernel(
        name=name,
        source=Source.CUBIN,
        place=Place(path="x"),
        capability=parse_capability(target) if target else None,
        registers=32,
        static_smem=0,
    )
    return made._replace(**fields)


def statuses(old: list[Kernel], new: list[Kernel], **options: int) -> dict[str, str]:
    found = changes(old, new, Residencies(**options), by_target=True)
    return {change.kernel.name: str(change.status) for change in found}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "_ZN36_GLOBAL__N__56a95d09_4_a_cu_940687a76hiddenEPi",
            "_ZN36_GLOBAL__N__4c33de58_4_a_cu_940687a76hiddenEPi",
        ),
        (
            "__nv_static_25__56a95d09_4_a_cu_940687a7__Z4statPi",
            "__nv_static_25__4c33de58_4_a_cu_940687a7__Z4statPi",
        ),
        (
            "_ZN60_INTERNAL_47_tmpxft_00001a2b_00000000_7_foo_cpp1_ii_abcd12341kE",
            "_ZN60_INTERNAL_47_tmpxft_0000ffff_00000000_7_foo_cpp1_ii_abcd12341kE",
        ),
    ],
)
def test_an_edit_elsewhere_in_the_file_does_not_rename_a_kernel(one: str, other: str) -> None:
    assert stable_name(one) == stable_name(other)


def test_kernels_of_different_files_keep_apart() -> None:
    one = "_ZN36_GLOBAL__N__56a95d09_4_a_cu_940687a76hiddenEPi"
    assert stable_name(one) != stable_name(one.replace("a_cu", "b_cu"))
    assert stable_name("_Z4f_12345678_4_a_cu_12345678v") == "_Z4f_12345678_4_a_cu_12345678v"


def test_hidden_kernels_are_compared_across_edits() -> None:
    old = kernel("_ZN36_GLOBAL__N__56a95d09_4_a_cu_940687a76hiddenEPi", registers=32)
    new = kernel("_ZN36_GLOBAL__N__4c33de58_4_a_cu_940687a76hiddenEPi", registers=255)
    assert statuses([old], [new]) == {new.name: "worse"}


@pytest.mark.parametrize(
    ("old", "new", "status"),
    [
        ({}, {}, Status.UNCHANGED),
        ({"registers": 32}, {"registers": 30}, Status.SAME_TIER),
        ({"registers": 32}, {"registers": 64}, Status.WORSE),
        ({"registers": 64}, {"registers": 32}, Status.BETTER),
        ({"static_smem": 0}, {"static_smem": 1024}, Status.SAME_TIER),
        ({"stack": 0}, {"stack": 16}, Status.MORE_STACK),
        ({"stack": None}, {"stack": 16}, Status.UNCHANGED),  # one side does not tell
        ({"registers": None}, {"registers": 40}, Status.UNKNOWN),
        (
            {"source": Source.PTX, "registers": None},
            {"source": Source.PTX, "max_block": (64, 1, 1)},
            Status.UNCHANGED,
        ),
    ],
)
def test_what_became_of_a_kernel(
    old: dict[str, object], new: dict[str, object], status: Status
) -> None:
    assert statuses([kernel(**old)], [kernel(**new)]) == {"k": str(status)}


EXACT = {"spills_are": Exactness.EXACT}
BOUND = {"spills_are": Exactness.UPPER_BOUND}


@pytest.mark.parametrize(
    ("old", "new", "status"),
    [
        (
            EXACT | {"spill_stores": 4, "spill_loads": 4},
            EXACT | {"spill_stores": 8, "spill_loads": 4},
            "spills more",
        ),
        (
            EXACT | {"spill_stores": 8, "spill_loads": 4},
            EXACT | {"spill_stores": 4, "spill_loads": 4},
            "same tier",
        ),
        (
            BOUND | {"spill_stores": 0, "spill_loads": 0},
            EXACT | {"spill_stores": 8, "spill_loads": 4},
            "unchanged",
        ),
        (
            EXACT | {"registers": None, "spill_stores": 0, "spill_loads": 0},
            EXACT | {"registers": None, "spill_stores": 8, "spill_loads": 4},
            "spills more",
        ),
    ],
)
def test_spills_are_compared_where_both_are_exact(
    old: dict[str, object], new: dict[str, object], status: str
) -> None:
    assert statuses([kernel(**old)], [kernel(**new)]) == {"k": status}


def test_spills_count_beside_a_worse_tier() -> None:
    old = kernel(**EXACT, spill_stores=0, spill_loads=0)
    new = kernel(**EXACT, spill_stores=8, spill_loads=8, registers=255)
    (change,) = changes([old], [new], Residencies(), by_target=True)
    assert (change.status, change.spills_more) == (Status.WORSE, True)
    (alone,) = changes([], [new], Residencies(), by_target=True)
    assert (alone.status, alone.spills_more) == (Status.NEW, False)


def test_a_kernel_that_can_no_longer_start_is_worse() -> None:
    old, new = kernel(static_smem=1024), kernel(static_smem=200 << 10)
    assert statuses([old], [new], dynamic_smem=100 << 10) == {"k": "worse"}


def test_the_user_names_the_block() -> None:
    assert statuses([kernel()], [kernel(registers=72)], block=1024) == {"k": "worse"}
    assert statuses([kernel()], [kernel(registers=40)], block=32) == {"k": "same tier"}


def test_new_and_removed() -> None:
    assert statuses([kernel("a"), kernel("b")], [kernel("b"), kernel("c")]) == {
        "a": "removed",
        "b": "unchanged",
        "c": "new",
    }


def test_targets_are_kept_apart_unless_one_gpu_is_meant() -> None:
    old, new = [kernel(target="80")], [kernel(target="90")]
    assert len(list(paired(old, new, by_target=True))) == 2
    assert list(paired(old, new, by_target=False)) == [(old[0], new[0])]


def test_a_listing_without_targets_matches_by_name() -> None:
    old, new = [kernel(target=None), kernel("b", target="80")], [kernel(), kernel("b")]
    found = list(paired(old, new, by_target=True))
    assert (old[0], new[0]) in found
    assert (old[1], None) in found
    assert (None, new[1]) in found


def test_several_kernels_of_one_name_are_matched_by_their_numbers() -> None:
    old = [kernel(registers=n) for n in (32, 40, 64)]
    new = [kernel(registers=n) for n in (64, 41, 32, 128)]
    found = {(a and a.registers, b and b.registers) for a, b in paired(old, new, by_target=True)}
    assert found == {(32, 32), (64, 64), (40, 41), (None, 128)}


def test_copies_and_device_functions_are_not_compared() -> None:
    assert final([kernel(entry=False)]) == []
    assert len(final([kernel(), kernel()])) == 1


numbers = st.integers(16, 255)
builds = st.lists(
    st.builds(
        kernel, st.sampled_from("abc"), st.sampled_from(["80", "90", None]), registers=numbers
    ),
    max_size=8,
)


@given(builds, builds)
def test_each_kernel_is_in_exactly_one_pair(old: list[Kernel], new: list[Kernel]) -> None:
    pairs = list(paired(old, new, by_target=True))
    assert sorted(id(a) for a, _ in pairs if a) == sorted(map(id, old))
    assert sorted(id(b) for _, b in pairs if b) == sorted(map(id, new))
    assert all(a or b for a, b in pairs)


@given(builds)
def test_a_build_is_no_different_from_itself(build: list[Kernel]) -> None:
    found = changes(build, build, Residencies(), by_target=True)
    assert {change.status for change in found} <= {Status.UNCHANGED}

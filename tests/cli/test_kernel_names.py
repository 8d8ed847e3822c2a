from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.short_names import LONGEST, shortened
from gpuadvise.cli.render.kernel_names import fitting

ELEMENTWISE = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<{0}>, "
    "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<{0}>, std::array<char*, 3ul>)"
)


def test_names_that_fit_stay_as_they_are() -> None:
    names = ["saxpy(float*, int)", "a::operator<<(b)", "_Z5saxpyPfi"]
    assert shortened(names) == names


def test_parameters_go_before_template_arguments() -> None:
    name = "scale<float, 4>(" + ", ".join(["float const*"] * 9) + ")"
    assert shortened([name]) == ["scale<float, 4>(…)"]
    nested = "agent<parallel_for<uninitialized_fill<device_pointer<float>, float>, long>>(int)"
    assert shortened([nested]) == ["agent<parallel_for<…>>(…)"]
    flags = "f<(bool)1, &x::operator->, " + "y" * 80 + ">(int)"
    assert shortened([flags]) == ["f<…>(…)"]


def test_tags_of_numba_are_not_shown() -> None:
    name = f"__main__::add[abi:v1][abi:{'cw51cXTL' * 20}](Array<float, 1, C, mutable, aligned>)"
    assert shortened([name]) == ["__main__::add(Array<float, 1, C, mutable, aligned>)"]


def test_what_differs_stays_where_the_rest_is_the_same() -> None:
    short = shortened([ELEMENTWISE.format(kind) for kind in ("float", "double")])
    assert [("float" in text, "double" in text) for text in short] == [(True, False), (False, True)]
    assert all("vectorized_elementwise_kernel" in text for text in short)


def test_what_stands_around_the_name_goes_before_the_name_itself() -> None:
    name = "void at::native::(anonymous namespace)::layer_norm<float, 4>(float const*, int)"
    shorter = {
        len(name): name,
        60: "void at::native::(…)::layer_norm<float, 4>(…)",
        43: "void at::native::(…)::layer_norm<…>(…)",
        37: "at::native::(…)::layer_norm<…>(…)",
        20: "layer_norm<…>(…)",
        12: "layer_norm",
        9: "layer…orm",
    }
    assert {room: shortened([name], room)[0] for room in shorter} == shorter
    assert shortened(["void f()", "void"], 4) == ["f()", "void"]


def test_names_are_alike_where_no_room_is_left_for_what_differs() -> None:
    names = [ELEMENTWISE.format(kind) for kind in ("float", "double")]
    assert shortened(names, 31) == ["vectorized_elementwise_kernel"] * 2
    wide = shortened(names, 32)
    assert ["double" in text for text in wide] == [False, True]


def test_an_addition_takes_its_room_from_the_names() -> None:
    def made(longest: int) -> list[str]:
        return [f"{'x' * longest} (384)", "y"]

    assert (fitting(made, None), fitting(made, 11)) == (LONGEST, LONGEST)
    assert (fitting(made, 40), fitting(lambda _: ["y"], 40), fitting(made, 200)) == (
        34,
        40,
        LONGEST,
    )


def test_a_long_word_is_cut_in_the_middle() -> None:
    (text,) = shortened(["x" * 100 + "end"])
    assert len(text) == LONGEST
    assert text.endswith("end")


@given(st.lists(st.text("ab<>(),: -o…")))
def test_whatever_the_names_are(names: list[str]) -> None:
    assert all(len(text) <= 8 for text in shortened(names, 8))
    assert len(shortened(names, 8)) == len(names)

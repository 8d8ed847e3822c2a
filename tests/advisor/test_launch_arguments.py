"""Arguments of kernels as users type them."""

from __future__ import annotations

import struct

import pytest

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.launch_arguments import launch_arguments

KERNEL = (("out", "float*"), ("in", "float*"), ("n", "int"))


def test_memory_and_numbers_take_the_types_of_the_source() -> None:
    out, data, count = launch_arguments("fir", KERNEL, ("1KiB", "4096:0.5", "0x10"))
    assert (out.size, out.content) == (1024, b"\0")
    assert (data.size, data.content) == (4096, struct.pack("f", 0.5))
    assert (count.size, count.content) == (0, struct.pack("i", 16))


@pytest.mark.parametrize(
    ("kind", "word", "content"),
    [
        ("double", "2.5", struct.pack("d", 2.5)),
        ("half", "1", struct.pack("e", 1)),
        ("ullong", "7", struct.pack("Q", 7)),
        ("bool", "1", b"\1"),
        ("?", "size_t:9", struct.pack("Q", 9)),
        ("?", "float:1.5", struct.pack("f", 1.5)),
    ],
)
def test_numbers(kind: str, word: str, content: bytes) -> None:
    (value,) = launch_arguments("k", (("x", kind),), (word,))
    assert (value.size, value.content) == (0, content)


def test_random_floats_are_numbers_between_0_and_1() -> None:
    (value,) = launch_arguments("k", (("x", "float*"),), ("1MiB:random",))
    numbers = struct.unpack(f"{len(value.content) // 4}f", value.content)
    assert value.size == 1 << 20
    assert all(0 <= x < 1 for x in numbers)
    assert max(numbers) > 0.9


@pytest.mark.parametrize("kind", ["float.4*", "?*"])
def test_elements_of_vectors_and_of_unknown_types(kind: str) -> None:
    (value,) = launch_arguments("k", (("x", kind),), ("float:64:1",))
    assert value.content == struct.pack("f", 1)


@pytest.mark.parametrize("word", ["float:2KiB", "float:2KiB:random", "float:2048:1"])
def test_elements_of_memory_may_be_named_where_nothing_is_known(word: str) -> None:
    (value,) = launch_arguments("k", (("x", "?"),), (word,))
    assert value.size == 2048


def test_a_parameter_of_unknown_type_with_a_unit_is_memory() -> None:
    (value,) = launch_arguments("k", (("x", "?"),), ("2KiB",))
    assert value.size == 2048


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("1KiB", "1KiB"),
            r'"fir" takes 3 arguments, out \(float\*\), in \(float\*\) and n \(int\); 2 given',
        ),
        (("1KiB", "1KiB", "many"), 'n is int, and "many" is no such number'),
        (("1KiB", "1KiB", "3000000000"), "no such number"),
        (("1KiB", "1KiB", "1:2"), "takes a number"),
        (("1KiB", "1KiB:zero:1", "1"), "a size and what fills it"),
        (("lots", "1KiB", "1"), "lots"),
        (("0", "1KiB", "1"), "0"),
        (("1KiB:often", "1KiB", "1"), "often"),
    ],
)
def test_what_is_wrong_is_named(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        launch_arguments("fir", KERNEL, words)


@pytest.mark.parametrize(("kind", "word"), [("?", "16"), ("?*", "1KiB:random"), ("Params", "1")])
def test_types_that_the_source_does_not_say_are_asked_for(kind: str, word: str) -> None:
    with pytest.raises(BadInput, match="type"):
        launch_arguments("k", (("x", kind),), (word,))

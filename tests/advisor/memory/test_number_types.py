from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.memory.number_types import NumberType, parse_number_type, storage_bytes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fp32", NumberType.FP32),
        ("f32", NumberType.FP32),
        ("float", NumberType.FP32),
        ("float32", NumberType.FP32),
        ("Double", NumberType.FP64),
        ("half", NumberType.FP16),
        ("bf16", NumberType.BF16),
        ("i8", NumberType.INT8),
        ("int", NumberType.INT32),
        (" fp4 ", NumberType.FP4),
    ],
)
def test_spellings(text: str, expected: NumberType) -> None:
    assert parse_number_type(text) is expected


@pytest.mark.parametrize("text", ["", "fp", "fp3", "f", "quad", "float128", "i"])
def test_what_is_no_type(text: str) -> None:
    with pytest.raises(BadInput, match="not a number type"):
        parse_number_type(text)


@pytest.mark.parametrize("number_type", NumberType)
def test_every_name_reads_back(number_type: NumberType) -> None:
    assert parse_number_type(number_type.value) is number_type


def test_bits() -> None:
    assert {t.value: t.bits for t in NumberType} == {
        "fp64": 64, "fp32": 32, "tf32": 32, "bf16": 16, "fp16": 16, "fp8": 8, "fp4": 4,
        "int64": 64, "int32": 32, "int16": 16, "int8": 8, "int4": 4,
    }  # fmt: skip


@given(st.integers(0, 10**9))
def test_storage_is_rounded_up_to_bytes(count: int) -> None:
    assert storage_bytes(count, NumberType.FP4) == (count + 1) // 2
    assert storage_bytes(count, NumberType.FP32) == 4 * count

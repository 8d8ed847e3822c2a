"""Number types, their sizes, and the many ways people spell them."""

from __future__ import annotations

from enum import StrEnum

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import and_list, quoted


class NumberType(StrEnum):
    """A number type that a kernel stores or computes in."""

    FP64 = "fp64"
    FP32 = "fp32"
    TF32 = "tf32"
    BF16 = "bf16"
    FP16 = "fp16"
    FP8 = "fp8"
    FP4 = "fp4"
    INT64 = "int64"
    INT32 = "int32"
    INT16 = "int16"
    INT8 = "int8"
    INT4 = "int4"

    @property
    def bits(self) -> int:
        """Bits that one value takes in memory; tf32 is stored as fp32."""
        return 32 if self is NumberType.TF32 else int(self.value.lstrip("fpbint"))

    @property
    def is_integer(self) -> bool:
        """Whether values are whole numbers."""
        return self.value.startswith("int")


_ALIASES = {
    "double": "fp64",
    "float": "fp32",
    "single": "fp32",
    "half": "fp16",
    "bfloat16": "bf16",
    "int": "int32",
    "short": "int16",
    "char": "int8",
}


def parse_number_type(text: str) -> NumberType:
    """Return the type that ``fp32``, ``f32``, ``float32``, ``double`` or ``i8`` names.

    Raises BadInput for anything else.
    """
    word = text.strip().lower()
    name = _ALIASES.get(word, word)
    for short, full in (("float", "fp"), ("f", "fp"), ("i", "int")):
        if name.startswith(short) and name[len(short) :].isdigit():
            name = full + name[len(short) :]
    try:
        return NumberType(name)
    except ValueError:
        raise BadInput(
            f"{quoted(text)} is not a number type.",
            hint=f"Write {and_list(list(NumberType), 'or')}.",
        ) from None


def storage_bytes(count: int, number_type: NumberType) -> int:
    """Return the bytes that *count* packed values take, rounded up to a whole byte."""
    return -(-count * number_type.bits // 8)

"""What an operator of PyTorch has to compute and to move, by the shapes of its inputs.

Operations count a multiplication and an addition as two. Bytes are those of inputs and outputs once
each: what a kernel moves at least. Convolutions and attention are counted as the direct algorithm
has them, backward passes by the products that they hold.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from math import prod
from typing import TYPE_CHECKING

from gpuadvise.advisor.timelines.collectives import element_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    Shape = tuple[int, ...]


class OperatorKind(StrEnum):
    """What bounds an operator, and how its work is counted."""

    PRODUCT = "product"
    CONVOLUTION = "convolution"
    ATTENTION = "attention"
    NORM = "norm"  # and softmax: reads all, then writes all
    ELEMENTWISE = "elementwise"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorWork:
    """Operations and bytes of one call; None = not known from its shapes."""

    kind: OperatorKind
    flops: float | None = None
    bytes: float | None = None
    result_bytes: float | None = None  # of the bytes, what is written


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorCall:
    """One operator with the shapes and types of its inputs, as PyTorch wrote them down."""

    name: str
    shapes: tuple[tuple[int, ...], ...] = ()
    dtypes: tuple[str, ...] = ()
    values: tuple[str, ...] = ()  # of inputs that are no tensors

    @property
    def dtype(self) -> str | None:
        """The type of the first tensor."""
        typed = zip(self.shapes, self.dtypes, strict=False)
        return next((dtype for shape, dtype in typed if shape), None)


_FACTORS = {"mm": 0, "addmm": 1, "bmm": 0, "baddbmm": 1, "_scaled_mm": 0, "_addmm_activation": 1}
_ATTENTION = re.compile(r"_?(?:scaled_dot_product_)?(?:flash|efficient|cudnn)_attention")
# Whose second dimension counts heads; of the others it is the third.
_HEADS_SECOND = ("scaled_dot_product", "_cudnn_attention")
_NORM = re.compile(r"(?:native|cudnn|miopen|fused)_\w*norm|_?(?:log_)?softmax|rms_norm")
_ELEMENTWISE = frozenset(
    [
        "add",
        "add_",
        "sub",
        "sub_",
        "rsub",
        "mul",
        "mul_",
        "div",
        "div_",
        "pow",
        "square",
        "sqrt",
        "rsqrt",
        "neg",
        "abs",
        "exp",
        "log",
        "sigmoid",
        "tanh",
        "relu",
        "relu_",
        "gelu",
        "silu",
        "silu_",
        "threshold_backward",
        "gelu_backward",
        "silu_backward",
        "sigmoid_backward",
        "tanh_backward",
        "clamp",
        "clamp_",
        "clamp_min",
        "where",
        "copy_",
        "fill_",
        "zero_",
        "lerp_",
        "addcmul",
        "addcmul_",
        "addcdiv",
        "addcdiv_",
        "maximum",
        "minimum",
        "eq",
        "ne",
        "lt",
        "gt",
        "le",
        "ge",
        "logical_and",
        "logical_not",
        "bitwise_and",
        "masked_fill",
        "masked_fill_",
        "native_dropout",
        "native_dropout_backward",
        "leaky_relu",
        "leaky_relu_",
        "hardtanh",
        "hardtanh_",
        "cat",
        "stack",
        "_foreach_add_",
        "_foreach_mul_",
    ]
)
# Products of a backward pass, in those of the forward one.
_BACKWARD_ATTENTION = 2.5


def work_of(call: OperatorCall) -> OperatorWork:
    """Return the work of one call."""
    name = call.name.removeprefix("aten::")
    backward = "backward" in name
    tensors = [shape for shape in call.shapes if shape]
    each = element_bytes(call.dtype) if call.dtype else None
    if name in _FACTORS:
        return _product(call.shapes[_FACTORS[name] :], each)
    if "convolution" in name:
        return _convolution(call, each, backward=backward)
    if _ATTENTION.search(name):
        return _attention(name, call.shapes[1:] if backward else call.shapes, each, backward)
    if _NORM.search(name) and tensors:
        return _passes(OperatorKind.NORM, max(map(prod, tensors)), each, 3 if backward else 2)
    if name in _ELEMENTWISE and tensors and each:
        result = max(map(prod, tensors)) * each
        inputs = 0 if name in ("fill_", "zero_") else _moved(call)
        # The target of a copy stands among the inputs already.
        written = 0 if name == "copy_" else result
        return OperatorWork(
            kind=OperatorKind.ELEMENTWISE,
            bytes=float(inputs + written),
            result_bytes=float(result),
        )
    return OperatorWork(kind=OperatorKind.OTHER)


def _moved(call: OperatorCall) -> int:
    """Return the bytes of all tensors among the inputs."""
    typed = zip(call.shapes, call.dtypes, strict=False)
    return sum(prod(shape) * (element_bytes(dtype) or 0) for shape, dtype in typed if shape)


def _passes(kind: OperatorKind, elements: int, each: int | None, passes: int) -> OperatorWork:
    size = float(elements * each) if each else None
    return OperatorWork(kind=kind, bytes=None if size is None else passes * size, result_bytes=size)


def _product(factors: Sequence[Shape], each: int | None) -> OperatorWork:
    if len(factors) < 2 or len(factors[0]) not in (2, 3) or len(factors[1]) != len(factors[0]):
        return OperatorWork(kind=OperatorKind.PRODUCT)
    left, right = factors[:2]
    batch = left[0] if len(left) == 3 else 1
    rows, inner, columns = left[-2], left[-1], right[-1]
    result = batch * rows * columns
    elements = prod(left) + prod(right) + result
    return OperatorWork(
        kind=OperatorKind.PRODUCT,
        flops=2.0 * batch * rows * inner * columns,
        bytes=float(elements * each) if each else None,
        result_bytes=float(result * each) if each else None,
    )


def _convolution(call: OperatorCall, each: int | None, *, backward: bool) -> OperatorWork:
    unknown = OperatorWork(kind=OperatorKind.CONVOLUTION)
    shapes = call.shapes
    if backward:
        if len(shapes) < 3 or len(shapes[0]) < 3 or len(shapes[2]) < 3:
            return unknown
        result, source, weight = shapes[:3]
        # The gradients of the input and of the weights, one or both of which were asked for.
        asked = call.values[-1].count("True") if call.values else 3
        products = max(1, min(2, asked - ("True]" in call.values[-1] if call.values else 1)))
    else:
        if len(shapes) < 2 or len(shapes[0]) < 3 or len(shapes[1]) != len(shapes[0]):
            return unknown
        source, weight = shapes[:2]
        spatial = _spatial(call, source, weight)
        if spatial is None:
            return unknown
        result, products = (source[0], weight[0], *spatial), 1
    flops = 2.0 * prod(result) * prod(weight[1:]) * products
    elements = prod(result) + prod(source) + prod(weight)
    return OperatorWork(
        kind=OperatorKind.CONVOLUTION,
        flops=flops,
        bytes=float(elements * each) if each else None,
        result_bytes=float(prod(result) * each) if each else None,
    )


def _spatial(call: OperatorCall, source: Shape, weight: Shape) -> Shape | None:
    """Return the sizes of a convolution's result beside batch and channels."""
    lists = [_numbers(value) for value in call.values if value.startswith("[")]
    if len(lists) < 3:
        return None
    # cuDNN's own operators have the padding first, the others the stride.
    first, second, dilation = lists[:3]
    padding, stride = (first, second) if "cudnn" in call.name else (second, first)
    dimensions = len(source) - 2
    if not all(len(values) == dimensions for values in (padding, stride, dilation)):
        return None
    sizes = []
    for at in range(dimensions):
        reach = dilation[at] * (weight[at + 2] - 1) + 1
        sizes.append((source[at + 2] + 2 * padding[at] - reach) // max(1, stride[at]) + 1)
    return tuple(sizes) if all(size > 0 for size in sizes) else None


def _numbers(text: str) -> list[int]:
    return [int(digits) for digits in re.findall(r"\d{1,9}", text)]


def _attention(
    name: str, shapes: Sequence[Shape], each: int | None, backward: bool
) -> OperatorWork:
    if len(shapes) < 3 or any(len(shape) != 4 for shape in shapes[:3]):
        return OperatorWork(kind=OperatorKind.ATTENTION)
    heads_second = any(word in name for word in _HEADS_SECOND)
    batch, *middle, width = shapes[0]
    heads, queries = middle if heads_second else reversed(middle)
    keys = shapes[1][2] if heads_second else shapes[1][1]
    factor = _BACKWARD_ATTENTION if backward else 1.0
    elements = sum(map(prod, shapes[:3])) + prod(shapes[0])
    return OperatorWork(
        kind=OperatorKind.ATTENTION,
        flops=4.0 * batch * heads * queries * keys * width * factor,
        bytes=float(elements * each) * (2.0 if backward else 1.0) if each else None,
        result_bytes=float(prod(shapes[0]) * each) if each else None,
    )

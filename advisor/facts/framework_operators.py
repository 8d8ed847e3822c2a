"""What the names of PyTorch's and CuPy's kernels say of an operation on elements: which, on what types, on how many."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.library_kernels import base_name, library_of

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile

# Reports write `<(int)128, (int)2` where pages write `<128, 2`.
_LITERAL = re.compile(r"\((?:unsigned )?(?:int|long|bool)\)(?=-?\d)")
# `elementwise_kernel<threads, elements of a thread, ...>`, `vectorized_elementwise_kernel<words, ...>`.
_TEMPLATE = re.compile(
    r"(?P<template>(?:vectorized_|unrolled_)?elementwise_kernel)<(?:\d+, (?P<each>\d+), )?"
)
# The functor, or the function whose lambda it is, of what stands in the template; not the templates themselves.
_FUNCTION = re.compile(r"\w*(?:Functor|_kernel_|_kernel\b|KernelImpl)\w*")
_TEMPLATES = re.compile(r"(?:elementwise|gpu)_kernel")
_TYPE = re.compile(
    r"\b(?:double|float|Half|BFloat16|complex|unsigned char|char|short|int64_t|long|int|bool)\b"
)
# What the templates add behind it: their loop over indices, and the parameters of the launch.
_LAUNCHED = re.compile(
    r"\(at::TensorIterator(?:Base)? &(?:, const T1 &)?\)::\[lambda\(int\).*|, std::array<.*|\([^()]*\)$"
)
_ONE_ARRAY = "std::array<char *, 1>"  # it fills
_LAYOUT = re.compile(r"^(?:void )?(?:at::)?(?:native::)?elementwise_kernel<.*direct_copy_kernel")
# Several operations already: what stands before it may be what it replaces.
_COMPOSITE = re.compile(r"gelu|silu|mish|swish|glu|softmax|norm|dropout", re.IGNORECASE)
_CUPY = re.compile(r"cupy_(\w+?)__(\w+)")
# Elements of a thread in PyTorch until 2.6 and since, for 4-byte types and narrower.
_PER_THREAD = {"unrolled_elementwise_kernel": (4, 4), "vectorized_elementwise_kernel": (4, 8)}
_OTHER_SIZE = 0.05  # a last block may be idle in part
_CASTS = re.compile(r"gpu_kernel_impl<|LoadWithCast|direct_copy")  # operands of any type
_CAST_TO = {"float16_copy": "Half", "bfloat16_copy": "BFloat16"}
_TRUE_OR_FALSE = re.compile(r"compare|isneginf|isposinf|isnan|isfinite|logical|Compare")
_SIZES = {
    **dict.fromkeys(("double", "long", "int64_t"), 8),
    **dict.fromkeys(("float", "int"), 4),
    **dict.fromkeys(("Half", "BFloat16", "short"), 2),
    **dict.fromkeys(("char", "unsigned char", "bool"), 1),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """One operation of a framework on each element of its arrays."""

    library: str
    name: str
    operands: tuple[str, ...]  # types that its name has; none: any
    result: str | None
    composite: bool = False  # one that frameworks have for several operations: GELU, a softmax
    per_thread: tuple[int, ...]  # elements, by the version of the library

    def follows(self, before: Operator) -> bool:
        """Return whether it may read what *before* stored: one library and, where both names tell it, one type."""
        known = before.result is not None and bool(self.operands)
        return self.library == before.library and (not known or before.result in self.operands)


@lru_cache(maxsize=1024)
def operator_of(kernel: str) -> Operator | None:
    """Return the operation on elements that *kernel* is by its name; None where it tells none."""
    library = library_of(kernel)
    if library is None:
        return None
    if library.name == "CuPy":
        return _of_cupy(base_name(kernel))
    return _of_pytorch(kernel) if library.name == "PyTorch" else None


def operation_name(kernel: str) -> str:
    """Return what *kernel* does by its name: of PyTorch's operators the function in the template, for the template says nothing."""
    operator = operator_of(kernel)
    if operator is None or operator.library != "PyTorch":
        return base_name(kernel)
    return operator.name.split()[-1]


def _of_cupy(name: str) -> Operator | None:
    match = _CUPY.fullmatch(name)
    *operands, result = match[2].split("_") if match else [""]
    if match is None or not operands:
        return None
    return Operator(
        library="CuPy", name=match[1], operands=tuple(operands), result=result, per_thread=(1,)
    )


def _of_pytorch(kernel: str) -> Operator | None:
    kernel = _LITERAL.sub("", kernel)
    template = _TEMPLATE.search(kernel)
    if template is None or base_name(kernel) != template["template"]:
        return None
    names = [name for name in _FUNCTION.findall(kernel) if not _TEMPLATES.search(name)]
    if _ONE_ARRAY in kernel or _LAYOUT.search(kernel):
        return None
    name = " ".join(dict.fromkeys(names)) or kernel
    types = tuple(_TYPE.findall(_LAUNCHED.sub("", kernel)))
    each = template["each"]
    per_thread = (int(each),) * 2 if each else _PER_THREAD.get(template["template"])
    if per_thread is None:
        return None
    return Operator(
        library="PyTorch",
        name=name,
        operands=() if _CASTS.search(kernel) else types,
        result=_result(name, types),
        composite=bool(_COMPOSITE.search(name)),
        per_thread=per_thread,
    )


def _result(name: str, types: tuple[str, ...]) -> str | None:
    if _TRUE_OR_FALSE.search(name):
        return "bool"
    cast = next((to for function, to in _CAST_TO.items() if name.startswith(function)), None)
    if cast or not types:
        return cast
    return types[-1] if name.startswith("where") else types[0]


def as_many_elements(one: KernelProfile, other: KernelProfile) -> bool:
    """Return whether two operations on elements are on as many, by their threads, but for what a last block leaves idle."""
    return any(
        mine and theirs and abs(mine[0] - theirs[0]) <= max(mine[1], theirs[1])
        for mine, theirs in zip(_elements(one), _elements(other), strict=False)
    )


def may_store(profile: KernelProfile, size: float) -> bool:
    """Return whether an operation on elements may store *size* bytes, by its threads and its type."""
    operator = operator_of(profile.kernel)
    width = _SIZES.get(operator.result or "") if operator else None
    return width is not None and any(
        count and abs(count[0] * width - size) <= _OTHER_SIZE * size for count in _elements(profile)
    )


def _elements(profile: KernelProfile) -> list[tuple[int, int] | None]:
    """Return how many elements *profile* works on in each version of its library, and how many of them are one block's.

    None where what it stores is of another size.
    """
    operator = operator_of(profile.kernel)
    if operator is None or profile.grid is None or profile.block is None:
        return []
    block, blocks = prod(profile.block), prod(profile.grid)
    size, stored = _SIZES.get(operator.result or ""), profile.global_stores.bytes_used
    counts: list[tuple[int, int] | None] = []
    for each in operator.per_thread:
        count = blocks * block * each
        other = size and stored and abs(stored - count * size) > _OTHER_SIZE * stored
        counts.append(None if other else (count, block * each))
    return counts

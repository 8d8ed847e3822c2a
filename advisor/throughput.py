"""What one SM of a compute capability does per clock."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """What one SM of a compute capability does per clock; ``None`` means not published.

    A result is one per thread: a fused multiply-add counts once, a two-way SIMD instruction
    twice. ``tensor_dense_fma`` holds dense multiply-adds by data type; a name that ends in
    ``_geforce`` is the lower rate of GeForce parts.
    """

    fp16_fma: int | None = None
    bf16_fma: int | None = None
    fp32_fma: int | None = None
    fp64_fma: int | None = None
    fp64_fma_geforce: int | None = None  # where it is lower
    int32_add: int | None = None
    int32_mul: int | None = None
    int32_shift: int | None = None
    int32_compare: int | None = None
    int32_minmax: int | None = None
    int32_logic: int | None = None
    int24_mul: int | None = None
    int64_add: int | None = None
    popc: int | None = None
    clz: int | None = None
    vote: int | None = None
    shuffle: int | None = None
    sfu: int | None = None
    conv_8_16_to_32: int | None = None
    conv_fp64: int | None = None
    conv_fp16_fp32: int | None = None
    conv_fp32_to_int32: int | None = None
    conv_int32_fp32: int | None = None
    conv_other: int | None = None
    syncthreads_per_clock: int | None = None
    instructions_per_scheduler_per_clock: float | None = None
    tensor_dense_fma: Mapping[str, int] = field(default_factory=dict)

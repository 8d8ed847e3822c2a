"""Which GPUs have tensor cores, and how much faster than the ordinary units these multiply matrices."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.thresholds import number

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device

FIRST_TENSOR = number(
    7, "first tensor cores", "major compute capability", "programming guide: Volta"
)
FIRST_TF32 = number(8, "first TF32", "major compute capability", "programming guide: Ampere")
FASTER = number(
    16.0, "FP16 on tensor cores per FP32 on ordinary units", "", "data sheets: at most, on any part"
)
# Chips of Turing that have none.
_WITHOUT_TENSOR_CORES = re.compile(r"\bGTX\b|\bMX ?\d|\bT(?:4|5|6|10|12)00\b")


def tensor_speedups(device: Device) -> tuple[float, float] | None:
    """Return how much faster the tensor cores are than FP32, in TF32 and in BF16; None without them."""
    fp32, tf32, bf16 = map(device.peaks.get, ("fp32", "tf32_tensor", "bf16_tensor"))
    return (tf32 / fp32, bf16 / fp32) if fp32 and tf32 and bf16 else None


def tensor_cores(device: Device) -> bool | None:
    """Return whether a part has tensor cores, by its capability; None where that does not tell."""
    if device.capability.major < FIRST_TENSOR:
        return False
    turing = FIRST_TENSOR <= device.capability.major < FIRST_TF32 and device.capability.minor > 0
    return None if turing and _WITHOUT_TENSOR_CORES.search(device.name) else True

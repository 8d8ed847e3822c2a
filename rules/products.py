"""Products of matrices outside of the tensor cores, and what tensor cores or a library leave of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.library_kernels import could_use_tf32
from gpuadvise.advisor.facts.tensor_cores import FIRST_TENSOR
from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.facts.workload import bytes_per_load, relieved, sm_units
from gpuadvise.advisor.memory.word_size import WARP_SIZE
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import Evidence, Undecided, undecided
from gpuadvise.rules.evidence import profiled
from gpuadvise.rules.gain_bounds import busy_words
from gpuadvise.rules.thresholds import NO_TENSOR

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile

# Of all instructions: a matrix product is mostly fused multiply-adds.
MULTIPLY_ADDS = number(
    0.2,
    "multiply-adds",
    "share of instructions",
    "our judgement of profiles on an H200",
    LaunchSet.RECORDED,
)
CONVERTED = number(
    1 / (1 / MULTIPLY_ADDS + 2),
    "multiply-adds of 16-bit numbers",
    "share of instructions",
    "two more instructions per multiply-add turn operands into 32 bits: of 1 / 0.2 and 2",
)
NARROW = number(
    2.5, "bytes per thread and load of 16-bit numbers", "bytes", "our judgement", LaunchSet.RECORDED
)
_HALF_POINTER = r"\b(__half|__nv_bfloat16|half|bfloat16)2?\b[^,()]{0,20}\*"
_FLOAT_POINTER = r"\bfloat[24]?\b[^,()]{0,20}\*"
_TILE = number(
    8.0,
    "requests to L2 that larger tiles replace with one",
    "",
    "tiles of 128 x 128 results against 16 x 16",
    LaunchSet.RECORDED,
)


def product_share(device: Device, profile: KernelProfile) -> float | Undecided | None:
    """Return the multiply-adds per instruction of a product of tiles that leaves the tensor cores idle; else None."""
    share = profile.multiply_adds
    if device.capability.major < FIRST_TENSOR or profile.pipes.get(Unit.TENSOR, 0.0) > NO_TENSOR:
        return None
    if share is None and not counts_multiply_adds(profile):
        return undecided("profile.float_instructions")
    if share is None or share < CONVERTED or (share < MULTIPLY_ADDS and not is_narrow(profile)):
        return None
    reuses = _reuses_operands(profile)
    if reuses is None:
        return undecided("profile.shared_loads")
    return share if reuses else None


def counts_multiply_adds(profile: KernelProfile) -> bool:
    """Return whether multiply-adds were counted, or the busiest pipe is named."""
    if profile.float_instructions:
        return profile.instructions is not None
    return bool(profile.pipes) and (
        Unit.FMA not in profile.pipes or profile.fp32_of_peak is not None
    )


def _reuses_operands(profile: KernelProfile) -> bool | None:
    """Return whether operands come from shared memory, as those of a tiled product do."""
    shared, loads = profile.shared_loads.requests, profile.global_loads.requests
    sizes = (profile.static_shared, profile.dynamic_shared)
    if shared is not None:
        return shared > (loads or 0.0)
    if sizes == (None, None):
        return None
    return any(sizes)


def is_narrow(profile: KernelProfile) -> bool:
    """Return whether the numbers have 16 bits: by their instructions, loads or parameters' types."""
    counts = profile.float_instructions
    if counts and counts.get("hfma", 0.0) >= counts.get("ffma", 0.0):
        return True
    parameters = profile.kernel.partition("(")[2]
    halves = bool(re.search(_HALF_POINTER, parameters))
    if profile.global_loads.sectors_per_request is None:
        return halves
    if not halves and re.search(_FLOAT_POINTER, parameters):
        return False  # loads of a border leave lanes without a word: few bytes alone tell no type
    return (bytes_per_load(profile) or profile.global_loads.sectors_per_request * WARP_SIZE) <= (
        NARROW * WARP_SIZE
    )


def is_called_in_fp32(kernel: str | None, profile: KernelProfile) -> bool:
    """Return whether *kernel* is a library's product that its caller could have made in TF32."""
    return kernel is not None and could_use_tf32(kernel) and not is_narrow(profile)


def on_tensor_cores(profile: KernelProfile, factor: float) -> dict[str, float]:
    """Return what a product on tensor cores, *factor* times as fast and of larger tiles, leaves of each unit."""
    tiles = relieved(profile, _TILE, Unit.L2, Unit.MEMORY)
    return relieved(profile, factor, *sm_units(profile)) | tiles


def multiply_add_evidence(profile: KernelProfile, share: float) -> tuple[Evidence, ...]:
    """Return the numbers that show a product outside of the tensor cores."""
    if profile.float_instructions:
        return (
            profiled("multiply-adds / instructions", share, "share"),
            profiled("tensor pipe", profile.pipes.get(Unit.TENSOR, 0.0), "share"),
        )
    return (
        profiled("FMA pipe", share, "share"),
        profiled("FP32 peak", profile.fp32_of_peak or 0.0, "share"),
    )


def tensor_words(profile: KernelProfile) -> str:
    """Return how busy the tensor cores are, as far as the page says."""
    if Unit.TENSOR in profile.pipes or profile.float_instructions:
        return f"and the tensor cores are {busy_words(profile.pipes.get(Unit.TENSOR, 0.0))} busy"
    return "the busiest pipe; the tensor cores do less"

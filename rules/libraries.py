"""Kernels of one's own for which a library may have a better one, and what that leaves to win."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.library_kernels import library_of
from gpuadvise.advisor.facts.limiter import AT_ROOF, AtRoof, TooLittleWork
from gpuadvise.advisor.facts.tensor_cores import FASTER, tensor_speedups
from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.quantity import show_number, show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.evidence import profiled
from gpuadvise.rules.gain_bounds import left_over
from gpuadvise.rules.thresholds import CLEARLY_FASTER, LARGEST_GAIN, NO_TENSOR

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter
    from gpuadvise.rules.advice import Evidence, Gain

# Of all instructions, or of the FMA pipe's time, in what is named a product: the plainest loads two words for
# each multiply-add, works out their addresses, and has 0.13 to 0.14 (measured on an H200).
MULTIPLY_ADDS = number(
    0.1,
    "multiply-adds of what is named a product",
    "share of instructions",
    "our judgement of profiles on an H200",
    LaunchSet.FOURTH,
)
OF_PEAK = number(
    0.05,
    "FP32 outside of tensor cores, in what is named a product",
    "share of its peak",
    "our judgement",
    LaunchSet.RECORDED,
)
FMA_PIPE = number(
    0.3,
    "FMA pipe of what is named a product, on a page without counts",
    "share of its peak",
    "measured on an H100 and an H200: 0.38 to 0.84",
    LaunchSet.SIXTH,
)
OPERANDS_ROOF = number(
    0.79,
    "L1 and shared memory that feed what is named a product",
    "share of their peak",
    "measured: 0.82 to 0.98; products at their best keep them at 0.3 to 0.6",
    LaunchSet.SIXTH,
)
ONE_WARP = number(
    0.63,
    "products of one warp (mma.sync)",
    "share of an H100's tensor peak",
    "Luo et al., Benchmarking and Dissecting the Nvidia Hopper GPU Architecture, 2024",
    LaunchSet.FOURTH,
)
_WITH_WARPGROUPS = (9, 10, 11)
# What no library does much faster: the unit itself is the limit.
_AT_BEST = number(
    0.75,
    "at its best",
    "share of the unit's peak",
    "our judgement: libraries keep tensor cores 60 % to 90 % busy on an H200",
    LaunchSet.RECORDED,
)
INSIDE_SM = (Unit.L1_SHARED, Unit.LSU, Unit.ADU, Unit.ISSUE, Unit.ALU, Unit.L2)
# Kernels of libraries, compilers and frameworks are such a library already.
_LIBRARY = r"cutlass|_fusion|\bDevice[A-Z]\w+Kernel|cublas|cudnn|cusparse|cufft|\bcub::|thrust|at::|triton|ampere_|hopper_|sm\d\d_|_fft|vector_fft|regular_fft|cask|xmma|gemv|nvjet"


def may_be_replaced(kernel: str, profile: KernelProfile, limiter: Limiter | None) -> bool:
    """Return whether *kernel* is no library's own, and no unit of it is at its best."""
    if _at_its_best(limiter) and not _multiplies_halves(profile):
        return False
    return not _is_of_library(kernel)


@lru_cache(maxsize=1024)
def _is_of_library(kernel: str) -> bool:
    return bool(library_of(kernel) or re.search(_LIBRARY, kernel))


def _at_its_best(limiter: Limiter | None) -> bool:
    """Return whether no library moves the bytes faster, or splits what is too small."""
    if isinstance(limiter, AtRoof):
        best = limiter.share >= _AT_BEST and limiter.unit not in INSIDE_SM
        return limiter.unit == Unit.DRAM or best
    return isinstance(limiter, TooLittleWork)


def _multiplies_halves(profile: KernelProfile) -> bool:
    """Return whether the FMA pipe is full of products of a page without counts that are not of 32 bits."""
    fma, of_peak = profile.pipes.get(Unit.FMA, 0.0), profile.fp32_of_peak
    return (
        not profile.float_instructions
        and fma >= AT_ROOF
        and of_peak is not None
        and of_peak < OF_PEAK
    )


def left_to_library(profile: KernelProfile, device: Device | None = None) -> Gain | None:
    """Return what is left to a library that makes the same products, those of 16 bits on tensor cores.

    A multiply-add for each issue slot is the peak, or twice that of a unit of half the lanes. FP32 products are
    bounded by what TF32 leaves on *device*, with fewer bits; what FP32 arithmetic leaves stands beside it.
    """
    tensor, issued = profile.pipes.get(Unit.TENSOR, 0.0), profile.issue_busy or 0.0
    if tensor >= NO_TENSOR:
        if profile.capability is None or profile.capability.major not in _WITH_WARPGROUPS:
            return left_over(f"tensor cores stay {show_share(tensor)} busy", tensor)
        least = ONE_WARP * tensor
        return left_over(
            f"tensor cores stay {show_share(least)} busy with products of a warpgroup", least
        )
    added = min(1.0, profile.fp32_of_peak or (profile.multiply_adds or 0.0) * issued)
    if not added:
        return None
    counts = profile.float_instructions
    if counts.get("hfma", 0.0) > counts.get("ffma", 0.0):
        least = added / FASTER
        return left_over(
            f"tensor cores, {FASTER:g} times as fast, are {show_share(least)} busy with as many products",
            least,
        )
    in_fp32 = left_over(f"in FP32, where multiply-adds are {show_share(added)} of the peak", added)
    speedups = tensor_speedups(device) if device is not None else None
    if speedups is None or speedups[0] < CLEARLY_FASTER:
        return in_fp32
    return replace(
        in_fp32,
        upper_bound=min(LARGEST_GAIN, in_fp32.upper_bound * speedups[0]),
        how=(
            f"{in_fp32.how}, the most where no bits may be lost; up to {show_number(speedups[0])} times that in "
            "TF32, which keeps 10 bits of the fraction"
        ),
        same_precision=in_fp32.upper_bound,
    )


def left_to_same_bytes(profile: KernelProfile) -> Gain | None:
    """Return what is left to a library that moves the same bytes; None where nobody knows them."""
    busy = profile.dram_busy
    return None if busy is None else left_over(f"device memory stays {show_share(busy)} busy", busy)


def product_evidence(profile: KernelProfile) -> tuple[Evidence, ...]:
    """Return the number that shows a product of matrices in what is named one; () where none does."""
    share, tensor = profile.multiply_adds or 0.0, profile.pipes.get(Unit.TENSOR, 0.0)
    if tensor >= NO_TENSOR:
        return (profiled("tensor pipe", tensor, "share"),)
    if share >= MULTIPLY_ADDS:
        return (profiled("multiply-adds", share, "share"),)
    of_peak = profile.fp32_of_peak or 0.0
    if of_peak >= OF_PEAK:
        return (profiled("FP32 peak", of_peak, "share"),)
    # A page that counts no instructions names the busiest pipe alone, and not what the operands keep busy.
    fma, operands = profile.pipes.get(Unit.FMA, 0.0), profile.unit_shares.get(Unit.L1_SHARED, 0.0)
    uncounted = not profile.float_instructions
    if uncounted and fma >= FMA_PIPE:
        return (profiled("FMA pipe", fma, "share"),)
    fed = uncounted and operands >= OPERANDS_ROOF
    return (profiled("L1 and shared memory busy", operands, "share"),) if fed else ()

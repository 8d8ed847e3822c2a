"""Matrix work on the ordinary units beside idle tensor cores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.tensor_cores import FASTER, FIRST_TF32, tensor_speedups
from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.peaks import TENSOR
from gpuadvise.advisor.quantity import show_flops, show_number, show_share
from gpuadvise.advisor.roofline import Bound
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Gain, GainKind, Undecided, Verdict
from gpuadvise.rules.evidence import derived, profiled
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.products import (
    counts_multiply_adds,
    is_called_in_fp32,
    is_narrow,
    multiply_add_evidence,
    on_tensor_cores,
    product_share,
    tensor_words,
)
from gpuadvise.rules.sources import cited, guide, programming_guide
from gpuadvise.rules.thresholds import CLEARLY_FASTER, NO_TENSOR

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.timing import Work
    from gpuadvise.advisor.roofline import Roofline

# Of all instructions: products of tiles in registers reach it, filters and bodies (0.5 to 0.6) do not. A kernel
# of that kind is a product whatever its name.
PRODUCT = number(
    0.8,
    "a product",
    "share of instructions",
    "products of tiles on an H200, against filters and n-body",
    LaunchSet.FIFTH,
)
AT_WORK = number(
    0.65,
    "issue slots of a product",
    "share",
    "our judgement: with fewer busy a product waits for its operands first",
    LaunchSet.FIFTH,
)
NARROW_BITS = number(16, "narrow numbers", "bits", "FP16 and BF16")
_IN_TENSOR_CORES = "Let cuBLAS or CUTLASS make the product, or use nvcuda::wmma (tiles of 16 x 16 x 16) in the kernel."
_THROUGH_TF32 = "FP32 numbers go through TF32, which keeps 10 bits of their fraction."


def check(
    device: Device,
    profile: KernelProfile,
    kernel: str | None = None,
    work: Work | None = None,
    roofline: Roofline | None = None,
) -> Verdict:
    """Advise when a kernel of one's own makes a product of matrices on the ordinary units."""
    return _of_work(device, profile, work, roofline) or _profiled(device, profile, kernel)


def _profiled(device: Device, profile: KernelProfile, kernel: str | None) -> Verdict:
    share = product_share(device, profile)
    if share is None or is_called_in_fp32(kernel, profile):
        return PASSED
    if isinstance(share, Undecided):
        return share
    narrow = is_narrow(profile)
    reached = _reached(profile)
    factor = None if narrow else tensor_speedups(device)
    faster = factor[0] if factor else FASTER
    how = "TF32" if factor else "FP16"
    return Advice(
        message=(
            f"{show_share(share)} of {'the instructions go' if profile.float_instructions else 'the time goes'} "
            f"to fused multiply-adds{' on 16-bit numbers' if narrow else ''}, "
            f"{tensor_words(profile)}."
        ),
        action=_IN_TENSOR_CORES if narrow else f"{_IN_TENSOR_CORES} {_THROUGH_TF32}",
        evidence=multiply_add_evidence(profile, share),
        gain=Gain(
            kind=GainKind.ARITHMETIC_TIME,
            upper_bound=faster / reached,
            how=f"{how} on tensor cores against FP32, up to {show_number(faster)}, / {show_number(reached)} "
            "of the FP32 peak",
        ),
        relief=on_tensor_cores(profile, faster / reached),
        priority=Priority.MEDIUM if narrow or _is_product(device, profile, share) else Priority.LOW,
    )


def _is_product(device: Device, profile: KernelProfile, share: float) -> bool:
    """Return whether what limits the kernel are the FP32 instructions of a matrix product, and TF32 clearly faster."""
    factor, issued = tensor_speedups(device), profile.issue_busy or 0.0
    clearly = device.capability.major >= FIRST_TF32 and not (factor and factor[0] < CLEARLY_FASTER)
    if not profile.float_instructions:
        share /= issued or 1.0  # of the time: what the pipe takes of the slots are the instructions
    return clearly and issued >= AT_WORK and share >= PRODUCT


def _of_work(
    device: Device, profile: KernelProfile, work: Work | None, roofline: Roofline | None
) -> Advice | None:
    """Return what a description says of 16-bit operations whose instructions are not counted."""
    if work is None or roofline is None or counts_multiply_adds(profile):
        return None
    number_type, tensor = work.arithmetic
    faster = device.peaks.get(f"{number_type}{TENSOR}")
    idle = profile.pipes.get(Unit.TENSOR, 1.0) <= NO_TENSOR
    if (
        roofline.bound is not Bound.COMPUTE
        or tensor is not False
        or number_type.bits > NARROW_BITS
        or not faster
        or not idle
    ):
        return None
    now = min(roofline.achieved or roofline.peak, roofline.peak)
    return Advice(
        message=(
            f"{show_number(roofline.intensity)} operations per byte on {number_type} numbers, outside of the "
            f"tensor cores: {show_flops(now)}, where {device.name} has {show_flops(faster)} in them."
        ),
        action=_IN_TENSOR_CORES,
        evidence=(
            derived("arithmetic intensity", roofline.intensity, "FLOP/byte"),
            profiled("tensor pipe", profile.pipes[Unit.TENSOR], "share"),
        ),
        gain=Gain(
            kind=GainKind.ARITHMETIC_TIME,
            upper_bound=faster / now,
            how=f"{number_type} on tensor cores / as it is = {show_flops(faster)} / {show_flops(now)}",
        ),
        relief=on_tensor_cores(profile, faster / now),
        priority=Priority.MEDIUM,
    )


def _reached(profile: KernelProfile) -> float:
    """Return the share of the FP32 peak that the product reaches; 1 where it is made in FP16, or not known."""
    counts, of_peak = profile.float_instructions, profile.fp32_of_peak
    halves = counts.get("hfma", 0.0) > counts.get("ffma", 0.0)
    return min(of_peak, 1.0) if of_peak and not halves else 1.0


def _product(multiply_adds: float, **more: object) -> dict[str, object]:
    return {
        "gpu": "h200",
        "profile": {
            "instructions": 1e6,
            "dram_throughput": 0.01,
            "float_instructions": {"ffma": multiply_adds},
            "shared_loads": {"requests": 2e5},
            **more,
        },
    }


RULE = Rule(
    id="unused-tensor-cores",
    title="Use the tensor cores",
    topic=Topic.INSTRUCTIONS,
    priority=Priority.HIGH,
    kinds=(Kind.PROFILE, Kind.DEVICE),
    family=Family.PRODUCTS,
    why="Tensor cores multiply matrices of 16-bit numbers 8 to 16 times as fast as the ordinary units.",
    when=(
        "A profile shows at least 20 % fused multiply-adds and hardly another floating-point instruction, operands in "
        "shared memory, and the tensor pipe at 3 % or less; low where the numbers have 32 bits, unless they are 80 % of "
        "the instructions and issue slots 65 % busy. Or a description says that 16-bit operations, at or above the "
        "ridge point, leave the tensor pipe idle (medium)."
    ),
    citations=(
        *guide("12.1"),
        programming_guide("Warp Matrix Functions"),
        cited(
            "cuBLAS Library",
            "Tensor Core Usage",
            "https://docs.nvidia.com/cuda/cublas/index.html#tensor-core-usage",
        ),
    ),
    check=check,
    examples=Examples(
        fires=_product(16e6),
        quiet=_product(16e6, pipes={"tensor": 0.6}),
        edges=(_product(6.4e6), _product(6.3e6)),
    ),
)

"""Matrix work on the ordinary units beside idle tensor cores."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.library_kernels import could_use_tf32
from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.memory.word_size import WARP_SIZE
from gpuadvise.advisor.peaks import TENSOR
from gpuadvise.advisor.quantity import show_flops, show_number, show_seconds, show_share
from gpuadvise.advisor.roofline import Bound
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.evidence import derived, profiled, traced
from gpuadvise.rules.gain_bounds import busy_words, relieved, sm_units
from gpuadvise.rules.model import (
    PASSED,
    Advice,
    Evidence,
    Examples,
    Family,
    Gain,
    GainKind,
    Kind,
    Priority,
    Rule,
    Topic,
    Verdict,
    undecided,
)
from gpuadvise.rules.sources import cited, guide, programming_guide
from gpuadvise.rules.thresholds import CLEARLY_FASTER, CUBLAS_REACHES, NO_TENSOR, OF_PRODUCTS
from gpuadvise.rules.traced import half_of_the_rest, span_gain, with_half_the_bytes
from gpuadvise.rules.workload import is_short

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.timeline import TracedRun
    from gpuadvise.advisor.facts.timing import Work
    from gpuadvise.advisor.roofline import Roofline

# Of all instructions: a matrix product is mostly fused multiply-adds.
MULTIPLY_ADDS = number(
    0.2,
    "multiply-adds",
    "share of instructions",
    "our judgement of profiles on an H200",
    LaunchSet.RECORDED,
)
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
CONVERTED = number(
    1 / (1 / MULTIPLY_ADDS + 2),
    "multiply-adds of 16-bit numbers",
    "share of instructions",
    "two more instructions per multiply-add turn operands into 32 bits: of 1 / 0.2 and 2",
)
NARROW = number(
    2.5, "bytes per thread and load of 16-bit numbers", "bytes", "our judgement", LaunchSet.RECORDED
)
NARROW_BITS = number(16, "narrow numbers", "bits", "FP16 and BF16")
_HALF_POINTER = r"\b(__half|__nv_bfloat16|half|bfloat16)\b[^,()]{0,20}\*"
FIRST_TENSOR = number(
    7, "first tensor cores", "major compute capability", "programming guide: Volta"
)
FIRST_TF32 = number(8, "first TF32", "major compute capability", "programming guide: Ampere")
# Dense FP16 on tensor cores against FP32 on the ordinary units, at most on any part.
FASTER = number(
    16.0, "FP16 on tensor cores per FP32 on ordinary units", "", "data sheets: at most, on any part"
)
_TILE = number(
    8.0,
    "requests to L2 that larger tiles replace with one",
    "",
    "tiles of 128 x 128 results against 16 x 16",
    LaunchSet.RECORDED,
)
_IN_TENSOR_CORES = "Let cuBLAS or CUTLASS make the product, or use nvcuda::wmma (tiles of 16 x 16 x 16) in the kernel."
_TF32_CALLS = (
    "Where such precision is enough, ask for TF32 where the product is called: "
    "torch.backends.cuda.matmul.allow_tf32 = True and torch.backends.cudnn.allow_tf32 = True; "
    "jax.default_matmul_precision('tensorfloat32'); CUPY_TF32=1 in the environment of CuPy; "
    "CUBLAS_COMPUTE_32F_FAST_TF32 in cuBLAS, CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION in cuDNN, "
    "arch::OpClassTensorOp in CUTLASS, input_precision='tf32' of tl.dot in Triton."
)


def check(
    device: Device,
    profile: KernelProfile | None = None,
    timeline: TracedRun | None = None,
    work: Work | None = None,
    roofline: Roofline | None = None,
) -> Verdict:
    """Advise when products of matrices leave the tensor cores idle."""
    if timeline is not None:
        return _recorded(timeline, device)
    if profile is None:
        return PASSED
    return _of_work(device, profile, work, roofline) or _profiled(device, profile)


def _profiled(device: Device, profile: KernelProfile) -> Verdict:
    share = profile.multiply_adds
    if device.capability.major < FIRST_TENSOR or profile.pipes.get(Unit.TENSOR, 0.0) > NO_TENSOR:
        return PASSED
    if share is None and not _counted(profile):
        return undecided("profile.float_instructions")
    if share is None or share < CONVERTED:
        return PASSED
    narrow = _narrow(profile)
    if share < MULTIPLY_ADDS and not narrow:
        return PASSED
    reuses = _reuses(profile)
    if reuses is None:
        return undecided("profile.shared_loads")
    if not reuses:
        return PASSED
    if not narrow and could_use_tf32(profile.kernel):
        return _in_tf32(device, profile, share)
    reached = _reached(profile)
    factor = None if narrow else _factor(device)
    faster = factor[0] if factor else FASTER
    how = "TF32" if factor else "FP16"
    return Advice(
        message=(
            f"{show_share(share)} of {'the instructions go' if profile.float_instructions else 'the time goes'} "
            f"to fused multiply-adds{' on 16-bit numbers' if narrow else ''}, "
            f"{_tensor_words(profile)}."
        ),
        action=(
            _IN_TENSOR_CORES
            + (
                ""
                if narrow
                else " FP32 numbers go through TF32, which keeps 10 bits of their fraction."
            )
        ),
        evidence=_evidence(profile, share),
        gain=Gain(
            kind=GainKind.ARITHMETIC_TIME,
            upper_bound=faster / reached,
            how=f"{how} on tensor cores against FP32, up to {show_number(faster)}, / {show_number(reached)} "
            "of the FP32 peak",
        ),
        relief=_relief(profile, faster / reached),
        priority=Priority.MEDIUM if narrow or _is_product(device, profile, share) else Priority.LOW,
    )


def _is_product(device: Device, profile: KernelProfile, share: float) -> bool:
    """Return whether what limits the kernel are the FP32 instructions of a matrix product, and TF32 clearly faster."""
    factor = _factor(device)
    clearly = device.capability.major >= FIRST_TF32 and (
        factor is None or factor[0] >= CLEARLY_FASTER
    )
    limits = (profile.issue_busy or 0.0) >= AT_WORK
    return clearly and limits and bool(profile.float_instructions) and share >= PRODUCT


def _of_work(
    device: Device, profile: KernelProfile, work: Work | None, roofline: Roofline | None
) -> Advice | None:
    """Return what a description says of 16-bit operations whose instructions are not counted."""
    if work is None or roofline is None or roofline.bound is not Bound.COMPUTE or _counted(profile):
        return None
    number_type, tensor = work.arithmetic
    faster = device.peaks.get(f"{number_type}{TENSOR}")
    idle = profile.pipes.get(Unit.TENSOR, 1.0) <= NO_TENSOR
    if tensor is not False or number_type.bits > NARROW_BITS or not faster or not idle:
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
        relief=_relief(profile, faster / now),
        priority=Priority.MEDIUM,
    )


def _evidence(profile: KernelProfile, share: float) -> tuple[Evidence, ...]:
    if profile.float_instructions:
        return (
            profiled("multiply-adds / instructions", share, "share"),
            profiled("tensor pipe", profile.pipes.get(Unit.TENSOR, 0.0), "share"),
        )
    return (
        profiled("FMA pipe", share, "share"),
        profiled("FP32 peak", profile.fp32_of_peak or 0.0, "share"),
    )


def _in_tf32(device: Device, profile: KernelProfile, share: float) -> Verdict:
    """Return what whoever calls a library's FP32 product can write to have it made in TF32."""
    factor = _factor(device)
    faster = factor[0] if factor else FASTER / 2
    if device.capability.major < FIRST_TF32 or (factor and faster < CLEARLY_FASTER):
        return PASSED
    reached = min(profile.fp32_of_peak or CUBLAS_REACHES, 1.0)
    most = faster / max(reached, 1e-3)
    return Advice(
        message=(
            "A product of FP32 matrices outside of the tensor cores: multiply-adds are "
            f"{show_share(share)} of {'the instructions' if profile.float_instructions else 'the time'}, "
            f"{_tensor_words(profile)}. {device.name} computes {show_number(faster)} times as fast in TF32."
        ),
        action=f"{_TF32_CALLS} TF32 keeps 10 bits of the fraction instead of 23: check the results.",
        evidence=_evidence(profile, share),
        gain=Gain(
            kind=GainKind.ARITHMETIC_TIME,
            upper_bound=most,
            how=f"TF32 / FP32 peak / share of the FP32 peak = {show_number(faster)} / {show_number(reached)}",
        ),
        relief=_relief(profile, most),
        priority=Priority.LOW if is_short(profile) else Priority.MEDIUM,
    )


def _reached(profile: KernelProfile) -> float:
    """Return the share of the FP32 peak that the product reaches; 1 where it is made in FP16, or not known."""
    counts, of_peak = profile.float_instructions, profile.fp32_of_peak
    halves = counts.get("hfma", 0.0) > counts.get("ffma", 0.0)
    return min(of_peak, 1.0) if of_peak and not halves else 1.0


def _relief(profile: KernelProfile, factor: float) -> dict[str, float]:
    """Return what a product on tensor cores, whose tiles are larger, leaves of each unit."""
    return relieved(profile, factor, *sm_units(profile)) | relieved(
        profile, _TILE, Unit.L2, Unit.MEMORY
    )


def _tensor_words(profile: KernelProfile) -> str:
    """Return how busy the tensor cores are, as far as the page says."""
    if Unit.TENSOR in profile.pipes or profile.float_instructions:
        return f"and the tensor cores are {busy_words(profile.pipes.get(Unit.TENSOR, 0.0))} busy"
    return "the busiest pipe; the tensor cores do less"


def _counted(profile: KernelProfile) -> bool:
    """Return whether multiply-adds were counted, or the busiest pipe is named."""
    if profile.float_instructions:
        return profile.instructions is not None
    return bool(profile.pipes) and (
        Unit.FMA not in profile.pipes or profile.fp32_of_peak is not None
    )


def _reuses(profile: KernelProfile) -> bool | None:
    """Return whether operands come from shared memory, as those of a tiled product do."""
    shared, loads = profile.shared_loads.requests, profile.global_loads.requests
    sizes = (profile.static_shared, profile.dynamic_shared)
    if shared is None and (loads is None or any(sizes)):
        return None if sizes == (None, None) else any(sizes)
    if shared is None:
        return None if sizes == (None, None) else False
    return shared > (loads or 0.0)


def _narrow(profile: KernelProfile) -> bool:
    """Return whether the numbers have 16 bits: by their instructions, loads or parameters' types."""
    counts, loads = profile.float_instructions, profile.global_loads
    if counts and counts.get("hfma", 0.0) >= counts.get("ffma", 0.0):
        return True
    sectors = loads.sectors_per_request
    if sectors is None:
        return bool(re.search(_HALF_POINTER, profile.kernel.partition("(")[2]))
    return sectors * (loads.used_bytes or WARP_SIZE) / WARP_SIZE <= NARROW


def _recorded(timeline: TracedRun, device: Device) -> Verdict:
    seconds = timeline.single_precision_seconds
    factor = _factor(device)
    if timeline.share(seconds) < OF_PRODUCTS:
        return PASSED
    if factor is None:  # parts without TF32 have other peaks
        return PASSED if device.peaks else undecided("device.peaks")
    tf32, bf16 = factor
    return Advice(
        message=(
            f"Matrix kernels in FP32, outside of the tensor cores, take {show_seconds(seconds)}, "
            f"{show_share(timeline.share(seconds))} of the span; {device.name} computes "
            f"{show_number(tf32)} times as fast in TF32 and {show_number(bf16)} times in BF16"
            f"{with_half_the_bytes(timeline, seconds, 16)}.{_shapes(timeline)}"
        ),
        action=(
            "Where 10 bits of mantissa are enough: torch.set_float32_matmul_precision('high') and "
            "torch.backends.cudnn.allow_tf32 = True, in cuBLAS CUBLAS_COMPUTE_32F_FAST_TF32. For "
            "training and inference: with torch.autocast('cuda', torch.bfloat16), and for "
            "convolutions model.to(memory_format=torch.channels_last)."
        ),
        evidence=(
            traced("time of FP32 matrix kernels", seconds, "s"),
            traced("span", timeline.span_seconds, "s"),
        ),
        gain=span_gain(
            timeline,
            seconds * (1 - CUBLAS_REACHES / max(tf32, bf16)) + half_of_the_rest(timeline, seconds),
            "the kernels' time beyond what the fastest of these peaks would take, and half of the "
            "other busy time: 16-bit numbers have half the bytes",
        ),
    )


def _factor(device: Device) -> tuple[float, float] | None:
    """Return how much faster the tensor cores are in TF32 and in BF16; None without them."""
    peaks = device.peaks
    fp32, tf32, bf16 = (peaks.get(name) for name in ("fp32", "tf32_tensor", "bf16_tensor"))
    return (tf32 / fp32, bf16 / fp32) if fp32 and tf32 and bf16 else None


def _shapes(run: TracedRun) -> str:
    products = [product for product in run.products if product.single_precision]
    if not products:
        return ""
    largest = max(products, key=lambda product: product.flops)
    return f" The largest product is {largest.rows} x {largest.inner} by {largest.inner} x {largest.columns}."


RULE = Rule(
    id="unused-tensor-cores",
    title="Use the tensor cores",
    topic=Topic.INSTRUCTIONS,
    priority=Priority.HIGH,
    kinds=(Kind.PROFILE, Kind.TIMING, Kind.DEVICE),
    family=Family.PRODUCTS,
    why="Tensor cores multiply matrices of 16-bit numbers 8 to 16 times as fast as the ordinary units.",
    when=(
        "A profile shows at least 20 % fused multiply-adds and hardly another floating-point instruction, operands in "
        "shared memory, and the tensor pipe at 3 % or less; low where the numbers have 32 bits, unless they are 80 % of the instructions and issue slots 65 % busy, or a library's kernel takes 20 us or more that could compute in TF32; or matrix kernels in FP32 take 10 % of a recorded run. "
        "Or a description says that 16-bit operations, at or above the ridge point, leave the tensor pipe idle (medium)."
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
    silenced_by=("fp64-products",),
    check=check,
    either=("profile", "timeline"),
    examples=Examples(
        fires={
            "gpu": "h200",
            "profile": {
                "instructions": 1e6,
                "dram_throughput": 0.01,
                "float_instructions": {"ffma": 16e6},
                "loads": {"requests": 2e4, "sectors": 4e4, "used_bytes": 32},
                "shared_loads": {"requests": 2e5},
            },
        },
        quiet={
            "gpu": "h200",
            "profile": {
                "instructions": 1e6,
                "dram_throughput": 0.01,
                "pipes": {"tensor": 0.6},
                "float_instructions": {"ffma": 16e6},
                "loads": {"requests": 2e4, "sectors": 4e4, "used_bytes": 32},
                "shared_loads": {"requests": 2e5},
            },
        },
        edges=(
            {
                "gpu": "h200",
                "profile": {
                    "instructions": 1e6,
                    "dram_throughput": 0.01,
                    "float_instructions": {"ffma": 6.4e6},
                    "shared_loads": {"requests": 2e5},
                },
            },
            {
                "gpu": "h200",
                "profile": {
                    "instructions": 1e6,
                    "dram_throughput": 0.01,
                    "float_instructions": {"ffma": 6.3e6},
                    "shared_loads": {"requests": 2e5},
                },
            },
        ),
    ),
)

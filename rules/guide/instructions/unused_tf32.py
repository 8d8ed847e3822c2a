"""A library's product of FP32 matrices that its caller could have made in TF32."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.product_savings import CUBLAS_REACHES
from gpuadvise.advisor.facts.tensor_cores import FASTER, FIRST_TF32, tensor_speedups
from gpuadvise.advisor.facts.workload import is_short
from gpuadvise.advisor.quantity import show_number, show_share
from gpuadvise.rules.advice import PASSED, Advice, Gain, GainKind, Undecided, Verdict
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.products import (
    is_called_in_fp32,
    multiply_add_evidence,
    on_tensor_cores,
    product_share,
    tensor_words,
)
from gpuadvise.rules.sources import cited, guide
from gpuadvise.rules.thresholds import CLEARLY_FASTER

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile

_CALLS = (
    "Where such precision is enough, ask for TF32 where the product is called: "
    "torch.backends.cuda.matmul.allow_tf32 = True and torch.backends.cudnn.allow_tf32 = True; "
    "jax.default_matmul_precision('tensorfloat32'); CUPY_TF32=1 in the environment of CuPy; "
    "CUBLAS_COMPUTE_32F_FAST_TF32 in cuBLAS, CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION in cuDNN, "
    "arch::OpClassTensorOp in CUTLASS, input_precision='tf32' of tl.dot in Triton."
)


def check(device: Device, kernel: str, profile: KernelProfile) -> Verdict:
    """Advise what whoever calls a library's FP32 product can write to have it made in TF32."""
    share = product_share(device, profile)
    if share is None or not is_called_in_fp32(kernel, profile):
        return PASSED
    if isinstance(share, Undecided):
        return share
    factor = tensor_speedups(device)
    faster = factor[0] if factor else FASTER / 2
    if device.capability.major < FIRST_TF32 or (factor and faster < CLEARLY_FASTER):
        return PASSED
    reached = min(profile.fp32_of_peak or CUBLAS_REACHES, 1.0)
    most = faster / max(reached, 1e-3)
    return Advice(
        message=(
            "A product of FP32 matrices outside of the tensor cores: multiply-adds are "
            f"{show_share(share)} of {'the instructions' if profile.float_instructions else 'the time'}, "
            f"{tensor_words(profile)}. {device.name} computes {show_number(faster)} times as fast in TF32."
        ),
        action=f"{_CALLS} TF32 keeps 10 bits of the fraction instead of 23: check the results.",
        evidence=multiply_add_evidence(profile, share),
        gain=Gain(
            kind=GainKind.ARITHMETIC_TIME,
            upper_bound=most,
            how=f"TF32 / FP32 peak / share of the FP32 peak = {show_number(faster)} / {show_number(reached)}",
        ),
        relief=on_tensor_cores(profile, most),
        priority=Priority.LOW if is_short(profile) else Priority.MEDIUM,
    )


def _kernel(name: str, time: str) -> dict[str, object]:
    return {
        "gpu": "h200",
        "name": name,
        "profile": {
            "time": time,
            "instructions": 1e6,
            "dram_throughput": 0.01,
            "float_instructions": {"ffma": 16e6},
            "shared_loads": {"requests": 2e5},
        },
    }


RULE = Rule(
    id="unused-tf32",
    formerly="unused-tensor-cores",
    title="Ask the library for TF32",
    topic=Topic.INSTRUCTIONS,
    priority=Priority.MEDIUM,
    kinds=(Kind.PROFILE, Kind.DEVICE),
    family=Family.PRODUCTS,
    why="Libraries keep FP32 products on the ordinary units until they are told that TF32 is precise enough.",
    when=(
        "A library's kernel makes a product of FP32 matrices, by at least 20 % fused multiply-adds with operands in "
        "shared memory, beside idle tensor cores that are 1.5 times as fast in TF32; low for launches below 20 us."
    ),
    citations=(
        *guide("12.1"),
        cited(
            "cuBLAS Library",
            "Tensor Core Usage",
            "https://docs.nvidia.com/cuda/cublas/index.html#tensor-core-usage",
        ),
    ),
    folds_into="unused-tensor-cores",
    check=check,
    examples=Examples(
        fires=_kernel("ampere_sgemm_128x64_nn", "2ms"),
        quiet=_kernel("ampere_tf32_s1688gemm_128x64_nn", "2ms"),
    ),
)

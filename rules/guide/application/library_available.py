"""A hand-written kernel for which a library has one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from gpuadvise.advisor.quantity import show_number, show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Evidence, Verdict, undecided
from gpuadvise.rules.evidence import given, profiled
from gpuadvise.rules.guide.execution.tree_reduction import tree_words
from gpuadvise.rules.guide.instructions.untiled_product import operands_per_instruction
from gpuadvise.rules.libraries import (
    left_to_library,
    left_to_same_bytes,
    may_be_replaced,
    product_evidence,
)
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter
    from gpuadvise.advisor.occupancy.launch import Launch
    from gpuadvise.rules.advice import Gain

# A sum reads much more than it writes; a scan as much.
READS_PER_WRITE = number(
    16.0, "bytes read per byte written", "", "our judgement: of sums", LaunchSet.RECORDED
)
_EVEN = (
    number(0.75, "bytes read per byte written by a scan, at least", "", "our judgement"),
    number(1.5, "bytes read per byte written by a scan, at most", "", "our judgement"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryKernel:
    """What libraries have a kernel for: how it is named, and what a profile shows of it."""

    name: re.Pattern[str]
    library: str
    shown: Callable[[KernelProfile], tuple[Evidence, ...]]  # () where nothing does


def _histogram(profile: KernelProfile) -> tuple[Evidence, ...]:
    counts = (
        profile.shared_atomics,
        profile.global_reductions.requests,
        profile.global_atomics.requests,
    )
    atomics = sum(count or 0.0 for count in counts)
    return (profiled("atomic instructions", atomics, "instructions"),) if atomics else ()


def _scan(profile: KernelProfile) -> tuple[Evidence, ...]:
    ratio, least_and_most = _reads_per_write(profile), _EVEN
    if ratio is None or not least_and_most[0] <= ratio <= least_and_most[1]:
        return ()
    staged = bool(profile.static_shared or profile.dynamic_shared)
    return (profiled("bytes read / written", ratio, ""),) if staged else ()


def _reduction(profile: KernelProfile) -> tuple[Evidence, ...]:
    asked, stored = profile.global_loads.bytes_used, profile.global_stores.bytes_used
    # L2 keeps what a small launch writes: then device memory tells nothing of stores that were counted.
    ratio = asked / stored if asked and stored else _reads_per_write(profile)
    if ratio is None or ratio < READS_PER_WRITE:
        return ()
    return (profiled("bytes read / written", ratio, ""),)


def _reads_per_write(profile: KernelProfile) -> float | None:
    read, written = profile.dram_read, profile.dram_written
    return read / written if read and written else None


def _named(
    words: str, library: str, shown: Callable[..., tuple[Evidence, ...]] = lambda _: ()
) -> LibraryKernel:
    return LibraryKernel(name=re.compile(words, re.IGNORECASE), library=library, shown=shown)


_OPERATIONS = (
    _named(
        r"gemm|matmul|multiply_from|\bmultiply\b|matrix_?mul",
        "cuBLAS (cublasGemmEx)",
        product_evidence,
    ),
    _named(r"radix_?sort|bitonic|merge_?sort", "cub::DeviceRadixSort"),
    _named(r"(?<!radix)(?<!radix_)histogram", "cub::DeviceHistogram", _histogram),
    _named(r"prefix_?sum|(in|ex)clusive_?scan|scan_blocks", "cub::DeviceScan", _scan),
    _named(r"\bfft|fft_", "cuFFT"),
    _named(r"reduce_|_reduce|reduction", "cub::DeviceReduce", _reduction),
    _named(r"spmv|csr_", "cuSPARSE (cusparseSpMV)"),
)
# Products of weights of 2 to 4 bits are in no library's general interface.
_QUANTISED = re.compile(r"quant(?!il)|gptq|awq|aqlm|(?<![a-z])int[1-4](?!\d)", re.IGNORECASE)


def check(
    kernel: str,
    profile: KernelProfile,
    limiter: Limiter | None = None,
    launch: Launch | None = None,
    device: Device | None = None,
) -> Verdict:
    """Advise when name and profile show work that a library has a kernel for; low by name alone."""
    named = _operation(kernel)
    if (profile.instructions and named is None) or not may_be_replaced(kernel, profile, limiter):
        return PASSED
    if not profile.instructions:
        return PASSED if profile.instructions == 0 else undecided("profile.instructions")
    if isinstance(operands_per_instruction(profile, limiter), float):
        return PASSED  # untiled-product says more, as tree-reduction does
    if launch is not None and isinstance(tree_words(profile, launch, limiter), int):
        return PASSED
    return PASSED if named is None else _advice(*named, profile, device)


@lru_cache(maxsize=1024)
def _operation(kernel: str) -> tuple[str, LibraryKernel] | None:
    """Return the first operation that the name of *kernel* says, with the words that do."""
    short = kernel.partition("(")[0]
    if _QUANTISED.search(short):
        return None
    said = ((operation.name.search(short), operation) for operation in _OPERATIONS)
    return next(((found[0], operation) for found, operation in said if found), None)


def _advice(
    name: str, operation: LibraryKernel, profile: KernelProfile, device: Device | None
) -> Advice:
    shown = operation.shown(profile)
    seen = (
        f", and the profile fits it: {shown[0].label} {_value(shown[0])}"
        if shown
        else " and nothing else does: no number of the profile shows it"
    )
    return Advice(
        message=f'The name says "{name}"{seen}; NVIDIA has tuned kernels for that.',
        action=f"Time {operation.library} on the same data before you tune this kernel any further.",
        evidence=(given("name", name), *shown),
        gain=_won(operation, profile, device) if shown else None,  # a name shows no work
        priority=None if shown else Priority.LOW,
    )


def _won(operation: LibraryKernel, profile: KernelProfile, device: Device | None) -> Gain | None:
    return (
        left_to_library(profile, device)
        if operation.shown is product_evidence
        else left_to_same_bytes(profile)
    )


def _value(evidence: Evidence) -> str:
    value = float(evidence.value)
    return show_share(value) if evidence.unit == "share" else show_number(value)


RULE = Rule(
    id="library-available",
    title="Compare with the library",
    topic=Topic.APPLICATION,
    priority=Priority.MEDIUM,
    kinds=(Kind.PROFILE,),
    why="Libraries are tuned for each GPU, and faster than most first versions.",
    when=(
        "A profiled kernel, no library's own, neither tiny nor at the roof of memory or of its arithmetic, is named "
        "after a product, sort, scan, histogram, transform, sum or sparse product, and the profile's counts fit: low "
        "where only the name says so."
    ),
    citations=guide("5.1", "4.1"),
    folds_into="unused-tf32",
    check=check,
    examples=Examples(
        fires={
            "name": "my_sgemm_tiled",
            "profile": {"time": "2ms", "instructions": 7e8, "float_instructions": {"ffma": 8e9}},
        },
        quiet={
            "name": "cutlass::Kernel2<cutlass_80_simt_sgemm>",
            "profile": {"time": "2ms", "instructions": 7e8, "float_instructions": {"ffma": 8e9}},
        },
        edges=(
            {"name": "my_gemm", "profile": {"instructions": 1e6, "pipes": {"tensor": 0.74}}},
            {"name": "my_gemm", "profile": {"instructions": 1e6, "pipes": {"tensor": 0.75}}},
        ),
    ),
)

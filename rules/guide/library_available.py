"""A hand-written kernel for which a library has one."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.library_kernels import library_of
from gpuadvise.advisor.facts.limiter import AT_ROOF, AtRoof, TooLittleWork
from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_number, show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.evidence import given, profiled
from gpuadvise.rules.gain_bounds import left_over
from gpuadvise.rules.model import (
    PASSED,
    Advice,
    Evidence,
    Examples,
    Kind,
    Priority,
    Rule,
    Topic,
    Verdict,
    undecided,
)
from gpuadvise.rules.products import left_to_library
from gpuadvise.rules.sources import guide
from gpuadvise.rules.thresholds import NO_TENSOR

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter
    from gpuadvise.rules.model import Gain

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
# Where a page counts no instructions, of what is named a product.
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
# A sum reads much more than it writes; a scan as much.
READS_PER_WRITE = number(
    16.0, "bytes read per byte written", "", "our judgement: of sums", LaunchSet.RECORDED
)
_EVEN = (
    number(0.75, "bytes read per byte written by a scan, at least", "", "our judgement"),
    number(1.5, "bytes read per byte written by a scan, at most", "", "our judgement"),
)
# Lanes that a predicate leaves at work: a tree of sums switches off half of them in each step.
LANES_AT_WORK = number(
    0.65,
    "lanes at work",
    "share",
    "measured: trees of sums on an H200 show 0.53 to 0.57",
    LaunchSet.RECORDED,
)
LANES_OF_A_SUM = number(
    0.8,
    "lanes at work where a block stores one result",
    "share",
    "measured: 0.71 where threads first load two words each",
    LaunchSet.FOURTH,
)
_TILED = number(
    0.3,
    "multiply-adds of a product of tiles with one result per thread",
    "share of instructions",
    "measured on an H100 and an H200: 0.36 to 0.45",
    LaunchSet.RECORDED,
)
_OPERANDS = number(
    0.15,
    "loads of shared memory of such a product",
    "share of instructions",
    "measured on an H100 and an H200: 0.19 to 0.47; 8 x 8 results take 0.06",
    LaunchSet.RECORDED,
)
_SHARED_ROOF = number(
    0.85,
    "shared memory of such a product",
    "share of its peak",
    "measured on an H100 and an H200: 0.9",
    LaunchSet.RECORDED,
)
LOADS_PER_STORE = number(
    2.0,
    "loads per store of a product",
    "",
    "measured on an H200: 4 with sums of 64 terms, 1.2 in filters of 17 taps",
    LaunchSet.FOURTH,
)
_PASSING = number(
    0.25,
    "device memory of a product, at most",
    "share of its peak",
    "measured: up to 15 % for products, 33 % and 47 % for filters, through which data pass once",
    LaunchSet.FOURTH,
)
ONE_WORD = number(
    8.0,
    "bytes that stores use of a sector, where a block stores one sum",
    "bytes",
    "our judgement",
    LaunchSet.RECORDED,
)
# A word of one operand by each load, and four of the other, which a warp shares.
_PLAIN = number(
    1.25,
    "loads of shared memory per multiply-add of a plain product",
    "",
    "measured on an H100 and an H200: 1.247 to 1.254 in ten products, 0.3 to 0.9 in filters and better ones",
    LaunchSet.SIXTH,
)
_PLAIN_WITHIN = number(
    0.02,
    "from that ratio at most",
    "",
    "what counts of a tile with a border differ by",
    LaunchSet.SIXTH,
)
_WORD_SIZES = (4, 8)
# What no library does much faster: the unit itself is the limit.
_AT_BEST = number(
    0.75,
    "at its best",
    "share of the unit's peak",
    "our judgement: libraries keep tensor cores 60 % to 90 % busy on an H200",
    LaunchSet.RECORDED,
)
_OWN_WORK = (Unit.L1_SHARED, Unit.LSU, Unit.ADU, Unit.ISSUE, Unit.ALU, Unit.L2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """What libraries have a kernel for: how it is named, and what a profile shows of it."""

    name: re.Pattern[str]
    library: str
    shown: Callable[[KernelProfile], tuple[Evidence, ...]]  # () where nothing does


def _product(profile: KernelProfile) -> tuple[Evidence, ...]:
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
    ratio = _reads_per_write(profile)
    if ratio is None or ratio < READS_PER_WRITE:
        return ()
    return (profiled("bytes read / written", ratio, ""),)


def _unseen(_: KernelProfile) -> tuple[Evidence, ...]:
    return ()


def _reads_per_write(profile: KernelProfile) -> float | None:
    read, written = profile.dram_read, profile.dram_written
    return read / written if read and written else None


def _named(words: str, library: str, shown: Callable[..., tuple[Evidence, ...]]) -> Operation:
    return Operation(name=re.compile(words, re.IGNORECASE), library=library, shown=shown)


_OPERATIONS = (
    _named(
        r"gemm|matmul|multiply_from|\bmultiply\b|matrix_?mul", "cuBLAS (cublasGemmEx)", _product
    ),
    _named(r"radix_?sort|bitonic|merge_?sort", "cub::DeviceRadixSort", _unseen),
    _named(r"histogram", "cub::DeviceHistogram", _histogram),
    _named(r"prefix_?sum|(in|ex)clusive_?scan|scan_blocks", "cub::DeviceScan", _scan),
    _named(r"\bfft|fft_", "cuFFT", _unseen),
    _named(r"reduce_|_reduce|reduction", "cub::DeviceReduce", _reduction),
    _named(r"spmv|csr_", "cuSPARSE (cusparseSpMV)", _unseen),
)
# Products of weights of 2 to 4 bits are in no library's general interface.
_QUANTISED = re.compile(r"quant(?!il)|gptq|awq|aqlm|(?<![a-z])int[1-4](?!\d)", re.IGNORECASE)
# Kernels of libraries, compilers and frameworks are such a library already.
_LIBRARY = r"cutlass|_fusion|\bDevice[A-Z]\w+Kernel|cublas|cudnn|cusparse|cufft|\bcub::|thrust|at::|triton|ampere_|hopper_|sm\d\d_|_fft|vector_fft|regular_fft|cask|xmma|gemv|nvjet"


def check(kernel: str, profile: KernelProfile, limiter: Limiter | None = None) -> Verdict:
    """Advise when the profile shows work that a library has a kernel for; low by name alone."""
    if (
        library_of(kernel)
        or re.search(_LIBRARY, kernel)
        or (_at_its_best(limiter) and not _multiplies_halves(profile))
    ):
        return PASSED
    if not profile.instructions:
        return PASSED if profile.instructions == 0 else undecided("profile.instructions")
    if tree := _tree_of_sums(profile, limiter):
        return tree
    if product := _tiled_product(profile, limiter):
        return product
    short = kernel.partition("(")[0]
    for operation in _OPERATIONS:
        if (found := operation.name.search(short)) and not _QUANTISED.search(short):
            return _advice(found[0], operation, operation.shown(profile), profile)
    return PASSED


def _at_its_best(limiter: Limiter | None) -> bool:
    """Return whether no library moves the bytes faster, or splits what is too small."""
    if isinstance(limiter, AtRoof):
        best = limiter.share >= _AT_BEST and limiter.unit not in _OWN_WORK
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


def _moved(profile: KernelProfile) -> Gain | None:
    """Return what is left to a library that moves the same bytes; None where nobody knows them."""
    busy = profile.dram_busy
    return None if busy is None else left_over(f"device memory stays {show_share(busy)} busy", busy)


def _advice(
    name: str, operation: Operation, shown: tuple[Evidence, ...], profile: KernelProfile
) -> Advice:
    seen = (
        f", and the profile fits it: {shown[0].label} {_value(shown[0])}"
        if shown
        else " and nothing else does: no number of the profile shows it"
    )
    return Advice(
        message=f'The name says "{name}"{seen}; NVIDIA has tuned kernels for that.',
        action=f"Time {operation.library} on the same data before you tune this kernel any further.",
        evidence=(given("name", name), *shown),
        gain=_won(operation, profile) if shown else None,  # a name shows no work
        priority=None if shown else Priority.LOW,
    )


def _won(operation: Operation, profile: KernelProfile) -> Gain | None:
    return left_to_library(profile) if operation.shown is _product else _moved(profile)


def _value(evidence: Evidence) -> str:
    value = float(evidence.value)
    return show_share(value) if evidence.unit == "share" else show_number(value)


def _tiled_product(profile: KernelProfile, limiter: Limiter | None) -> Advice | None:
    """Return advice on multiply-adds whose operands come one by one from shared memory, at its roof."""
    share, loads = profile.multiply_adds or 0.0, profile.shared_loads.requests
    if not isinstance(limiter, AtRoof) or limiter.unit not in (Unit.L1_SHARED, Unit.LSU):
        return None
    if not profile.instructions:
        return None
    if not _one_result_per_thread(profile) and (limiter.share < _SHARED_ROOF or share < _TILED):
        return None
    if loads is None and not (profile.static_shared or profile.dynamic_shared):
        return None
    # A page without counts tells instructions to memory, which here go to shared memory.
    operands = profile.memory_instructions or 0.0 if loads is None else loads / profile.instructions
    if (
        operands < _OPERANDS
        or profile.pipes.get(Unit.TENSOR, 0.0) >= NO_TENSOR
        or _is_filter(profile)
    ):
        return None
    return Advice(
        message=(
            f"{show_share(share)} of the instructions are multiply-adds and {show_share(operands)} fetch "
            f"their operands from shared memory, which is {show_share(limiter.share)} busy: a product or a "
            "convolution of small tiles."
        ),
        action=(
            "Time cuBLAS (cublasGemmEx), CUTLASS or cuDNN on the same data. In a kernel of your own, let "
            "each thread keep 8 x 8 results in registers: 16 operands then serve 64 multiply-adds."
        ),
        evidence=(
            profiled("multiply-adds", share, "share"),
            profiled("loads from shared memory / instructions", operands, "share"),
        ),
        gain=left_to_library(profile),
    )


def _one_result_per_thread(profile: KernelProfile) -> bool:
    """Return whether four words of one operand come by one load, and of the other by one each, as in a plain product."""
    share, loads = profile.multiply_adds or 0.0, profile.shared_loads.requests or 0.0
    ratio = loads / profile.instructions / share if profile.instructions and share else 0.0
    return share >= MULTIPLY_ADDS and abs(ratio - _PLAIN) <= _PLAIN_WITHIN


def _is_filter(profile: KernelProfile) -> bool:
    """Return whether about as much is stored as loaded: by a filter, where a product stores once per sum."""
    loads, stores = profile.global_loads.requests, profile.global_stores.requests
    if loads is None or stores is None:
        return (profile.dram_busy or 0.0) >= _PASSING
    return stores * LOADS_PER_STORE > loads


def _stores_once(profile: KernelProfile) -> bool:
    """Return whether each block stores once: the one result of what its threads keep."""
    stores = profile.global_stores.requests
    return profile.grid is not None and stores is not None and 0 < stores <= math.prod(profile.grid)


def _tree_of_sums(profile: KernelProfile, limiter: Limiter | None) -> Advice | None:
    """Return advice on blocks that add up in shared memory, a word per thread, step by step."""
    launch, active = profile.launch, profile.active_threads
    working, stored = profile.unpredicated_threads, profile.global_stores.used_bytes
    if launch is None or not active or working is None or stored is None:
        return None
    words = [size for size in _WORD_SIZES if launch.shared_memory == size * launch.threads]
    in_shared = isinstance(limiter, AtRoof) and limiter.unit in _OWN_WORK
    waits = limiter is not None and limiter.name == "latency:barrier"
    most = LANES_OF_A_SUM if _stores_once(profile) else LANES_AT_WORK
    if not words or not 0 < stored <= ONE_WORD or working > most * active:
        return None
    if not (in_shared or waits):
        return None
    return Advice(
        message=(
            f"Each block keeps {plural(words[0], 'byte')} of shared memory per thread, stores "
            f"{show_number(stored)} of a sector's 32 bytes, and {show_number(working)} of its "
            f"{show_number(active)} active lanes work: a tree of sums in shared memory."
        ),
        action=(
            "Add 4 to 16 elements per thread in registers, then by __shfl_down_sync() within the warp, or "
            "time cub::DeviceReduce (cub::DeviceSegmentedReduce for rows) on the same data."
        ),
        evidence=(
            profiled("lanes at work", working / active, "share"),
            profiled("bytes used per stored sector", stored, "bytes"),
        ),
        gain=_moved(profile),
    )


RULE = Rule(
    id="library-available",
    title="Compare with the library",
    topic=Topic.APPLICATION,
    priority=Priority.MEDIUM,
    kinds=(Kind.PROFILE,),
    why="Libraries are tuned for each GPU, and faster than most first versions.",
    when=(
        "A profiled kernel, no library's own, neither tiny nor at the roof of memory or of its arithmetic, "
        "adds up in shared memory with half of its lanes off; multiplies and adds small tiles at the roof of shared "
        "memory, or loads 1.25 words of it per multiply-add, as a product of one result per thread does; or is named after a product, sort, scan, histogram, "
        "transform, sum or sparse product and the profile's counts fit: low where only the name says so."
    ),
    citations=guide("5.1", "4.1"),
    folds_into="unused-tf32",
    check=check,
    examples=Examples(
        fires={
            "name": "my_sgemm_tiled",
            "profile": {
                "time": "2ms",
                "instructions": 7e8,
                "float_instructions": {"ffma": 8e9},
            },
        },
        quiet={
            "name": "cutlass::Kernel2<cutlass_80_simt_sgemm>",
            "profile": {
                "time": "2ms",
                "instructions": 7e8,
                "float_instructions": {"ffma": 8e9},
            },
        },
        edges=(
            {"name": "my_gemm", "profile": {"instructions": 1e6, "pipes": {"tensor": 0.74}}},
            {"name": "my_gemm", "profile": {"instructions": 1e6, "pipes": {"tensor": 0.75}}},
        ),
    ),
)

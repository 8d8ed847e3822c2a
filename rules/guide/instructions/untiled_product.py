"""Products whose operands come from shared memory one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.limiter import AtRoof, UnknownLimiter
from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.facts.workload import has_shared_memory
from gpuadvise.advisor.quantity import show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Undecided, Verdict, undecided
from gpuadvise.rules.evidence import profiled
from gpuadvise.rules.libraries import MULTIPLY_ADDS, left_to_library, may_be_replaced
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.products import counts_multiply_adds
from gpuadvise.rules.sources import guide
from gpuadvise.rules.thresholds import NO_TENSOR

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter

_TILED = number(
    0.27,
    "multiply-adds of a product of tiles with one result per thread",
    "share of instructions",
    "measured on an H100 and an H200: 0.28, where both operands come word by word, to 0.45",
    LaunchSet.TENTH,
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

_FEEDING = (Unit.L1_SHARED, Unit.LSU)


def check(
    kernel: str, profile: KernelProfile, limiter: Limiter, device: Device | None = None
) -> Verdict:
    """Advise on multiply-adds whose operands come one by one from shared memory, at its roof."""
    operands, share = operands_per_instruction(profile, limiter), profile.multiply_adds or 0.0
    if operands is None or not may_be_replaced(kernel, profile, limiter):
        return PASSED
    if isinstance(operands, Undecided):
        return operands
    assert isinstance(limiter, AtRoof)
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
        gain=left_to_library(profile, device),
    )


def operands_per_instruction(
    profile: KernelProfile, limiter: Limiter | None
) -> float | Undecided | None:
    """Return the loads of shared memory per instruction of a product that these keep at its roof; else None."""
    if isinstance(limiter, UnknownLimiter):
        return undecided("profile.compute_throughput")
    if not isinstance(limiter, AtRoof) and profile.unit_shares.keys().isdisjoint(_FEEDING):
        return undecided("profile.l1_throughput")
    if not isinstance(limiter, AtRoof) or limiter.unit not in _FEEDING:
        return None
    share, loads = profile.multiply_adds or 0.0, profile.shared_loads.requests
    if profile.pipes.get(Unit.TENSOR, 0.0) >= NO_TENSOR or _is_filter(profile):
        return None
    if not profile.instructions:
        return None if profile.instructions == 0 else undecided("profile.instructions")
    if loads is None and not has_shared_memory(profile):
        return undecided("profile.shared_loads") if _knows_nothing_of_it(profile) else None
    if share == 0 and not counts_multiply_adds(profile):
        return undecided("profile.float_instructions")
    if not _one_result_per_thread(profile) and (limiter.share < _SHARED_ROOF or share < _TILED):
        return None
    # A page without counts tells instructions to memory, which here go to shared memory.
    operands = profile.memory_instructions or 0.0 if loads is None else loads / profile.instructions
    return operands if operands >= _OPERANDS else None


def _knows_nothing_of_it(profile: KernelProfile) -> bool:
    return (profile.static_shared, profile.dynamic_shared) == (None, None)


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


def _tile(operands: float) -> dict[str, object]:
    return {
        "name": "product",
        "gpu": "h200",
        "profile": {
            "l1_throughput": 0.9,
            "dram_throughput": 0.05,
            "instructions": 1e6,
            "float_instructions": {"ffma": 12.8e6},
            "loads": {"requests": 3e4, "sectors": 1.2e5, "used_bytes": 32},
            "stores": {"requests": 1e3, "sectors": 4e3, "used_bytes": 32},
            "shared_loads": {"requests": operands},
        },
    }


RULE = Rule(
    id="untiled-product",
    formerly="library-available",
    title="Keep a tile of results in registers",
    topic=Topic.INSTRUCTIONS,
    priority=Priority.MEDIUM,
    kinds=(Kind.PROFILE,),
    why="A thread of one result loads an operand for each multiply-add; one of 8 x 8 results loads one for four.",
    when=(
        "A profiled kernel, no library's own, is at the roof of shared memory; 30 % of its instructions are "
        "multiply-adds and 15 % load shared memory (85 % busy), or it loads 1.25 words per multiply-add, as a product "
        "of one result per thread does; it stores less than half as often as it loads."
    ),
    citations=guide("5.1", "4.1"),
    folds_into="library-available",
    check=check,
    examples=Examples(fires=_tile(4e5), quiet=_tile(1e5), edges=(_tile(1.5e5), _tile(1.49e5))),
)

"""Rules on the text of a program: one file each, in a folder for the language that it reads.

A file holds what looks for the fault, its words, what to write instead and the code of its page; where
nothing but a source shows the fault, also the rule itself. Where a launch, a profile or a timeline shows
it too, the rule stands under the same name in `rules/guide`, which `lint` loads for what it reports alone.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpuadvise.rules.source.model import CudaCheck, PythonCheck

CUDA_RULES = (
    "accumulators-in-memory",
    "atomic-contention",
    "atomics-in-loops",
    "bank-conflicts",
    "barriers-in-reductions",
    "blocking-copies",
    "copied-back-buffers",
    "data-sized-blocks",
    "default-stream-work",
    "divergent-barriers",
    "divergent-branches",
    "element-wise-copies",
    "exceeded-launch-bounds",
    "frequent-synchronization",
    "general-math-functions",
    "generator-states-in-memory",
    "host-round-trip",
    "implicit-double",
    "implicit-warp-synchrony",
    "impossible-launch",
    "indexed-local-arrays",
    "integer-division",
    "interleaved-records",
    "invariant-divisors",
    "legacy-warp-intrinsics",
    "misplaced-events",
    "missing-barriers",
    "narrow-elements",
    "narrow-integer-arithmetic",
    "overstated-launch-bounds",
    "pageable-transfers",
    "parameters-in-memory",
    "partial-warp",
    "printing-kernels",
    "repeated-allocations",
    "repeated-loads",
    "rolled-loops",
    "scalar-half-arithmetic",
    "serial-reductions",
    "serial-transfers",
    "slow-math",
    "synchronous-staging",
    "tiny-blocks",
    "truncated-grids",
    "unaligned-words",
    "unbatched-launches",
    "unchecked-errors",
    "uncoalesced-access",
    "underfilled-device",
    "unfused-kernels",
    "unguarded-indices",
    "uniform-math",
    "unprefetched-managed-memory",
    "unrestricted-pointers",
    "unsigned-loop-counters",
    "unstaged-reuse",
    "unsynchronized-timers",
    "untiled-product",
    "values-read-in-loops",
    "volatile-arrays",
)
PYTHON_RULES = (
    "numpy-round-trips",
    "one-hot-losses",
    "broadcast-distances",
    "undonated-buffers",
    "validated-distributions",
    "unused-gradients",
    "split-batches",
    "recomputed-results",
    "restarted-workers",
    "host-counted-indices",
    "array-copies-in-loops",
    "blocking-moves",
    "checkpoints-in-each-step",
    "data-parallel-threads",
    "eager-inference",
    "eager-training",
    "emptied-caches",
    "evaluation-with-gradients",
    "full-precision-matmuls",
    "full-size-constants",
    "growing-tensors",
    "hand-written-nms",
    "hidden-synchronizations",
    "host-built-tensors",
    "host-random-numbers",
    "host-side-features",
    "implicit-kernel-copies",
    "kept-graphs",
    "loaders-without-workers",
    "materialized-repeats",
    "pageable-async-copies",
    "partial-warp",
    "per-item-datasets",
    "per-parameter-updates",
    "rebuilt-constants",
    "repeated-uploads",
    "separate-projections",
    "serial-kernels",
    "serial-saves",
    "synchronizations-in-loops",
    "synchronizing-reads",
    "uncached-generation",
    "unfused-activations",
    "unfused-optimizers",
    "unoverlapped-reductions",
    "unpinned-loaders",
    "unregistered-tensors",
    "unsearched-convolutions",
    "unsynchronized-timing",
    "widened-uploads",
    "written-out-attention",
    "zero-filled-gradients",
)
# Rules that run only when they are named: the source alone does not prove them, tells of too little, or readers who had not
# seen the rules called fewer than two in five of their findings right at first (docs/validation.md).
OPT_IN = frozenset(
    ("growing-tensors", "invariant-divisors", "rebuilt-constants", "repeated-uploads", "rolled-loops", "separate-projections",
     "serial-kernels", "unfused-optimizers")
)  # fmt: skip
CHECKED = frozenset((*CUDA_RULES, *PYTHON_RULES))


@cache  # asked for each file
def cuda_check(rule: str) -> CudaCheck:
    """Return what looks for *rule* in CUDA, without loading the others."""
    check: CudaCheck = import_module(f"{__name__}.cuda.{rule.replace('-', '_')}").CHECK
    return check


@cache
def python_check(rule: str) -> PythonCheck:
    """Return what looks for *rule* in Python, without loading the others."""
    check: PythonCheck = import_module(f"{__name__}.python.{rule.replace('-', '_')}").CHECK
    return check

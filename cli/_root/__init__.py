"""gpuadvise: what limits a CUDA kernel, what to change first, and what it can win.

The names of ``__all__`` are loaded at their first use, so that the import costs nothing.
"""

TYPE_CHECKING = (
    False  # type checkers know the name; importing it would cost as much as all the rest
)
if TYPE_CHECKING:
    from gpuadvise.advisor.errors import GpuAdviseError
    from gpuadvise.advisor.occupancy.vectorized import Sweep
    from gpuadvise.api.answer import Answer
    from gpuadvise.api.answers.common import Finding
    from gpuadvise.api.calls import (
        advise,
        compat,
        diff,
        gpu,
        gpus,
        kernels,
        ledger,
        lint,
        measure,
        occupancy,
        overlap,
        read,
        roofline,
        timeline,
    )
    from gpuadvise.api.evidence import Evidence
    from gpuadvise.api.sweep import sweep
    from gpuadvise.api.watch import Watch, watch

__version__ = "0.1.0"
__all__ = [
    "Answer",
    "Evidence",
    "Finding",
    "GpuAdviseError",
    "Sweep",
    "Watch",
    "advise",
    "compat",
    "diff",
    "gpu",
    "gpus",
    "kernels",
    "ledger",
    "lint",
    "measure",
    "occupancy",
    "overlap",
    "read",
    "roofline",
    "sweep",
    "timeline",
    "watch",
]
_ELSEWHERE = {
    "Answer": "api.answer",
    "Evidence": "api.evidence",
    "Finding": "api.answers.common",
    "GpuAdviseError": "advisor.errors",
    "Sweep": "advisor.occupancy.vectorized",
    "Watch": "api.watch",
    "sweep": "api.sweep",
    "watch": "api.watch",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'gpuadvise' has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(f"gpuadvise.{_ELSEWHERE.get(name, 'api.calls')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

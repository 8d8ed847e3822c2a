"""Operations and bytes of a profiled launch, from the metrics of Nsight Compute's raw page.

The metrics are those of the profiler's own roofline sections: thread instructions per cycle
by kind, operations of the tensor pipes by type, DRAM traffic, time. They come with ``--set
full`` or ``--set roofline``.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.memory.number_types import NumberType

if TYPE_CHECKING:
    from collections.abc import Mapping

# A metric's value and unit, as printed.
Printed = tuple[str, str]

_PER_CYCLE = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum.per_cycle_elapsed"
# Operations per thread instruction. Half-precision instructions work on pairs.
_KINDS = {
    NumberType.FP64: {"dadd": 1, "dmul": 1, "dfma": 2},
    NumberType.FP32: {"fadd": 1, "fmul": 1, "ffma": 2},
    NumberType.FP16: {"hadd": 2, "hmul": 2, "hfma": 4},
}
_TENSOR = re.compile(r"sm__ops_path_tensor_src_(fp64|tf32|bf16|fp16|fp8|fp4|int8|int4)(\w*)\.sum")
_SCALES = {
    "": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "second": 1.0, "msecond": 1e-3,
    "usecond": 1e-6, "nsecond": 1e-9, "hz": 1.0, "Khz": 1e3, "Mhz": 1e6, "Ghz": 1e9,
    "cycle/second": 1.0, "cycle/nsecond": 1e9, "cycle/usecond": 1e6, "inst/cycle": 1.0,
    **{f"{prefix}byte{per}": scale
       for prefix, scale in (("", 1.0), ("K", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12))
       for per in ("", "/s", "/second")},
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfiledWork:
    """What one launch computed in its busiest type, moved and took (FLOP, bytes, seconds)."""

    number_type: NumberType
    tensor: bool
    flops: float
    bytes: float
    seconds: float


def profiled_work(metrics: Mapping[str, Printed]) -> ProfiledWork | None:
    """Return the work of a launch with these *metrics*; None where they do not tell.

    A launch without floating-point or tensor operations, such as a transposition, has no
    place under a roofline: None, too.
    """
    seconds = _value(metrics, "gpu__time_duration.sum")
    moved = _moved(metrics, seconds)
    counts = {**_ordinary(metrics, seconds), **_tensor(metrics)}
    if not seconds or not moved or not any(counts.values()):
        return None
    number_type, tensor = max(counts, key=lambda unit: counts[unit])
    return ProfiledWork(
        number_type=number_type,
        tensor=tensor,
        flops=counts[number_type, tensor],
        bytes=moved,
        seconds=seconds,
    )


def _ordinary(
    metrics: Mapping[str, Printed], seconds: float | None
) -> dict[tuple[NumberType, bool], float]:
    """Return the operations of the ordinary units by type."""
    clock = _value(metrics, "smsp__cycles_elapsed.avg.per_second")
    if clock is None or seconds is None:
        return {}
    cycles = clock * seconds
    return {
        (kind, False): cycles
        * sum(n * (_value(metrics, _PER_CYCLE.format(op)) or 0.0) for op, n in ops.items())
        for kind, ops in _KINDS.items()
    }


def _tensor(metrics: Mapping[str, Printed]) -> dict[tuple[NumberType, bool], float]:
    """Return the operations of the tensor cores by type; sparse ones count as executed."""
    found: dict[tuple[NumberType, bool], float] = {}
    for name in metrics:
        match = _TENSOR.fullmatch(name)
        if match and "sparsity_on" not in match[2]:
            unit = NumberType(match[1]), True
            found[unit] = found.get(unit, 0.0) + (_value(metrics, name) or 0.0)
    return found


def _moved(metrics: Mapping[str, Printed], seconds: float | None) -> float | None:
    """Return the bytes of device-memory traffic."""
    parts = [_value(metrics, f"dram__bytes_{way}.sum") for way in ("read", "write")]
    if None not in parts:
        return sum(part for part in parts if part is not None)
    rate = _value(metrics, "dram__bytes.sum.per_second")
    return None if rate is None or seconds is None else rate * seconds


def _value(metrics: Mapping[str, Printed], name: str) -> float | None:
    """Return metric *name* in base units; None if it is missing or no number of a known unit."""
    text, unit = metrics.get(name, ("", ""))
    scale = _SCALES.get(unit.strip())
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return None
    if scale is None or not math.isfinite(value) or value < 0:
        return None
    return value * scale

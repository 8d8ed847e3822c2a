"""Numbers that stand in the texts of the profiler's own rules, and nowhere else on a details page.

A rule speaks only where it finds something: that a text is missing says nothing here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.stalls import Stall
from gpuadvise.advisor.facts.units import Unit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpuadvise.advisor.facts.kernel_profile import ProfilerRule

# Texts have some hundred characters; what is longer is not searched.
_LONGEST_TEXT = 4_000
_NUMBER = r"(\d[\d,]{0,24}(?:\.\d{1,9})?)"
_EXCESS = re.compile(rf"{_NUMBER} excessive (sectors|wavefronts) \([^)]*?total {_NUMBER}")
_CONFLICTED = re.compile(r"pattern for shared (load|store)s")
_CONFLICTS = (
    re.compile(rf"across all {_NUMBER} shared "),
    re.compile(rf"in {_NUMBER} bank conflicts"),
    re.compile(rf"overall {_NUMBER} wavefronts"),
)
_USED = re.compile(rf"pattern for (global|local) (load|store)s.*?only {_NUMBER} of the 32 bytes")
_STALL = re.compile(rf"spends {_NUMBER} cycles being stalled (.*?)\. ", re.DOTALL)
_LATENCY = re.compile(rf"total average of {_NUMBER} cycles")
_PIPE = re.compile(
    rf"^(.{{1,40}}?) is the highest-utilized pipeline \({_NUMBER}%\)( based on elapsed)?"
)
_SUB_PIPE = re.compile(r"dominated by its ([\w ()]{1,30}) sub-pipeline")
_PEAK = re.compile(rf"achieved\s+(?:close to )?{_NUMBER}% of this device's FP32 peak")
_BALANCE = re.compile(r"One or more (SM|L1 Slice|L2 Slice|DRAM Slice|DRAM)s? ")
_ABOVE = re.compile(rf"value is {_NUMBER}% above the average")
_BELOW = re.compile(rf"value is {_NUMBER}% below the average")

# What each text calls a stall, and the metric's word for it; the first that fits counts.
_STALLS = (
    ("scoreboard dependency on a L1TEX", Stall.LONG_SCOREBOARD),
    ("scoreboard dependency on", Stall.SHORT_SCOREBOARD),
    ("queue for local and global", Stall.LG_THROTTLE),
    ("local/global instruction queue", Stall.LG_THROTTLE),
    ("queue for texture", Stall.TEX_THROTTLE),
    ("L1TEX instruction queue", Stall.TEX_THROTTLE),
    ("instruction queue to be not full", Stall.MIO_THROTTLE),
    ("CTA barrier", Stall.BARRIER),
    ("memory barrier", Stall.MEMBAR),
    ("fixed latency execution dependency", Stall.WAIT),
    ("math execution pipe", Stall.MATH_PIPE_THROTTLE),
    ("branch target", Stall.BRANCH_RESOLVING),
    ("immediate constant cache", Stall.IMC_MISS),
    ("scheduler", Stall.NOT_SELECTED),
    ("outstanding memory", Stall.DRAIN),
    ("dispatch", Stall.DISPATCH_STALL),
    ("sleep", Stall.SLEEPING),
    ("fetch", Stall.NO_INSTRUCTION),
    ("warpgroup", Stall.GMMA),
    ("miscellaneous", Stall.MISC),
)
_PIPES = {
    "alu": Unit.ALU, "fma": Unit.FMA, "fma (fp16)": Unit.FP16, "fp16": Unit.FP16, "fp64": Unit.FP64,
    "tensor": Unit.TENSOR, "tensor (fp)": Unit.TENSOR, "tensor (int)": Unit.TENSOR,
    "tensor (dp)": Unit.TENSOR, "tensor (fp64)": Unit.TENSOR, "xu": Unit.XU, "lsu": Unit.LSU,
    "uniform": Unit.UNIFORM, "tex": Unit.TEX, "tma": Unit.TMA, "cbu": Unit.CBU, "adu": Unit.ADU,
}  # fmt: skip
_UNITS = {"SM": "sm", "L1": "l1", "L2": "l2", "DR": "dram"}


@dataclass(slots=True, kw_only=True)
class RuleNumbers:
    """What rules say in words: counts; shares 0-1; cycles; a spread as (above, below) the mean."""

    excess: dict[str, tuple[float, float]] = field(default_factory=dict)  # of the total
    shared: dict[str, tuple[float, float, float]] = field(default_factory=dict)
    used_bytes: dict[tuple[str, str], float] = field(default_factory=dict)
    stall_cycles: dict[str, float] = field(default_factory=dict)
    latency: float | None = None
    pipes: dict[str, float] = field(default_factory=dict)  # over the elapsed time
    active_pipes: dict[str, float] = field(default_factory=dict)  # while SMs are active
    fp32_of_peak: float | None = None
    spreads: dict[str, tuple[float, float]] = field(default_factory=dict)


def rule_numbers(rules: Iterable[ProfilerRule]) -> RuleNumbers:
    """Return the numbers in the texts of *rules*, at their printed precision."""
    numbers = RuleNumbers()
    for rule in rules:
        text = rule.message
        if len(text) <= _LONGEST_TEXT and rule.name in _READERS:
            _READERS[rule.name](numbers, text)
    return numbers


def _value(text: str) -> float:
    return float(text.replace(",", ""))


def _read_excess(numbers: RuleNumbers, text: str) -> None:
    match = _EXCESS.search(text)
    if match and _value(match[1]) <= _value(match[3]):
        numbers.excess[match[2]] = (_value(match[1]), _value(match[3]))


def _read_conflicts(numbers: RuleNumbers, text: str) -> None:
    way = _CONFLICTED.search(text)
    matches = [match for pattern in _CONFLICTS if (match := pattern.search(text))]
    if way and len(matches) == len(_CONFLICTS):
        requests, conflicts, wavefronts = (_value(match[1]) for match in matches)
        numbers.shared[way[1]] = (requests, conflicts, wavefronts)


def _read_used_bytes(numbers: RuleNumbers, text: str) -> None:
    if match := _USED.search(text):
        numbers.used_bytes[match[1], match[2]] = _value(match[3])


def _read_stall(numbers: RuleNumbers, text: str) -> None:
    stall, latency = _STALL.search(text), _LATENCY.search(text)
    if stall and latency:
        numbers.latency = _value(latency[1])
        reason = next((word for phrase, word in _STALLS if phrase in stall[2]), None)
        if reason:
            numbers.stall_cycles[reason] = _value(stall[1])


def _read_pipe(numbers: RuleNumbers, text: str) -> None:
    match, part = _PIPE.match(text), _SUB_PIPE.search(text)
    pipe = _PIPES.get((part or match)[1].casefold()) if match else None
    if match and pipe:
        shares = numbers.pipes if match[3] else numbers.active_pipes
        shares[pipe] = _value(match[2]) / 100


def _read_peak(numbers: RuleNumbers, text: str) -> None:
    if match := _PEAK.search(text):
        numbers.fp32_of_peak = _value(match[1]) / 100


def _read_balance(numbers: RuleNumbers, text: str) -> None:
    unit, above, below = _BALANCE.search(text), _ABOVE.search(text), _BELOW.search(text)
    if unit and above and below:
        numbers.spreads[_UNITS[unit[1][:2]]] = (_value(above[1]) / 100, _value(below[1]) / 100)


_READERS = {
    "UncoalescedGlobalAccess": _read_excess,
    "UncoalescedSharedAccess": _read_excess,
    "SharedMemoryConflicts": _read_conflicts,
    "MemoryCacheAccessPattern": _read_used_bytes,
    "CPIStall": _read_stall,
    "HighPipeUtilization": _read_pipe,
    "SOLFPRoofline": _read_peak,
    "WorkloadImbalance": _read_balance,
}

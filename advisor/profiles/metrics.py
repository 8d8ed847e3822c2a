"""One table from the profiler's metrics to facts, for each form in which its reports come.

A metric has one name on the raw page and in a report file, and is a labelled line of a section
on the details page. Where that page lacks a number, the texts of its rules may hold it.
Names change between versions of the profiler: a metric that is missing is no evidence.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.capability import Capability, parse_capability
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.facts.kernel_profile import (
    BlockLimits,
    CycleSpread,
    KernelProfile,
    SharedRequests,
    WarpRequests,
)
from gpuadvise.advisor.facts.stalls import Stall
from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.memory.number_types import NumberType
from gpuadvise.advisor.profiles.ncu_csv import number
from gpuadvise.advisor.profiles.rule_texts import rule_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from gpuadvise.advisor.profiles.ncu_csv import LaunchRecord
    from gpuadvise.advisor.profiles.ncu_report import ReportedLaunch, Value
    from gpuadvise.advisor.profiles.rule_texts import RuleNumbers


class _MetricKind(IntEnum):
    """What a metric is; a report file stores shares in per cent and times in nanoseconds."""

    SHARE = 0
    SECONDS = 1
    AMOUNT = 2  # bytes, hertz, cycles, counts, ratios
    WHOLE = 3
    KILOHERTZ = 4  # without a unit in every form


# Base units in a stored one, by kind.
_STORED = (0.01, 1e-9, 1.0, 1.0, 1e3)
_TIMES = {
    **dict.fromkeys(("s", "second"), 1.0), **dict.fromkeys(("ms", "msecond"), 1e-3),
    **dict.fromkeys(("us", "usecond"), 1e-6), **dict.fromkeys(("ns", "nsecond"), 1e-9),
}  # fmt: skip
# The profiler's prefixes are powers of 1000, of bytes too.
_PREFIXES = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_PREFIXED = re.compile(r"([KMGTP]?)(byte|hz|bit)")

# Sections of the details page.
_LIGHT, _COMPUTE = "GPU Speed Of Light Throughput: ", "Compute Workload Analysis: "
_MEMORY, _SCHEDULER = "Memory Workload Analysis: ", "Scheduler Statistics: "
_WARPS, _LAUNCHED = "Warp State Statistics: ", "Launch Statistics: "
_OCCUPANCY, _BALANCE = "Occupancy: ", "GPU and Memory Workload Distribution: "
_PEAK = ".avg.pct_of_peak_sustained_elapsed"

# Field of the record -> kind, and the metric's names, the first that is there counts.
_FIELDS: dict[str, tuple[_MetricKind, tuple[str, ...]]] = {
    "sm_count": (_MetricKind.WHOLE, (
        "launch__sm_count", _LAUNCHED + "# SMs", "device__attribute_multiprocessor_count")),
    "registers": (_MetricKind.WHOLE, (
        "launch__registers_per_thread", _LAUNCHED + "Registers Per Thread")),
    "static_shared": (_MetricKind.WHOLE, (
        "launch__shared_mem_per_block_static", _LAUNCHED + "Static Shared Memory Per Block")),
    "dynamic_shared": (_MetricKind.WHOLE, (
        "launch__shared_mem_per_block_dynamic", _LAUNCHED + "Dynamic Shared Memory Per Block")),
    "shared_configured": (_MetricKind.WHOLE, (
        "launch__shared_mem_config_size", _LAUNCHED + "Shared Memory Configuration Size")),
    "barriers": (_MetricKind.WHOLE, ("launch__barrier_count", _LAUNCHED + "Barrier Count")),
    "waves": (_MetricKind.AMOUNT, ("launch__waves_per_multiprocessor", _LAUNCHED + "Waves Per SM")),
    "seconds": (_MetricKind.SECONDS, ("gpu__time_duration.sum", _LIGHT + "Duration")),
    "elapsed_cycles": (_MetricKind.AMOUNT, ("gpc__cycles_elapsed.max", _LIGHT + "Elapsed Cycles")),
    "sm_clock": (_MetricKind.AMOUNT, (
        "gpc__cycles_elapsed.avg.per_second", _LIGHT + "SM Frequency")),
    "sm_clock_limit": (_MetricKind.KILOHERTZ, (
        "device__attribute_max_gpu_frequency_khz", "device__attribute_clock_rate")),
    "memory_clock": (_MetricKind.AMOUNT, (
        "dram__cycles_elapsed.avg.per_second", _LIGHT + "DRAM Frequency")),
    "theoretical_occupancy": (_MetricKind.SHARE, (
        "sm__maximum_warps_per_active_cycle_pct", _OCCUPANCY + "Theoretical Occupancy")),
    "achieved_occupancy": (_MetricKind.SHARE, (
        "sm__warps_active.avg.pct_of_peak_sustained_active",
        _OCCUPANCY + "Achieved Occupancy")),
    "active_warps": (_MetricKind.AMOUNT, (
        "smsp__warps_active.avg.per_cycle_active",
        _SCHEDULER + "Active Warps Per Scheduler")),
    "eligible_warps": (_MetricKind.AMOUNT, (
        "smsp__warps_eligible.avg.per_cycle_active",
        _SCHEDULER + "Eligible Warps Per Scheduler")),
    "instructions": (_MetricKind.AMOUNT, (
        "smsp__inst_executed.sum", "Instruction Statistics: Executed Instructions")),
    "executed_ipc": (_MetricKind.AMOUNT, (
        "sm__inst_executed.avg.per_cycle_active", _COMPUTE + "Executed Ipc Active")),
    "issued_ipc": (_MetricKind.AMOUNT, (
        "sm__inst_issued.avg.per_cycle_active", _COMPUTE + "Issued Ipc Active")),
    "warp_latency": (_MetricKind.AMOUNT, (
        "smsp__average_warp_latency_per_inst_issued.ratio",
        _WARPS + "Warp Cycles Per Issued Instruction")),
    "active_threads": (_MetricKind.AMOUNT, (
        "smsp__thread_inst_executed_per_inst_executed.ratio",
        _WARPS + "Avg. Active Threads Per Warp")),
    "unpredicated_threads": (_MetricKind.AMOUNT, (
        "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio",
        _WARPS + "Avg. Not Predicated Off Threads Per Warp")),
    "sm_busy": (_MetricKind.SHARE, (
        "sm__throughput" + _PEAK, _LIGHT + "Compute (SM) Throughput")),
    "issue_busy": (_MetricKind.SHARE, (
        "sm__inst_issued" + _PEAK, "sm__issue_active" + _PEAK, _COMPUTE + "Issue Slots Busy")),
    "memory_busy": (_MetricKind.SHARE, (
        "gpu__compute_memory_throughput" + _PEAK, _LIGHT + "Memory Throughput")),
    "memory_access_busy": (_MetricKind.SHARE, (
        "gpu__compute_memory_access_throughput" + _PEAK, _MEMORY + "Mem Busy")),
    "memory_request_busy": (_MetricKind.SHARE, (
        "gpu__compute_memory_request_throughput" + _PEAK, _MEMORY + "Max Bandwidth")),
    "memory_pipes_busy": (_MetricKind.SHARE, (
        "sm__memory_throughput" + _PEAK, _MEMORY + "Mem Pipes Busy")),
    "dram_busy": (_MetricKind.SHARE, (
        "gpu__dram_throughput" + _PEAK, "dram__throughput" + _PEAK,
        _LIGHT + "DRAM Throughput")),
    "l2_busy": (_MetricKind.SHARE, ("lts__throughput" + _PEAK, _LIGHT + "L2 Cache Throughput")),
    "l1_busy": (_MetricKind.SHARE, ("l1tex__throughput" + _PEAK,)),
    "lsu_wavefronts_busy": (_MetricKind.SHARE, ("l1tex__data_pipe_lsu_wavefronts" + _PEAK,)),
    "bank_reads_busy": (_MetricKind.SHARE, ("l1tex__data_bank_reads" + _PEAK,)),
    "bank_writes_busy": (_MetricKind.SHARE, ("l1tex__data_bank_writes" + _PEAK,)),
    "dram_read": (_MetricKind.AMOUNT, ("dram__bytes_read.sum",)),
    "dram_written": (_MetricKind.AMOUNT, ("dram__bytes_write.sum",)),
    "host_sectors_read": (_MetricKind.AMOUNT, (
        "lts__t_sectors_srcunit_tex_aperture_sysmem_op_read_lookup_miss.sum",)),
    "l1_hit_rate": (_MetricKind.SHARE, ("l1tex__t_sector_hit_rate.pct", _MEMORY + "L1/TEX Hit Rate")),
    "l1_load_hit_rate": (_MetricKind.SHARE, (
        "l1tex__t_sector_pipe_lsu_mem_global_op_ld_hit_rate.pct",)),
    "l2_hit_rate": (_MetricKind.SHARE, ("lts__t_sector_hit_rate.pct", _MEMORY + "L2 Hit Rate")),
    "global_sectors": (_MetricKind.AMOUNT, ("memory_l2_theoretical_sectors_global",)),
    "global_sectors_ideal": (_MetricKind.AMOUNT, ("memory_l2_theoretical_sectors_global_ideal",)),
    "spill_requests": (_MetricKind.AMOUNT, (
        "derived__local_spilling_requests", _MEMORY + "Local Memory Spilling Requests")),
    "shared_wavefronts": (_MetricKind.AMOUNT, ("memory_l1_wavefronts_shared",)),
    "shared_wavefronts_ideal": (_MetricKind.AMOUNT, ("memory_l1_wavefronts_shared_ideal",)),
    "shared_atomics": (_MetricKind.AMOUNT, ("smsp__inst_executed_op_shared_atom.sum",)),
    "shared_atomics_busy": (_MetricKind.SHARE, (
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum.pct_of_peak_sustained_elapsed",)),
}  # fmt: skip
_LIMITS = {
    "blocks": ("launch__occupancy_limit_blocks", _OCCUPANCY + "Block Limit SM"),
    "registers": ("launch__occupancy_limit_registers", _OCCUPANCY + "Block Limit Registers"),
    "shared_memory": (
        "launch__occupancy_limit_shared_mem", _OCCUPANCY + "Block Limit Shared Mem"),
    "warps": ("launch__occupancy_limit_warps", _OCCUPANCY + "Block Limit Warps"),
    "barriers": ("launch__occupancy_limit_barriers", _OCCUPANCY + "Block Limit Barriers"),
}  # fmt: skip
_REQUESTS = {
    "global_loads": "global_op_ld", "global_stores": "global_op_st",
    "local_loads": "local_op_ld", "local_stores": "local_op_st",
    "global_reductions": "global_op_red", "global_atomics": "global_op_atom",
}  # fmt: skip
# A unit's cycles, and what the details page calls the unit.
_CYCLES = {"sm": "SM", "l1": "L1", "l2": "L2", "dram": "DRAM"}
_CYCLE_METRICS = {"sm": "sm", "l1": "l1tex", "l2": "lts", "dram": "dram"}
_INSTRUCTIONS = (
    "dadd", "dmul", "dfma", "fadd", "fmul", "ffma", "hadd", "hmul", "hfma",
)  # fmt: skip
_FP32_PEAK = "derived__sm__sass_thread_inst_executed_op_ffma_pred_on_x2"  # operations per cycle
_THREAD_INSTRUCTION = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"

# Families of metrics: the word that tells each from its siblings stands in the name.
_PIPE = re.compile(
    r"sm__(?:inst_executed_pipe|pipe)_(\w+?)(?:_cycles_active)?(?:_realtime)?(?:_pred_on_any)?"
    r"\.avg\.pct_of_peak_sustained_(active|elapsed)"
)
_STALL_CYCLES = re.compile(
    r"smsp__average_warps?_(?:issue_stalled|latency_issue_stalled)_(\w+?)"
    r"(?:_per_issue_active)?\.(ratio|pct)"
)
_STALL_SHARE = re.compile(r"smsp__warp_issue_stalled_(\w+?)_per_warp_active\.pct")
_STALL_SAMPLES = re.compile(r"smsp__pcsamp_warps_issue_stalled_(\w+?)(_not_issued)?")
_TENSOR = re.compile(r"sm__ops_path_tensor_src_(fp64|tf32|bf16|fp16|fp8|fp4|int8|int4)(\w*)\.sum")
# The samples' words for what the counters call otherwise.
_RENAMED = {"no_instructions": Stall.NO_INSTRUCTION, "warpgroup_arrive": Stall.GMMA}
_MOST_NAMES = 2**14  # remembered; a full set has some 2,300


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    """One launch in one form: its metrics' names, a number by name and kind, and rule texts.

    *families* maps a family to its metrics, each with the word that tells it from its
    siblings. *failed* says whether a metric is there and holds no number. *rounding* is the size
    of the last digit printed, 0 where nothing is rounded.
    """

    families: Mapping[str, Sequence[tuple[str, str]]]
    value: Callable[[str, _MetricKind], float | None]
    failed: Callable[[str], bool]
    rounding: Callable[[str], float]
    said: RuleNumbers

    def first(self, names: tuple[str, ...], kind: _MetricKind) -> float | None:
        """Return the first of *names* that has a value, in base units."""
        for name in names:
            if (value := self.value(name, kind)) is not None:
                return value
        return None


def page_profile(record: LaunchRecord) -> KernelProfile:
    """Return what a launch of the raw or the details page says."""

    def value(name: str, kind: _MetricKind) -> float | None:
        text, unit = record.metrics.get(name, ("", ""))
        amount = number(text) if text else None
        if amount is None or amount < 0 or _is_foreign(unit, kind):
            return None
        return amount * (_STORED[kind] if kind is _MetricKind.KILOHERTZ else _scale(unit))

    def failed(name: str) -> bool:
        return name in record.metrics and number(record.metrics[name][0]) is None

    def rounding(name: str) -> float:
        text, unit = record.metrics.get(name, ("", ""))
        decimals = len(text.partition(".")[2])
        return _scale(unit) * 10.0**-decimals if decimals else 0.0

    form = _Form(
        families=_families(tuple(record.metrics)),
        value=value,
        failed=failed,
        rounding=rounding,
        said=rule_numbers(record.rules),
    )
    return KernelProfile(
        kernel=record.columns.get("Kernel Name", ""),
        device=record.metrics.get("device__attribute_display_name", ("", ""))[0].strip() or None,
        capability=_printed_capability(record.columns.get("CC", "")),
        grid=_dimensions(record.columns.get("Grid Size", "")),
        block=_dimensions(record.columns.get("Block Size", "")),
        rules=tuple(record.rules),
        number=int(given) if (given := record.columns.get("ID", "")).isdecimal() else None,
        **_measured(form),
    )


def report_profile(launch: ReportedLaunch, number: int | None = None) -> KernelProfile:
    """Return what a launch of a report file, the one of that *number*, says."""
    metrics = launch.metrics

    def value(name: str, kind: _MetricKind) -> float | None:
        value = metrics.get(name)
        return None if value is None else _stored(value, _STORED[kind])

    def failed(name: str) -> bool:
        value = metrics.get(name, 0.0)
        return isinstance(value, str) or not math.isfinite(value)

    form = _Form(
        families=_families(tuple(launch.metrics)),
        value=value,
        failed=failed,
        rounding=lambda _: 0.0,
        said=rule_numbers(launch.rules),
    )
    device = launch.metrics.get("device__attribute_display_name")
    return KernelProfile(
        kernel=launch.kernel,
        mangled=launch.mangled,
        device=device if isinstance(device, str) and device else None,
        capability=_stored_capability(form),
        code=launch.code,
        grid=launch.grid,
        block=launch.block,
        rules=launch.rules,
        number=number,
        **_measured(form),
    )


def _stored(value: Value, scale: float) -> float | None:
    if isinstance(value, str) or not math.isfinite(value) or value < 0:
        return None
    return value * scale


@lru_cache(maxsize=256)
def _is_foreign(unit: str, kind: _MetricKind) -> bool:
    """Return whether a share or a time is written in no unit that is known for it."""
    if kind is _MetricKind.SHARE:
        return unit.strip() != "%"
    return kind is _MetricKind.SECONDS and unit.strip() not in _TIMES


@lru_cache(maxsize=256)
def _scale(unit: str) -> float:
    """Return the base units in one *unit*: a share's per cent, ``Gbyte/s``, ``sector/ns``."""
    amount, _, per = unit.strip().partition("/")
    return _single_scale(amount) / (_single_scale(per) if per in _TIMES else 1.0)


def _single_scale(unit: str) -> float:
    if unit == "%":
        return 0.01
    if unit in _TIMES:
        return _TIMES[unit]
    match = _PREFIXED.fullmatch(unit)
    if match:
        return _PREFIXES[match[1]]
    return _PREFIXES.get(unit, 1.0)  # a bare prefix; a counted thing


def _measured(form: _Form) -> dict[str, Any]:
    """Return the fields that are measured, by name; only those that are known."""
    fields: dict[str, Any] = {}
    for name, (kind, names) in _FIELDS.items():
        fields[name] = _of_kind(form.first(names, kind), kind)
    for name in ("static_shared", "dynamic_shared", "shared_configured"):
        fields[name] = _whole_bytes(form, fields[name], _FIELDS[name][1])
    activity = _activity(form, fields["sm_count"], fields["elapsed_cycles"])
    fields["cluster"] = _cluster(form)
    fields["block_limits"] = BlockLimits(
        **{name: _whole(form.first(names, _MetricKind.WHOLE)) for name, names in _LIMITS.items()}
    )
    fields["l1_busy"] = _l1_busy(form, fields["l1_busy"], activity)
    fields["pipes"] = _pipes(form, activity)
    fields["stalls"] = _stalls(form, fields["warp_latency"])
    fields["warp_latency"] = fields["warp_latency"] or form.said.latency
    fields["dram_bytes"] = _dram_bytes(form, fields)
    fields |= {name: _requests(form, metric) for name, metric in _REQUESTS.items()}
    fields |= {f"shared_{way}s": _shared(form, way) for way in ("load", "store")}
    _excess(form, fields)
    fields["float_instructions"] = _float_instructions(form, fields["seconds"])
    fields["fp32_of_peak"] = _fp32_of_peak(form)
    fields["tensor_operations"] = _tensor_operations(form)
    fields |= {f"{unit}_cycles": _spread(form, unit) for unit in _CYCLES}
    fields["missing"] = _missing(form, fields)
    return fields


# Fields that are made of families of metrics, of which one without a number may be the one that counts.
_OF_FAMILIES = {
    "pipes": ("pipe elapsed", "pipe active"),
    "stalls": ("stall ratio", "stall pct", "stall share", "stall samples"),
    "tensor_operations": ("tensor",),
}
# How busy each unit is, by the share of the busiest of several units that may stand for it.
_COVERED_BY = {
    "dram_busy": "memory_busy",
    "l2_busy": "memory_busy",
    "l1_busy": "memory_busy",
    "issue_busy": "sm_busy",
    "pipes": "sm_busy",
}


def _missing(form: _Form, fields: Mapping[str, Any]) -> frozenset[str]:
    """Return the fields whose metrics are there and hold no number.

    And those of a unit's busy share without any metric, where nothing stands for it: a recording
    of a few sections has none.
    """
    missing = {
        name
        for name, (_, metrics) in _FIELDS.items()
        if fields[name] is None and any(map(form.failed, metrics))
    }
    missing |= {
        name
        for name, families in _OF_FAMILIES.items()
        if _failed_words(form, *families) - fields[name].keys()
    }
    missing |= {
        name
        for name, metric in _REQUESTS.items()
        if any(map(form.failed, _request_metrics(metric)[:2]))
    }
    counts = [_THREAD_INSTRUCTION.format(name) for name in _INSTRUCTIONS]
    rates = [f"{count}.per_cycle_elapsed" for count in counts]
    if not fields["float_instructions"] and any(map(form.failed, (*counts, *rates))):
        missing.add("float_instructions")
    missing |= {
        name
        for name, maximum in _COVERED_BY.items()
        if not (fields[name] if name == "pipes" else fields[name] is not None)
        and fields[maximum] is None
    }
    return frozenset(missing)


def _failed_words(form: _Form, *families: str) -> set[str]:
    """Return the members of *families* whose metrics hold no number."""
    return {
        _RENAMED.get(word, word)
        for family in families
        for word, name in form.families.get(family, ())
        if form.failed(name)
    }


def _of_kind(value: float | None, kind: _MetricKind) -> float | int | None:
    """Return a share of at most 1 (the profiler rounds to 100.3 %), a whole number as one."""
    if kind is _MetricKind.WHOLE:
        return _whole(value)
    return min(1.0, value) if value is not None and kind is _MetricKind.SHARE else value


def _whole(value: float | None) -> int | None:
    """Return the nearest whole number; None for what its unit takes beyond a float."""
    return None if value is None or not math.isfinite(value) else round(value)


def _whole_bytes(form: _Form, size: int | None, names: tuple[str, ...]) -> int | None:
    """Return the multiple of 128 bytes that a printed size with decimals was rounded from."""
    if size is None:
        return None
    rounding = max((form.rounding(name) for name in names), default=0.0)
    nearest = round(size / 128) * 128
    return nearest if rounding > 1 and abs(nearest - size) <= rounding / 2 else size


def _activity(form: _Form, sm_count: int | None, gpc_cycles: float | None) -> float | None:
    """Return the share of the elapsed cycles in which SMs were active, on average.

    Old reports have the elapsed cycles of the clusters of SMs (GPC) only: the same clock.
    """
    active, elapsed = (
        form.value(f"sm__cycles_{which}.avg", _MetricKind.AMOUNT) for which in ("active", "elapsed")
    )
    if elapsed is None and sm_count:
        active = form.value(_BALANCE + "Average SM Active Cycles", _MetricKind.AMOUNT)
        total = form.value(_BALANCE + "Total SM Elapsed Cycles", _MetricKind.AMOUNT)
        elapsed = total / sm_count if total else None
    if elapsed is None:
        active, elapsed = form.value("sm__cycles_active.avg", _MetricKind.AMOUNT), gpc_cycles
    return min(1.0, active / elapsed) if active is not None and elapsed else None


def _cluster(form: _Form) -> tuple[int, int, int] | None:
    sizes = [form.value(f"launch__cluster_dim_{axis}", _MetricKind.WHOLE) for axis in "xyz"]
    if any(size is None for size in sizes):
        return None
    x, y, z = (max(1, round(size or 0)) for size in sizes)  # 0 where none was asked for
    return x, y, z


def _l1_busy(form: _Form, share: float | None, activity: float | None) -> float | None:
    """Return L1's busy share; the details page has it while L1 is active."""
    if share is not None or activity is None:
        return share
    names = (
        "l1tex__throughput.avg.pct_of_peak_sustained_active",
        _LIGHT + "L1/TEX Cache Throughput",
    )
    active = form.first(names, _MetricKind.SHARE)
    return None if active is None else min(1.0, active * activity)


@lru_cache(maxsize=8)  # the launches of one report have the same metrics
def _families(names: tuple[str, ...]) -> dict[str, list[tuple[str, str]]]:
    """Return the metrics among *names* that belong to families, as (word, name) by family."""
    families: dict[str, list[tuple[str, str]]] = {}
    for name in names:
        if member := _family(name):
            families.setdefault(member[0], []).append((member[1], name))
    return families


@lru_cache(maxsize=_MOST_NAMES)
def _family(name: str) -> tuple[str, str] | None:
    """Return the family that metric *name* belongs to, and its word there."""
    if match := _PIPE.fullmatch(name):
        pipe = _pipe(match[1])
        return (f"pipe {match[2]}", pipe) if pipe else None
    if match := _STALL_CYCLES.fullmatch(name):
        return f"stall {match[2]}", match[1]
    if match := _STALL_SHARE.fullmatch(name):
        return "stall share", match[1]
    if match := _STALL_SAMPLES.fullmatch(name):
        return "stall waits" if match[2] else "stall samples", match[1]
    if (match := _TENSOR.fullmatch(name)) and "sparsity_on" not in match[2]:
        return Unit.TENSOR, match[1]
    return None


def _pipe(word: str) -> str | None:
    """Return the pipe that a metric's word names; None for what is counted under its users."""
    if word.startswith(("tensor", "tc")):
        return Unit.TENSOR
    if word.startswith("fp64"):
        return Unit.FP64
    if "fp16" in word:
        return Unit.FP16
    renamed = {"fmaheavy": Unit.FMA_HEAVY, "fmalite": Unit.FMA_LITE, "shared": None}
    return renamed.get(word, word.partition("_type_")[0])


def _members(form: _Form, family: str, kind: _MetricKind) -> Iterator[tuple[str, float]]:
    """Yield word and value of the metrics of *family*."""
    for word, name in form.families.get(family, ()):
        value = form.value(name, kind)
        if value is not None:
            yield _RENAMED.get(word, word), value


def _whole_family(form: _Form, family: str, kind: _MetricKind) -> dict[str, float]:
    """Return the members of *family* by word; none where one of them holds no number."""
    if any(form.failed(name) for _, name in form.families.get(family, ())):
        return {}
    return dict(_members(form, family, kind))


def _pipes(form: _Form, activity: float | None) -> dict[str, float]:
    """Return each pipe's share of its peak over the elapsed time.

    Of a pipe with several metrics, as tensor cores have for each kind of operation, none without a
    number may be the busiest.
    """
    pipes = _busiest((*_members(form, "pipe elapsed", _MetricKind.SHARE), *form.said.pipes.items()))
    active = (*_members(form, "pipe active", _MetricKind.SHARE), *form.said.active_pipes.items())
    if activity is not None:
        for pipe, share in _busiest(active).items():
            pipes.setdefault(pipe, share * activity)
    for pipe in _failed_words(form, "pipe elapsed"):
        pipes.pop(pipe, None)
    return pipes


def _busiest(shares: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Return the largest share of each pipe: several metrics may count the same one."""
    largest: dict[str, float] = {}
    for pipe, share in shares:
        largest[pipe] = max(min(1.0, share), largest.get(pipe, 0.0))
    return largest


def _stalls(form: _Form, latency: float | None) -> dict[str, float]:
    """Return the share of a warp's time that each state takes; none of a source that lacks one."""
    cycles = _whole_family(form, "stall ratio", _MetricKind.AMOUNT)
    if not cycles:
        cycles = _whole_family(form, "stall pct", _MetricKind.SHARE)
    if cycles:
        # With a few reasons recorded only, their sum is not the whole.
        whole = latency or sum(cycles.values())
        return {reason: min(1.0, count / whole) for reason, count in cycles.items() if whole}
    if shares := _whole_family(form, "stall share", _MetricKind.SHARE):
        return shares
    for samples in ("stall samples", "stall waits"):
        counts = _whole_family(form, samples, _MetricKind.AMOUNT)
        if whole := sum(counts.values()):
            return {reason: count / whole for reason, count in counts.items()}
    said = form.said.stall_cycles
    total = latency or form.said.latency
    return {reason: min(1.0, count / total) for reason, count in said.items()} if total else {}


def _dram_bytes(form: _Form, fields: dict[str, Any]) -> float | None:
    """Return the traffic of device memory, from both directions or its rate."""
    if fields["dram_read"] is not None and fields["dram_written"] is not None:
        return float(fields["dram_read"] + fields["dram_written"])
    rate = form.first(
        ("dram__bytes.sum.per_second", _MEMORY + "Memory Throughput"), _MetricKind.AMOUNT
    )
    seconds = fields["seconds"]
    return None if rate is None or seconds is None else rate * seconds


def _request_metrics(metric: str) -> tuple[str, str, str]:
    """Return the metrics of requests, sectors, and bytes used of a sector, of one kind."""
    return (
        f"l1tex__t_requests_pipe_lsu_mem_{metric}.sum",
        f"l1tex__t_sectors_pipe_lsu_mem_{metric}.sum",
        f"smsp__sass_average_data_bytes_per_sector_mem_{metric}.ratio",
    )


def _requests(form: _Form, metric: str) -> WarpRequests:
    space, _, way = metric.partition("_op_")
    requests, sectors, used = (
        form.value(name, _MetricKind.AMOUNT) for name in _request_metrics(metric)
    )
    said = form.said.used_bytes.get((space, {"ld": "load", "st": "store"}.get(way, "")))
    return WarpRequests(
        requests=requests, sectors=sectors, used_bytes=said if used is None else used
    )


def _shared(form: _Form, way: str) -> SharedRequests:
    metric = f"shared_{way[:2] if way == 'store' else 'ld'}"
    operation = metric.replace("_", "_op_")
    requests = form.value(f"smsp__sass_inst_executed_op_{metric}.sum", _MetricKind.AMOUNT)
    wavefronts = form.value(
        f"l1tex__data_pipe_lsu_wavefronts_mem_{operation}.sum", _MetricKind.AMOUNT
    )
    conflicts = form.value(
        f"l1tex__data_bank_conflicts_pipe_lsu_mem_{operation}.sum", _MetricKind.AMOUNT
    )
    if requests is None and wavefronts is None and conflicts is None and way in form.said.shared:
        requests, conflicts, wavefronts = form.said.shared[way]
    return SharedRequests(requests=requests, wavefronts=wavefronts, conflicts=conflicts)


def _excess(form: _Form, fields: dict[str, Any]) -> None:
    """Add sectors and wavefronts that are only known as an excess over the ideal."""
    for total, said, metric in (
        ("global_sectors", "sectors", "derived__memory_l2_theoretical_sectors_global_excessive"),
        ("shared_wavefronts", "wavefronts", "derived__memory_l1_wavefronts_shared_excessive"),
    ):
        ideal = f"{total}_ideal"
        if fields[total] is None and said in form.said.excess:
            excess, fields[total] = form.said.excess[said]
            fields[ideal] = fields[total] - excess
        elif fields[total] is not None and fields[ideal] is None:
            # Old versions give the excess a unit of bytes; it counts sectors all the same.
            surplus = form.value(metric, _MetricKind.AMOUNT)
            fields[ideal] = None if surplus is None else fields[total] - surplus


def _float_instructions(form: _Form, seconds: float | None) -> dict[str, float]:
    """Return thread instructions by name, from their sum or their rate per cycle."""
    clock = form.value("smsp__cycles_elapsed.avg.per_second", _MetricKind.AMOUNT)
    cycles = clock * seconds if clock is not None and seconds is not None else None
    counts: dict[str, float] = {}
    for name in _INSTRUCTIONS:
        metric = _THREAD_INSTRUCTION.format(name)
        count = form.value(metric, _MetricKind.AMOUNT)
        rate = form.value(f"{metric}.per_cycle_elapsed", _MetricKind.AMOUNT)
        if count is not None:
            counts[name] = count
        elif rate is not None and cycles is not None:
            counts[name] = rate * cycles
        elif form.failed(metric) or form.failed(f"{metric}.per_cycle_elapsed"):
            return {}  # what is left would pass for all of them
    return counts


def _fp32_of_peak(form: _Form) -> float | None:
    """Return FP32 operations as a share of what the device can do, as counted or as rules say."""
    most = form.value(_FP32_PEAK, _MetricKind.AMOUNT)
    rates = {
        name: form.value(
            f"{_THREAD_INSTRUCTION.format(name)}.per_cycle_elapsed", _MetricKind.AMOUNT
        )
        for name in ("fadd", "fmul", "ffma")
    }
    known = [rate for rate in rates.values() if rate is not None]
    if not most or len(known) < len(rates):
        return form.said.fp32_of_peak
    return min(1.0, (sum(known) + known[-1]) / most)


def _tensor_operations(form: _Form) -> dict[NumberType, float]:
    """Return the operations of tensor cores by type; sparse ones count as executed."""
    operations: dict[NumberType, float] = {}
    if _failed_words(form, "tensor"):
        return operations  # the busiest type may be among those without a number
    for word, count in _members(form, "tensor", _MetricKind.AMOUNT):
        number_type = NumberType(word)
        operations[number_type] = operations.get(number_type, 0.0) + count
    return operations


def _spread(form: _Form, unit: str) -> CycleSpread:
    metric = f"{_CYCLE_METRICS[unit]}__cycles_active"
    least, mean, most = (
        form.value(f"{metric}.{which}", _MetricKind.AMOUNT) for which in ("min", "avg", "max")
    )
    if mean is None:
        mean = form.value(f"{_BALANCE}Average {_CYCLES[unit]} Active Cycles", _MetricKind.AMOUNT)
        if mean is not None and unit in form.said.spreads:
            above, below = form.said.spreads[unit]
            # The rule's "above the average" is a share of the most, on every recorded page.
            least, most = mean * (1 - below), mean / (1 - above) if above < 1 else None
    return CycleSpread(least=least, mean=mean, most=most)


_DIMENSIONS = re.compile(r"\(?\s*(\d{1,10})\s*,\s*(\d{1,10})\s*,\s*(\d{1,10})\s*\)?")


def _dimensions(text: str) -> tuple[int, int, int] | None:
    match = _DIMENSIONS.fullmatch(text.strip())
    return (int(match[1]), int(match[2]), int(match[3])) if match else None


def _printed_capability(text: str) -> Capability | None:
    try:
        return parse_capability(text)
    except BadInput:
        return None


def _stored_capability(form: _Form) -> Capability | None:
    major, minor = (
        form.value(f"device__attribute_compute_capability_{part}", _MetricKind.WHOLE)
        for part in ("major", "minor")
    )
    if major is None or minor is None or major >= 100 or minor >= 10:
        return None
    return Capability(round(major), round(minor))

"""One reading of a GPU's state by NVML."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.backends.nvml import ask, library, words
from gpuadvise.advisor.backends.readings import NvmlGpu, NvmlReport
from gpuadvise.advisor.errors import Unavailable
from gpuadvise.advisor.gpu import MigSlice
from gpuadvise.advisor.telemetry import (
    CLOCK_REASONS,
    NO_RECOVERY,
    Process,
    ProcessKind,
    Telemetry,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gpuadvise.advisor.backends.nvml import Query


_MHZ = 1_000_000
_NOT_A_NUMBER = 2**64 - 1  # NVML's "not available" in 64-bit fields

# Bits of nvmlDeviceGetCurrentClocksEventReasons; nvml.h, "nvmlClocksEventReasons".
CLOCK_EVENTS: Mapping[int, str] = {
    0x1: CLOCK_REASONS["gpu_idle"],
    0x2: CLOCK_REASONS["applications_clocks_setting"],
    0x4: CLOCK_REASONS["sw_power_cap"],
    0x8: CLOCK_REASONS["hw_slowdown"],
    0x10: CLOCK_REASONS["sync_boost"],
    0x20: CLOCK_REASONS["sw_thermal_slowdown"],
    0x40: CLOCK_REASONS["hw_thermal_slowdown"],
    0x80: CLOCK_REASONS["hw_power_brake_slowdown"],
    0x100: CLOCK_REASONS["display_clocks_setting"],
}
# nvmlPerfPolicyType_t of nvml.h; times are in nanoseconds since the driver was loaded.
_POLICIES: Mapping[str, int] = {
    "power": 0,
    "heat": 1,
    "synchronised boost": 2,
    "board": 3,
    "low use": 4,
    "reliability": 5,
}
_RECOVERY_ACTION = 230  # NVML_FI_DEV_GET_GPU_RECOVERY_ACTION, driver 565 and later
# nvmlDeviceGpuRecoveryAction_t of nvml.h, in the words of nvidia-smi where it has some.
_RECOVERIES = (
    NO_RECOVERY,
    "reset",
    "reboot",
    "drain p2p",
    "drain and reset",
    "recover IMEX domain",
    "bus reset",
    "system reboot",
)
_NANOSECOND = 1e-9
_COMPUTE_MODES = ("default", "exclusive thread", "prohibited", "exclusive process")

_QUERIES: Mapping[str, Query] = {
    "sm_clock_hz": lambda n, g: n.nvmlDeviceGetClockInfo(g, n.NVML_CLOCK_SM) * _MHZ,
    "sm_clock_max_hz": lambda n, g: n.nvmlDeviceGetMaxClockInfo(g, n.NVML_CLOCK_SM) * _MHZ,
    "memory_clock_hz": lambda n, g: n.nvmlDeviceGetClockInfo(g, n.NVML_CLOCK_MEM) * _MHZ,
    "memory_clock_max_hz": lambda n, g: n.nvmlDeviceGetMaxClockInfo(g, n.NVML_CLOCK_MEM) * _MHZ,
    "performance_state": lambda n, g: _state(n.nvmlDeviceGetPerformanceState(g)),
    "clock_event_reasons": lambda n, g: clock_events(
        n.nvmlDeviceGetCurrentClocksThrottleReasons(g)  # the name that old drivers know, too
    ),
    "power_watts": lambda n, g: n.nvmlDeviceGetPowerUsage(g) / 1000,
    "power_limit_watts": lambda n, g: n.nvmlDeviceGetEnforcedPowerLimit(g) / 1000,
    "power_limit_requested_watts": lambda n, g: n.nvmlDeviceGetPowerManagementLimit(g) / 1000,
    "power_limit_default_watts": lambda n, g: n.nvmlDeviceGetPowerManagementDefaultLimit(g) / 1000,
    "power_limit_min_watts": lambda n, g: (
        n.nvmlDeviceGetPowerManagementLimitConstraints(g)[0] / 1000
    ),
    "power_limit_max_watts": lambda n, g: (
        n.nvmlDeviceGetPowerManagementLimitConstraints(g)[1] / 1000
    ),
    "temperature_celsius": lambda n, g: n.nvmlDeviceGetTemperature(g, n.NVML_TEMPERATURE_GPU),
    "memory_temperature_celsius": lambda n, g: _field(n, g, n.NVML_FI_DEV_MEMORY_TEMP),
    "temperature_slowdown_celsius": lambda n, g: n.nvmlDeviceGetTemperatureThreshold(
        g, n.NVML_TEMPERATURE_THRESHOLD_SLOWDOWN
    ),
    "temperature_shutdown_celsius": lambda n, g: n.nvmlDeviceGetTemperatureThreshold(
        g, n.NVML_TEMPERATURE_THRESHOLD_SHUTDOWN
    ),
    "gpu_utilisation": lambda n, g: n.nvmlDeviceGetUtilizationRates(g).gpu / 100,
    "memory_utilisation": lambda n, g: n.nvmlDeviceGetUtilizationRates(g).memory / 100,
    "pcie_generation": lambda n, g: n.nvmlDeviceGetCurrPcieLinkGeneration(g),
    "pcie_generation_max": lambda n, g: n.nvmlDeviceGetMaxPcieLinkGeneration(g),
    "pcie_lanes": lambda n, g: n.nvmlDeviceGetCurrPcieLinkWidth(g),
    "pcie_lanes_max": lambda n, g: n.nvmlDeviceGetMaxPcieLinkWidth(g),
    "ecc_enabled": lambda n, g: n.nvmlDeviceGetEccMode(g)[0] == 1,
    "ecc_enabled_after_reboot": lambda n, g: n.nvmlDeviceGetEccMode(g)[1] == 1,
    "ecc_corrected": lambda n, g: n.nvmlDeviceGetTotalEccErrors(
        g, n.NVML_MEMORY_ERROR_TYPE_CORRECTED, n.NVML_VOLATILE_ECC
    ),
    "ecc_uncorrected": lambda n, g: n.nvmlDeviceGetTotalEccErrors(
        g, n.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, n.NVML_VOLATILE_ECC
    ),
    "ecc_corrected_lifetime": lambda n, g: n.nvmlDeviceGetTotalEccErrors(
        g, n.NVML_MEMORY_ERROR_TYPE_CORRECTED, n.NVML_AGGREGATE_ECC
    ),
    "ecc_uncorrected_lifetime": lambda n, g: n.nvmlDeviceGetTotalEccErrors(
        g, n.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, n.NVML_AGGREGATE_ECC
    ),
    "rows_remapped_corrected": lambda n, g: n.nvmlDeviceGetRemappedRows(g)[0],
    "rows_remapped_uncorrected": lambda n, g: n.nvmlDeviceGetRemappedRows(g)[1],
    "row_remap_pending": lambda n, g: bool(n.nvmlDeviceGetRemappedRows(g)[2]),
    "row_remap_failed": lambda n, g: bool(n.nvmlDeviceGetRemappedRows(g)[3]),
    "pages_retired_single_bit": lambda n, g: len(
        n.nvmlDeviceGetRetiredPages(g, n.NVML_PAGE_RETIREMENT_CAUSE_MULTIPLE_SINGLE_BIT_ECC_ERRORS)
    ),
    "pages_retired_double_bit": lambda n, g: len(
        n.nvmlDeviceGetRetiredPages(g, n.NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR)
    ),
    "page_retirement_pending": lambda n, g: n.nvmlDeviceGetRetiredPagesPendingStatus(g) == 1,
    "clock_limit_seconds": lambda n, g: _clock_limits(n, g),
    "recovery_action": lambda n, g: _word(
        "recovery action", _RECOVERIES, _field(n, g, _RECOVERY_ACTION)
    ),
    "persistence_mode": lambda n, g: n.nvmlDeviceGetPersistenceMode(g) == 1,
    "compute_mode": lambda n, g: _word(
        "compute mode", _COMPUTE_MODES, n.nvmlDeviceGetComputeMode(g)
    ),
    "processes": lambda n, g: _processes(n, g),
}
# Version 2 tells the driver's own share apart; version 1 counts it as used.
_MEMORY_2: Mapping[str, Query] = {
    "all": lambda n, g: n.nvmlDeviceGetMemoryInfo(g, version=n.nvmlMemory_v2)
}
_MEMORY_1: Mapping[str, Query] = {"all": lambda n, g: n.nvmlDeviceGetMemoryInfo(g)}
_OLD_MEMORY = "the driver is too old to tell its own share from the programs'; used holds both"


def telemetry(nvml: Any, handle: Any) -> Telemetry:
    """Return the state of the GPU *handle* now; whatever is not offered has its reason."""
    values, reasons = ask(nvml, handle, _QUERIES)
    memory, why = _memory(nvml, handle)
    return Telemetry(**values, **memory, reasons=reasons | why)


def clock_events(bits: int) -> tuple[str, ...]:
    """Return in words why clocks are not higher; unknown bits are given as numbers."""
    known = tuple(text for bit, text in CLOCK_EVENTS.items() if bits & bit)
    unknown = bits & ~sum(CLOCK_EVENTS)
    return (*known, f"a reason this version does not know ({unknown:#x})") if unknown else known


def _clock_limits(nvml: Any, handle: Any) -> dict[str, float]:
    """Return for how many seconds each policy held clocks back; raises if none is counted."""
    times, faults = {}, []
    for name, policy in _POLICIES.items():
        try:
            nanoseconds = nvml.nvmlDeviceGetViolationStatus(handle, policy).violationTime
        except nvml.NVMLError as error:
            faults.append(error)
        else:
            times[name] = round(nanoseconds * _NANOSECOND, 9)
    if not times:
        raise faults[0]
    return times


def _field(nvml: Any, handle: Any, number: int) -> int:
    """Return the whole number in the field *number*; raises NVML's error where it is not offered."""
    value = nvml.nvmlDeviceGetFieldValues(handle, [number])[0]
    if value.nvmlReturn:
        raise nvml.NVMLError(value.nvmlReturn)
    return int(value.value.uiVal)


def _word(subject: str, by_number: Sequence[str], number: int) -> str:
    """Return the word for *number*; raises ValueError for one that came later."""
    if not 0 <= number < len(by_number):
        raise ValueError(f"{subject} {number} is not known here")
    return by_number[number]


def _state(number: int) -> int | None:
    return number if 0 <= number <= 15 else None  # 32: unknown


def _memory(nvml: Any, handle: Any) -> tuple[dict[str, Any], dict[str, str]]:
    names = ("memory_total_bytes", "memory_used_bytes", "memory_free_bytes")
    memory, _ = ask(nvml, handle, _MEMORY_2)
    reasons: dict[str, str] = {}
    if memory:
        extra = {"memory_reserved_bytes": memory["all"].reserved}
    else:
        memory, reasons = ask(nvml, handle, _MEMORY_1)
        extra = {}
        if not memory:
            return {}, dict.fromkeys((*names, "memory_reserved_bytes"), reasons["all"])
        reasons = {"memory_reserved_bytes": _OLD_MEMORY}
    info = memory["all"]
    return dict(zip(names, (info.total, info.used, info.free), strict=True)) | extra, reasons


def _processes(nvml: Any, handle: Any) -> tuple[Process, ...]:
    lists = (
        (ProcessKind.COMPUTE, nvml.nvmlDeviceGetComputeRunningProcesses(handle)),
        (ProcessKind.GRAPHICS, nvml.nvmlDeviceGetGraphicsRunningProcesses(handle)),
    )
    return tuple(_process(nvml, kind, process) for kind, some in lists for process in some)


def _process(nvml: Any, kind: ProcessKind, info: Any) -> Process:
    names, _ = ask(nvml, info.pid, {"name": lambda n, pid: n.nvmlSystemGetProcessName(pid)})
    used = info.usedGpuMemory
    return Process(
        pid=info.pid,
        kind=kind,
        name=names.get("name") or None,
        memory_bytes=None if used in (None, _NOT_A_NUMBER) else used,
    )


_MIB = 1 << 20

_IDENTITY: Mapping[str, Query] = {
    "name": lambda nvml, gpu: nvml.nvmlDeviceGetName(gpu),
    "uuid": lambda nvml, gpu: nvml.nvmlDeviceGetUUID(gpu),
    "pci_bus_id": lambda nvml, gpu: _text(nvml.nvmlDeviceGetPciInfo(gpu).busId),
    "compute_capability": lambda nvml, gpu: nvml.nvmlDeviceGetCudaComputeCapability(gpu),
    "cores": lambda nvml, gpu: nvml.nvmlDeviceGetNumGpuCores(gpu),
    "memory_bytes": lambda nvml, gpu: nvml.nvmlDeviceGetMemoryInfo(gpu).total,
    "mig_enabled": lambda nvml, gpu: nvml.nvmlDeviceGetMigMode(gpu)[0] == 1,
    "minor": lambda nvml, gpu: nvml.nvmlDeviceGetMinorNumber(gpu),
}
_PRODUCT: Mapping[str, Query] = {
    "memory_bus_bits": lambda nvml, gpu: nvml.nvmlDeviceGetMemoryBusWidth(gpu),
    "sm_clock_hz": lambda nvml, gpu: _max_clock(nvml, gpu, nvml.NVML_CLOCK_SM),
    "memory_clock_hz": lambda nvml, gpu: _max_clock(nvml, gpu, nvml.NVML_CLOCK_MEM),
    "pcie_generation": lambda nvml, gpu: nvml.nvmlDeviceGetMaxPcieLinkGeneration(gpu),
    "pcie_lanes": lambda nvml, gpu: nvml.nvmlDeviceGetMaxPcieLinkWidth(gpu),
    "power_limit_watts": lambda nvml, gpu: nvml.nvmlDeviceGetEnforcedPowerLimit(gpu) / 1000,
    "ecc": lambda nvml, gpu: nvml.nvmlDeviceGetEccMode(gpu)[0] == 1,
}
_MIG: Mapping[str, Query] = {
    "gpu_instance": lambda nvml, gpu: nvml.nvmlDeviceGetGpuInstanceId(gpu),
    "compute_instance": lambda nvml, gpu: nvml.nvmlDeviceGetComputeInstanceId(gpu),
}
_SLICE: Mapping[str, Query] = {
    "sm_count": lambda nvml, gpu: nvml.nvmlDeviceGetAttributes(gpu).multiprocessorCount,
    "gpu_slices": lambda nvml, gpu: nvml.nvmlDeviceGetAttributes(gpu).gpuInstanceSliceCount,
    "compute_slices": lambda nvml, gpu: nvml.nvmlDeviceGetAttributes(gpu).computeInstanceSliceCount,
    "memory_bytes": lambda nvml, gpu: nvml.nvmlDeviceGetAttributes(gpu).memorySizeMB * _MIB,
}


def report(*, everything: bool = True, live: bool = False) -> NvmlReport:
    """Return what NVML says about this machine.

    Without *everything* only what tells GPUs apart is asked, which is quick; *live* adds
    telemetry.
    """
    try:
        nvml = library()
    except Unavailable as error:
        return NvmlReport(problem=f"NVML cannot be used: {error.message}.")
    system, _ = ask(nvml, None, {"version": lambda n, _: n.nvmlSystemGetDriverVersion()})
    try:
        count = nvml.nvmlDeviceGetCount()
    except nvml.NVMLError as error:
        return NvmlReport(problem=f"NVML cannot count the GPUs: {words(nvml, error)}.")
    handles = [_handle(nvml, n) for n in range(count)]
    gpus = [
        gpu for n, handle in enumerate(handles) for gpu in _gpus(nvml, n, handle, everything, live)
    ]
    if everything:
        gpus = _connected(nvml, handles, gpus, live)
    return NvmlReport(driver_version=system.get("version"), gpus=tuple(gpus))


def _handle(nvml: Any, index: int) -> Any:
    """Return NVML's handle of a GPU, or the error that it gives instead."""
    try:
        return nvml.nvmlDeviceGetHandleByIndex(index)
    except nvml.NVMLError as error:
        return error


def _gpus(nvml: Any, index: int, handle: Any, everything: bool, live: bool) -> Iterator[NvmlGpu]:
    if isinstance(handle, nvml.NVMLError):
        yield NvmlGpu(index=index, problem=words(nvml, handle))
        return
    queries = {**_IDENTITY, **_PRODUCT} if everything else _IDENTITY
    values, reasons = ask(nvml, handle, queries)
    now = telemetry(nvml, handle) if live else None
    gpu = NvmlGpu(index=index, reasons=reasons, telemetry=now, **values)
    yield gpu
    if gpu.mig_enabled:
        yield from _slices(nvml, handle, gpu, live)


def _connected(
    nvml: Any, handles: Sequence[Any], gpus: Sequence[NvmlGpu], live: bool
) -> list[NvmlGpu]:
    """Return *gpus*, the whole ones with how they are connected."""
    from gpuadvise.advisor.backends.nvml_topology import topologies

    whole = {gpu.index: gpu.pci_bus_id for gpu in gpus if gpu.mig is None}
    able = [None if isinstance(handle, nvml.NVMLError) else handle for handle in handles]
    ids = [whole[index] for index in range(len(handles))]
    by_index = topologies(nvml, able, ids, errors=live)
    return [
        replace(gpu, topology=by_index[gpu.index]) if gpu.mig is None and not gpu.problem else gpu
        for gpu in gpus
    ]


def _slices(nvml: Any, parent: Any, gpu: NvmlGpu, live: bool) -> Iterator[NvmlGpu]:
    for n in range(nvml.nvmlDeviceGetMaxMigDeviceCount(parent)):
        try:
            handle = nvml.nvmlDeviceGetMigDeviceHandleByIndex(parent, n)
        except nvml.NVMLError:
            continue  # numbers without a slice are the rule, not a fault
        names, reasons = ask(nvml, handle, {key: _IDENTITY[key] for key in ("name", "uuid")})
        ids, _ = ask(nvml, handle, _MIG)
        size, more = ask(nvml, handle, _SLICE)
        slices = {key: size.pop(key, None) for key in ("gpu_slices", "compute_slices")}
        yield NvmlGpu(
            index=gpu.index,
            pci_bus_id=gpu.pci_bus_id,
            compute_capability=gpu.compute_capability,
            mig=MigSlice(parent_uuid=gpu.uuid, parent_name=gpu.name, **ids, **slices),
            reasons=reasons | more,
            telemetry=telemetry(nvml, handle) if live else None,
            **names,
            **size,
        )


def _max_clock(nvml: Any, handle: Any, kind: int) -> int:
    return int(nvml.nvmlDeviceGetMaxClockInfo(handle, kind)) * _MHZ


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value

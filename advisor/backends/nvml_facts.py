"""What NVML knows about each GPU and each MIG slice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.backends.nvml import ask, library, words
from gpuadvise.advisor.backends.nvml_telemetry import telemetry
from gpuadvise.advisor.backends.readings import NvmlGpu, NvmlReport
from gpuadvise.advisor.errors import Unavailable
from gpuadvise.advisor.gpu import MigSlice

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gpuadvise.advisor.backends.nvml import Query

_MHZ = 1_000_000
_MIB = 1 << 20

_IDENTITY: Mapping[str, Query] = {
    "name": lambda nvml, gpu: nvml.nvmlDeviceGetName(gpu),
    "uuid": lambda nvml, gpu: nvml.nvmlDeviceGetUUID(gpu),
    "pci_bus_id": lambda nvml, gpu: _text(nvml.nvmlDeviceGetPciInfo(gpu).busId),
    "compute_capability": lambda nvml, gpu: nvml.nvmlDeviceGetCudaComputeCapability(gpu),
    "cores": lambda nvml, gpu: nvml.nvmlDeviceGetNumGpuCores(gpu),
    "memory_bytes": lambda nvml, gpu: nvml.nvmlDeviceGetMemoryInfo(gpu).total,
    "mig_enabled": lambda nvml, gpu: nvml.nvmlDeviceGetMigMode(gpu)[0] == 1,
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
    found = (gpu for n in range(count) for gpu in _gpus(nvml, n, everything, live))
    return NvmlReport(driver_version=system.get("version"), gpus=tuple(found))


def _gpus(nvml: Any, index: int, everything: bool, live: bool) -> Iterator[NvmlGpu]:
    try:
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
    except nvml.NVMLError as error:
        yield NvmlGpu(index=index, problem=words(nvml, error))
        return
    queries = {**_IDENTITY, **_PRODUCT} if everything else _IDENTITY
    values, reasons = ask(nvml, handle, queries)
    now = telemetry(nvml, handle) if live else None
    gpu = NvmlGpu(index=index, reasons=reasons, telemetry=now, **values)
    yield gpu
    if gpu.mig_enabled:
        yield from _slices(nvml, handle, gpu, live)


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

"""The GPUs that the Linux kernel driver lists: which they are, without starting NVML."""

from __future__ import annotations

import os
from glob import glob

from gpuadvise.advisor.backends.readings import NvmlGpu, NvmlReport

KERNEL = "kernel driver"
_LISTED = "proc/driver/nvidia/gpus/*/information"
# Exists for each GPU instance: then programs see slices, which only NVML describes.
_SLICES = "proc/driver/nvidia/capabilities/gpu*/mig/gi*"


def listed(root: str = "/") -> NvmlReport:
    """Return name, UUID and PCI id of each GPU, in PCI order; no GPUs if that is not enough.

    In a container the list may hold GPUs of the host; only those with a device file count.
    """
    if glob(os.path.join(root, _SLICES)):
        return NvmlReport()
    entries = [_entry(path) for path in sorted(glob(os.path.join(root, _LISTED)))]
    if not all({"Model", "Device Minor", "Bus Location"} <= entry.keys() for entry in entries):
        return NvmlReport()
    here = [each for each in entries if _usable(root, each)]
    return NvmlReport(gpus=tuple(_gpu(index, each) for index, each in enumerate(here)))


def _entry(path: str) -> dict[str, str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            pairs = (line.partition(":") for line in file.read(4096).splitlines())
            return {name.strip(): value.strip() for name, _, value in pairs}
    except OSError:
        return {}


def _usable(root: str, entry: dict[str, str]) -> bool:
    device_file = os.path.join(root, "dev", f"nvidia{entry['Device Minor']}")
    return entry.get("GPU Excluded") != "Yes" and os.path.exists(device_file)


def _gpu(index: int, entry: dict[str, str]) -> NvmlGpu:
    return NvmlGpu(
        source=KERNEL,
        index=index,
        name=entry["Model"],
        uuid=entry.get("GPU UUID"),
        pci_bus_id=entry["Bus Location"],
    )

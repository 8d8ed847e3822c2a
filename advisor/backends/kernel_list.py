"""The GPUs that the Linux kernel driver lists: which they are, without starting NVML."""

from __future__ import annotations

import os
import re
from glob import glob

from gpuadvise.advisor.backends.readings import NvmlGpu, NvmlReport

KERNEL = "kernel driver"
_VERSION = "proc/driver/nvidia/version"
# NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build ...
_NUMBER = re.compile(r"Kernel Module.*?\s(\d{3,4}(?:\.\d{1,3}){1,2})\s")
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
    here = [entry for entry in entries if _usable(root, entry)]
    gpus = tuple(_gpu(index, entry) for index, entry in enumerate(here))
    return NvmlReport(driver_version=_version(root), gpus=gpus)


def _version(root: str) -> str | None:
    """Return the version of the kernel driver, None where it does not say."""
    match = _NUMBER.search(_start(os.path.join(root, _VERSION)))
    return match[1] if match else None


def _start(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(4096)
    except OSError:
        return ""


def _entry(path: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in _start(path).splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}


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

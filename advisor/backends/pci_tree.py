"""A GPU's PCI id, and its place among the PCI devices as Linux describes it under ``/sys``."""

from __future__ import annotations

import os
import re
from typing import Any

_DEVICES = "sys/bus/pci/devices"
_ADDRESS = r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
# GT/s per lane and the generation of PCI Express that brought it.
_GENERATIONS = {"2.5": 1, "5.0": 2, "8.0": 3, "16.0": 4, "32.0": 5, "64.0": 6}
_LARGEST_WIDTH = 32  # 63 and 255 stand for "not known"


def pci_id(text: str) -> str:
    """Return a PCI id in one way: eight digits of domain, small letters, no function.

    NVML, the CUDA driver, the kernel and people write ``0:6:0`` with more digits or fewer.
    """
    address = text.strip().lower().partition(".")[0]
    domain, _, rest = address.rpartition(":")[0].rpartition(":")
    device = address.rpartition(":")[2]
    return f"{domain.zfill(8)}:{rest.zfill(2)}:{device.zfill(2)}"


def place(pci_bus_id: str, root: str = "/") -> dict[str, Any]:
    """Return the fields of Topology that the kernel tells of the device *pci_bus_id*."""
    domain, _, rest = pci_bus_id.lower().partition(":")
    folder = os.path.join(root, _DEVICES, f"{domain[-4:]}:{rest}")
    if not os.path.exists(folder):
        return {}
    real = os.path.realpath(folder)
    bridge = os.path.dirname(real)
    path = tuple(part for part in real.split(os.sep) if re.fullmatch(_ADDRESS, part))
    slot = bridge if len(path) > 1 else None  # a guest machine shows no bridge above the GPU
    facts = {
        "pcie_path": path or None,
        "pcie_own_generation": _generation(real),
        "pcie_own_lanes": _lanes(real),
        "pcie_slot_generation": _generation(slot) if slot else None,
        "pcie_slot_lanes": _lanes(slot) if slot else None,
        "numa_node": _node(real),
        "cpu_affinity": _text(real, "local_cpulist") or None,
    }
    return {name: value for name, value in facts.items() if value is not None}


def _generation(folder: str) -> int | None:
    return _GENERATIONS.get(_text(folder, "max_link_speed").partition(" ")[0])


def _lanes(folder: str) -> int | None:
    text = _text(folder, "max_link_width")
    return int(text) if text.isdecimal() and 0 < int(text) <= _LARGEST_WIDTH else None


def _node(folder: str) -> int | None:
    text = _text(folder, "numa_node")
    return int(text) if text.isdecimal() else None  # -1: the firmware does not say


def _text(folder: str, name: str) -> str:
    try:
        with open(os.path.join(folder, name), encoding="ascii", errors="replace") as file:
            return file.read(4096).strip()
    except OSError:
        return ""

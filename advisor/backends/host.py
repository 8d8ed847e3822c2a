"""What kind of machine this is, where that changes how GPU facts must be read."""

from __future__ import annotations

import os

_WSL = (
    "This is WSL: the Windows driver answers, and it does not offer every field or the list "
    "of processes."
)
_JETSON = (
    "This is a Jetson: the GPU shares the processor's memory, so a copy between host and "
    "device is a copy within it; NVML answers only in part."
)


def host_notes(root: str = "/") -> tuple[str, ...]:
    """Return one sentence for each property of this machine that changes what facts mean."""
    notes = []
    if "microsoft" in _read(root, "proc/version").lower():
        notes.append(_WSL)
    model = _read(root, "proc/device-tree/model")
    if os.path.exists(os.path.join(root, "etc/nv_tegra_release")) or "jetson" in model.lower():
        notes.append(_JETSON)
    return tuple(notes)


def _read(root: str, name: str) -> str:
    try:
        with open(os.path.join(root, name), encoding="utf-8", errors="replace") as file:
            return file.read(4096)
    except OSError:
        return ""

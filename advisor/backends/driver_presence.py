"""Whether an NVIDIA driver can be here at all, found out without loading anything."""

from __future__ import annotations

import os
import sys

# Each exists only where a driver (or, for dxg, the Windows host's) is loaded.
_UNIX = (
    "dev/nvidiactl",
    "dev/nvidia0",
    "proc/driver/nvidia/version",
    "dev/dxg",  # WSL
    "dev/nvhost-gpu",  # Jetson
    "dev/nvgpu/igpu0/ctrl",  # Jetson, newer kernels
)
_WINDOWS = ("Windows/System32/nvml.dll", "Windows/System32/nvcuda.dll")


def driver_present(root: str | None = None, platform: str = sys.platform) -> bool:
    """Return whether asking a driver makes sense; costs a few ``stat`` calls."""
    if platform == "win32":
        root = root or os.environ.get("SYSTEMDRIVE", "C:") + "/"
        return any(os.path.exists(os.path.join(root, name)) for name in _WINDOWS)
    return any(os.path.exists(os.path.join(root or "/", name)) for name in _UNIX)

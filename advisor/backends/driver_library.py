"""Calls into the CUDA driver's own library, and its errors in words.

For what has to work without cuda-python: see ``driver``, which prefers that.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
from typing import Any

LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
_NO_DEVICE = 100
# CUresult of cuda.h; other codes are named by the driver itself.
_WORDS = {
    1: "this driver does not know the attribute",
    101: "the driver no longer knows this GPU",
    801: "this GPU or driver does not offer it",
    802: "the system is not ready; on NVSwitch machines the fabric manager must run",
    803: "the CUDA library and the loaded kernel driver have different versions: restart after "
    "a driver update, or restart the container",
    804: "the CUDA compatibility package does not support this GPU: remove it, or update the "
    "driver",
    999: "the driver answered Unknown Error; inside a container this often means that it was "
    "started without access to the GPU",
}


class DriverRefused(Exception):
    """The driver answered with an error; the message says which, in words."""


class NoDevice(DriverRefused):
    """The driver works and shows no GPU to this process."""


def load() -> Any:
    """Return the driver's library; raises OSError."""
    return ctypes.CDLL(LIBRARY)


def device_count(cuda: Any) -> int:
    """Return the GPUs that the driver, started now, shows; raises DriverRefused."""
    try:
        call(cuda, "cuInit", 0)
    except NoDevice:
        return 0
    return number(cuda, "cuDeviceGetCount")


def number(cuda: Any, function: str, *args: Any) -> int:
    """Return the whole number that *function* writes to the place given first."""
    place = ctypes.c_int()
    call(cuda, function, ctypes.byref(place), *args)
    return place.value


def text(cuda: Any, function: str, device: int) -> str:
    """Return the text that *function* writes about *device*; raises DriverRefused."""
    place = ctypes.create_string_buffer(256)
    call(cuda, function, place, len(place), device)
    return place.value.decode(errors="replace")


def memory_bytes(cuda: Any, device: int) -> int:
    """Return the memory of *device*; raises DriverRefused."""
    place = ctypes.c_size_t()
    call(cuda, "cuDeviceTotalMem_v2", ctypes.byref(place), device)
    return place.value


def uuid_of(cuda: Any, device: int) -> str:
    """Return the UUID of *device* as nvidia-smi writes it; raises DriverRefused."""
    place = ctypes.create_string_buffer(16)
    # The second version tells MIG slices apart; drivers before 11.4 have the first alone.
    second = hasattr(cuda, "cuDeviceGetUuid_v2")
    call(cuda, "cuDeviceGetUuid_v2" if second else "cuDeviceGetUuid", place, device)
    return uuid_text(place.raw)


def uuid_text(raw: bytes) -> str:
    """Return 16 bytes as nvidia-smi writes the UUID of a GPU."""
    digits = raw.hex()
    bounds = ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))
    return "GPU-" + "-".join(digits[start:end] for start, end in bounds)


def refused(code: int, name: str) -> DriverRefused:
    """Return the error with number *code*, which the driver calls *name*, in words."""
    return NoDevice() if code == _NO_DEVICE else DriverRefused(_WORDS.get(code) or name)


def call(cuda: Any, function: str, *args: Any) -> None:
    """Call *function*; raises DriverRefused with the driver's reason in words."""
    try:
        code = getattr(cuda, function)(*args)
    except AttributeError:
        raise DriverRefused(f"the driver has no function {function}") from None
    if code:
        raise refused(code, _name(cuda, code))


def _name(cuda: Any, code: int) -> str:
    name = ctypes.c_char_p()
    with contextlib.suppress(AttributeError):
        cuda.cuGetErrorName(code, ctypes.byref(name))
    return name.value.decode(errors="replace") if name.value else f"error {code}"

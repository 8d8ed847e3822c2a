"""The CUDA driver's device attributes, read without creating a context.

``cuInit`` can hang or crash on a sick machine and makes a later fork unusable, so this runs
in a process of its own: see ``probe``.
"""

from __future__ import annotations

from typing import Any

from gpuadvise.advisor.backends.readings import DriverGpu, DriverReport

_PREFIX = "CU_DEVICE_ATTRIBUTE_"
_WORDS = {
    "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH": "the CUDA library and the loaded kernel driver have "
    "different versions: restart after a driver update, or restart the container",
    "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE": "the CUDA compatibility package does not "
    "support this GPU: remove it, or update the driver",
    "CUDA_ERROR_SYSTEM_NOT_READY": "the system is not ready; on NVSwitch machines the fabric "
    "manager must run",
    "CUDA_ERROR_UNKNOWN": "the driver answered Unknown Error; inside a container this often "
    "means that it was started without access to the GPU",
    "CUDA_ERROR_INVALID_VALUE": "this driver does not know the attribute",
    "CUDA_ERROR_NOT_SUPPORTED": "this GPU or driver does not offer it",
    "CUDA_ERROR_INVALID_DEVICE": "the driver no longer knows this GPU",
}


class _Refused(Exception):
    """The driver answered with an error; the message says which, in words."""


class _NoDevice(_Refused):
    """The driver works and shows no GPU to this process."""


def report() -> DriverReport:
    """Return what the CUDA driver tells a program that starts in this environment."""
    try:
        from cuda.bindings import driver as cuda
    except ImportError as error:
        return DriverReport(problem=f"The CUDA bindings cannot be used: {error}.")
    try:
        version = _call(cuda.cuDriverGetVersion)
        gpus = tuple(_gpu(cuda, n) for n in range(_count(cuda)))
    except _Refused as error:
        return DriverReport(problem=f"The CUDA driver does not start: {error}.")
    return DriverReport(cuda_version=f"{version // 1000}.{version % 1000 // 10}", gpus=gpus)


def _count(cuda: Any) -> int:
    try:
        _call(cuda.cuInit, 0)
    except _NoDevice:
        return 0
    return int(_call(cuda.cuDeviceGetCount))


def _gpu(cuda: Any, index: int) -> DriverGpu:
    device = _call(cuda.cuDeviceGet, index)
    attributes, reasons = _attributes(cuda, device)
    facts: dict[str, Any] = {}
    for name, question in (
        ("name", lambda: _text(_call(cuda.cuDeviceGetName, 256, device))),
        ("uuid", lambda: _uuid(cuda, device)),
        ("pci_bus_id", lambda: _text(_call(cuda.cuDeviceGetPCIBusId, 32, device))),
        ("memory_bytes", lambda: int(_call(cuda.cuDeviceTotalMem, device))),
    ):
        try:
            facts[name] = question()
        except _Refused as error:
            reasons[name] = str(error)
    return DriverGpu(cuda_index=index, attributes=attributes, reasons=reasons, **facts)


def _attributes(cuda: Any, device: Any) -> tuple[dict[str, int], dict[str, str]]:
    values: dict[str, int] = {}
    reasons: dict[str, str] = {}
    for attribute in cuda.CUdevice_attribute:
        name = attribute.name.removeprefix(_PREFIX).lower()
        if name == "max":  # the count of attributes, not one of them
            continue
        try:
            values[name] = int(_call(cuda.cuDeviceGetAttribute, attribute, device))
        except _Refused as error:
            reasons[name] = str(error)
    return values, reasons


def _call(function: Any, *args: Any) -> Any:
    """Return what *function* gives beside its success code; raises _Refused."""
    try:
        code, *values = function(*args)
    except RuntimeError as error:  # no library, or one without this function
        raise _Refused(str(error).split("\n", 1)[0].rstrip(".")) from None
    if code.name == "CUDA_ERROR_NO_DEVICE":
        raise _NoDevice
    if int(code):
        raise _Refused(_WORDS.get(code.name, code.name))
    return values[0] if values else None


def _uuid(cuda: Any, device: Any) -> str:
    # The second version tells MIG slices apart; from CUDA 13 on it carries the plain name.
    get = getattr(cuda, "cuDeviceGetUuid_v2", None) or cuda.cuDeviceGetUuid
    digits = bytes(_call(get, device).bytes).hex()
    bounds = ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))
    return "GPU-" + "-".join(digits[start:end] for start, end in bounds)


def _text(value: bytes) -> str:
    return value.split(b"\0", 1)[0].decode(errors="replace")

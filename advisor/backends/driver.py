"""The CUDA driver's device attributes, read without creating a context.

``cuInit`` can hang or crash on a sick machine and makes a later fork unusable, so this runs
in a process of its own: see ``probe``. The library is called directly: loading the bindings of
cuda-python takes longer than all the questions asked here.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
from typing import Any

from gpuadvise.advisor.backends.readings import DriverGpu, DriverPeer, DriverReport

LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
# CUdevice_attribute of cuda.h, those that an answer rests on.
ATTRIBUTES = {
    "max_threads_per_block": 1,
    "max_block_dim_x": 2,
    "max_block_dim_y": 3,
    "max_block_dim_z": 4,
    "max_grid_dim_x": 5,
    "max_grid_dim_y": 6,
    "max_grid_dim_z": 7,
    "max_shared_memory_per_block": 8,
    "total_constant_memory": 9,
    "warp_size": 10,
    "max_pitch": 11,
    "max_registers_per_block": 12,
    "clock_rate": 13,
    "texture_alignment": 14,
    "multiprocessor_count": 16,
    "kernel_exec_timeout": 17,
    "integrated": 18,
    "can_map_host_memory": 19,
    "surface_alignment": 30,
    "concurrent_kernels": 31,
    "ecc_enabled": 32,
    "memory_clock_rate": 36,
    "global_memory_bus_width": 37,
    "l2_cache_size": 38,
    "max_threads_per_multiprocessor": 39,
    "async_engine_count": 40,
    "unified_addressing": 41,
    "texture_pitch_alignment": 51,
    "compute_capability_major": 75,
    "compute_capability_minor": 76,
    "stream_priorities_supported": 78,
    "max_shared_memory_per_multiprocessor": 81,
    "max_registers_per_multiprocessor": 82,
    "managed_memory": 83,
    "pageable_memory_access": 88,
    "concurrent_managed_access": 89,
    "compute_preemption_supported": 90,
    "cooperative_launch": 95,
    "max_shared_memory_per_block_optin": 97,
    "pageable_memory_access_uses_host_page_tables": 100,
    "max_blocks_per_multiprocessor": 106,
    "max_persisting_l2_cache_size": 108,
    "reserved_shared_memory_per_block": 111,
    "memory_pools_supported": 115,
    "gpu_direct_rdma_supported": 116,
    "cluster_launch": 120,
    "host_numa_id": 134,
}
# CUdevice_P2PAttribute of cuda.h.
_ACCESS, _ATOMICS = 2, 3
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


def report() -> DriverReport:
    """Return what the CUDA driver tells a program that starts in this environment."""
    try:
        cuda = ctypes.CDLL(LIBRARY)
    except OSError as error:
        return DriverReport(problem=f"The CUDA driver's library cannot be loaded: {error}.")
    try:
        version = number(cuda, "cuDriverGetVersion")
        gpus = tuple(_gpu(cuda, n) for n in range(device_count(cuda)))
    except DriverRefused as error:
        return DriverReport(problem=f"The CUDA driver does not start: {error}.")
    return DriverReport(
        cuda_version=f"{version // 1000}.{version % 1000 // 10}", gpus=_with_peers(cuda, gpus)
    )


def device_count(cuda: Any) -> int:
    """Return the GPUs that the driver, started now, shows; raises DriverRefused."""
    try:
        call(cuda, "cuInit", 0)
    except NoDevice:
        return 0
    return number(cuda, "cuDeviceGetCount")


def _gpu(cuda: Any, index: int) -> DriverGpu:
    device = number(cuda, "cuDeviceGet", index)
    attributes, reasons = _attributes(cuda, device)
    facts: dict[str, Any] = {}
    for name, question in (
        ("name", lambda: _text(cuda, "cuDeviceGetName", device)),
        ("uuid", lambda: uuid_of(cuda, device)),
        ("pci_bus_id", lambda: _text(cuda, "cuDeviceGetPCIBusId", device)),
        ("memory_bytes", lambda: _bytes(cuda, device)),
    ):
        try:
            facts[name] = question()
        except DriverRefused as error:
            reasons[name] = str(error)
    return DriverGpu(cuda_index=index, attributes=attributes, reasons=reasons, **facts)


def _attributes(cuda: Any, device: int) -> tuple[dict[str, int], dict[str, str]]:
    values: dict[str, int] = {}
    reasons: dict[str, str] = {}
    for name, attribute in ATTRIBUTES.items():
        try:
            values[name] = number(cuda, "cuDeviceGetAttribute", attribute, device)
        except DriverRefused as error:
            reasons[name] = str(error)
    return values, reasons


def _with_peers(cuda: Any, gpus: tuple[DriverGpu, ...]) -> tuple[DriverGpu, ...]:
    """Return *gpus*, each with what it can do with the memory of every other."""
    from dataclasses import replace

    indices = [gpu.cuda_index for gpu in gpus]
    return tuple(
        replace(gpu, peers=tuple(_peer(cuda, gpu.cuda_index, n) for n in indices
                                 if n != gpu.cuda_index))
        for gpu in gpus
    )  # fmt: skip


def _peer(cuda: Any, index: int, peer: int) -> DriverPeer:
    def says(attribute: int) -> bool | None:
        try:
            return bool(number(cuda, "cuDeviceGetP2PAttribute", attribute, index, peer))
        except DriverRefused:
            return None

    return DriverPeer(cuda_index=peer, access=says(_ACCESS), atomics=says(_ATOMICS))


def number(cuda: Any, function: str, *args: Any) -> int:
    """Return the whole number that *function* writes to the place given first."""
    place = ctypes.c_int()
    call(cuda, function, ctypes.byref(place), *args)
    return place.value


def _text(cuda: Any, function: str, device: int) -> str:
    place = ctypes.create_string_buffer(256)
    call(cuda, function, place, len(place), device)
    return place.value.decode(errors="replace")


def _bytes(cuda: Any, device: int) -> int:
    place = ctypes.c_size_t()
    call(cuda, "cuDeviceTotalMem_v2", ctypes.byref(place), device)
    return place.value


def uuid_of(cuda: Any, device: int) -> str:
    """Return the UUID of *device* as nvidia-smi writes it; raises DriverRefused."""
    place = ctypes.create_string_buffer(16)
    # The second version tells MIG slices apart; drivers before 11.4 have the first alone.
    second = hasattr(cuda, "cuDeviceGetUuid_v2")
    call(cuda, "cuDeviceGetUuid_v2" if second else "cuDeviceGetUuid", place, device)
    digits = place.raw.hex()
    bounds = ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))
    return "GPU-" + "-".join(digits[start:end] for start, end in bounds)


def call(cuda: Any, function: str, *args: Any) -> None:
    """Call *function*; raises DriverRefused with the driver's reason in words."""
    try:
        code = getattr(cuda, function)(*args)
    except AttributeError:
        raise DriverRefused(f"the driver has no function {function}") from None
    if code == _NO_DEVICE:
        raise NoDevice
    if code:
        raise DriverRefused(_WORDS.get(code) or _name(cuda, code))


def _name(cuda: Any, code: int) -> str:
    name = ctypes.c_char_p()
    with contextlib.suppress(AttributeError):
        cuda.cuGetErrorName(code, ctypes.byref(name))
    return name.value.decode(errors="replace") if name.value else f"error {code}"

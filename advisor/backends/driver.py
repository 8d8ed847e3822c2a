"""The CUDA driver's device attributes, read without creating a context.

``cuInit`` can hang or crash on a sick machine and makes a later fork unusable, so this runs
in a process of its own: see ``probe``. cuda-python asks; where it is not installed or does not
work, the same calls go straight to the driver's library.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

from gpuadvise.advisor.backends import driver_library
from gpuadvise.advisor.backends.driver_library import DriverRefused, NoDevice
from gpuadvise.advisor.backends.readings import DriverGpu, DriverPeer, DriverReport

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


class DriverCalls(Protocol):
    """What is asked of the driver; each answer raises DriverRefused with a reason in words."""

    def start(self) -> None:
        """Start the driver in this process."""

    def version(self) -> int:
        """Return the CUDA version that it offers, 13000 for 13.0."""

    def device_count(self) -> int:
        """Return how many GPUs it shows."""

    def device(self, index: int) -> Any:
        """Return the handle of GPU *index*."""

    def attribute(self, number: int, device: Any) -> int:
        """Return attribute *number* (CUdevice_attribute) of *device*."""

    def peer_attribute(self, number: int, device: Any, peer: Any) -> int:
        """Return what *device* can do with the memory of *peer* (CUdevice_P2PAttribute)."""

    def name(self, device: Any) -> str:
        """Return the name of *device*."""

    def uuid(self, device: Any) -> str:
        """Return the UUID of *device* as nvidia-smi writes it."""

    def pci_bus_id(self, device: Any) -> str:
        """Return where *device* is on the PCI bus."""

    def memory_bytes(self, device: Any) -> int:
        """Return the memory of *device*."""


class BindingsUnusable(Exception):
    """cuda-python is not installed, or cannot reach the driver."""


class BoundDriver:
    """The driver through cuda-python."""

    def __init__(self) -> None:
        try:
            from cuda.bindings import driver

            # The first call looks for the driver's library.
            self._version = driver.cuDriverGetVersion()
        except (ImportError, RuntimeError, OSError) as error:
            raise BindingsUnusable from error
        self._bindings = driver

    def start(self) -> None:
        """Start the driver in this process."""
        self._check(*self._bindings.cuInit(0))

    def version(self) -> int:
        """Return the CUDA version that it offers."""
        error, version = self._version
        self._check(error)
        return int(version)

    def device_count(self) -> int:
        """Return how many GPUs it shows."""
        return int(self._ask("cuDeviceGetCount"))

    def device(self, index: int) -> Any:
        """Return the handle of GPU *index*."""
        return self._ask("cuDeviceGet", index)

    def attribute(self, number: int, device: Any) -> int:
        """Return attribute *number* of *device*."""
        return int(self._ask("cuDeviceGetAttribute", self._known("CUdevice_attribute", number),
                             device))  # fmt: skip

    def peer_attribute(self, number: int, device: Any, peer: Any) -> int:
        """Return what *device* can do with the memory of *peer*."""
        attribute = self._known("CUdevice_P2PAttribute", number)
        return int(self._ask("cuDeviceGetP2PAttribute", attribute, device, peer))

    def name(self, device: Any) -> str:
        """Return the name of *device*."""
        return self._text("cuDeviceGetName", device)

    def uuid(self, device: Any) -> str:
        """Return the UUID of *device*; of releases before 13 the second version tells slices apart."""
        second = hasattr(self._bindings, "cuDeviceGetUuid_v2")
        uuid = self._ask("cuDeviceGetUuid_v2" if second else "cuDeviceGetUuid", device)
        return driver_library.uuid_text(bytes(uuid.bytes))

    def pci_bus_id(self, device: Any) -> str:
        """Return where *device* is on the PCI bus."""
        return self._text("cuDeviceGetPCIBusId", device)

    def memory_bytes(self, device: Any) -> int:
        """Return the memory of *device*."""
        return int(self._ask("cuDeviceTotalMem", device))

    def _text(self, function: str, device: Any) -> str:
        written: bytes = self._ask(function, 256, device)
        return written.partition(b"\0")[0].decode(errors="replace")

    def _known(self, kind: str, number: int) -> Any:
        try:
            return getattr(self._bindings, kind)(number)
        except ValueError:
            raise DriverRefused("this cuda-python does not know the attribute") from None

    def _ask(self, function: str, *args: Any) -> Any:
        try:
            error, *values = getattr(self._bindings, function)(*args)
        except RuntimeError:
            raise DriverRefused(f"the driver has no function {function}") from None
        self._check(error)
        return values[0]

    @staticmethod
    def _check(error: Any) -> None:
        if int(error):
            raise driver_library.refused(int(error), error.name)


class LoadedDriver:
    """The driver by calls into its library, which cuda-python is not needed for."""

    def __init__(self) -> None:
        self._library = driver_library.load()

    def start(self) -> None:
        """Start the driver in this process."""
        driver_library.call(self._library, "cuInit", 0)

    def version(self) -> int:
        """Return the CUDA version that it offers."""
        return driver_library.number(self._library, "cuDriverGetVersion")

    def device_count(self) -> int:
        """Return how many GPUs it shows."""
        return driver_library.number(self._library, "cuDeviceGetCount")

    def device(self, index: int) -> int:
        """Return the handle of GPU *index*."""
        return driver_library.number(self._library, "cuDeviceGet", index)

    def attribute(self, number: int, device: int) -> int:
        """Return attribute *number* of *device*."""
        return driver_library.number(self._library, "cuDeviceGetAttribute", number, device)

    def peer_attribute(self, number: int, device: int, peer: int) -> int:
        """Return what *device* can do with the memory of *peer*."""
        return driver_library.number(self._library, "cuDeviceGetP2PAttribute", number, device, peer)

    def name(self, device: int) -> str:
        """Return the name of *device*."""
        return driver_library.text(self._library, "cuDeviceGetName", device)

    def uuid(self, device: int) -> str:
        """Return the UUID of *device*."""
        return driver_library.uuid_of(self._library, device)

    def pci_bus_id(self, device: int) -> str:
        """Return where *device* is on the PCI bus."""
        return driver_library.text(self._library, "cuDeviceGetPCIBusId", device)

    def memory_bytes(self, device: int) -> int:
        """Return the memory of *device*."""
        return driver_library.memory_bytes(self._library, device)


def report() -> DriverReport:
    """Return what the CUDA driver tells a program that starts in this environment."""
    try:
        return _told_by(BoundDriver())
    except BindingsUnusable:
        pass
    try:
        return _told_by(LoadedDriver())
    except OSError as error:
        return DriverReport(problem=f"The CUDA driver's library cannot be loaded: {error}.")


def _told_by(driver: DriverCalls) -> DriverReport:
    try:
        version = driver.version()
        gpus = _gpus(driver)
    except DriverRefused as error:
        return DriverReport(problem=f"The CUDA driver does not start: {error}.")
    return DriverReport(cuda_version=f"{version // 1000}.{version % 1000 // 10}", gpus=gpus)


def _gpus(driver: DriverCalls) -> tuple[DriverGpu, ...]:
    try:
        driver.start()
    except NoDevice:
        return ()
    devices = [driver.device(index) for index in range(driver.device_count())]
    gpus = [_gpu(driver, index, device) for index, device in enumerate(devices)]
    return tuple(replace(gpu, peers=_peers(driver, gpu.cuda_index, devices)) for gpu in gpus)


def _gpu(driver: DriverCalls, index: int, device: Any) -> DriverGpu:
    attributes, reasons = _attributes(driver, device)
    facts: dict[str, Any] = {}
    for name in ("name", "uuid", "pci_bus_id", "memory_bytes"):
        try:
            facts[name] = getattr(driver, name)(device)
        except DriverRefused as error:
            reasons[name] = str(error)
    return DriverGpu(cuda_index=index, attributes=attributes, reasons=reasons, **facts)


def _attributes(driver: DriverCalls, device: Any) -> tuple[dict[str, int], dict[str, str]]:
    values: dict[str, int] = {}
    reasons: dict[str, str] = {}
    for name, number in ATTRIBUTES.items():
        try:
            values[name] = driver.attribute(number, device)
        except DriverRefused as error:
            reasons[name] = str(error)
    return values, reasons


def _peers(driver: DriverCalls, index: int, devices: list[Any]) -> tuple[DriverPeer, ...]:
    """Return what GPU *index* can do with the memory of every other of *devices*."""

    def says(attribute: int, peer: Any) -> bool | None:
        try:
            return bool(driver.peer_attribute(attribute, devices[index], peer))
        except DriverRefused:
            return None

    return tuple(
        DriverPeer(cuda_index=n, access=says(_ACCESS, peer), atomics=says(_ATOMICS, peer))
        for n, peer in enumerate(devices)
        if n != index
    )

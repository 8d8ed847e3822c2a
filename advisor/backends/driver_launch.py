"""The CUDA driver's own answer for a launch: blocks per SM and resident clusters.

The driver answers about kernels, so it compiles one that takes what the launch takes. That needs
a context on the GPU, which ends with the process: see ``probe``.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.backends.driver_library import (
    DriverRefused,
    call,
    device_count,
    load,
    number,
    uuid_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


# CUfunction_attribute and CUlaunchAttributeID of cuda.h.
_REGISTERS, _MOST_DYNAMIC, _CARVEOUT, _NONPORTABLE = 4, 8, 9, 14
_CLUSTER = 4
# Up to here dynamic shared memory needs no opt-in: programming guide, "Shared Memory".
_WITHOUT_OPT_IN = 48 << 10
# The compiler fills steps of registers: programming guide, register allocation unit.
_STEP = 8
_MOST_REGISTERS = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverLaunch:
    """What the driver says of a launch; *problem* says why it says nothing.

    ``registers`` are those that its compiler gave the kernel it was asked about.
    """

    registers: int | None = None
    blocks_per_sm: int | None = None
    clusters: int | None = None  # resident on the whole GPU
    largest_cluster: int | None = None  # blocks of the largest cluster that can start
    problem: str | None = None


def report(wanted: Mapping[str, Any]) -> DriverLaunch:
    """Return the driver's answer to *wanted*, made by ``live_launch.question``; runs in a child process."""
    try:
        cuda = load()
    except OSError as error:
        return DriverLaunch(problem=f"The CUDA driver's library cannot be loaded: {error}.")
    try:
        _enter_context(cuda, wanted)
        return _answer(cuda, wanted)
    except DriverRefused as error:
        return DriverLaunch(problem=f"The CUDA driver cannot be asked: {error}.")


def _enter_context(cuda: Any, wanted: Mapping[str, Any]) -> None:
    for index in range(device_count(cuda)):
        device = number(cuda, "cuDeviceGet", index)
        if _is_wanted(cuda, device, index, wanted):
            context = ctypes.c_void_p()
            call(cuda, "cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
            call(cuda, "cuCtxSetCurrent", context)
            return
    raise DriverRefused("it does not show this GPU")


def _is_wanted(cuda: Any, device: int, index: int, wanted: Mapping[str, Any]) -> bool:
    if wanted["uuid"]:
        return _digits(wanted["uuid"]) == _digits(uuid_of(cuda, device))
    if wanted["index"] is not None:
        return bool(wanted["index"] == index)
    return index == 0


def _digits(uuid: str) -> str:
    return uuid.partition("-")[2].replace("-", "").lower()


def _answer(cuda: Any, wanted: Mapping[str, Any]) -> DriverLaunch:
    function, registers = _compiled(cuda, wanted)
    dynamic, threads = wanted["dynamic"], wanted["threads"]
    _set(cuda, function, _CARVEOUT, -1 if wanted["carveout"] is None else wanted["carveout"])
    if wanted["optin"] and wanted["static"] + dynamic > _WITHOUT_OPT_IN:
        try:
            _set(cuda, function, _MOST_DYNAMIC, dynamic)
        except DriverRefused:  # more than a block can have: the launch is impossible
            return DriverLaunch(registers=registers, blocks_per_sm=0)
    blocks = number(
        cuda,
        "cuOccupancyMaxActiveBlocksPerMultiprocessor",
        function,
        threads,
        ctypes.c_size_t(dynamic),
    )
    clusters = largest = None
    if wanted["cluster"] != [1, 1, 1]:
        _set(cuda, function, _NONPORTABLE, int(wanted["nonportable"]))
        plain, clustered = _config(wanted, []), _config(wanted, wanted["cluster"])
        largest = number(cuda, "cuOccupancyMaxPotentialClusterSize", function, ctypes.byref(plain))
        try:
            clusters = number(
                cuda, "cuOccupancyMaxActiveClusters", function, ctypes.byref(clustered)
            )
        except DriverRefused as error:
            if "INVALID_CLUSTER_SIZE" not in str(error):
                raise
            clusters = 0
    return DriverLaunch(
        registers=registers, blocks_per_sm=blocks, clusters=clusters, largest_cluster=largest
    )


def _set(cuda: Any, function: ctypes.c_void_p, attribute: int, value: int) -> None:
    call(cuda, "cuFuncSetAttribute", function, attribute, value)


def _compiled(cuda: Any, wanted: Mapping[str, Any]) -> tuple[ctypes.c_void_p, int]:
    """Return a kernel that takes what is *wanted*, and its registers: charged the same if possible."""
    count = wanted["registers"] or 1
    cap = min(-(-count // _STEP) * _STEP, _MOST_REGISTERS)
    functions: list[tuple[int, ctypes.c_void_p]] = []
    for values in _pressures(cap):
        function = _loaded(cuda, kernel_text(values, cap, wanted["static"], wanted["barriers"]))
        registers = number(cuda, "cuFuncGetAttribute", _REGISTERS, function)
        functions.append((registers, function))
        if _steps(registers) == _steps(count):
            break
    registers, function = min(functions, key=lambda pair: abs(_steps(pair[0]) - _steps(count)))
    return function, registers


def _steps(registers: int) -> int:
    return -(-registers // _STEP)


def _pressures(cap: int) -> Iterator[int]:
    """Yield how many values to keep alive so that the compiler may use *cap* registers."""
    yield from (max(1, cap - 12), cap + 8, max(1, cap // 2), 2 * cap)


def _loaded(cuda: Any, text: bytes) -> ctypes.c_void_p:
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    call(cuda, "cuModuleLoadData", ctypes.byref(module), text)
    call(cuda, "cuModuleGetFunction", ctypes.byref(function), module, b"kernel")
    return function


def kernel_text(values: int, cap: int, static: int, barriers: int) -> bytes:
    """Return PTX that keeps *values* alive in at most *cap* registers, and waits at *barriers*."""
    loads = [f"ld.volatile.global.f32 %f{i}, [%rd1+{4 * i}];" for i in range(values)]
    waits = [f"barrier.sync {i};" for i in range(barriers)]
    stores = [f"st.volatile.global.f32 [%rd1+{4 * i}], %f{i};" for i in reversed(range(values))]
    shared = f".shared .align 4 .b8 memory[{static}];" if static else ""
    touch = ["mov.u32 %r1, memory;", "st.volatile.shared.u32 [%r1], %r1;"] if static else []
    lines = [
        ".version 7.0\n.target sm_70\n.address_size 64",
        f".visible .entry kernel(.param .u64 data) .maxnreg {cap}\n{{",
        f".reg .f32 %f<{values}>;\n.reg .b64 %rd<2>;\n.reg .b32 %r<2>;\n{shared}",
        "ld.param.u64 %rd1, [data];",
        *loads,
        *touch,
        *waits,
        *stores,
        "ret;\n}\n\0",
    ]
    return "\n".join(lines).encode()


class _Attribute(ctypes.Structure):
    """CUlaunchAttribute of cuda.h: a number, padding, and 64 bytes whose meaning it gives."""

    _fields_ = (
        ("id", ctypes.c_int),
        ("pad", ctypes.c_char * 4),
        ("value", ctypes.c_uint * 16),
    )


class _Config(ctypes.Structure):
    """CUlaunchConfig of cuda.h."""

    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(_Attribute)),
        ("count", ctypes.c_uint),
    )


def _config(wanted: Mapping[str, Any], cluster: Sequence[int]) -> _Config:
    """Return a launch of one *cluster*, or of none where that is empty."""
    config = _Config()
    config.grid[:] = cluster or [1, 1, 1]
    config.block[:] = [wanted["threads"], 1, 1]
    config.shared = wanted["dynamic"]
    if cluster:
        attribute = _Attribute(id=_CLUSTER)
        attribute.value[:3] = cluster
        config.attributes = ctypes.pointer(attribute)
        config.count = 1
    return config

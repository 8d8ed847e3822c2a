"""What the driver says of the kernels in an image: a context is created and the image loaded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.backends.measure.calls import DriverFault, call, driver, give_back
from gpuadvise.advisor.backends.measure.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Up to here dynamic shared memory needs no opt-in: programming guide, "Shared Memory".
_WITHOUT_OPT_IN = 48 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Launching:
    """A kernel and how it would be launched: threads per block, dynamic bytes."""

    name: str
    threads: int | None
    dynamic_smem: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverKernel:
    """What the driver tells of one kernel; *problem* says why it tells nothing."""

    name: str
    registers: int | None = None
    static_smem: int | None = None
    local_bytes: int | None = None  # per thread
    max_threads: int | None = None
    blocks_per_sm: int | None = None
    problem: str | None = None


def driver_kernels(
    image: bytes, launchings: Iterable[Launching], ordinal: int = 0
) -> Iterator[DriverKernel]:
    """Yield what the driver tells of the kernels *launchings* about, in an image it loads.

    *image* is a cubin, fatbin or PTX text. Raises Unavailable when there is no such GPU, or when
    it cannot load the image.
    """
    with Session(ordinal):
        module = call("cuModuleLoadData", image + b"\0")
        try:
            for launching in launchings:
                yield _kernel(module, launching)
        finally:
            give_back("cuModuleUnload", module)


def _kernel(module: Any, launching: Launching) -> DriverKernel:
    try:
        function = call("cuModuleGetFunction", module, launching.name.encode())
        return DriverKernel(
            name=launching.name,
            registers=_attribute(function, "NUM_REGS"),
            static_smem=_attribute(function, "SHARED_SIZE_BYTES"),
            local_bytes=_attribute(function, "LOCAL_SIZE_BYTES"),
            max_threads=_attribute(function, "MAX_THREADS_PER_BLOCK"),
            blocks_per_sm=_blocks(function, launching),
        )
    except DriverFault as fault:
        return DriverKernel(name=launching.name, problem=fault.message)


def _attribute(function: Any, name: str) -> int:
    attribute = getattr(driver().CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}")
    return int(call("cuFuncGetAttribute", attribute, function))


def _blocks(function: Any, launching: Launching) -> int | None:
    if launching.threads is None:
        return None
    dynamic = launching.dynamic_smem
    if dynamic > _WITHOUT_OPT_IN:
        most = driver().CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        call("cuFuncSetAttribute", function, most, dynamic)
    blocks = call(
        "cuOccupancyMaxActiveBlocksPerMultiprocessor", function, launching.threads, dynamic
    )
    return int(blocks)

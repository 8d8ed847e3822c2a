"""One choke point for driver calls: results unwrapped, failures in words."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import Any

from gpuadvise.advisor.errors import Unavailable

_HINTS = {
    "CUDA_ERROR_OUT_OF_MEMORY": "Free device memory, or measure with --quick.",
    "CUDA_ERROR_ILLEGAL_ADDRESS": "The kernel reaches beyond its memory: is each --arg large enough?",
    "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES": "The block is too large for the kernel's registers.",
    "CUDA_ERROR_NO_DEVICE": "Is CUDA_VISIBLE_DEVICES empty?",
    "CUDA_ERROR_DEVICE_UNAVAILABLE": "Another process may hold the GPU in exclusive mode.",
    "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH": "Reboot, or reinstall the driver.",
}


class DriverFault(Unavailable):
    """A driver call failed; *name* is the driver's word for it."""

    def __init__(self, call: str, name: str) -> None:
        super().__init__(f"{call} failed: {name}.", hint=_HINTS.get(name))
        self.name = name


@cache
def driver() -> Any:
    """Return ``cuda.bindings.driver``; raises Unavailable where it cannot be loaded."""
    try:
        from cuda.bindings import driver as bindings
    except (ImportError, RuntimeError, OSError) as error:
        raise Unavailable(
            f"Measuring needs cuda-python, which cannot be loaded: {error}.",
            hint="pip install cuda-python, on Linux or Windows with an NVIDIA driver.",
        ) from None
    return bindings


def call(name: str, *args: Any) -> Any:
    """Return what driver function *name* answers to *args*; raises DriverFault."""
    try:
        error, *values = getattr(driver(), name)(*args)
    except RuntimeError as missing:  # no libcuda on this machine
        raise Unavailable(
            f"There is no NVIDIA driver here: {missing}.", hint="Measuring needs a live GPU."
        ) from None
    if int(error):
        raise DriverFault(name, error.name)
    return values[0] if len(values) == 1 else values


def give_back(name: str, *args: Any) -> None:
    """Call driver function *name*, which frees something, and let it fail in silence.

    After a fault every further call on a lost device fails; the first one has been reported.
    """
    with suppress(DriverFault):
        call(name, *args)

"""Compiler options that add the device code a GPU is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.compatibility.releases import FIRST_CUDA, NEWEST, last_toolkit
from gpuadvise.advisor.compatibility.targets import number

if TYPE_CHECKING:
    from gpuadvise.advisor.capability import Capability
    from gpuadvise.advisor.compatibility.drivers import Driver
    from gpuadvise.advisor.compatibility.releases import Version


# A driver release without a toolkit, and the toolkit before it.
_ONLY_A_DRIVER = {(12, 7): (12, 6)}


class GencodeFix(NamedTuple):
    """How to build for a GPU: nvcc options, the same for CMake and PyTorch extensions."""

    gencode: tuple[str, ...]
    cmake: str
    torch: str
    first_toolkit: Version | None
    last_toolkit: Version | None  # None: toolkits still compile for it


def fix_for(gpu: Capability, driver: Driver | None = None) -> GencodeFix:
    """Return the options that give *gpu* machine code, and later GPUs PTX to compile.

    A toolkit newer than *driver* would make code that it cannot take, unless the GPU needs one.

    Source: best practices guide, "Building for Maximum Compatibility".
    """
    major, minor = number(gpu)
    digits = f"{major}{minor}"
    first, last = FIRST_CUDA.get((major, minor)), last_toolkit((major, minor))
    if driver and (first is None or first <= driver.cuda) and driver.cuda < (last or NEWEST.cuda):
        last = _ONLY_A_DRIVER.get(driver.cuda, driver.cuda)
    return GencodeFix(
        gencode=(
            f"-gencode arch=compute_{digits},code=sm_{digits}",
            f"-gencode arch=compute_{digits},code=compute_{digits}",
        ),
        cmake=f"-DCMAKE_CUDA_ARCHITECTURES={digits}",
        torch=f"TORCH_CUDA_ARCH_LIST={major}.{minor}+PTX",
        first_toolkit=first,
        last_toolkit=last,
    )

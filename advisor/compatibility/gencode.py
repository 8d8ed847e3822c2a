"""Compiler options that add the device code a GPU is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.compatibility.releases import FIRST_CUDA, last_toolkit
from gpuadvise.advisor.compatibility.targets import number

if TYPE_CHECKING:
    from gpuadvise.advisor.capability import Capability
    from gpuadvise.advisor.compatibility.releases import Version


class GencodeFix(NamedTuple):
    """How to build for a GPU: nvcc options, the same for CMake and PyTorch extensions."""

    gencode: tuple[str, ...]
    cmake: str
    torch: str
    first_toolkit: Version | None
    last_toolkit: Version | None  # None: toolkits still compile for it


def fix_for(gpu: Capability) -> GencodeFix:
    """Return the options that give *gpu* machine code, and later GPUs PTX to compile.

    Source: best practices guide, "Building for Maximum Compatibility".
    """
    major, minor = number(gpu)
    digits = f"{major}{minor}"
    return GencodeFix(
        gencode=(
            f"-gencode arch=compute_{digits},code=sm_{digits}",
            f"-gencode arch=compute_{digits},code=compute_{digits}",
        ),
        cmake=f"-DCMAKE_CUDA_ARCHITECTURES={digits}",
        torch=f"TORCH_CUDA_ARCH_LIST={major}.{minor}+PTX",
        first_toolkit=FIRST_CUDA.get((major, minor)),
        last_toolkit=last_toolkit((major, minor)),
    )

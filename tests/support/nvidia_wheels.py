"""NVIDIA's compilers, listings and libraries, which the tests compare our readers with.

They come with the dependency group ``oracles``. Where that is not installed, the tests that need
it are skipped with a sentence; with ``--require-oracles`` they fail.
"""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path

import pytest

REQUIRED = "GPUADVISE_TESTS_REQUIRE_ORACLES"
NVIDIA = Path(sysconfig.get_path("purelib")) / "nvidia"
TOOLS = NVIDIA / "cu13" / "bin"
LIBRARIES = NVIDIA / "cu13" / "lib"
PTXAS_12 = NVIDIA / "cuda_nvcc" / "bin" / "ptxas"


def present(path: Path) -> Path:
    """Return *path*; where it is missing, skip the test that asks, or fail it if it must run."""
    if not path.exists():
        missing(path.name)
    return path


def missing(name: str) -> None:
    """End the test that needs *name*: a failure where every test must run, else a skip."""
    reason = f"{name} is not installed: pip install --group oracles"
    if os.environ.get(REQUIRED):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)

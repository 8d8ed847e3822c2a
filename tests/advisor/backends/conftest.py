"""Imaginary drivers: two small C libraries under the names of NVIDIA's.

The real ones exist only where a GPU is. With these the real Python bindings load, call and
decode through ctypes and Cython as they do there, and a driver can be made to hang or crash.
"""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import pytest

from gpuadvise.advisor.backends import nvml, presence

HERE = Path(__file__).parent / "stub"
NAMES = {"nvml.c": "libnvidia-ml.so.1", "cuda.c": "libcuda.so.1"}


@pytest.fixture(scope="session")
def stub_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("driver")
    for source, name in NAMES.items():
        flags = ["-shared", "-fPIC", "-w", f"-Wl,-soname,{name}"]
        built = ["cc", *flags, "-o", str(folder / name), str(HERE / source)]
        subprocess.run(built, check=True)
    return folder


@pytest.fixture
def moods(stub_folder: Path, monkeypatch: pytest.MonkeyPatch):
    """Install the imaginary drivers for this test; call it to give them moods."""
    for name in NAMES.values():
        # Loaded under its own name once, the bindings of this process find it without a search.
        ctypes.CDLL(str(stub_folder / name), mode=ctypes.RTLD_GLOBAL)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(stub_folder))
    monkeypatch.setattr(presence, "_UNIX", (str(stub_folder),))
    monkeypatch.setattr(nvml, "_owner", None)
    for variable in ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "GPUADVISE_GPU"):
        monkeypatch.delenv(variable, raising=False)

    def give(nvml_moods: str = "", cuda_moods: str = "") -> None:
        monkeypatch.setenv("STUB", nvml_moods)
        monkeypatch.setenv("STUB_CUDA", cuda_moods)

    give()
    return give

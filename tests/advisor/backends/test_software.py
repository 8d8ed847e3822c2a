"""The software of a machine, from files of an imaginary root."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gpuadvise.advisor.backends.software import software

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in {
        "etc/os-release": 'NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',
        "proc/cpuinfo": "processor : 0\nflags\t\t: fpu hypervisor sse2\n",
        "proc/version": "Linux version 6.1\n",
        "proc/1/cgroup": "0::/docker/abc\n",
        "usr/local/cuda-12.4/include/cuda.h": "// text\n#define CUDA_VERSION 12040\n",
        "usr/local/cuda-13.0/include/cuda.h": "#define CUDA_VERSION 13000\n",
        "usr/lib/x86_64-linux-gnu/libcudnn.so.9.1.0": "",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "usr/lib/x86_64-linux-gnu/libcudnn.so.9").symlink_to("libcudnn.so.9.1.0")
    return tmp_path


def test_system_toolkits_and_libraries(root: Path) -> None:
    seen = software(str(root), {})
    assert seen.system == "Debian GNU/Linux 12 (bookworm)"
    assert (seen.container, seen.virtual, seen.wsl) == ("Docker", True, False)
    assert seen.toolkits == ("12.4", "13.0")
    assert seen.libraries == {"cudnn": ("9.1.0",)}


def test_paths_and_uuids_are_not_shown(root: Path) -> None:
    environment = {
        "CUDA_VISIBLE_DEVICES": "GPU-00000000-0000-0000-0000-000000000001",
        "LD_LIBRARY_PATH": "/home/somebody/lib",
        "CUDA_LAUNCH_BLOCKING": "1",
        "SECRET": "x",
    }
    assert software(str(root), environment).variables == {
        "CUDA_VISIBLE_DEVICES": "(set)",
        "CUDA_LAUNCH_BLOCKING": "1",
        "LD_LIBRARY_PATH": "(set)",
    }
    shown = software(str(root), environment, ids=True).variables
    assert shown["LD_LIBRARY_PATH"] == "/home/somebody/lib"
    assert software(str(root), {"CUDA_VISIBLE_DEVICES": "0,1"}).variables == {
        "CUDA_VISIBLE_DEVICES": "0,1"
    }


def test_the_cache_of_compiled_ptx_is_measured(root: Path) -> None:
    cache = root / "cache" / "a"
    cache.mkdir(parents=True)
    (cache / "module").write_bytes(bytes(1000))
    seen = software(str(root), {"CUDA_CACHE_PATH": str(root / "cache")})
    assert seen.jit_cache_bytes == 1000


def test_an_empty_root_is_no_fault(tmp_path: Path) -> None:
    seen = software(str(tmp_path), {"CUDA_CACHE_PATH": str(tmp_path / "none")})
    assert (seen.toolkits, seen.container, seen.virtual, seen.jit_cache_bytes) == (
        (),
        None,
        None,
        None,
    )


def test_packages_are_named_by_their_folders(tmp_path: Path) -> None:
    from gpuadvise.advisor.backends.software import _packages

    for name in (
        "torch-2.11.0+cu130.dist-info",
        "nvidia_ml_py-13.0.dist-info",
        "cupy_cuda13x-14.2.0-py3.12.egg-info",
        "unrelated-1.0.dist-info",
        "torch",
    ):
        (tmp_path / name).mkdir()
    assert dict(_packages([str(tmp_path), str(tmp_path / "nowhere")])) == {
        "torch": "2.11.0+cu130",
        "nvidia-ml-py": "13.0",
        "cupy-cuda13x": "14.2.0",
    }

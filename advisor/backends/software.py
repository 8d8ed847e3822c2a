"""The software of this machine, read from files and package metadata; nothing is run or loaded."""

from __future__ import annotations

import os
import platform
import re
import sys
from glob import glob
from types import MappingProxyType
from typing import TYPE_CHECKING

from gpuadvise.advisor.software import Software

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

# Settings that change what CUDA programs do (CUDA C++ Programming Guide, "CUDA Environment
# Variables"; NCCL's and cuBLAS' own). Values of the first are plain words or numbers.
_PLAIN = (
    "CUDA_DEVICE_ORDER",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_FORCE_PTX_JIT",
    "CUDA_DISABLE_PTX_JIT",
    "CUDA_CACHE_DISABLE",
    "CUDA_CACHE_MAXSIZE",
    "CUDA_MODULE_LOADING",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
    "CUDA_AUTO_BOOST",
    "NVIDIA_TF32_OVERRIDE",
    "NCCL_P2P_DISABLE",
    "NCCL_DEBUG",
    "PYTORCH_CUDA_ALLOC_CONF",
    "TORCH_CUDA_ARCH_LIST",
    "OMP_NUM_THREADS",
)
_DEVICES = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES")
_PATHS = ("CUDA_HOME", "CUDA_PATH", "CUDA_CACHE_PATH", "LD_LIBRARY_PATH", "CUDA_MPS_PIPE_DIRECTORY")
_INDICES = re.compile(r"[0-9, -]*|all|none|void")

_PACKAGES = re.compile(
    r"(?i:torch|torchvision|triton|jax|jaxlib|tensorflow|cupy[-_].*|cupy|numba|numba-cuda|"
    r"nvidia-(?:cuda|cudnn|cublas|nccl|nvjitlink|ml-py).*|cuda-(?:python|bindings|core)|pynvml|"
    r"flash-attn|xformers|vllm|onnxruntime-gpu|transformer-engine.*)"
)
_LIBRARIES = ("cudart", "cudnn", "nccl", "nvrtc", "cublas")
_FOLDERS = (
    "usr/lib/x86_64-linux-gnu",
    "usr/lib/aarch64-linux-gnu",
    "usr/lib64",
    "usr/lib/wsl/lib",
    "usr/local/cuda*/lib64",
    "usr/local/cuda*/targets/*/lib",
)
_MOST_TEXT = 1 << 16
_MOST_CACHED_FILES = 100_000


def software(
    root: str = "/", environ: Mapping[str, str] = os.environ, *, ids: bool = False
) -> Software:
    """Return what this machine runs; with *ids*, values of variables that hold paths or UUIDs too.

    Whatever cannot be read is left out. Takes some tens of milliseconds; runs no program.
    """
    packages = dict(sorted(_packages()))
    return Software(
        system=_system(root),
        kernel=platform.release() or None,
        machine=platform.machine() or None,
        python=platform.python_version(),
        container=_container(root, environ),
        virtual=_virtual(root),
        wsl="microsoft" in _text(root, "proc/version").lower(),
        toolkits=tuple(sorted(set(_toolkits(root, environ)), key=_release)),
        libraries=MappingProxyType(dict(_libraries(root))),
        packages=MappingProxyType(packages),
        variables=MappingProxyType(dict(_variables(environ, ids=ids))),
        jit_cache_bytes=_jit_cache(environ),
        notes=tuple(_namesakes(packages)),
    )


def _system(root: str) -> str | None:
    match = re.search(r'^PRETTY_NAME="?([^"\n]*)', _text(root, "etc/os-release"), re.M)
    return match.group(1) if match else platform.system() or None


def _container(root: str, environ: Mapping[str, str]) -> str | None:
    if "KUBERNETES_SERVICE_HOST" in environ:
        return "Kubernetes"
    if os.path.exists(os.path.join(root, ".dockerenv")):
        return "Docker"
    if os.path.exists(os.path.join(root, "run/.containerenv")):
        return "Podman"
    groups = _text(root, "proc/1/cgroup")
    kinds = {"docker": "Docker", "containerd": "containerd", "lxc": "LXC", "kubepods": "Kubernetes"}
    for word, kind in kinds.items():
        if word in groups:
            return kind
    return "another kind" if environ.get("container") else None


def _virtual(root: str) -> bool | None:
    flags = re.search(r"^flags\s*:(.*)", _text(root, "proc/cpuinfo"), re.M)
    return "hypervisor" in flags.group(1).split() if flags else None


def _toolkits(root: str, environ: Mapping[str, str]) -> Iterator[str]:
    """Yield the release of each toolkit, as its header states it."""
    named = [environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if environ.get(name)]
    for folder in (*glob(os.path.join(root, "usr/local/cuda*")), *named):
        for header in ("include/cuda.h", "targets/x86_64-linux/include/cuda.h"):
            text = _text(folder, header, start=r"#define CUDA_VERSION")
            if match := re.search(r"#define\s+CUDA_VERSION\s+(\d{4,6})\b", text):
                number = int(match.group(1))
                yield f"{number // 1000}.{number % 1000 // 10}"
                break


def _release(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def _libraries(root: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield NVIDIA's shared libraries in the system's folders, with the versions in their names."""
    for name in _LIBRARIES:
        versions = set()
        for folder in _FOLDERS:
            for path in glob(os.path.join(root, folder, f"lib{name}.so.*")):
                version = os.path.basename(os.path.realpath(path)).partition(".so.")[2]
                if re.fullmatch(r"\d+(\.\d+){1,3}", version):
                    versions.add(version)
        if versions:
            yield name, tuple(sorted(versions, key=_release))


def _packages(folders: Iterable[str] = sys.path) -> Iterator[tuple[str, str]]:
    """Yield name and version of what is installed, from the names of its folders.

    Opening the description of each package takes a second where hundreds are installed.
    """
    for folder in folders:
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue
        for name in names:
            stem, kind = os.path.splitext(name)
            package, _, version = stem.partition("-")
            package = package.replace("_", "-")
            if kind in (".dist-info", ".egg-info") and _PACKAGES.fullmatch(package):
                yield package, version.partition("-")[0]


def _namesakes(packages: Mapping[str, str]) -> Iterator[str]:
    names = {name.lower() for name in packages}
    if "pynvml" in names and "nvidia-ml-py" in names:
        yield (
            "Two packages offer the module pynvml: nvidia-ml-py, NVIDIA's own, and pynvml, which is "
            "deprecated. The one installed last is the one that programs get."
        )
    elif "pynvml" in names:
        yield "The package pynvml is deprecated; NVIDIA's own is nvidia-ml-py."


def _variables(environ: Mapping[str, str], *, ids: bool) -> Iterator[tuple[str, str]]:
    for name in (*_DEVICES, *_PLAIN, *_PATHS):
        value = environ.get(name)
        if value is None:
            continue
        shown = ids or name in _PLAIN or (name in _DEVICES and _INDICES.fullmatch(value))
        yield name, value if shown else "(set)"


def _jit_cache(environ: Mapping[str, str]) -> int | None:
    """Return the bytes of the driver's cache of compiled PTX, None where there is none."""
    home = os.path.expanduser("~")
    default = (
        os.path.join(environ.get("APPDATA", home), "NVIDIA", "ComputeCache")
        if sys.platform == "win32"
        else os.path.join(home, ".nv", "ComputeCache")
    )
    folder = environ.get("CUDA_CACHE_PATH") or default
    if not os.path.isdir(folder):
        return None
    total = files = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            files += 1
            if files > _MOST_CACHED_FILES:
                return total
            try:
                total += os.lstat(os.path.join(parent, name)).st_size
            except OSError:
                continue
    return total


def _text(root: str, name: str, *, start: str = "") -> str:
    """Return the beginning of a file, or what follows *start* in it; empty where it is not there."""
    try:
        with open(os.path.join(root, name), encoding="utf-8", errors="replace") as file:
            if not start:
                return file.read(_MOST_TEXT)
            return next((line for line in file if line.startswith(start)), "")
    except OSError:
        return ""

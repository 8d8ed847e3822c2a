"""Record small kernel caches of Triton, Inductor and CuPy, and the driver's occupancy of each kernel.

    record_caches.py OUT

writes OUT/caches.tar.xz (cubins, their JSON, CuPy's files; no pickles, no sources) and
OUT/caches.csv, where each row is a kernel as a cache says it is launched: block, dynamic shared
memory, blocks per SM by the driver and, with clusters, the clusters that fit the GPU.
"""

import csv
import ctypes
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).parent / "caches"
# Where each library keeps its kernels.
FOLDERS = {
    "triton": "TRITON_CACHE_DIR",
    "inductor": "TORCHINDUCTOR_CACHE_DIR",
    "cupy": "CUPY_CACHE_DIR",
}
KEPT = (".cubin", ".json", ".best_config")
LARGEST = 50_000  # bytes of a cubin: candidates that unroll a whole row are left out
PATH = re.compile(rb"(?<![\w.])/(?:[\w.+-]+/)+")
INSTALLED = re.compile(rb"/[\w./+-]+/site-packages")
MAX_DYNAMIC = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


class LaunchAttribute(ctypes.Structure):
    """CUlaunchAttribute of a cluster's dimensions."""

    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_int), ("value", ctypes.c_uint * 16)]


class LaunchConfig(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = [
        *((name, ctypes.c_uint) for name in ("gx", "gy", "gz", "bx", "by", "bz", "shared")),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(LaunchAttribute)),
        ("count", ctypes.c_uint),
    ]


def check(status: int) -> None:
    """Stop at a driver's error."""
    if status:
        raise RuntimeError(f"driver: {status}")


def occupancies(folder: Path):
    """Yield the driver's answer for every cubin that a JSON file stands beside."""
    import torch

    torch.zeros(1, device="cuda")
    cuda = ctypes.CDLL("libcuda.so.1")
    for path in sorted(folder.rglob("*.cubin")):
        about = path.with_suffix(".json")
        if not about.exists():
            continue
        fields = json.loads(about.read_text())
        module, function, blocks = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
        check(cuda.cuModuleLoadData(ctypes.byref(module), path.read_bytes()))
        check(cuda.cuModuleGetFunction(ctypes.byref(function), module, fields["name"].encode()))
        threads, shared = fields["num_warps"] * 32, fields["shared"]
        check(cuda.cuFuncSetAttribute(function, MAX_DYNAMIC, shared))
        check(
            cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(
                ctypes.byref(blocks), function, threads, ctypes.c_size_t(shared)
            )
        )
        clusters = ctypes.c_int(-1)
        if fields.get("num_ctas", 1) > 1:
            attribute = LaunchAttribute(id=4)
            attribute.value[0], attribute.value[1], attribute.value[2] = fields["num_ctas"], 1, 1
            config = LaunchConfig(
                gx=fields["num_ctas"] * 1000, gy=1, gz=1, bx=threads, by=1, bz=1, shared=shared,
                attributes=ctypes.pointer(attribute), count=1,
            )  # fmt: skip
            check(
                cuda.cuOccupancyMaxActiveClusters(
                    ctypes.byref(clusters), function, ctypes.byref(config)
                )
            )
        yield {
            "file": str(path.relative_to(folder)),
            "name": fields["name"],
            "threads": threads,
            "dynamic_smem": shared,
            "cluster": fields.get("num_ctas", 1),
            "blocks_per_sm": blocks.value,
            "clusters": clusters.value,
        }


def main() -> None:
    """Fill the caches, ask the driver, and pack what is small and free of paths."""
    out = Path(sys.argv[1])
    folder = Path(tempfile.mkdtemp(prefix="caches"))
    for library, variable in FOLDERS.items():
        subprocess.run(
            [sys.executable, str(HERE / "compile_kernels.py"), library],
            env={**os.environ, variable: str(folder / library)},
            check=False,
            timeout=90,
        )
    for path in folder.rglob("*.json"):
        path.write_bytes(PATH.sub(b"/cache/", path.read_bytes()))
    for path in folder.rglob("*.cubin"):  # of the same length, since offsets lead there
        path.write_bytes(
            INSTALLED.sub(lambda at: b"/" + b"x" * (len(at[0]) - 1), path.read_bytes())
        )
    with (out / "caches.csv").open("w", newline="") as file:
        rows = [
            row for row in occupancies(folder) if (folder / row["file"]).stat().st_size <= LARGEST
        ]
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    with tarfile.open(out / "caches.tar.xz", "w:xz") as archive:
        large = {path.parent for path in folder.rglob("*.cubin") if path.stat().st_size > LARGEST}
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.suffix in KEPT and path.parent not in large:
                archive.add(path, path.relative_to(folder))


if __name__ == "__main__":
    main()

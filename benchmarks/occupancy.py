"""Speed of the occupancy model as a library, beside NVIDIA's C header in the same run.

    python benchmarks/occupancy.py

Needs the development dependencies (numpy, the CUDA runtime wheel with the header) and ``cc``.
Each figure is the best of several repetitions: the least disturbed one.
"""

from __future__ import annotations

import platform
import subprocess
import tempfile
from importlib.metadata import distribution
from itertools import product
from pathlib import Path
from timeit import repeat

import numpy as np

from gpuadvise.advisor.capability import Capability
from gpuadvise.advisor.catalogue.capabilities import limits_of
from gpuadvise.advisor.occupancy.batch import BatchModel
from gpuadvise.advisor.occupancy.launch import Launch
from gpuadvise.advisor.occupancy.model import occupancy
from gpuadvise.advisor.occupancy.vectorized import sweep

REPETITIONS = 7
HOPPER, _ = limits_of(Capability(9, 0))
REGISTERS, THREADS, KIB = range(16, 256), range(32, 1025, 32), range(228)
SOURCE = Path(__file__).with_name("occupancy_header.c")


def header() -> tuple[str, int, int, float]:
    """Return the header's version, configurations, sum of blocks and best seconds."""
    wheel = distribution("nvidia-cuda-runtime")
    path = next(file for file in wheel.files or () if file.name == "cuda_occupancy.h")
    include = Path(str(wheel.locate_file(path))).parent
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "header"
        subprocess.run(["cc", "-O2", "-I", include, SOURCE, "-o", program], check=True)
        done = subprocess.run([program, str(REPETITIONS)], capture_output=True, check=True)
    count, blocks, best = done.stdout.split()
    return wheel.version, int(count), int(blocks), float(best) * 1e-9


def vectorised() -> np.ndarray:
    """Return blocks per SM over the whole sweep."""
    registers, threads, memory = np.ix_(REGISTERS, THREADS, np.array(KIB) * 1024)
    return sweep(
        HOPPER, Launch(threads=32), registers=registers, threads=threads, dynamic_shared=memory
    ).blocks_per_sm


def thinned() -> list[tuple[int, int, int]]:
    """Return some 20,000 configurations of the sweep, no two of them equal."""
    return list(product(REGISTERS[::3], THREADS, [kib * 1024 for kib in KIB[::30]]))


def scalar(configurations: list[tuple[int, int, int]]) -> None:
    """Answer each configuration, from its figures to limiters and occupancy."""
    for registers, threads, memory in configurations:
        launch = Launch(threads=threads, registers=registers, dynamic_shared=memory)
        result = occupancy(HOPPER, launch)
        _ = result.occupancy, result.limiters


def batch(configurations: list[tuple[int, int, int]]) -> None:
    """Answer each configuration as a record with the published fields."""
    answer = BatchModel(HOPPER).record
    for registers, threads, memory in configurations:
        answer(threads, registers, 0, memory)


def main() -> None:
    """Print one line per figure."""
    version, count, blocks, seconds = header()
    answers = vectorised()
    assert (answers.size, int(answers.sum(dtype=np.int64))) == (count, blocks)
    ours = min(repeat(vectorised, number=1, repeat=REPETITIONS))
    configurations = thinned()
    seconds_each = {
        name: min(repeat(lambda run=run: run(configurations), number=1, repeat=REPETITIONS))
        / len(configurations)
        for name, run in (("scalar", scalar), ("batch", batch))
    }
    print(f"{platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}")
    print(f"sweep of {count:,} configurations, cc 9.0, equal answers (sum of blocks {blocks:,})")
    print(f"  cuda_occupancy.h {version}, cc -O2   {seconds / count * 1e9:8.2f} ns each")
    print(f"  vectorised model                  {ours / count * 1e9:8.2f} ns each")
    print(f"one at a time, over {len(configurations):,} different configurations")
    print(f"  model, limiters and occupancy     {seconds_each['scalar'] * 1e6:8.2f} us each")
    print(f"  batch record, all fields          {seconds_each['batch'] * 1e6:8.2f} us each")


if __name__ == "__main__":
    main()

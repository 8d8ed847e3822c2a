"""Reading timelines, beside the standard library's json.load in the same run.

    python benchmarks/timeline.py [--megabytes 230,18] [--operators 16] [--kernels 1000000] [--repetitions 3]

Makes traces in the layout of PyTorch's profiler, with so many operators for each kernel, and an
export of Nsight Systems, and reads each in processes of their own, in turns; figures are processor
time of the fastest run, with start-up and without, which is what a trace of 100 kernels takes.
"""

from __future__ import annotations

import argparse
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

READER = """
import sys
from gpuadvise.advisor.timelines.read import read_recordings
from gpuadvise.advisor.timelines.timeline import timelines_of
for recording in read_recordings(sys.argv[1]):
    timelines_of(recording)
"""
JSON = """
import json, sys
with open(sys.argv[1], "rb") as file:
    json.load(file)
"""
HEAD = """{
  "schemaVersion": 1,
  "deviceProperties": [
    {
      "id": 0, "name": "NVIDIA H200", "totalGlobalMem": 150110011392,
      "computeMajor": 9, "computeMinor": 0, "warpSize": 32, "numSms": 132
    }
  ],
  "baseTimeNanoseconds": 1,
  "traceEvents": [
"""
OPERATOR = """  {
    "ph": "X", "cat": "cpu_op", "name": "aten::op%d", "pid": 100, "tid": 100,
    "ts": %.3f, "dur": 5.250,
    "args": {
      "External id": %d,"Record function id": 0, "Concrete Inputs": ["", ""], "Input type": ["float", "float"], "Input Strides": [[4096, 1], [4096, 1]], "Input Dims": [[4096, 4096], [4096, 4096]], "Ev Idx": %d
    }
  },
"""
CALL = """  {
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 100, "tid": 100,
    "ts": %.3f, "dur": 3.100,
    "args": {
      "External id": %d, "cbid": 211, "correlation": %d
    }
  },
"""
KERNEL = """  {
    "ph": "X", "cat": "kernel", "name": "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float> >(int, float) %d", "pid": 0, "tid": 7,
    "ts": %.3f, "dur": 9.344,
    "args": {
      "External id": %d, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": %d, "registers per thread": 24, "shared memory": 0, "blocks per SM": 3.878788, "warps per SM": 15.515152, "grid": [512, 1, 1], "block": [128, 1, 1], "est. achieved occupancy %%": 24
    }
  },
  {
    "ph": "s", "id": %d, "pid": 100, "tid": 100, "ts": %.3f,
    "cat": "ac2g", "name": "ac2g"
  },
"""
LAST = '  {\n    "name": "Record Window End", "ph": "i", "s": "g", "pid": "", "tid": "", "ts": 1\n  }\n  ]\n}\n'


@dataclass(frozen=True)
class Cost:
    """What one process took: seconds of a processor, and peak bytes of memory."""

    seconds: float
    memory: int


def cost(program: str, path: Path) -> Cost:
    """Run *program* on *path*."""
    child = subprocess.Popen([sys.executable, "-c", program, str(path)])
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = status
    if status:
        raise SystemExit(f"reading {path} failed")
    return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)


def best(programs: dict[str, str], path: Path, repetitions: int) -> dict[str, Cost]:
    """Run *programs* in turns and return the fastest run of each."""
    runs = [
        {name: cost(program, path) for name, program in programs.items()}
        for _ in range(repetitions)
    ]
    return {
        name: min((run[name] for run in runs), key=lambda run: run.seconds) for name in programs
    }


def write_trace(path: Path, size: int, operators: int) -> int:
    """Write a trace of about *size* bytes, with *operators* for each kernel, and return its kernels."""
    number, at = 0, 0.0
    with path.open("w") as file:
        file.write(HEAD)
        while file.tell() < size:
            for _ in range(100):
                host = [OPERATOR % (op, at + op, number, number) for op in range(operators)]
                at += operators
                file.write("".join(host) + CALL % (at, number, number))
                file.write(KERNEL % (number % 40, at + 5, number, number, number, at))
                at += 20
                number += 1
        file.write(LAST)
    return number


def write_export(path: Path, kernels: int) -> None:
    """Write an export of *kernels* kernels and their launches."""
    database = sqlite3.connect(path)
    database.executescript(
        "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, globalTid INT,"
        " correlationId INT, nameId INT, returnValue INT);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, streamId INT,"
        " correlationId INT, demangledName INT, registersPerThread INT, gridX INT, gridY INT,"
        " gridZ INT, blockX INT, blockY INT, blockZ INT, staticSharedMemory INT,"
        " dynamicSharedMemory INT, localMemoryPerThread INT, graphNodeId INT);"
        "CREATE TABLE TARGET_INFO_GPU (id INT, name TEXT, computeMajor INT, computeMinor INT,"
        " smCount INT, totalMemory INT);"
        "INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H200', 9, 0, 132, 150110011392);"
    )
    names = [(number, f"kernel{number}(float *)") for number in range(40)]
    database.executemany(
        "INSERT INTO StringIds VALUES (?, ?)", [*names, (99, "cudaLaunchKernel_v7000")]
    )
    chance = random.Random(1)  # calls take any nanoseconds, kernels multiples of the GPU's tick
    database.executemany(
        "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 1, ?, 99, 0)",
        ((10_000 * i, 10_000 * i + chance.randrange(2_000, 5_000), i) for i in range(kernels)),
    )
    database.executemany(
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES"
        " (?, ?, 0, 7, ?, ?, 32, 264, 1, 1, 256, 1, 1, 0, 0, 0, NULL)",
        (
            (10_000 * i + 5_000, 10_000 * i + 5_000 + 32 * chance.randrange(60, 150), i, i % 40)
            for i in range(kernels)
        ),
    )
    database.commit()
    database.close()


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", default="230")
    parser.add_argument("--operators", type=int, default=16, help="0: nothing but the GPU's events")
    parser.add_argument("--kernels", type=int, default=1_000_000)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--alone", action="store_true", help="without json.load")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        trace, export = Path(folder) / "trace.json", Path(folder) / "report.sqlite"
        programs = {"timeline": READER} if options.alone else {"timeline": READER, "json": JSON}
        write_trace(trace, len(HEAD) + 1, options.operators)
        start = best(programs, trace, options.repetitions)
        for megabytes in filter(None, map(int, options.megabytes.split(","))):
            kernels = write_trace(trace, megabytes * 10**6, options.operators)
            costs = best(programs, trace, options.repetitions)
            for name, used in costs.items():
                alone = used.seconds - start[name].seconds
                line = (
                    f"{megabytes} MB, {kernels:,} kernels, {name}: {used.seconds:.2f} s, "
                    f"{alone:.2f} s without start-up, {used.memory / 2**20:.0f} MiB"
                )
                if "json" in costs:
                    json = costs["json"].seconds
                    of_json = used.seconds / json, alone / (json - start["json"].seconds)
                    line += ", {:.2f} and {:.2f} of json.load".format(*of_json)
                print(line)
        if options.kernels:
            write_export(export, options.kernels)
            used = best({"export": READER}, export, options.repetitions)["export"]
            print(
                f"{options.kernels:,} kernels in SQLite: {used.seconds:.2f} s, "
                f"{used.memory / 2**20:.0f} MiB"
            )


if __name__ == "__main__":
    main()

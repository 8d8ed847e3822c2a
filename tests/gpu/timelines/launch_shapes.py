"""The driver's occupancy of every launch shape in a folder of recorded timelines.

``launch_shapes.py FOLDER WORK`` compiles, for each register count that a timeline names, a kernel
that takes as many, asks the driver how many blocks of it an SM holds with the launch's threads and
shared memory, and prints CSV. The kernel's own count stands beside the one asked for.
"""

import csv
import ctypes
import gzip
import json
import re
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

DETAILS = re.compile(
    r"regs:(\d+) static_shared:(\d+) dynamic_shared:(\d+) grid:[\d,]+ block:(\d+),(\d+),(\d+)"
)
NUM_REGS, MAX_DYNAMIC = 4, 8  # CU_FUNC_ATTRIBUTE_


def shapes_of_trace(path):
    """Yield (registers, shared bytes, threads) of each kernel of a Chrome trace."""
    for event in json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]:
        arguments = event.get("args", {})
        if event.get("cat") == "kernel" and "block" in arguments:
            x, y, z = arguments["block"]
            yield arguments["registers per thread"], arguments["shared memory"], x * y * z
        elif match := DETAILS.search(str(arguments.get("kernel_details", ""))):
            registers, static, dynamic, x, y, z = map(int, match.groups())
            yield registers, static + dynamic, x * y * z


def shapes_of_export(path):
    """Yield the same of each kernel of an Nsight Systems export."""
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        yield from database.execute(
            "SELECT DISTINCT registersPerThread, staticSharedMemory + dynamicSharedMemory,"
            " blockX * blockY * blockZ FROM CUPTI_ACTIVITY_KIND_KERNEL"
        )
    except sqlite3.OperationalError:
        return
    finally:
        database.close()


def source(values):
    """Return a kernel that keeps *values* floats alive."""
    loads = "".join(f"float v{i} = data[{i}];" for i in range(values))
    stores = "".join(f"data[{i}] = v{values - 1 - i};" for i in range(values))
    return f'extern "C" __global__ void kernel(volatile float* data) {{ {loads} {stores} }}'


def compiled(registers, work):
    """Return the cubin of a kernel of about *registers* registers."""
    path = work / f"kernel{registers}"
    path.with_suffix(".cu").write_text(source(max(1, registers - 2)))
    subprocess.run(
        ["nvcc", "-arch=sm_90", "-cubin", f"-maxrregcount={max(registers, 24)}", "-o"]
        + [str(path.with_suffix(suffix)) for suffix in (".cubin", ".cu")],
        check=True,
        capture_output=True,
    )
    return path.with_suffix(".cubin").read_bytes()


class Driver:
    """The CUDA driver, through ctypes."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *arguments):
        """Call a driver function, and raise where it fails."""
        status = getattr(self.library, name)(*arguments)
        if status:
            raise RuntimeError(f"{name}: {status}")

    def load(self, cubin):
        """Return the kernel of a cubin."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), cubin)
        self.call("cuModuleGetFunction", ctypes.byref(function), module, b"kernel")
        return function

    def attribute(self, function, number):
        """Return one attribute of a kernel."""
        value = ctypes.c_int()
        self.call("cuFuncGetAttribute", ctypes.byref(value), number, function)
        return value.value

    def blocks(self, function, threads, shared):
        """Return the blocks an SM holds."""
        self.call("cuFuncSetAttribute", function, MAX_DYNAMIC, shared)
        count = ctypes.c_int()
        self.call(
            "cuOccupancyMaxActiveBlocksPerMultiprocessor",
            ctypes.byref(count),
            function,
            threads,
            ctypes.c_size_t(shared),
        )
        return count.value


def main():
    """Print one row for each shape."""
    folder, work = Path(sys.argv[1]), Path(sys.argv[2])
    shapes = set()
    for path in folder.rglob("*.json.gz"):
        shapes.update(shapes_of_trace(path))
    for path in folder.rglob("*.sqlite"):
        shapes.update(shapes_of_export(path))
    work.mkdir(parents=True, exist_ok=True)
    counts = sorted({registers for registers, _, _ in shapes})
    with ThreadPoolExecutor(16) as pool:
        cubins = list(pool.map(lambda registers: compiled(registers, work), counts))
    driver = Driver()
    functions = {count: driver.load(cubin) for count, cubin in zip(counts, cubins, strict=True)}
    writer = csv.writer(sys.stdout)
    writer.writerow(["registers", "shared", "threads", "driver_registers", "blocks_per_sm"])
    for registers, shared, threads in sorted(shapes):
        function = functions[registers]
        try:
            blocks = driver.blocks(function, threads, shared)
        except RuntimeError as error:
            blocks = str(error)
        writer.writerow([registers, shared, threads, driver.attribute(function, NUM_REGS), blocks])


if __name__ == "__main__":
    main()

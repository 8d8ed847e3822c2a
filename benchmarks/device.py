"""What `device` and `doctor` cost beside `nvidia-smi`, in turns, on a machine with a GPU.

python benchmarks/device.py [rounds]
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

RUN = "import sys; from gpuadvise.cli.main import run; sys.exit(run())"
INIT = "import ctypes; ctypes.CDLL('libcuda.so.1').cuInit(0)"
NVML = "import pynvml; pynvml.nvmlInit()"
COMMANDS = {
    "nvidia-smi": ("nvidia-smi",),
    "python": (sys.executable, "-c", "pass"),
    "python, Typer imported": (sys.executable, "-c", "import typer"),
    "nvmlInit from Python": (sys.executable, "-c", NVML),
    "cuInit from Python": (sys.executable, "-c", INIT),
    "device --get name": (sys.executable, "-c", RUN, "device", "--get", "name"),
    "device --format json": (sys.executable, "-c", RUN, "device", "--format", "json"),
    "device --all": (sys.executable, "-c", RUN, "device", "--all"),
    "doctor": (sys.executable, "-c", RUN, "doctor"),
    "occupancy, live GPU": (sys.executable, "-c", RUN, "occupancy", "--regs", "32", "--block", "256"),
    "occupancy --gpu h200": (sys.executable, "-c", RUN, "occupancy", "--regs", "32", "--block", "256",
                             "--gpu", "h200"),
}  # fmt: skip


def main(rounds: int) -> None:
    """Print the median milliseconds of each command and its ratio to nvidia-smi's."""
    seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for turn in range(rounds + 1):
        for name, command in COMMANDS.items():
            start = time.perf_counter()
            subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
            if turn:  # the first round reads files and wakes the driver
                seconds[name].append(time.perf_counter() - start)
    base = statistics.median(seconds["nvidia-smi"])
    for name, taken in seconds.items():
        middle = statistics.median(taken)
        print(f"{name:24} {middle * 1e3:8.1f} ms  {middle / base:5.2f} x nvidia-smi")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 8)

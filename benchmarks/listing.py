"""``gpuadvise compat`` and ``kernels --list`` beside ``cuobjdump --list-elf``, in one run.

Whole processes on libraries of any size: median time of RUNS and peak memory. Run
``python benchmarks/listing.py FILE...`` with the wheel nvidia-cuda-cuobjdump installed.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

RUNS = 5
CUOBJDUMP = Path(sysconfig.get_path("purelib"), "nvidia", "cu13", "bin", "cuobjdump")
PROGRAM = (sys.executable, "-m", "gpuadvise")


def measured(*command: str) -> tuple[float, float, int]:
    """Return the seconds, the processor seconds and the peak bytes of one run of *command*."""
    started = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(child.pid, 0)
    child.returncode = 0
    processor = usage.ru_utime + usage.ru_stime
    return time.perf_counter() - started, processor, usage.ru_maxrss * 1024


def show(name: str, *command: str) -> float:
    """Print what RUNS of *command* took, after one that warms the page cache.

    Returns the median of its processor time, which other work on the machine changes least.
    """
    measured(*command)
    runs = [measured(*command) for _ in range(RUNS)]
    seconds, processor, peaks = zip(*runs, strict=True)
    median = statistics.median(processor)
    print(
        f"  {name:16} {statistics.median(seconds):7.3f} s  "
        f"(spread {max(seconds) - min(seconds):.3f})  processor {median:.3f} s  "
        f"{max(peaks) / 2**20:6.0f} MiB"
    )
    return median


def main() -> None:
    """Compare the three on each file named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+")
    for path in parser.parse_args().files:
        print(f"{Path(path).name}: {os.path.getsize(path) / 1e6:,.0f} MB")
        ours = show("compat", *PROGRAM, "compat", path, "--gpu", "h100-sxm")
        show("kernels --list", *PROGRAM, "kernels", "--list", path)
        if CUOBJDUMP.exists():
            theirs = show("cuobjdump", str(CUOBJDUMP), "--list-elf", path)
            print(f"  compat takes 1/{theirs / ours:.0f} of its processor time")


if __name__ == "__main__":
    main()

"""Speed and memory of ``gpuadvise advise`` over many kernels, as whole processes.

    python benchmarks/advise.py [KERNELS]

NDJSON of launches with times and access patterns on three GPUs, a tenth of the count and the
whole of it, also on one core: memory of the largest process must not grow with the count. Beside it,
all rules over one kernel in memory.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time

COUNT = 10_000
REPEATS = 200
GPUS = ("h200", "rtx-4090", "a100-sxm4-80")


def kernel(number: int, source: random.Random) -> dict[str, object]:
    """Return one described kernel; half are timed, a third have an access pattern."""
    described: dict[str, object] = {
        "name": f"kernel_{number}",
        "gpu": source.choice(GPUS),
        "regs": source.randint(16, 255),
        "block": source.choice((33, 64, 100, 128, 256, 512, 1024)),
        "grid": source.randint(1, 100_000),
        "dynamic_smem": source.choice((0, 8192, 40_000)),
    }
    if number % 2:
        described["traffic"] = {"read": 10**9, "write": 10**9, "time": source.choice((5e-4, 5e-3))}
    if number % 3 == 0:
        described["accesses"] = [{"name": "a", "word": 4, "stride": source.randint(1, 33)}]
    return described


def run(path: Path, cores: set[int]) -> tuple[float, float, int]:
    """Return seconds, processor seconds and peak bytes of one run over *path* on *cores*."""
    command = (sys.executable, "-m", "gpuadvise", "advise", str(path), "--format", "ndjson")
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    started = perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, _, usage = os.wait4(child.pid, 0)
    child.returncode = 0
    os.sched_setaffinity(0, before)
    return perf_counter() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def in_memory() -> float:
    """Return the processor seconds of all rules over one described kernel."""
    from gpuadvise.advisor.description.devices import from_catalogue
    from gpuadvise.advisor.description.reader import described
    from gpuadvise.rules.engine import run as judge
    from gpuadvise.rules.guide import RULES

    source = random.Random(2)
    kernels = [described(kernel(n, source), from_catalogue).facts for n in range(REPEATS)]
    started = process_time()
    for facts in kernels:
        judge(RULES, facts)
    return (process_time() - started) / REPEATS


def main() -> None:
    """Print one line per run."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else COUNT
    print(f"all rules over one kernel: {in_memory() * 1e3:.2f} ms of processor time")
    with tempfile.TemporaryDirectory() as folder:
        every = os.sched_getaffinity(0)
        for size, cores in ((count // 10, every), (count, {min(every)}), (count, every)):
            source, path = random.Random(1), Path(folder, f"{size}.ndjson")
            lines = (json.dumps(kernel(number, source)) for number in range(size))
            path.write_text("\n".join(lines))
            seconds, processor, peak = run(path, cores)
            print(f"{size:,} kernels on {len(cores)} cores: {seconds:.2f} s, {processor:.2f} s of processor time, "
                  f"{peak / 2**20:.1f} MiB")  # fmt: skip


if __name__ == "__main__":
    main()

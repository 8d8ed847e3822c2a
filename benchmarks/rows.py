"""What happens to the kernels of a library after they have been read, stage by stage.

    python benchmarks/rows.py LIBRARY

Processor time of one thread, the best of several repetitions; the kernels lie in memory.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections import deque
from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries.kernel_occupancy import Residencies
from gpuadvise.advisor.binaries.kernel_order import ListedKernel, in_order
from gpuadvise.advisor.binaries.model import Kernel
from gpuadvise.advisor.binaries.read import read
from gpuadvise.cli.formats import Format
from gpuadvise.cli.kernels.answer import KERNEL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_REPETITIONS = 5


def processor_seconds(stage: Callable[[], Iterable[object]]) -> float:
    """Return the least processor time that *stage* took, all of its items made and none kept."""
    taken = []
    for _ in range(_REPETITIONS):
        gc.collect()
        start = time.process_time()
        deque(stage(), maxlen=0)
        taken.append(time.process_time() - start)
    return min(taken)


def with_occupancy(kernels: list[Kernel]) -> list[ListedKernel]:
    """Return *kernels* with their occupancies, each worked out anew."""
    residencies = Residencies()
    return [ListedKernel(kernel, residencies.of(kernel)) for kernel in kernels]


def main() -> None:
    """Print the time of every stage for each kernel."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library")
    start = time.process_time()
    items = list(read(parser.parse_args().library))
    reading = time.process_time() - start
    kernels = [item for item in items if isinstance(item, Kernel) and item.entry]
    listed = with_occupancy(kernels)
    gc.freeze()
    stages: dict[str, Callable[[], Iterable[object]]] = {
        "occupancy": lambda: with_occupancy(kernels),
        "order": lambda: in_order(listed, None),
        "csv": lambda: KERNEL.lines(listed, Format.CSV),
        "ndjson": lambda: KERNEL.lines(listed, Format.NDJSON),
        "json": lambda: KERNEL.texts(listed, Format.JSON),
    }
    print(f"{len(kernels):,} kernels, {len({row.residency for row in listed}):,} occupancies")
    print(f"{'reading':10} {reading / len(kernels) * 1e6:6.1f} µs a kernel")
    for name, stage in stages.items():
        print(f"{name:10} {processor_seconds(stage) / len(kernels) * 1e6:6.1f} µs a kernel")


if __name__ == "__main__":
    main()

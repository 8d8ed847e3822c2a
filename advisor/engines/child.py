"""The process in which a worker of a cluster reads files: none of them can harm the worker.

It takes pickled work and inputs on stdin, and writes each result, its length before it, to stdout.
"""

from __future__ import annotations

import gc
import os
import pickle
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from gpuadvise.advisor.engines.engine import answered

if TYPE_CHECKING:
    from collections.abc import Callable

HEADER = 8  # bytes of a length, the lowest first
OUT_OF_MEMORY = 77  # exit code
_FIRST_COLLECTION = 100_000  # objects, as the command line's own
_FIRST_TO_GO = "1000"  # for the system when memory is short: before the worker


def main(memory: int) -> None:
    """Answer the work on stdin with *memory* bytes at most; 0: as many as there are."""
    _limit(memory)
    gc.set_threshold(_FIRST_COLLECTION)
    pipe = os.dup(1)
    os.dup2(2, 1)  # what a library prints is no result
    work, inputs = pickle.load(sys.stdin.buffer)
    try:
        with open(pipe, "wb") as out:
            for result in answered(work, inputs):
                content = pickle.dumps(result)
                out.write(len(content).to_bytes(HEADER, "little"))
                out.write(content)
                out.flush()
    except MemoryError:
        os._exit(OUT_OF_MEMORY)


def _limit(memory: int) -> None:
    with suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as score:
        score.write(_FIRST_TO_GO)
    if not memory:
        return
    with suppress(ImportError, OSError, ValueError):
        import resource

        # Not the address space: threads and mapped files reserve far more than they use.
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))


def frames(content: bytearray, keep: Callable[[bytes], None]) -> None:
    """Take the whole results at the start of *content* away and hand them to *keep*."""
    while len(content) >= HEADER:
        end = HEADER + int.from_bytes(content[:HEADER], "little")
        if len(content) < end:
            return
        keep(bytes(content[HEADER:end]))
        del content[:end]


if __name__ == "__main__":
    main(int(sys.argv[1]))

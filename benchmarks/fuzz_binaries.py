"""Coverage-guided fuzzing of every reader, from real files on.

    pip install atheris
    python benchmarks/fuzz_binaries.py CORPUS -max_total_time=600 -rss_limit_mb=2048 -timeout=2

CORPUS is a folder of small cubins, fatbins, objects, archives, wheels, PTX files and build logs; what
reaches new code is added to it. Options are libFuzzer's. Any exception but the two that users
are told about is a fault, and so are two seconds or two gigabytes.
"""

from __future__ import annotations

import io
import sys

import atheris

with atheris.instrument_imports(include=["gpuadvise"]):
    from gpuadvise.advisor.binaries.options import ReadOptions
    from gpuadvise.advisor.binaries.read import read_stream
    from gpuadvise.advisor.errors import BadInput, Unavailable


def one(data: bytes) -> None:
    """Read *data* to the end, as a listing and in full."""
    for want in (ReadOptions(kernels=False), ReadOptions(instructions=True)):
        try:
            for _ in read_stream(io.BytesIO(data), "case", want):
                pass
        except (BadInput, Unavailable):
            pass


if __name__ == "__main__":
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()

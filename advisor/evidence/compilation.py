"""CUDA source files compiled: their kernels, and which of their loops stay rolled."""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO
from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries.model import Kernel
from gpuadvise.advisor.binaries.options import ReadOptions
from gpuadvise.advisor.binaries.read import read_stream
from gpuadvise.advisor.errors import BadInput, Unavailable
from gpuadvise.advisor.evidence.sources import ROLLED
from gpuadvise.advisor.prose import quoted_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.backends.cuda_sources import CudaSource
    from gpuadvise.advisor.capability import Capability
    from gpuadvise.advisor.evidence.reading import Reading
    from gpuadvise.advisor.evidence.sources import SourceEvidence
    from gpuadvise.advisor.facts.code import Observation

# Compilations that ask whether the compiler unrolled a loop by itself.
_MOST_LOOPS = 8


def compiled_kernels(
    path: str, target: Capability, evidence: SourceEvidence, reading: Reading
) -> Iterator[Kernel]:
    """Yield the kernels that *path* compiles to; a note says why there are none.

    Loops that the compiler unrolls by itself are taken out of *evidence*.
    """
    from gpuadvise.advisor.backends.compiler_options import CompilerOptions
    from gpuadvise.advisor.backends.cuda_sources import compile_source, read_cuda_source

    try:
        source = read_cuda_source(path, CompilerOptions())
        image = compile_source(source, target)
    except (BadInput, Unavailable) as error:
        reading.note(
            f"{quoted_path(path)} was not compiled, so only its text was judged: {error.message}"
        )
        return
    kernels = [
        item
        for item in read_stream(BytesIO(image.cubin), path, ReadOptions(instructions=True))
        if isinstance(item, Kernel) and item.entry
    ]
    _drop_unrolled(path, target, evidence, image.cubin)
    yield from kernels


def _drop_unrolled(path: str, target: Capability, evidence: SourceEvidence, before: bytes) -> None:
    """Take out of *evidence* the loops whose code a pragma would not change."""
    from gpuadvise.advisor.backends.compiler_options import CompilerOptions
    from gpuadvise.advisor.backends.cuda_sources import read_cuda_source

    source = read_cuda_source(path, CompilerOptions())
    loops = 0
    for at, known in enumerate(evidence.kernels):
        kept: list[Observation] = []
        for seen in known.observations:
            if seen.fault == ROLLED:
                loops += 1
                if loops > _MOST_LOOPS or not _stays_rolled(source, target, seen, before):
                    continue
            kept.append(seen)
        evidence.kernels[at] = replace(known, observations=tuple(kept))


def _stays_rolled(source: CudaSource, target: Capability, loop: Observation, before: bytes) -> bool:
    """Return whether a pragma in front of *loop* gives other code than *before*."""
    from gpuadvise.advisor.backends.cuda_sources import compile_source

    at = int(loop.detail.get("offset", -1))
    if at < 0:
        return False
    text = source.code.text
    try:
        after = compile_source(
            source, target, text=text[:at] + b"\n#pragma unroll\n" + text[at:]
        ).cubin
    except (BadInput, Unavailable):
        return False
    return not _same_code(before, after)


def _same_code(first: bytes, second: bytes) -> bool:
    from gpuadvise.advisor.binaries.cubin.code import code_of

    names = [
        item.name
        for item in read_stream(BytesIO(first), "first")
        if isinstance(item, Kernel) and item.entry
    ]
    return all(code_of(first, name) == code_of(second, name) for name in names)

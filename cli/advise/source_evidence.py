"""CUDA source files in advise: what they show, how they launch, and what they compile to."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from io import BytesIO
from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries.model import Kernel
from gpuadvise.advisor.binaries.options import ReadOptions
from gpuadvise.advisor.binaries.read import read_stream
from gpuadvise.advisor.errors import BadInput, Unavailable
from gpuadvise.advisor.prose import quoted_path
from gpuadvise.advisor.source.kernel_evidence import KernelEvidence, evidence_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.backends.cuda_sources import CudaSource
    from gpuadvise.advisor.capability import Capability
    from gpuadvise.advisor.facts.bag import Facts
    from gpuadvise.advisor.facts.code import Observation
    from gpuadvise.advisor.source.text import SourceText

# Compilations that ask whether the compiler unrolled a loop by itself.
_MOST_LOOPS = 8
_ROLLED = "rolled-loops"
# What the launch of a compiled kernel is judged by anyway, with its registers.
_OF_THE_BLOCK = frozenset(("partial-warp", "impossible-launch"))


@dataclass(slots=True)
class SourceEvidence:
    """The kernels of source files by their plain names, and what belongs to no kernel."""

    kernels: dict[str, KernelEvidence] = field(default_factory=dict)
    rest: list[Observation] = field(default_factory=list)
    _launched: set[str] = field(default_factory=set)

    def add(self, text: SourceText) -> None:
        """Take in what *text* shows."""
        kernels, rest = evidence_in(text)
        self.kernels |= {k.name: k for k in kernels if k.name not in self.kernels}
        self.rest += rest

    def launched(self, kernel: Kernel, name: str) -> Kernel:
        """Return *kernel* with the block that the source launches it with, where it says that."""
        known = self.kernels.get(name)
        if known is None or known.block is None or kernel.launched_block is not None:
            return kernel
        self._launched.add(name)
        return kernel._replace(launched_block=known.block)

    def joined(self, facts: Facts, name: str) -> Facts:
        """Return *facts* of the kernel *name* with what its source shows; once for each."""
        known = self.kernels.pop(name, None)
        if known is None:
            return facts
        return replace(
            facts,
            observations=(*(facts.observations or ()), *known.observations) or None,
            local_arrays=known.local_arrays or None,
        )

    def drop_unproved(self) -> None:
        """Take out what only a compilation of the source could prove: that a loop stays rolled."""
        for name, known in self.kernels.items():
            kept = tuple(o for o in known.observations if o.fault != _ROLLED)
            self.kernels[name] = replace(known, observations=kept)

    def left(self) -> tuple[Observation, ...]:
        """Return what was not joined to any kernel; rolled loops need compiled code."""
        seen = [o for kernel in self.kernels.values() for o in kernel.observations]
        return tuple(
            o for o in (*self.rest, *seen) if o.fault != _ROLLED and not self._is_judged(o)
        )

    def _is_judged(self, seen: Observation) -> bool:
        """Return whether *seen* is of a launch whose block is among the facts of its kernel."""
        kernel = seen.seen.partition("<<<")[0].partition("<")[0].rpartition("::")[2].strip()
        return seen.fault in _OF_THE_BLOCK and kernel in self._launched


def compiled_kernels(
    path: str, target: Capability, evidence: SourceEvidence, notes: list[str]
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
        notes.append(
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
    for name, known in evidence.kernels.items():
        kept: list[Observation] = []
        for seen in known.observations:
            if seen.fault == _ROLLED:
                loops += 1
                if loops > _MOST_LOOPS or not _stays_rolled(source, target, seen, before):
                    continue
            kept.append(seen)
        evidence.kernels[name] = replace(known, observations=tuple(kept))


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

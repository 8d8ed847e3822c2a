"""Device code that the compiler left as it was written, for a debugger."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.rules.advice import PASSED, Advice, Verdict, undecided
from gpuadvise.rules.evidence import given
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import cited

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.code import Compiled

DEBUG_FLAGS = ("-G", "--device-debug", "-device-debug")
# Debug information for optimised code, from CUDA 11.7 on.
_OPTIMISED = ("-dopt", "--dopt")


def check(
    compile_flags: tuple[str, ...] | None = None, compiled: Compiled | None = None
) -> Verdict:
    """Advise when device code was compiled for a debugger."""
    debug = is_debug(compile_flags, compiled)
    if debug is None:
        return undecided("compiled.debug")
    if not debug:
        return PASSED
    return Advice(
        message=(
            "The device code is a debug build (nvcc -G): variables stay in local memory, and nothing is "
            "unrolled, moved or inlined."
        ),
        action=(
            "Measure a build without -G. Profilers need only -lineinfo, which leaves the code as fast as it is; "
            "keep -G for cuda-gdb."
        ),
        evidence=(
            given("debug build", "yes")
            if compiled and compiled.debug
            else given("compiler flags", " ".join(compile_flags or ())),
        ),
    )


def is_debug(compile_flags: tuple[str, ...] | None, compiled: Compiled | None) -> bool | None:
    """Return whether device code was compiled for a debugger; None where nobody said."""
    if compiled and compiled.debug is not None:
        return compiled.debug
    if compile_flags is None:
        return None
    return any(flag in DEBUG_FLAGS for flag in compile_flags) and not any(
        flag.split("=")[0] in _OPTIMISED for flag in compile_flags
    )


RULE = Rule(
    id="debug-build",
    title="Measure optimised code",
    topic=Topic.MEASUREMENT,
    priority=Priority.HIGH,
    kinds=(Kind.SOURCE, Kind.BINARY),
    why="Device code for a debugger is several times slower, and its profile shows waits that the real one has not.",
    when="The flags of the compiler have -G without -dopt, or a binary or report holds device code made so.",
    citations=(
        cited(
            "NVIDIA CUDA Compiler Driver NVCC",
            "--device-debug (-G)",
            "https://docs.nvidia.com/cuda/cuda-compiler-driver-nvcc/",
        ),
    ),
    check=check,
    either=("compile_flags", "compiled"),
    examples=Examples(
        fires={"compile_flags": "-G -g"},
        quiet={"compile_flags": "-O3 -lineinfo"},
        edges=({"compile_flags": "-G -g"}, {"compile_flags": "-G -g -dopt=on"}),
    ),
)

"""NVRTC, NVIDIA's run-time compiler: from device code to a cubin, without a GPU or a toolkit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.errors import BadInput, Unavailable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class CompileError(BadInput):
    """The compiler refused a program; *log* is what it wrote."""

    log: str

    def __init__(self, message: str, log: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.log = log


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What is compiled: *text* under *name*, with *headers* by the name in their ``#include``.

    *expressions* name instances of templates that are to be made, such as ``scale<float, 4>``.
    """

    text: bytes
    name: str
    headers: Mapping[str, bytes] = field(default_factory=dict)
    expressions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledProgram:
    """A cubin; *lowered* maps expressions to the names of the kernels in it.

    *missing_headers* were not found, and empty ones stood in for them.
    """

    cubin: bytes
    lowered: Mapping[str, str]
    missing_headers: tuple[str, ...] = ()


def supported_targets() -> tuple[int, ...]:
    """Return the targets that the installed NVRTC compiles for, such as 90; raises Unavailable."""
    return tuple(int(number) for number in call(library(), "nvrtcGetSupportedArchs"))


def library() -> Any:
    """Return the bindings of NVRTC; raises Unavailable where it cannot be loaded."""
    try:
        from cuda.bindings import nvrtc

        nvrtc.nvrtcVersion()
    except (ImportError, RuntimeError, OSError) as error:
        raise Unavailable(
            f"Compiling kernels needs NVRTC, which cannot be loaded: {_reason(error)}.",
            hint="pip install nvidia-cuda-nvrtc; kernels and whatif also take --compiler nvcc.",
        ) from None
    return nvrtc


def _reason(error: Exception) -> str:
    """Return what *error* says, in one line and each part once."""
    parts = " ".join(str(error).split()).rstrip(".").split(", ")
    return ", ".join(dict.fromkeys(parts))


def call(nvrtc: Any, name: str, *args: Any) -> Any:
    """Return what the function *name* returns; raises Unavailable for its errors."""
    error, *values = getattr(nvrtc, name)(*args)
    if int(error):
        raise Unavailable(f"{name} failed: {error.name}.")
    return values[0] if values else None


def compiled(program: Program, target: str, options: Sequence[str] = ()) -> CompiledProgram:
    """Return *program* as a cubin for *target*, such as ``sm_90``.

    Raises CompileError with the compiler's words for a program or an option that it refuses,
    Unavailable when NVRTC is missing.
    """
    nvrtc = library()
    names = [name.encode() for name in program.headers]
    handle = call(
        nvrtc, "nvrtcCreateProgram", program.text, program.name.encode("utf-8", "replace"),
        len(names), list(program.headers.values()), names,
    )  # fmt: skip
    try:
        for expression in program.expressions:
            call(nvrtc, "nvrtcAddNameExpression", handle, expression.encode())
        words = [f"-arch={target}".encode(), *(option.encode() for option in options)]
        (error,) = nvrtc.nvrtcCompileProgram(handle, len(words), words)
        if int(error):
            log = _log(nvrtc, handle) or error.name
            raise CompileError(f"The program does not compile for {target}.", log)
        image = b" " * int(call(nvrtc, "nvrtcGetCUBINSize", handle))
        call(nvrtc, "nvrtcGetCUBIN", handle, image)
        lowered = {
            name: call(nvrtc, "nvrtcGetLoweredName", handle, name.encode()).decode()
            for name in program.expressions
        }
        return CompiledProgram(cubin=image, lowered=lowered)
    finally:
        nvrtc.nvrtcDestroyProgram(handle)


def _log(nvrtc: Any, handle: Any) -> str:
    log = b" " * int(call(nvrtc, "nvrtcGetProgramLogSize", handle))
    call(nvrtc, "nvrtcGetProgramLog", handle, log)
    return log.rstrip(b"\0 \n").decode("utf-8", "replace")

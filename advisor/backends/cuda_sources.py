"""CUDA source files turned into cubins, by NVRTC from their device code, or whole by nvcc."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gpuadvise.advisor.backends.nvrtc import (
    CompiledProgram,
    CompileError,
    Program,
    compiled,
    library,
    supported_targets,
)
from gpuadvise.advisor.errors import BadInput, Unavailable
from gpuadvise.advisor.prose import and_list, quoted, quoted_path
from gpuadvise.advisor.source.device_code import DeviceCode, device_code, includes_of
from gpuadvise.advisor.source.text import LARGEST, source_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gpuadvise.advisor.capability import Capability
    from gpuadvise.advisor.source.device_code import KernelSource

SUFFIXES = (".cu", ".cuh")
COMPILERS = ("nvrtc", "nvcc")
# A project's own headers that one file pulls in; more are a library, which -I names.
_MOST_HEADERS = 500
_NVCC_SECONDS = 600
# Unannotated functions that remain are helpers of kernels; C++17 is nvcc's default as well.
_ALWAYS = ("--device-as-default-execution-space", "--std=c++17")
_STDINT = b"""#pragma once
typedef signed char int8_t; typedef unsigned char uint8_t;
typedef short int16_t; typedef unsigned short uint16_t;
typedef int int32_t; typedef unsigned int uint32_t;
typedef long long int64_t; typedef unsigned long long uint64_t;
typedef unsigned long long uintptr_t; typedef long long intptr_t;
#define INT32_MAX 2147483647
#define UINT32_MAX 4294967295u
#define INT64_MAX 9223372036854775807ll
#define UINT64_MAX 18446744073709551615ull
#define UINT8_MAX 255
#define UINT16_MAX 65535
"""
_LIMITS = b"""#pragma once
#define CHAR_BIT 8
#define INT_MAX 2147483647
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX 4294967295u
#define LLONG_MAX 9223372036854775807ll
#define ULLONG_MAX 18446744073709551615ull
#define SHRT_MAX 32767
#define USHRT_MAX 65535
"""
_FLOAT = b"""#pragma once
#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define FLT_EPSILON 1.192092896e-07f
#define DBL_MAX 1.7976931348623158e+308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-16
"""
_MATH = b"""#pragma once
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_E 2.71828182845904523536
#define M_SQRT2 1.41421356237309504880
#define M_LN2 0.69314718055994530942
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
#endif
"""
# Headers of the host that NVRTC has none of: what kernels use of them, or nothing. NVRTC knows
# the runtime's own declarations without a header.
_HOST_HEADERS: dict[str, bytes] = {
    **dict.fromkeys(
        ["algorithm", "any", "array", "atomic", "cassert", "cctype", "cerrno", "chrono", "complex", "condition_variable", "csignal", "cstdarg", "cstddef", "cstdio", "cstdlib", "cstring", "ctime", "deque", "exception", "filesystem", "fstream", "functional", "future", "initializer_list", "iomanip", "ios", "iosfwd", "iostream", "istream", "iterator", "list", "map", "memory", "mutex", "numeric", "optional", "ostream", "queue", "random", "regex", "set", "sstream", "stack", "stdexcept", "streambuf", "string", "string_view", "system_error", "thread", "tuple", "type_traits", "typeinfo", "unordered_map", "unordered_set", "utility", "valarray", "variant", "vector", "assert.h", "ctype.h", "errno.h", "getopt.h", "memory.h", "pthread.h", "signal.h", "stdarg.h", "stdbool.h", "stddef.h", "stdio.h", "stdlib.h", "string.h", "strings.h", "time.h", "unistd.h", "sys/time.h", "sys/types.h", "sys/stat.h", "omp.h", "mpi.h", "cuda.h", "cuda_runtime.h", "cuda_runtime_api.h", "cuda_profiler_api.h", "device_launch_parameters.h", "driver_types.h", "curand.h", "cublas_v2.h", "cusparse.h", "cusolverDn.h", "cufft.h"],
        b"",
    ),
    "stdint.h": _STDINT, "cstdint": _STDINT, "inttypes.h": _STDINT, "cinttypes": _STDINT,
    "limits.h": _LIMITS, "climits": _LIMITS, "limits": _LIMITS + _FLOAT,
    "float.h": _FLOAT, "cfloat": _FLOAT,
    "math.h": _MATH, "cmath": _MATH,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class CompilerOptions:
    """How source files are compiled; *compiler* is one of COMPILERS."""

    compiler: str = "nvrtc"
    folders: tuple[str, ...] = ()  # -I
    defines: tuple[str, ...] = ()  # -D
    others: tuple[str, ...] = ()

    def words(self) -> tuple[str, ...]:
        """Return them as every compiler takes them."""
        folders = (f"-I{folder}" for folder in self.folders)
        return (*folders, *(f"-D{define}" for define in self.defines), *self.others)


@dataclass(frozen=True, slots=True, kw_only=True)
class CudaSource:
    """A file that is to be compiled; *headers* are its own ones, without host code."""

    path: str
    code: DeviceCode
    options: CompilerOptions
    headers: Mapping[str, bytes] = field(default_factory=dict)

    def instances(self) -> tuple[tuple[KernelSource, str], ...]:
        """Return the kernels and instances of templates, each with the expression that names it."""
        return tuple(
            (kernel, f"{kernel.expression}{arguments}")
            for kernel in self.code.kernels
            for arguments in (kernel.instances if kernel.template else ("",))
        )


def read_cuda_source(path: str, options: CompilerOptions) -> CudaSource:
    """Return the file at *path* ready to be compiled.

    Raises BadInput for what is no text, Unavailable for a file that cannot be read.
    """
    code = device_code(source_text(_content(path), path))
    headers = dict(_HOST_HEADERS)
    folders = (str(Path(path).parent), *options.folders)
    _add_headers(headers, code.includes, folders)
    return CudaSource(path=path, code=code, options=options, headers=headers)


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(LARGEST + 1)
    except OSError as error:
        raise Unavailable(f"{quoted_path(path)}: {error.strerror}.") from None


def _add_headers(
    headers: dict[str, bytes], includes: tuple[tuple[str, bool], ...], folders: tuple[str, ...]
) -> None:
    """Add the project's own headers, and those that they include, without their host code."""
    waiting = [name for name, quoted_name in includes if quoted_name]
    own = 0
    while waiting and own < _MOST_HEADERS:
        name = waiting.pop()
        path = next(
            (p for f in folders if (p := os.path.join(f, name)) and os.path.isfile(p)), None
        )
        if name in headers or path is None:
            continue
        own += 1
        try:
            text = source_text(_content(path), path)
        except BadInput:
            continue
        headers[name] = device_code(text).text
        waiting += [inner for inner, quoted_name in includes_of(text.content) if quoted_name]


def compile_source(
    source: CudaSource,
    target: Capability,
    *,
    text: bytes | None = None,
    expressions: tuple[str, ...] | None = None,
    more: tuple[str, ...] = (),
) -> CompiledProgram:
    """Return *source* as a cubin for *target*, with *text* in place of its device code.

    *expressions* name the instances of templates to make, all that launches name unless given.
    Raises CompileError with what the compiler wrote, BadInput for a target that it does not
    know, Unavailable when there is no compiler.
    """
    if source.options.compiler == "nvcc":
        return _by_nvcc(source, target, more)
    known = supported_targets()
    if target.major * 10 + target.minor not in known:
        words = and_list([f"sm_{number}" for number in known])
        raise BadInput(
            f"The installed NVRTC does not know {target.target}.", hint=f"It knows {words}."
        )
    if expressions is None:
        expressions = tuple(e for kernel, e in source.instances() if kernel.template)
    program = Program(
        text=source.code.text if text is None else text,
        name=source.path,
        headers=source.headers,
        expressions=expressions,
    )
    options = (*source.options.words(), *_toolkit_folders(), *_standard(source.options), *more)
    try:
        return compiled(program, target.target, options)
    except CompileError as error:
        raise _explained(source, target, error.log) from None


def _standard(options: CompilerOptions) -> tuple[str, ...]:
    words = [word.lstrip("-") for word in options.others]
    chosen = any(word.startswith(("std=", "std")) for word in words)
    return _ALWAYS[:1] if chosen else _ALWAYS


def _explained(source: CudaSource, target: Capability, log: str) -> CompileError:
    """Return the error of *log* with what would help."""
    message = f"{quoted_path(source.path)} does not compile for {target.target}."
    missing = log.partition('could not open source file "')[2].partition('"')[0]
    if missing:
        return CompileError(
            f"{message} The header {quoted(missing)} is not found.", log,
            hint="Name its folder with -I; headers of CUDA come with pip install nvidia-cuda-runtime.",
        )  # fmt: skip
    hint = "NVRTC compiles device code alone, without the C++ library and host functions."
    if shutil.which("nvcc"):
        hint += " --compiler nvcc compiles the whole file."
    return CompileError(message, log, hint=hint)


def _toolkit_folders() -> Iterator[str]:
    """Yield the options for the headers of CUDA, of a toolkit or of NVIDIA's packages."""
    import sysconfig

    packages = Path(sysconfig.get_path("platlib")) / "nvidia"
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
    version = library().nvrtcVersion()
    places = [packages / f"cu{version[1]}" / "include", packages / "cuda_runtime" / "include"]
    if home:
        places.insert(0, Path(home) / "include")
    places.append(Path("/usr/local/cuda/include"))
    for place in places:
        if (place / "cuda_fp16.h").is_file():
            yield from (f"-I{place}", f"-I{place / 'cccl'}")
            return


def _by_nvcc(source: CudaSource, target: Capability, more: tuple[str, ...]) -> CompiledProgram:
    program = shutil.which("nvcc")
    if program is None:
        raise Unavailable(
            "--compiler nvcc: there is no nvcc on PATH.", hint="--compiler nvrtc needs no toolkit."
        )
    with tempfile.TemporaryDirectory(prefix="gpuadvise") as folder:
        image = os.path.join(folder, "image.cubin")
        words = [program, f"-arch={target.target}", "-cubin", "-o", image, *source.options.words()]
        try:
            done = subprocess.run(
                [*words, *more, os.path.abspath(source.path)],
                capture_output=True, timeout=_NVCC_SECONDS, check=False, cwd=os.getcwd(),
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Unavailable(f"nvcc did not finish: {type(error).__name__}.") from None
        if done.returncode or not os.path.isfile(image):
            log = (done.stderr + done.stdout).decode("utf-8", "replace").strip()
            message = f"{quoted_path(source.path)} does not compile for {target.target}."
            raise CompileError(message, log)
        with open(image, "rb") as file:
            return CompiledProgram(cubin=file.read(), lowered={})

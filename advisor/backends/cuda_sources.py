"""CUDA source files turned into cubins, by NVRTC from their device code, or whole by nvcc."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gpuadvise.advisor.backends.host_headers import HOST_HEADERS, PRELUDE
from gpuadvise.advisor.backends.nvrtc import (
    CompiledProgram,
    CompileError,
    Program,
    compiled,
    library,
    supported_targets,
)
from gpuadvise.advisor.backends.temporary_folder import temporary_folder
from gpuadvise.advisor.backends.user_files import opened
from gpuadvise.advisor.errors import BadInput, Unavailable
from gpuadvise.advisor.prose import and_list, inert, plural, quoted, quoted_path
from gpuadvise.advisor.source.device_code import DeviceCode, device_code, includes_of
from gpuadvise.advisor.source.text import LARGEST, source_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gpuadvise.advisor.backends.compiler_options import CompilerOptions
    from gpuadvise.advisor.capability import Capability
    from gpuadvise.advisor.source.device_code import KernelSource

# A project's own headers that one file pulls in; more are a library, which -I names.
_MOST_HEADERS = 500
_NVCC_SECONDS = 600
_MOST_MISSING = 40
_MOST_NAMED = 4
_NOT_FOUND = re.compile(r'(?:could not|cannot) open source file "([^"]{1,300})"')
# Unannotated functions that remain are helpers of kernels; C++17 is nvcc's default as well.
_ALWAYS = ("--device-as-default-execution-space", "--std=c++17")


@dataclass(frozen=True, slots=True, kw_only=True)
class CudaSource:
    """A file that is to be compiled; *headers* are its own ones, without host code."""

    path: str
    code: DeviceCode
    options: CompilerOptions
    headers: Mapping[str, bytes] = field(default_factory=dict)
    content: bytes = b""  # the whole file, as nvcc takes it

    def rewritten(self, kernel: KernelSource, words: str) -> bytes:
        """Return what is compiled, with *words* in place of the bounds of *kernel*."""
        whole = self.content if self.options.compiler == "nvcc" else None
        return self.code.rewritten(kernel, words, whole)

    def instances(self) -> tuple[tuple[KernelSource, str], ...]:
        """Return the kernels and instances of templates, each with the expression that names it."""
        return tuple(
            (kernel, f"{kernel.expression}{arguments}")
            for kernel in self.code.kernels
            for arguments in (kernel.instances if kernel.template else ("",))
        )


def read_cuda_source(path: str, options: CompilerOptions) -> CudaSource:
    """Return the file at *path* ready to be compiled.

    Raises BadInput for a file that cannot be read or is not text.
    """
    text = source_text(_content(path), path)
    code = device_code(text)
    headers = dict(HOST_HEADERS)
    folders = (str(Path(path).parent), *options.folders)
    _add_headers(headers, code.includes, folders)
    return CudaSource(path=path, code=code, options=options, headers=headers, content=text.content)


def _content(path: str) -> bytes:
    with opened(path, name=quoted_path(path)) as file:
        return file.read(LARGEST + 1)


def _add_headers(
    headers: dict[str, bytes], includes: tuple[tuple[str, bool], ...], folders: tuple[str, ...]
) -> None:
    """Add the project's own headers, and those that they include, without their host code."""
    waiting = [name for name, _ in includes]
    own = 0
    while waiting and own < _MOST_HEADERS:
        name = waiting.pop()
        path = next((p for f in folders if (p := os.path.join(f, name)) and _may_be_read(p)), None)
        if name in headers or path is None:
            continue
        own += 1
        try:
            text = source_text(_content(path), path)
        except BadInput:
            continue
        headers[name] = device_code(text).text
        waiting += [inner for inner, _ in includes_of(text.content)]


def confine_headers(folder: Path) -> None:
    """Read headers of sources below *folder* alone from now on, in this process."""
    global _headers_below
    _headers_below = folder.resolve()


_headers_below: Path | None = None


def _may_be_read(header: str) -> bool:
    below = _headers_below
    inside = below is None or Path(header).resolve().is_relative_to(below)
    return inside and os.path.isfile(header)


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
        return _by_nvcc(source, target, more, text)
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
    prelude = f"--pre-include={PRELUDE}"
    options = (
        prelude,
        *source.options.words(),
        *_toolkit_folders(),
        *_standard(source.options),
        *more,
    )
    return _with_stand_ins(source, program, target, options)


def _with_stand_ins(
    source: CudaSource, program: Program, target: Capability, options: tuple[str, ...]
) -> CompiledProgram:
    """Compile *program*, with nothing in the place of headers that are not found.

    Most of them are of host libraries, which device code does not need.
    """
    headers = dict(program.headers)
    missing: list[str] = []
    while True:
        try:
            made = compiled(replace(program, headers=headers), target.target, options)
        except CompileError as error:
            name = _header_not_found(error.log)
            if name is None or name in headers or len(missing) >= _MOST_MISSING:
                raise _explained(source, target, error.log, missing) from None
            missing.append(name)
            headers[name] = b""
        else:
            return replace(made, missing_headers=tuple(missing))


def _header_not_found(log: str) -> str | None:
    match = _NOT_FOUND.search(log)
    return match[1] if match else None


def _standard(options: CompilerOptions) -> tuple[str, ...]:
    words = [word.lstrip("-") for word in options.others]
    chosen = any(word.startswith("std") for word in words)
    return _ALWAYS[:1] if chosen else _ALWAYS


def _explained(
    source: CudaSource, target: Capability, log: str, missing: list[str]
) -> CompileError:
    """Return the error of *log* with what would help."""
    message = f"{quoted_path(source.path)} does not compile for {target.target}."
    if missing:
        names = and_list([quoted(name) for name in missing[:_MOST_NAMED]])
        return CompileError(
            f"{message} It includes {names}, which {'is' if len(missing) == 1 else 'are'} not found.", log,
            hint="Name the folder of headers with -I; those of CUDA come with pip install nvidia-cuda-runtime.",
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
    present = [place for place in places if (place / "cuda_fp16.h").is_file()]
    # Some packages come without the headers that cooperative_groups.h needs.
    whole = [p for p in present if (p / "cccl" / "nv" / "target").is_file() or (p / "nv").is_dir()]
    for place in (whole or present)[:1]:
        yield from (f"-I{place}", f"-I{place / 'cccl'}")


def _by_nvcc(
    source: CudaSource, target: Capability, more: tuple[str, ...], text: bytes | None
) -> CompiledProgram:
    program = shutil.which("nvcc")
    if program is None:
        raise Unavailable(
            "--compiler nvcc: there is no nvcc on PATH.", hint="--compiler nvrtc needs no toolkit."
        )
    with temporary_folder() as folder:
        image = os.path.join(folder, "image.cubin")
        words = [
            program,
            "-x",
            "cu",
            f"-arch={target.target}",
            "-cubin",
            "-o",
            image,
            *source.options.words(),
        ]
        path = os.path.abspath(source.path)
        if text is not None:
            words.append(f"-I{os.path.dirname(path)}")
            path = os.path.join(folder, os.path.basename(path))
            Path(path).write_bytes(text)
        try:
            done = subprocess.run(
                [*words, *more, path],
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


_MOST_NAMES = 5  # that a note has room for


def source_notes(source: CudaSource) -> list[str]:
    """Return what NVRTC was not given of *source*."""
    if source.options.compiler != "nvrtc":
        return []
    said = []
    if source.code.host_functions:
        left = plural(source.code.host_functions, "host function")
        said.append(
            f"{quoted_path(source.path)}: compiled without {left}; --compiler nvcc takes whole files."
        )
    unmade = [k.name for k in source.code.kernels if k.template and not k.instances]
    if unmade:
        said.append(
            f"{quoted_path(source.path)}: no launch in the file names the template arguments of "
            f"{and_list([inert(name) for name in unmade[:_MOST_NAMES]])}."
        )
    return said


def missing_notes(source: CudaSource, image: CompiledProgram) -> list[str]:
    """Return which headers of *source* were not found."""
    if not image.missing_headers:
        return []
    names = and_list([quoted(name) for name in image.missing_headers[:_MOST_NAMES]])
    return [
        f"{quoted_path(source.path)}: compiled without {names}, not found; name their folder with -I."
    ]

"""What is compiled again and again: a kernel of a source file, or of PTX."""

from __future__ import annotations

import re
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Protocol

from gpuadvise.advisor.backends.compiler_options import SUFFIXES
from gpuadvise.advisor.backends.cuda_sources import compile_source, missing_notes, read_cuda_source
from gpuadvise.advisor.backends.ptxas import assembled
from gpuadvise.advisor.binaries.model import Kernel
from gpuadvise.advisor.binaries.names import demangle
from gpuadvise.advisor.binaries.read import ptx_texts, read_stream
from gpuadvise.advisor.errors import BadInput, Unavailable
from gpuadvise.advisor.prose import and_list, plural, quoted, quoted_path

if TYPE_CHECKING:
    from gpuadvise.advisor.backends.compiler_options import CompilerOptions
    from gpuadvise.advisor.backends.cuda_sources import CudaSource
    from gpuadvise.advisor.capability import Capability
    from gpuadvise.advisor.source.device_code import KernelSource

_MOST_NAMES = 8
_ENTRY = re.compile(rb"\.entry\s+([\w$]+)\s*(?:\(([^)]*)\))?")
_TARGET = re.compile(rb"^[ \t]*\.target\s+sm_(\d+)", re.MULTILINE)
_PARAMETER = re.compile(r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)(.*?)([\w$]+)\s*(\[\d+\])?\s*$")
# Types of parameters in PTX; 8-byte ones may be pointers, which PTX does not always say.
_TYPES = {
    "f32": "float", "f64": "double", "f16": "half", "u8": "uchar", "s8": "char", "b8": "uchar",
    "u16": "ushort", "s16": "short", "u32": "uint", "s32": "int", "b32": "int",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledKernel:
    """One kernel of one cubin."""

    kernel: Kernel
    image: bytes
    notes: tuple[str, ...] = ()


class CappableProgram(Protocol):
    """A kernel that can be compiled with a cap on its registers."""

    @property
    def expression(self) -> str:
        """What names the kernel."""
        ...

    @property
    def parameters(self) -> tuple[tuple[str, str], ...]:
        """The names and types of its parameters; "?" for what is not known."""
        ...

    @property
    def launched(self) -> tuple[int, ...]:
        """The threads per block that its file launches it with."""
        ...

    @property
    def fixed_block(self) -> str | None:
        """Why its code holds for no other block size, None where nothing says so."""
        ...

    def compiled(
        self, target: Capability, cap: int | None, macros: tuple[str, ...]
    ) -> CompiledKernel:
        """Return the kernel compiled with at most *cap* registers; raises BadInput."""
        ...


def read_program(path: str, kernel: str | None, options: CompilerOptions) -> CappableProgram:
    """Return the kernel of *path* that *kernel* names; raises BadInput."""
    if path.endswith(SUFFIXES):
        source = read_cuda_source(path, options)
        return _SourceProgram(source, *_named(source, kernel))
    texts = ptx_texts(path)
    if not texts:
        raise BadInput(
            f"{quoted_path(path)} holds no PTX, and machine code keeps the registers it has.",
            hint="Give the .cu file, PTX, or a library or program that was built with PTX (-gencode ...,code=compute_90).",
        )
    return _ptx_program(path, texts, kernel)


@dataclass(frozen=True, slots=True)
class _SourceProgram:
    source: CudaSource
    kernel: KernelSource
    expression: str

    @property
    def parameters(self) -> tuple[tuple[str, str], ...]:
        return self.kernel.parameters

    @property
    def launched(self) -> tuple[int, ...]:
        return self.kernel.launched

    @property
    def fixed_block(self) -> str | None:
        return self.kernel.fixed_block

    def compiled(
        self, target: Capability, cap: int | None, macros: tuple[str, ...]
    ) -> CompiledKernel:
        text, more = None, [f"-D{macro}" for macro in macros]
        if cap is not None and self.kernel.bounds is not None:
            # A limit of the whole program does nothing to a kernel with launch bounds.
            text = self.source.rewritten(self.kernel, f"__maxnreg__({cap})")
        elif cap is not None:
            more.append(f"--maxrregcount={cap}")
        image = compile_source(
            self.source, target, text=text, expressions=(self.expression,), more=tuple(more)
        )
        kernel = _kernel_in(
            image.cubin, self.source.path, image.lowered.get(self.expression), self.expression
        )
        return CompiledKernel(
            kernel=kernel, image=image.cubin, notes=tuple(missing_notes(self.source, image))
        )


def _kernel_in(cubin: bytes, path: str, name: str | None, expression: str) -> Kernel:
    """Return the kernel called *name*, or, where a compiler does not say that, *expression*."""
    for item in read_stream(BytesIO(cubin), path):
        if (
            isinstance(item, Kernel)
            and item.entry
            and (item.name == name if name is not None else _is_named(item.name, expression))
        ):
            return item
    raise Unavailable(f"The compiler made no kernel {quoted(expression)}.")


def _is_named(name: str, expression: str) -> bool:
    plain = (demangle(name) or name).removeprefix("void ").replace(" ", "").replace("(int)", "")
    return plain.partition("(")[0] == expression.replace(" ", "")


def _named(source: CudaSource, name: str | None) -> tuple[KernelSource, str]:
    """Return the kernel called *name*, and the expression that names the instance to make."""
    instances = source.instances()
    known = and_list([quoted(e) for _, e in instances[:_MOST_NAMES]]) or "none"
    if name is None:
        if len(instances) == 1:
            return instances[0]
        raise BadInput(f"--kernel: the file has {plural(len(instances), 'kernel')}: {known}.")
    base, bracket, arguments = name.partition("<")
    base = base.strip()
    kernels = [k for k in source.code.kernels if base in (k.name, k.expression)]
    if not kernels:
        raise BadInput(f"--kernel: the file has no kernel {quoted(name)}.", hint=f"It has {known}.")
    kernel = kernels[0]
    if bracket:
        return kernel, f"{kernel.expression}<{arguments}"
    if kernel.template and not kernel.instances:
        raise BadInput(
            f"--kernel: {quoted(name)} is a template, and no launch in the file names its arguments.",
            hint=f"Name an instance: --kernel '{kernel.name}<float>'.",
        )
    return kernel, kernel.expression + (kernel.instances[0] if kernel.template else "")


@dataclass(frozen=True, slots=True)
class _PtxProgram:
    path: str
    text: bytes
    name: str
    parameters: tuple[tuple[str, str], ...]
    expression: str
    launched: tuple[int, ...] = ()
    fixed_block: str | None = None

    def compiled(
        self, target: Capability, cap: int | None, macros: tuple[str, ...]
    ) -> CompiledKernel:
        if macros:
            raise BadInput("--block-define: PTX has no macros left.", hint="Give the .cu file.")
        image = assembled(self.text, self.path, target.target, entry=self.name, cap=cap)
        kernel = _kernel_in(image, self.path, self.name, self.expression)
        return CompiledKernel(kernel=kernel, image=image)


def _ptx_program(path: str, texts: list[bytes], name: str | None) -> _PtxProgram:
    """Return the kernel called *name*, of the program for the newest target that has it."""
    entries: dict[str, tuple[int, bytes, bytes]] = {}
    for text in texts:
        target = int(match[1]) if (match := _TARGET.search(text)) else 0
        for entry in _ENTRY.finditer(text):
            known = entries.get(entry[1].decode())
            if known is None or known[0] < target:
                entries[entry[1].decode()] = (target, text, entry[2] or b"")
    plain = {mangled: demangle(mangled) or mangled for mangled in entries}
    chosen = [m for m in entries if name is None or name == m or _is_named(m, name)]
    if len(chosen) != 1:
        known_names = (
            and_list([quoted(words) for words in list(plain.values())[:_MOST_NAMES]]) or "none"
        )
        count = "no kernel" if not chosen else plural(len(chosen), "kernel")
        called = "" if name is None else f" {quoted(name)}"
        raise BadInput(f"--kernel: the PTX has {count}{called}.", hint=f"It has {known_names}.")
    mangled = chosen[0]
    _, text, listed = entries[mangled]
    return _PtxProgram(
        path, text, mangled, tuple(_ptx_parameters(listed.decode("utf-8", "replace"))),
        plain[mangled].removeprefix("void ").partition("(")[0],
    )  # fmt: skip


def _ptx_parameters(listed: str) -> list[tuple[str, str]]:
    parameters = []
    for number, words in enumerate(filter(str.strip, listed.split(",")), 1):
        match = _PARAMETER.match(words.strip())
        kind = "?"
        if match and not match[4]:
            wide = "?*" if ".ptr" in match[2] else "?"
            kind = _TYPES.get(match[1], wide)
        parameters.append((f"argument {number}", kind))
    return parameters

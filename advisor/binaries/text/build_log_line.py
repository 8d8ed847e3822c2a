"""What one line of a compiler's or device linker's log says.

Written from the output of ptxas 11.7 to 13.5, nvcc 13.0, nvlink 13.0 and NVRTC 11.8 to 13.5.
Anything may stand before the part that counts: time stamps, job numbers, colours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpuadvise.advisor.capability import Capability


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiling:
    """A kernel is begun."""

    name: str
    capability: Capability | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionProperties:
    """The next frame line is about *name*."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """Bytes per thread on the stack; of them, those spilled and read back."""

    frame: int
    stores: int
    loads: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """What a kernel needs; None: the line does not say."""

    registers: int
    barriers: int | None = None
    stack: int | None = None
    smem: int | None = None
    reserved_smem: int | None = None
    constant_banks: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Linking:
    """The next linked use is about *name*."""

    name: str
    capability: Capability | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedUse:
    """What a kernel needs after device linking; shared memory as the image has it."""

    use: Use


@dataclass(frozen=True, slots=True, kw_only=True)
class Unbounded:
    """The stack of *name* cannot be computed: recursion or unknown callees."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """The compiler gave up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedKernel:
    """The compiler cannot make this kernel, and says *why*."""

    name: str
    why: str


Line = (
    Compiling
    | FunctionProperties
    | Frame
    | Use
    | Linking
    | LinkedUse
    | Unbounded
    | RefusedKernel
    | Stopped
)

# Digits are bounded, so that no line can make a search quadratic.
_COUNT = r"(\d{1,10})"
_TARGET = re.compile(r"sm_(\d{1,2})(\d)([af]?)(?![\w])", re.ASCII)
_COMPILING = re.compile(r"Compiling entry function '([^']+)' for '([^']{1,20})'")
_LINKING = re.compile(r"nvlink info\s{0,8}: Function properties for '([^']+)':(.{0,40})")
_PROPERTIES = re.compile(r"ptxas info\s{0,8}: (?:\(C\d+\) )?Function properties for (\S.*)")
_FRAME = re.compile(
    rf"(?<!\d){_COUNT} bytes stack frame, {_COUNT} bytes spill stores, {_COUNT} bytes spill loads"
)
_REGISTERS = re.compile(r"\b([Uu])sed (\d{1,3}) registers")
_BARRIERS = re.compile(r"used (\d{1,2}) barriers")
_ITEM = re.compile(
    rf"(?<![\d+]){_COUNT}(?:\+{_COUNT})? "
    r"(?:bytes (smem|lmem|cmem\[\d{1,2}\]|cumulative stack size)|(stack)\b)"
)
_UNBOUNDED = re.compile(r"Stack size for entry function '([^']+)' cannot be statically determined")
_REFUSED = re.compile(r"ptxas error\s{0,8}: Entry function '([^']+)' (.{1,300})")
_STOPPED = re.compile(r"\bptxas (?:error|fatal)\b")


def parse_line(text: str) -> Line | None:
    """Return what *text* says about a kernel; None when nothing."""
    if "bytes stack frame" in text:
        return _frame(text)
    if "registers" in text and (match := _REGISTERS.search(text)):
        use = _use(text, int(match[2]))
        return use if match[1] == "U" else LinkedUse(use=use)
    return _named(text)


def _frame(text: str) -> Frame | None:
    match = _FRAME.search(text)
    return match and Frame(frame=int(match[1]), stores=int(match[2]), loads=int(match[3]))


def _named(text: str) -> Line | None:
    # A plain search for a word costs a tenth of an expression's, and most lines have none.
    if "Compiling entry" in text and (match := _COMPILING.search(text)):
        return Compiling(name=match[1], capability=_capability(match[2]))
    if "Function properties" in text:
        if match := _PROPERTIES.search(text):
            return FunctionProperties(name=match[1].rstrip())
        if match := _LINKING.search(text):
            return Linking(name=match[1], capability=_capability(match[2]))
    if "statically" in text and (match := _UNBOUNDED.search(text)):
        return Unbounded(name=match[1])
    if "error" in text and (match := _REFUSED.search(text)):
        return RefusedKernel(name=match[1], why=match[2].rstrip())
    stopped = ("error" in text or "fatal" in text) and _STOPPED.search(text)
    return Stopped() if stopped else None


def _capability(text: str) -> Capability | None:
    match = _TARGET.search(text)
    return match and Capability(int(match[1]), int(match[2]), match[3])


def _use(text: str, registers: int) -> Use:
    items = {match[3] or match[4]: match for match in _ITEM.finditer(text)}
    barriers = _BARRIERS.search(text)
    smem = items.get("smem")
    stack = items.get("cumulative stack size") or items.get("stack")
    banks = ((name, int(match[1])) for name, match in items.items() if name.startswith("cmem"))
    return Use(
        registers=registers,
        barriers=int(barriers[1]) if barriers else None,
        stack=int(stack[1]) if stack else None,
        smem=int(smem[1]) if smem else None,
        reserved_smem=int(smem[2]) if smem and smem[2] else None,
        constant_banks=tuple(sorted((int(name[5:-1]), size) for name, size in banks)),
    )

"""What PTX text states: its version and target, and each kernel's bounds and shared memory.

Registers, stack and spills do not exist in PTX: its registers are virtual, and the assembler
decides the rest.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypedDict, assert_never

from gpuadvise.advisor.binaries.model import Content, Entry, Exactness, Kernel, Source
from gpuadvise.advisor.binaries.text.ptx_tokens import Body, FunctionHeader, Statement, read_code
from gpuadvise.advisor.capability import Capability

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gpuadvise.advisor.binaries.model import Item, Place
    from gpuadvise.advisor.binaries.text.ptx_tokens import Code


_DIRECTIVE = re.compile(
    r"\.(maxntid|reqntid|minnctapersm|maxnreg|reqnctapercluster|maxclusterrank)\s+"
    r"(\d{1,9})(?:\s*,\s*(\d{1,9}))?(?:\s*,\s*(\d{1,9}))?"
)
Block = tuple[int, int, int]


class Bounds(TypedDict, total=False):
    """The fields of a Kernel that directives state."""

    max_block: Block
    required_block: Block
    cluster: Block
    min_blocks: int
    register_cap: int
    max_cluster_rank: int


def parse_bounds(text: str) -> Bounds:
    """Return what the directives in *text* state.

    LLVM writes only the numbers it was given, NVIDIA's compilers all three; missing ones are 1.
    """
    bounds: Bounds = {}
    for name, *numbers in _DIRECTIVE.findall(text):
        x, y, z = (int(number or 1) for number in numbers)
        match name:
            case "maxntid":
                bounds["max_block"] = (x, y, z)
            case "reqntid":
                bounds["required_block"] = (x, y, z)
            case "reqnctapercluster":
                bounds["cluster"] = (x, y, z)
            case "minnctapersm":
                bounds["min_blocks"] = x
            case "maxnreg":
                bounds["register_cap"] = x
            case _:
                bounds["max_cluster_rank"] = x
    return bounds


_TYPE_BYTES = {"8": 1, "16": 2, "32": 4, "64": 8, "128": 16}
_DECLARATION = re.compile(
    r"""\.shared\b
    (?:\s+\.attribute\([^)]{0,80}\))?
    (?:\s+\.align\s+(?P<align>\d{1,5}))?
    (?:\s+\.v(?P<vector>[24]))?
    \s+\.(?P<type>[busf](?P<bits>8|16|32|64|128)|f16x2|bf16|pred)
    \s+(?P<name>[A-Za-z_$%][\w$]{0,4000})
    (?P<sizes>(?:\s*\[\s*\d{0,12}\s*\]){0,8})""",
    re.VERBOSE,
)
_SIZE = re.compile(r"\d+")
_MOST = 1 << 32  # far above any shared memory; larger is a forged number


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """One shared variable; *size* in bytes, None for an array whose size the launch gives."""

    name: str
    size: int | None
    align: int


def parse_shared(text: str) -> list[Shared]:
    """Return the shared variables that *text* declares."""
    return [_variable(match) for match in _DECLARATION.finditer(text)]


def _variable(match: re.Match[str]) -> Shared:
    element = _TYPE_BYTES.get(match["bits"] or "", 4) * int(match["vector"] or 1)
    sizes = [int(size) for size in _SIZE.findall(match["sizes"])]
    dynamic = len(sizes) < match["sizes"].count("[")
    return Shared(
        name=match["name"],
        size=None if dynamic else min(element * math.prod(sizes), _MOST),
        align=int(match["align"] or element),
    )


def packed(variables: list[Shared]) -> int:
    """Return the bytes that *variables* take one behind the other, each on its alignment."""
    end = 0
    for variable in variables:
        end += -end % max(variable.align, 1) + (variable.size or 0)
    return end


# A kernel that reaches more functions than this has its shared memory left unknown.
_MAX_REACHED = 256
_VERSION = re.compile(r"\s*\.version\s+(\d{1,3})\.(\d{1,3})")
_TARGET = re.compile(r"\s*\.target\s+sm_(\d{1,2})(\d)([af]?)\b(.{0,200})", re.ASCII)
_FUNCTION = re.compile(r"\.(entry|func)\b")
_NAMED = re.compile(r"\s*(?:\([^)]*\)\s*)?(?:\.\w+\s+)*([A-Za-z_$%][\w$]*)")
_NAME = re.compile(r"[A-Za-z_$%][\w$]*")


@dataclass(slots=True, kw_only=True)
class _Function:
    """One function, and what it mentions of the module's shared variables and functions."""

    name: str
    entry: bool
    header: FunctionHeader
    shared: list[Shared] = field(default_factory=list)
    mentions: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Module:
    """A PTX module while its code goes by."""

    version: tuple[int, int] | None = None
    target: Capability | None = None
    debug: bool = False
    functions: dict[str, _Function] = field(default_factory=dict)
    shared: dict[str, Shared] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)  # that a body can mention
    current: _Function | None = None

    def read(self, code: Code) -> None:
        """Note what the next piece of code says."""
        match code:
            case Statement(text):
                self._statement(text)
            case FunctionHeader(text):
                self.current = _function(code)
                if self.current is not None:
                    self._begin(self.current)
            case Body(text):
                self._body(text)
            case other:
                assert_never(other)

    def _statement(self, text: str) -> None:
        if ".shared" in text:
            declared = {variable.name: variable for variable in parse_shared(text)}
            self.shared |= declared
            self.names.update(declared)
        elif match := _VERSION.match(text):
            self.version = self.version or (int(match[1]), int(match[2]))
        elif match := _TARGET.match(text):
            target = Capability(int(match[1]), int(match[2]), match[3])
            self.target = self.target or target
            self.debug = self.debug or "debug" in match[4]

    def _begin(self, function: _Function) -> None:
        self.functions[function.name] = function
        if not function.entry:
            self.names.add(function.name)

    def _body(self, text: str) -> None:
        if self.current is None:
            return
        if ".shared" in text:
            self.current.shared += parse_shared(text)
        if self.names:
            self.current.mentions.update(self.names.intersection(_NAME.findall(text)))


def read_ptx(pieces: Iterable[tuple[str, int]], place: Place) -> Iterator[Item]:
    """Yield the kernels of PTX text, given as numbered *pieces* of lines, then its entry.

    Shared variables count for the kernels that mention them, themselves or through functions
    they call; the assembler may lay them out more tightly.
    """
    module = _Module()
    size = 0

    def measured() -> Iterator[tuple[str, int]]:
        nonlocal size
        for piece, number in pieces:
            size += len(piece)
            yield piece, number

    for code in read_code(measured()):
        module.read(code)
    for function in module.functions.values():
        if function.entry:
            yield _kernel(function, module, place)
    if module.version is not None or module.target is not None:
        yield Entry(
            content=Content.PTX,
            place=place,
            capability=module.target,
            size=size,
            ptx_version=module.version,
            debug=module.debug,
        )


def _function(header: FunctionHeader) -> _Function | None:
    kind = _FUNCTION.search(header.text)
    name = _NAMED.match(header.text, kind.end()) if kind else None
    if not kind or not name:
        return None
    return _Function(name=name[1], entry=kind[1] == "entry", header=header)


def _kernel(function: _Function, module: _Module, place: Place) -> Kernel:
    variables = _reached(function, module)
    bounds = parse_bounds(function.header.text)
    return Kernel(
        name=function.name,
        source=Source.PTX,
        place=place._replace(line=function.header.line),
        capability=module.target,
        linked=False,
        static_smem=None if variables is None else packed(variables),
        dynamic_smem=None if variables is None else any(v.size is None for v in variables),
        min_blocks_are=Exactness.EXACT if "min_blocks" in bounds else None,
        debug=module.debug,
        **bounds,
    )


def _reached(start: _Function, module: _Module) -> list[Shared] | None:
    """Return the shared variables that *start* can touch; None when there is no telling."""
    seen, waiting, variables = {start.name}, [start], []
    names: set[str] = set()
    while waiting:
        function = waiting.pop()
        variables += function.shared
        names |= function.mentions
        for name in function.mentions - seen:
            seen.add(name)
            if name in module.functions:
                waiting.append(module.functions[name])
        if len(seen) > _MAX_REACHED:
            return None
    return variables + [module.shared[name] for name in sorted(names) if name in module.shared]

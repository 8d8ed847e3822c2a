"""What PTX text states: its version and target, and each kernel's bounds and shared memory.

Registers, stack and spills do not exist in PTX: its registers are virtual, and the assembler
decides the rest.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, assert_never

from gpuadvise.advisor.binaries.model import Content, Entry, Exactness, Kernel, Source
from gpuadvise.advisor.binaries.ptx_code import Body, Header, Statement, read_code
from gpuadvise.advisor.binaries.ptx_directives import parse_bounds
from gpuadvise.advisor.binaries.ptx_shared import Shared, packed, parse_shared
from gpuadvise.advisor.capability import Capability

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gpuadvise.advisor.binaries.model import Item, Place
    from gpuadvise.advisor.binaries.ptx_code import Code

# A kernel that reaches more functions than this has its shared memory left unknown.
_MOST_REACHED = 256
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
    header: Header
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

    def take(self, code: Code) -> None:
        """Note what the next piece of code says."""
        match code:
            case Statement(text):
                self._statement(text)
            case Header(text):
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
        elif found := _VERSION.match(text):
            self.version = self.version or (int(found[1]), int(found[2]))
        elif found := _TARGET.match(text):
            target = Capability(int(found[1]), int(found[2]), found[3])
            self.target = self.target or target
            self.debug = self.debug or "debug" in found[4]

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
        module.take(code)
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


def _function(header: Header) -> _Function | None:
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
    seen, waiting, found = {start.name}, [start], []
    names: set[str] = set()
    while waiting:
        function = waiting.pop()
        found += function.shared
        names |= function.mentions
        for name in function.mentions - seen:
            seen.add(name)
            if name in module.functions:
                waiting.append(module.functions[name])
        if len(seen) > _MOST_REACHED:
            return None
    return found + [module.shared[name] for name in sorted(names) if name in module.shared]

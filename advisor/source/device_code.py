"""The device code of a CUDA file: what a compiler that knows only the GPU can take.

Host functions, host variables and prototypes become spaces, so that every line of an error is
the line of the file. Directives stay.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.block_size import launched_sizes, launching_words, why_fixed
from gpuadvise.advisor.source.cuda_file import read_cuda
from gpuadvise.advisor.source.scopes import ExecutionSpace

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from gpuadvise.advisor.source.cuda_file import CudaFile
    from gpuadvise.advisor.source.scopes import SourceFunction
    from gpuadvise.advisor.source.text import SourceText
    from gpuadvise.advisor.source.tree import Node

_INCLUDE = re.compile(
    rb'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\r\n]{1,300})"|<([^>\r\n]{1,300})>)', re.M
)
# Marks of what belongs to the device; the same words that tell device functions.
_DEVICE = re.compile(
    rb"__(?:device|global|constant|shared|managed)__|[A-Z0-9_]*(?:DEVICE|HOSTDEV|GPU_FUNC|CUDA_FUNC)"
)
_CONSTANT = re.compile(rb"^\s*(?:(?:static|inline|extern)\s+)*(?:const|constexpr)\b")
_STD = re.compile(rb"\bstd\b")
_DIRECTIVE = re.compile(rb"^[ \t]*#(?:[^\n\\]|\\\r?\n|\\)*", re.M)
_NOT_BREAK = re.compile(rb"[^\r\n]")
# What may hold declarations of both kinds.
_HOLDERS = frozenset(
    (
        "translation_unit",
        "namespace_definition",
        "declaration_list",
        "linkage_specification",
        "ERROR",
    )
)
_VARIABLES = frozenset(("declaration", "template_instantiation", "expression_statement"))
_TYPES = frozenset(
    ("using_declaration", "alias_declaration", "type_definition", "struct_specifier",
     "class_specifier", "union_specifier", "field_declaration")
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelSource:
    """One kernel of a file: *expression* names it with its namespaces.

    *instances* are the template arguments, in angle brackets, that launches of the file spell
    out; *bounds* is where its ``__launch_bounds__`` stand, *start* where its name does.
    *parameters* are the names and types, "?" where the file does not say one. *launched* are the
    threads per block of launches in the file; *fixed_block* says why the code holds for no others.
    """

    name: str
    expression: str
    template: bool
    line: int
    start: int
    instances: tuple[str, ...] = ()
    bounds: tuple[int, int] | None = None
    parameters: tuple[tuple[str, str], ...] = ()
    launched: tuple[int, ...] = ()
    fixed_block: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceCode:
    """*text* has the length of the file; *host_functions* counts what was left out.

    *includes* are the headers that it names, with whether they stand in quotation marks.
    """

    text: bytes
    kernels: tuple[KernelSource, ...]
    includes: tuple[tuple[str, bool], ...]
    host_functions: int

    def rewritten(self, kernel: KernelSource, words: str, text: bytes | None = None) -> bytes:
        """Return the text with *words* before the name of *kernel*, in place of its bounds.

        *text* is the whole file, where that is meant.
        """
        text = self.text if text is None else text
        if kernel.bounds is not None:
            first, last = kernel.bounds
            text = text[:first] + b" " * (last - first) + text[last:]
        return text[: kernel.start] + words.encode() + b" " + text[kernel.start :]


def device_code(source: SourceText) -> DeviceCode:
    """Return the device code of *source*."""
    file = read_cuda(source)
    text = bytearray(source.content)
    host = {f.node.index for f in file.functions if _is_host(f)}
    blanked = 0
    for node in _foreign(file, host):
        blanked += any(node.index <= index <= node.last for index in host)
        _blank(text, node.start, node.end)
    kernels = tuple(_kernels(file))
    file.tree.release()
    return DeviceCode(
        text=bytes(text),
        kernels=kernels,
        includes=tuple(includes_of(source.content)),
        host_functions=blanked,
    )


def includes_of(text: bytes) -> Iterator[tuple[str, bool]]:
    """Yield the headers that *text* includes, with whether they stand in quotation marks."""
    for match in _INCLUDE.finditer(text):
        name = match[1] or match[2]
        yield name.decode("utf-8", "replace"), match[1] is not None


def _is_host(function: SourceFunction) -> bool:
    return function.place is ExecutionSpace.HOST and "constexpr" not in function.header


def _foreign(file: CudaFile, host: Collection[int]) -> Iterator[Node]:
    """Yield the outermost nodes that are no device code."""
    stack = [file.tree.root]
    while stack:
        node = stack.pop()
        if _holds_more(node):
            stack.extend(reversed(node.children))
        elif _is_foreign(file, node, host):
            yield node


def _holds_more(node: Node) -> bool:
    """Whether *node* may hold declarations of both kinds; ``extern "C"`` of one goes with it."""
    alone = node.kind == "linkage_specification" and node.child("declaration_list") is None
    return node.kind in _HOLDERS and not alone


def _is_foreign(file: CudaFile, node: Node, host: Collection[int]) -> bool:
    inner = node
    while inner.kind in ("template_declaration", "linkage_specification") and inner.children:
        inner = inner.children[-1]
    words = file.text.content[node.start : node.end]
    if inner.kind == "function_definition":
        return inner.index in host
    if inner.kind in _VARIABLES:
        if _DEVICE.search(words):
            return False
        return inner.kind != "expression_statement" and (
            not _CONSTANT.match(words) or _STD.search(words) is not None
        )
    if inner.kind not in _TYPES or _DEVICE.search(words):
        return False
    # A class with methods that is not marked, in a header without any mark, is for the host.
    has_methods = any(n.kind == "function_definition" for n in _all_below(inner))
    return _STD.search(words) is not None or (has_methods and not _DEVICE.search(file.text.content))


def _all_below(top: Node) -> Iterator[Node]:
    stack = [top]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(node.children)


def _blank(text: bytearray, start: int, end: int) -> None:
    """Turn a stretch into spaces, all but line breaks and directives."""
    stretch = bytes(text[start:end])
    at, pieces = 0, []
    for directive in _DIRECTIVE.finditer(stretch):
        pieces += [_NOT_BREAK.sub(b" ", stretch[at : directive.start()]), directive[0]]
        at = directive.end()
    text[start:end] = b"".join((*pieces, _NOT_BREAK.sub(b" ", stretch[at:])))


def _kernels(file: CudaFile) -> Iterator[KernelSource]:
    instances: dict[str, dict[str, None]] = {}
    for function in file.functions:
        for syntax in function.nodes("kernel_call_syntax"):
            call = syntax.parent
            if call is not None and (arguments := _template_arguments(file, function, call)):
                instances.setdefault(file.callee(call), {})[arguments] = None
    launched, launching = launched_sizes(file), launching_words(file)
    for function in file.functions:
        if function.place is not ExecutionSpace.KERNEL:
            continue
        name = _name_of(function)
        if name is None:
            continue
        template = any(above.kind == "template_declaration" for above in function.node.ancestors())
        bounds = function.launch_bounds
        yield KernelSource(
            name=function.name,
            expression=_qualified(file, function),
            template=template,
            line=file.text.line(name.start),
            start=name.start,
            instances=tuple(instances.get(function.name, ())) if template else (),
            bounds=None if bounds is None else (bounds.start, bounds.end),
            parameters=tuple(_parameters(file, function)),
            launched=launched.get(function.name, ()),
            fixed_block=why_fixed(file, function, launching.get(function.name, set())),
        )


def _parameters(file: CudaFile, function: SourceFunction) -> Iterator[tuple[str, str]]:
    """Yield the name and the type of each parameter, "?" for what the file does not say."""
    declarator = function.node.child("function_declarator")
    listed = declarator.child("parameter_list") if declarator is not None else None
    known = {parameter.node.index: parameter for parameter in function.parameters}
    for number, node in enumerate(listed.children if listed is not None else (), 1):
        parameter = known.get(node.index)
        if parameter is None:
            yield f"argument {number}", "?"
            continue
        base = parameter.type.rstrip("*")
        unknown = any(v.type == "type" for v in function.variables.get(base, ()))
        yield parameter.name, "?" + parameter.type[len(base) :] if unknown else parameter.type


def _name_of(function: SourceFunction) -> Node | None:
    declarator = function.node.child("function_declarator")
    return declarator.children[0] if declarator is not None and declarator.children else None


def _qualified(file: CudaFile, function: SourceFunction) -> str:
    names = [function.name]
    for above in function.node.ancestors():
        if above.kind == "namespace_definition":
            name = above.child("namespace_identifier", "nested_namespace_specifier")
            if name is not None:
                names.append(file.at(name))
    return "::".join(reversed(names))


def _template_arguments(file: CudaFile, function: SourceFunction, call: Node) -> str | None:
    """Return the template arguments of a launch, None where they depend on its surroundings."""
    lists = [n for n in file.tree.below(call.children[0]) if n.kind == "template_argument_list"]
    if not lists:
        return None
    words = []
    for argument in lists[-1].children:
        value = file.constant(argument, function)
        text = file.at(argument)
        if value is None and any(n in function.variables for n in re.findall(r"\w+", text)):
            return None
        words.append(text if value is None else str(value))
    return f"<{', '.join(words)}>"

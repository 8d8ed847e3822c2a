"""Functions of a CUDA file, what they declare, and the types of names where they are used."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field
from enum import StrEnum
from operator import attrgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.text import SourceText
    from gpuadvise.advisor.source.tree import Node, Tree

UNKNOWN = "?"
# The words that this module speaks of types in; a pointer or array of T is "T*".
_NAMED = {
    "float": "float", "double": "double", "bool": "bool", "char": "char", "wchar_t": "int",
    "signed char": "char", "unsigned char": "uchar", "int8_t": "char", "uint8_t": "uchar",
    "uchar": "uchar", "ushort": "ushort", "uint": "uint", "ulong": "ullong",
    "short": "short", "int16_t": "short", "uint16_t": "ushort", "unsigned short": "ushort",
    "int": "int", "signed": "int", "int32_t": "int", "uint32_t": "uint", "unsigned": "uint",
    "unsigned int": "uint", "long": "llong", "long int": "llong", "long long": "llong",
    "long long int": "llong", "int64_t": "llong", "ptrdiff_t": "llong", "ssize_t": "llong",
    "unsigned long": "ullong", "unsigned long int": "ullong", "unsigned long long": "ullong",
    "unsigned long long int": "ullong", "uint64_t": "ullong", "size_t": "ullong",
    "uintptr_t": "ullong", "__half": "half", "half": "half", "__half2": "half2",
    "half2": "half2", "__nv_bfloat16": "bf16", "nv_bfloat16": "bf16", "__nv_bfloat162": "bf162",
    "nv_bfloat162": "bf162", "dim3": "dim3", "void": "void",
}  # fmt: skip
for _base, _field in (("float", "float"), ("double", "double"), ("int", "int"), ("uint", "uint"),
                      ("char", "char"), ("uchar", "uchar"), ("short", "short"),
                      ("ushort", "ushort"), ("longlong", "llong"), ("ulonglong", "ullong")):  # fmt: skip
    for _width in "1234":
        _NAMED[_base + _width] = f"{_field}.{_width}"
_SPACES = re.compile(r"\s+")
_STD = re.compile(r"^(?:std::|::|cuda::std::)+")
_QUALIFIERS = re.compile(
    r"\b(?:const|volatile|static|inline|constexpr|register|extern|mutable|__restrict__|__restrict"
    r"|__shared__|__device__|__constant__|__managed__|typename|struct|class|enum)\b"
)
_CONSTANT = re.compile(r"\b(?:const|constexpr)\b")
_DEVICE_MACRO = re.compile(r"\b[A-Z0-9_]*(?:DEVICE|HOSTDEV|GPU_FUNC|CUDA_FUNC)[A-Z0-9_]*\b")
_TYPE_NODES = frozenset(
    (
        "primitive_type", "sized_type_specifier", "type_identifier", "qualified_identifier",
        "placeholder_type_specifier", "template_type", "struct_specifier", "decltype",
        "dependent_type", "enum_specifier", "union_specifier", "class_specifier",
    )
)  # fmt: skip
# What declares names outside functions.
_DECLARING = (
    "declaration", "type_definition", "alias_declaration", "struct_specifier",
    "class_specifier", "enumerator",
)  # fmt: skip
# A body without these words, in whatever place, names no type and holds no function.
_HOLDING = (b"using", b"typedef", b"struct", b"class", b"union")
_WORD = re.compile(rb"\w+")
_DECLARATORS = frozenset(
    ("pointer_declarator", "array_declarator", "reference_declarator", "parenthesized_declarator",
     "init_declarator", "function_declarator")
)  # fmt: skip
# Macros of many programs for a loop over all threads of a grid, whose first argument numbers them:
# CUDA_KERNEL_LOOP(i, n) { ... } reads as a function in the kernel.
LOOP_MACRO = b"KERNEL_LOOP"
INTEGERS = frozenset(("bool", "char", "uchar", "short", "ushort", "int", "uint", "llong", "ullong"))
NARROW = frozenset(("char", "uchar", "short", "ushort"))


class ExecutionSpace(StrEnum):
    """Where a function runs."""

    KERNEL = "kernel"
    DEVICE = "device"
    BOTH = "host and device"
    HOST = "host"


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """A declared name, its type, and the stretch of the file where it is visible.

    *constant* says that it is const, constexpr, or a template parameter; *value* is the
    expression that it starts with. It *numbers_threads* where a macro counts it along threadIdx.x.
    Where the file does not say what the type is, *written* is its name, such as a template parameter.
    """

    name: str
    type: str
    start: int
    end: int
    node: Node
    constant: bool = False
    shared: bool = False
    restrict: bool = False
    parameter: bool = False
    numbers_threads: bool = False
    written: str = ""
    value: Node | None = None
    dimensions: tuple[Node, ...] = ()


@dataclass(slots=True, kw_only=True)
class SourceFunction:
    """One function: its head and its body, each read when somebody asks for what it holds."""

    name: str
    place: ExecutionSpace
    node: Node
    body: Node
    tree: Tree
    text: SourceText
    names: Names
    header: str
    declarator: Node
    returns: str = UNKNOWN
    launch_bounds: Node | None = None
    holds_functions: bool = False
    changed: frozenset[str] | None = None
    last_check: int | None = None
    _words: frozenset[bytes] | None = None
    _parameters: tuple[Variable, ...] | None = None
    _declared: dict[str, list[Variable]] | None = None
    _variables: dict[str, list[Variable]] | None = None
    _known: dict[str, list[Node]] = field(default_factory=dict)

    @property
    def on_device(self) -> bool:
        """Whether the body runs on the GPU, or may."""
        return self.place is not ExecutionSpace.HOST

    @property
    def parameters(self) -> tuple[Variable, ...]:
        """The parameters that have a name, in order."""
        if self._parameters is None:
            parameters = _parameters(self.declarator, self.text, self.names, self.node)
            self._parameters = tuple(parameters)
        return self._parameters

    @property
    def declared(self) -> dict[str, list[Variable]]:
        """What the head declares, by name: parameters and template parameters."""
        if self._declared is None:
            self._declared = {}
            of_template = _template_parameters(self.node, self.text, self.names)
            for variable in (*of_template, *self.parameters):
                self._declared.setdefault(variable.name, []).append(variable)
        return self._declared

    @property
    def variables(self) -> dict[str, list[Variable]]:
        """What head and body declare, by name."""
        if self._variables is None:
            self._variables = {name: [*variables] for name, variables in self.declared.items()}
            _collect(self, self._variables)
        return self._variables

    def says(self, *words: bytes) -> bool:
        """Whether one of *words* stands in the body, be it in a comment or within a longer word."""
        text, body = self.text.content, self.body
        for word in words:  # noqa: SIM110 - asked for each rule and function: a generator costs more than it finds
            if text.find(word, body.start, body.end) >= 0:
                return True
        return False

    def has_word(self, words: frozenset[bytes]) -> bool:
        """Whether one of *words* stands in the body as a whole, be it in a comment."""
        if self._words is None:
            found = _WORD.findall(self.text.content, self.body.start, self.body.end)
            self._words = frozenset(found)
        return not words.isdisjoint(self._words)

    def matches(self, pattern: re.Pattern[bytes]) -> bool:
        """Whether *pattern* stands in the body, be it in a comment."""
        return pattern.search(self.text.content, self.body.start, self.body.end) is not None

    @property
    def may_launch(self) -> bool:
        """Whether the brackets of a launch stand in the body, be it in a comment; some write spaces in them."""
        return self.says(b"<<<") or self.says(b"<< <")

    def close(self) -> None:
        """Let go what is known of head and body; it is read anew when somebody asks again."""
        if self.holds_functions:
            return
        self._variables = self._declared = self._parameters = self._words = None
        self._known.clear()
        self.tree.close(self.body)

    def nodes(self, *kinds: str) -> list[Node]:
        """Return the nodes of *kinds* below the body; in order within one kind."""
        if len(kinds) == 1:
            return self._nodes(kinds[0])
        return [node for kind in kinds for node in self._nodes(kind)]

    def _nodes(self, kind: str) -> list[Node]:
        known = self._known.get(kind)
        if known is None:
            known = self._known[kind] = self.tree.inside(self.body, kind)
        return known


@dataclass(slots=True, kw_only=True)
class Names:
    """What a file declares outside functions."""

    aliases: dict[str, str | None] = field(default_factory=dict)
    variables: dict[str, list[Variable]] = field(default_factory=dict)
    structs: dict[str, dict[str, str]] = field(default_factory=dict)
    struct_nodes: dict[str, Node] = field(default_factory=dict)
    enumerators: dict[str, Node] = field(default_factory=dict)
    returns: dict[str, str] = field(default_factory=dict)


def functions_of(tree: Tree, text: SourceText, names: Names) -> list[SourceFunction]:
    """Return the functions and lambdas of *tree*, and fill *names* with what stands outside."""
    functions: list[SourceFunction] = []
    kinds = ("function_definition", *_DECLARING)
    declaring = [node for kind in kinds for node in tree.outside(kind)]
    for node in sorted(declaring, key=attrgetter("index")):
        kind = node.kind
        if kind == "function_definition":
            if function := _function(node, tree, text, names):
                functions.append(function)
                functions += _functions_in(function, tree, text, names)
        elif kind == "declaration":
            for variable in _declared(node, text, names, 0, len(text.content)):
                names.variables.setdefault(variable.name, []).append(variable)
        elif kind == "type_definition":
            _typedef(node, text, names)
        elif kind == "alias_declaration":
            _alias(node, text, names)
        elif kind in ("struct_specifier", "class_specifier"):
            _struct(node, text, names)
        elif kind == "enumerator":
            names.enumerators[text[node.children[0].start : node.children[0].end]] = node
    for function in functions:
        known = names.returns.get(function.name, function.returns)
        names.returns[function.name] = function.returns if known == function.returns else UNKNOWN
    return functions


def _functions_in(
    function: SourceFunction, tree: Tree, text: SourceText, names: Names
) -> Iterator[SourceFunction]:
    """Enter the types that the body of *function* names, and yield the functions that it holds."""
    if not function.says(*_HOLDING):
        return
    for node in function.nodes("type_definition"):
        _typedef(node, text, names)
    for node in function.nodes("alias_declaration"):
        _alias(node, text, names)
    for node in function.nodes("function_definition"):
        if inner := _function(node, tree, text, names):
            function.holds_functions = True
            yield inner
    if tree.is_full:
        function.close()


def _function(node: Node, tree: Tree, text: SourceText, names: Names) -> SourceFunction | None:
    body, declarator = node.child("compound_statement"), _declarator(node)
    if body is None or declarator is None:
        return None
    header = text[node.start : body.start]
    name_node = declarator.children[0] if declarator.children else declarator
    bounds = node.child("launch_bounds")
    kind = next((c for c in node.children if c.kind in _TYPE_NODES), None)
    place = _place(header, text, node)
    function = SourceFunction(
        name=text[name_node.start : name_node.end],
        place=place,
        node=node,
        body=body,
        tree=tree,
        text=text,
        names=names,
        header=header,
        declarator=declarator,
        returns=_type(kind, text, names) if kind else UNKNOWN,
        launch_bounds=bounds,
    )
    if any(c.kind == "pointer_declarator" for c in node.children):
        function.returns += "*"
    return function


def _declarator(node: Node) -> Node | None:
    current: Node | None = node
    for _ in range(8):
        if current is None:
            return None
        declarator = current.child("function_declarator")
        if declarator:
            return declarator
        current = current.child("pointer_declarator", "reference_declarator")
    return None


def _place(header: str, text: SourceText, node: Node) -> ExecutionSpace:
    head = header.split("(", 1)[0] if "__launch_bounds__" not in header else header
    if "__global__" in head:
        return ExecutionSpace.KERNEL
    if "__device__" in head or _DEVICE_MACRO.search(head):
        both = "__host__" in head or "HOST" in head
        return ExecutionSpace.BOTH if both else ExecutionSpace.DEVICE
    return ExecutionSpace.HOST


def _template_parameters(node: Node, text: SourceText, names: Names) -> Iterator[Variable]:
    for above in node.ancestors():
        if above.kind == "template_declaration":
            parameters = above.child("template_parameter_list")
            for parameter in parameters.children if parameters else ():
                if parameter.kind in ("parameter_declaration", "optional_parameter_declaration"):
                    yield from (
                        _as_constant(v)
                        for v in _declared(parameter, text, names, node.start, node.end)
                    )
                elif parameter.children:
                    # A type parameter hides an alias of the same name: its type is unknown.
                    name = text[parameter.children[0].start : parameter.children[0].end]
                    yield Variable(name=name, type="type", start=node.start, end=node.end,
                                   node=parameter, constant=True)  # fmt: skip


def _as_constant(v: Variable) -> Variable:
    return Variable(name=v.name, type=v.type, start=v.start, end=v.end, node=v.node, constant=True)


def _parameters(declarator: Node, text: SourceText, names: Names, node: Node) -> Iterator[Variable]:
    parameters = declarator.child("parameter_list")
    for parameter in parameters.children if parameters else ():
        if parameter.kind in ("parameter_declaration", "optional_parameter_declaration"):
            for v in _declared(parameter, text, names, node.start, node.end):
                yield Variable(
                    name=v.name, type=v.type, start=v.start, end=v.end, node=parameter,
                    constant=v.constant, restrict=v.restrict, parameter=True, written=v.written,
                )  # fmt: skip


def _collect(function: SourceFunction, variables: dict[str, list[Variable]]) -> None:
    """File the declarations of the body by name."""
    text, names = function.text, function.names
    for node in function.nodes("declaration"):
        scope = _scope(node)
        for variable in _declared(node, text, names, node.start, scope.end):
            variables.setdefault(variable.name, []).append(variable)
    for node in function.nodes("for_range_loop"):
        for variable in _declared(node, text, names, node.start, node.end):
            variables.setdefault(variable.name, []).append(variable)
    for node in function.nodes("lambda_expression"):
        declarator = node.child("lambda_declarator", "abstract_function_declarator")
        for v in _parameters(declarator, text, names, node) if declarator else ():
            variables.setdefault(v.name, []).append(v)
    for node in function.nodes("function_definition") if function.says(LOOP_MACRO) else ():
        if counter := _counter_of_macro(node, text):
            variables.setdefault(counter.name, []).append(counter)


def _counter_of_macro(node: Node, text: SourceText) -> Variable | None:
    """Return what ``CUDA_KERNEL_LOOP(i, n) { ... }`` counts, None for a function."""
    declarator = _declarator(node)
    parameters = declarator.child("parameter_list") if declarator is not None else None
    if declarator is None or parameters is None or not parameters.children:
        return None
    title = declarator.children[0]
    first = parameters.children[0]
    if LOOP_MACRO not in text.content[title.start : title.end] or len(first.children) != 1:
        return None
    return Variable(
        name=text[first.start : first.end], type="int", start=node.start, end=node.end, node=first,
        numbers_threads=True,
    )  # fmt: skip


def _scope(node: Node) -> Node:
    for above in node.ancestors():
        if above.kind in ("compound_statement", "for_statement", "if_statement", "while_statement"):
            return above
    return node


def _declared(
    node: Node, text: SourceText, names: Names, start: int, end: int
) -> Iterator[Variable]:
    """Yield what a declaration, a parameter or a range loop declares."""
    kind = next((c for c in node.children if c.kind in _TYPE_NODES), None)
    if kind is None:
        return
    base = _type(kind, text, names)
    written = text[kind.start : kind.end] if base == UNKNOWN else ""
    head = text[node.start : min(node.end, node.start + 400)].split("=", 1)[0]
    constant = "const" in head and _CONSTANT.search(head) is not None
    for child in node.children:
        if child.index <= kind.index or child.kind == "type_qualifier":
            continue
        if child.kind == "identifier" or child.kind in _DECLARATORS:
            variable = _variable(child, base, constant, head, text, start, end, written)
            if variable:
                yield variable
        if node.kind in ("for_range_loop", "parameter_declaration"):
            return


def _variable(
    declarator: Node,
    base: str,
    constant: bool,
    head: str,
    text: SourceText,
    start: int,
    end: int,
    written: str,
) -> Variable | None:
    """Return the variable that *declarator* declares, None for a function."""
    value = None
    shape, dimensions = "", []
    restrict = "__restrict" in head or "restrict" in head
    node = declarator
    if node.kind == "init_declarator":
        if len(node.children) > 1:
            value = node.children[-1]
        node = node.children[0]
    while node.kind in _DECLARATORS:
        if node.kind == "function_declarator":
            value = _sides_in_names(node) if base == "dim3" else None
            if value is None:
                return None
        if node.kind in ("pointer_declarator", "array_declarator"):
            shape += "*"
        if node.kind == "array_declarator":
            dimensions.extend(node.children[1:])
        inner = next(
            (c for c in node.children if c.kind == "identifier" or c.kind in _DECLARATORS), None
        )
        if inner is None:
            return None
        node = inner
    if base == "auto" and shape:
        base = UNKNOWN
    return Variable(
        name=text[node.start : node.end],
        type=base + shape,
        start=start,
        end=end,
        node=declarator,
        constant=constant and not (shape and "*const" not in head.replace(" ", "")),
        shared="__shared__" in head,
        restrict=restrict,
        written=written,
        value=value,
        dimensions=tuple(reversed(dimensions)),
    )


def _sides_in_names(declarator: Node) -> Node | None:
    """Return the list in ``dim3 block(WIDTH, HEIGHT)``, which reads as a function of two types."""
    names = declarator.child("parameter_list")
    if names is None or not names.children:
        return None
    plain = all(
        [child.kind for child in parameter.children] == ["type_identifier"]
        for parameter in names.children
    )
    return names if plain else None


def _type(node: Node, text: SourceText, names: Names) -> str:
    if node.kind == "placeholder_type_specifier":
        return "auto"
    return named_type(text[node.start : node.end], names)


def named_type(words: str, names: Names) -> str:
    """Return the type that *words* name, UNKNOWN where the file does not say."""
    words, stars = _bare_type(words)
    for _ in range(4):
        if words in _NAMED:
            return _NAMED[words] + "*" * stars
        if words in names.structs:
            return words + "*" * stars
        alias = names.aliases.get(words)
        if alias is None:
            break
        words = alias
        stars += words.count("*")
        words = words.replace("*", "").strip()
    return UNKNOWN


@functools.lru_cache(maxsize=4096)
def _bare_type(words: str) -> tuple[str, int]:
    """Return a type without qualifiers and namespace, and how many times it is pointed to."""
    plain = _QUALIFIERS.sub(" ", words.replace("*", " ").replace("&", " "))
    return _STD.sub("", _SPACES.sub(" ", plain).strip()), words.count("*")


def _typedef(node: Node, text: SourceText, names: Names) -> None:
    if len(node.children) == 2 and node.children[1].kind == "type_identifier":
        first = node.children[0]
        if first.kind in ("struct_specifier", "class_specifier"):
            _struct(first, text, names, text[node.children[1].start : node.children[1].end])
            return
        _name_alias(node.children[1], text[first.start : first.end], text, names)


def _alias(node: Node, text: SourceText, names: Names) -> None:
    if len(node.children) == 2:
        _name_alias(
            node.children[0], text[node.children[1].start : node.children[1].end], text, names
        )


def _name_alias(name: Node, words: str, text: SourceText, names: Names) -> None:
    key = text[name.start : name.end]
    words = _STD.sub("", _SPACES.sub(" ", _QUALIFIERS.sub(" ", words)).strip())
    if key != words:
        names.aliases[key] = words if names.aliases.get(key, words) == words else None


def _constant_of_class(
    member: Node, base: str, head: str, text: SourceText, names: Names, around: Node
) -> None:
    """Enter ``static constexpr int threads = 32;``, which the functions of its class see."""
    if _CONSTANT.search(head) is None or len(member.children) < len(("type", "name", "value")):
        return
    name, value = member.children[-2:]
    if name.kind == "field_identifier":
        words = text[name.start : name.end]
        names.variables.setdefault(words, []).append(
            Variable(
                name=words,
                type=base,
                start=around.start,
                end=around.end,
                node=name,
                constant=True,
                value=value,
            )
        )


def _struct(node: Node, text: SourceText, names: Names, name: str = "") -> None:
    members = node.child("field_declaration_list")
    if members is None:
        return
    title = node.child("type_identifier")
    name = name or (text[title.start : title.end] if title else "")
    fields: dict[str, str] = {}
    for member in members.children:
        if member.kind == "field_declaration":
            kind = next((c for c in member.children if c.kind in _TYPE_NODES), None)
            base = _type(kind, text, names) if kind else UNKNOWN
            for child in member.children:
                stars, inner = "", child
                while inner.kind in ("pointer_declarator", "array_declarator") and inner.children:
                    stars, inner = stars + "*", inner.children[0]
                if inner.kind == "field_identifier":
                    fields[text[inner.start : inner.end]] = base + stars
            if base in INTEGERS and "static" in (
                head := text[member.start : kind.end if kind else member.start]
            ):
                _constant_of_class(member, base, head, text, names, node)
    if name:
        names.structs[name] = fields
        names.struct_nodes[name] = node

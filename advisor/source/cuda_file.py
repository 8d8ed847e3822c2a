"""A CUDA source file as facts: functions, launches, types of expressions, constants."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import quoted_path
from gpuadvise.advisor.source.build import UNKNOWN_BUILD, Build
from gpuadvise.advisor.source.headers import NOTHING_DECLARED, Declarations
from gpuadvise.advisor.source.host_effects import NO_EFFECTS, HostEffects
from gpuadvise.advisor.source.preprocessor import Preprocessed, preprocessed
from gpuadvise.advisor.source.scopes import (
    INTEGERS,
    NARROW,
    UNKNOWN,
    ExecutionSpace,
    Names,
    SourceFunction,
    Variable,
    functions_of,
    named_type,
)
from gpuadvise.advisor.source.text import COMMENT
from gpuadvise.advisor.source.tree import LARGEST_PIECE, LOOPS, Node, Tree, parse, pieces_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpuadvise.advisor.source.text import SourceText

# Deeper expressions are generated; their type is unknown.
_DEEPEST = 40
# A name that is declared more often belongs to generated code; its type is unknown.
_MOST_NAMESAKES = 200
_INTEGER = re.compile(r"^([+-]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)([uUlLzZ]*)$")
_FLOATING = re.compile(r"^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?([fFlL]?)$")
_SPACES = bytes(10 if byte == 10 else 32 for byte in range(256))  # line breaks stay
_BUILTIN = frozenset(("threadIdx", "blockIdx", "blockDim", "gridDim"))
_TYPE_BYTES = {
    "bool": 1, "char": 1, "uchar": 1, "short": 2, "ushort": 2, "half": 2, "bf16": 2, "int": 4, "uint": 4,
    "float": 4, "llong": 8, "ullong": 8, "double": 8,
}  # fmt: skip
_CHANGES = ("assignment_expression", "update_expression")
_ARITHMETIC = frozenset("+-*/%")
# Those between two operands, by what stands there.
_OPERATORS = {
    sign.encode(): sign
    for group in ("+-*/%&|^<>=,", ("<<", ">>", "&&", "||", "==", "!=", "<=", ">="))
    for sign in group
}
_COMPARING = frozenset(("<", ">", "<=", ">=", "==", "!=", "&&", "||"))
_RANK = {
    name: rank
    for rank, name in enumerate(
        ("int", "uint", "llong", "ullong", "half", "bf16", "float", "double")
    )
}
# Functions that return the type of their arguments, as CUDA overloads them.
_OVERLOADED = frozenset(
    [
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "sinh",
        "cosh",
        "tanh",
        "exp",
        "exp2",
        "exp10",
        "expm1",
        "log",
        "log2",
        "log10",
        "log1p",
        "sqrt",
        "rsqrt",
        "cbrt",
        "rcbrt",
        "fabs",
        "floor",
        "ceil",
        "round",
        "trunc",
        "rint",
        "erf",
        "erfc",
        "sinpi",
        "cospi",
        "min",
        "max",
        "fmin",
        "fmax",
        "fmod",
        "pow",
        "atan2",
        "hypot",
        "abs",
    ]
)
_FLOAT_INTRINSIC = re.compile(
    r"^(?:__(?:sin|cos|tan|exp|exp10|log|log2|log10|pow|fdivide|frcp_r[nzud]|fsqrt_r[nzud]|frsqrt_rn"
    r"|fadd_r[nzud]|fmul_r[nzud]|fmaf_r[nzud]|fdiv_r[nzud]|saturate|int2float_r[nzud]"
    r"|uint2float_r[nzud]|half2float|bfloat162float)f?)$"
)
_FLOAT_MATH = frozenset(
    [
        "sinf",
        "cosf",
        "tanf",
        "asinf",
        "acosf",
        "atanf",
        "sinhf",
        "coshf",
        "tanhf",
        "expf",
        "exp2f",
        "exp10f",
        "expm1f",
        "logf",
        "log2f",
        "log10f",
        "log1pf",
        "sqrtf",
        "rsqrtf",
        "cbrtf",
        "rcbrtf",
        "fabsf",
        "floorf",
        "ceilf",
        "roundf",
        "truncf",
        "rintf",
        "erff",
        "erfcf",
        "sinpif",
        "cospif",
        "fminf",
        "fmaxf",
        "fmodf",
        "powf",
        "atan2f",
        "hypotf",
        "fmaf",
        "fdividef",
        "copysignf",
        "ldexpf",
        "tgammaf",
        "lgammaf",
        "curand_uniform",
        "curand_normal",
        "curand_log_normal",
    ]
)
# What PyTorch hands to kernels: the type of the elements, and the number of dimensions.
_TENSOR = re.compile(r"TensorAccessor(?:32|64)?\s*<\s*([\w:]+)\s*,\s*(\d)\b")
# Macros of <math.h>, all of them double.
MATH_CONSTANTS = frozenset(
    ("M_E", "M_LOG2E", "M_LOG10E", "M_LN2", "M_LN10", "M_PI", "M_PI_2", "M_PI_4", "M_1_PI", "M_2_PI", "M_2_SQRTPI", "M_SQRT2",
     "M_SQRT1_2")
)  # fmt: skip
# Constants of CUDA's math_constants.h, and of <float.h>.
_OF_HEADERS = re.compile(
    r"CUDART_(?:\w+(_F)|\w+)$|(FLT_)(?:MAX|MIN|EPSILON)$|DBL_(?:MAX|MIN|EPSILON)$"
)
_CASTS = frozenset(("static_cast", "reinterpret_cast", "const_cast"))


@dataclass(slots=True, eq=False)
class CudaFile:
    """One parsed file. All questions about an expression are asked here."""

    text: SourceText
    preprocessed: Preprocessed
    tree: Tree
    names: Names
    functions: list[SourceFunction]
    build: Build = UNKNOWN_BUILD
    as_float: frozenset[str] = frozenset()  # types that are not known, and taken for float
    of_torch: bool = False  # part of an extension of PyTorch, as other files say
    effects: HostEffects = NO_EFFECTS  # of host functions of other files
    _bounds: dict[str, int | None] | None = None
    _callers: dict[str, list[tuple[SourceFunction, Node]]] = field(default_factory=dict)
    _loops: dict[str, bool] = field(default_factory=dict)
    _empty: dict[str, bool] = field(default_factory=dict)
    _aliases: dict[frozenset[str], tuple[bytes, ...]] = field(default_factory=dict)
    _said: dict[bytes, bool] = field(default_factory=dict)
    _operators: dict[int, str] = field(default_factory=dict)  # by the number of the node
    _by_name: dict[str, list[SourceFunction]] | None = None
    _by_last_name: dict[str, list[SourceFunction]] | None = None
    _code: bytes | None = None
    _double_names: frozenset[bytes] | None = None
    _ascii: str | None = None  # the text, where each of its bytes is a character

    def __post_init__(self) -> None:
        if self.text.content.isascii():
            self._ascii = self.text.content.decode("ascii")

    @property
    def launch_bounds(self) -> dict[str, int | None]:
        """The threads that kernels declare; None where two of one name differ."""
        if self._bounds is None:
            self._bounds = {}
            for function in self.functions:
                if function.launch_bounds is not None and function.launch_bounds.children:
                    value = self.constant(function.launch_bounds.children[0], function)
                    known = self._bounds.get(function.name, value)
                    self._bounds[function.name] = value if known == value else None
        return self._bounds

    def says(self, words: bytes) -> bool:
        """Whether *words* stand anywhere in the file."""
        known = self._said.get(words)
        if known is None:
            known = self._said[words] = words in self.text.content
        return known

    @property
    def double_names(self) -> frozenset[bytes]:
        """The macros that stand for a double literal: those of <math.h>, and of this file."""
        if self._double_names is None:
            macros = self.preprocessed.macros
            own = {
                name
                for name, body in macros.items()
                if body and literal_type(body.strip(" ()")) == "double"
            }
            of_header = MATH_CONSTANTS.difference(macros)
            self._double_names = frozenset(name.encode() for name in own | of_header)
        return self._double_names

    @property
    def code(self) -> bytes:
        """The text of the file with spaces in the place of comments; offsets stay."""
        if self._code is None:
            text = self.text.content
            self._code = COMMENT.sub(lambda match: match[0].translate(_SPACES), text)
        return self._code

    def matches(self, pattern: re.Pattern[bytes]) -> bool:
        """Whether *pattern* stands anywhere in the file, be it in a comment."""
        known = self._said.get(pattern.pattern)
        if known is None:
            known = self._said[pattern.pattern] = pattern.search(self.text.content) is not None
        return known

    def called(self, name: str) -> list[SourceFunction]:
        """Return the functions of this file that are called *name*."""
        if self._by_name is None:
            self._by_name = {}
            for function in self.functions:
                self._by_name.setdefault(function.name, []).append(function)
        return self._by_name.get(name, [])

    def named(self, name: str) -> list[SourceFunction]:
        """Return the functions of this file called *name*, members of whatever class or namespace among them."""
        if self._by_last_name is None:
            self._by_last_name = {}
            for function in self.functions:
                last = function.name.rpartition("::")[2]
                self._by_last_name.setdefault(last, []).append(function)
        return self._by_last_name.get(name, [])

    def close(self, functions: Iterable[SourceFunction]) -> None:
        """Let go what is known of the bodies of *functions*."""
        self._callers.clear()
        self._operators.clear()
        for function in functions:
            function.close()

    def callers(self, name: str) -> list[tuple[SourceFunction, Node]]:
        """Return the calls of *name* in this file, each with the function around it."""
        known = self._callers.get(name)
        if known is None:
            words = name.encode()
            known = self._callers[name] = [
                (function, call)
                for function in self.functions
                if function.says(words)
                for call in function.nodes("call_expression")
                if self.callee(call) == name
            ]
        return known

    def is_empty_kernel(self, name: str) -> bool:
        """Whether *name* is a kernel of this file that does nothing."""
        known = self._empty.get(name)
        if known is None:
            known = self._empty[name] = any(
                function.place is ExecutionSpace.KERNEL
                and not function.nodes("call_expression", *_CHANGES)
                for function in self.called(name)
            )
        return known

    def loops(self, name: str) -> bool:
        """Whether *name* is a function of this file that holds a loop."""
        known = self._loops.get(name)
        if known is None:
            known = self._loops[name] = any(f.nodes(*LOOPS) for f in self.called(name))
        return known

    def aliases_of(self, kinds: frozenset[str]) -> tuple[bytes, ...]:
        """Return the names that this file gives to types of *kinds*."""
        known = self._aliases.get(kinds)
        if known is None:
            names = self.names.aliases
            known = self._aliases[kinds] = tuple(
                name.encode() for name in names if named_type(name, self.names) in kinds
            )
        return known

    def at(self, node: Node) -> str:
        """Return the characters of *node*."""
        if self._ascii is not None:
            return self._ascii[node.start : node.end]
        return self.text.content[node.start : node.end].decode("utf-8", "replace")

    def operator(self, node: Node) -> str:
        """Return the operator of a binary, assignment, unary or update expression."""
        known = self._operators.get(node.index)
        if known is None:
            known = self._operators[node.index] = self._operator(node)
        return known

    def _operator(self, node: Node) -> str:
        if len(node.children) == 2:
            first, second = node.children
            between = self.preprocessed.text[first.end : second.start].strip()
            plain = _OPERATORS.get(between)
            if plain is not None:
                return plain
            words = between.decode("utf-8", "replace")
            if "/*" in words or "//" in words:
                words = re.sub(r"/\*.*?\*/|//[^\n]*", "", words, flags=re.DOTALL)
            return words.strip()
        if len(node.children) == 1:
            inner = node.children[0]
            before = self.preprocessed.text[node.start : inner.start].decode("utf-8", "replace")
            after = self.preprocessed.text[inner.end : node.end].decode("utf-8", "replace")
            return (before + after).strip()
        return ""

    def variable(self, name: str, at: Node, function: SourceFunction | None) -> Variable | None:
        """Return the innermost variable called *name* that is visible at *at*."""
        known, start = None, at.start
        if function is not None:
            inside = start >= function.body.start
            known = (function.variables if inside else function.declared).get(name)
        if not known:
            known = self.names.variables.get(name)
        if not known or len(known) > _MOST_NAMESAKES:
            return None
        if len(known) == 1:
            (variable,) = known
            return variable if variable.start <= start < variable.end else None
        innermost, least = None, sys.maxsize
        for variable in known:
            if variable.start <= start < variable.end:
                extent = variable.end - variable.start
                if extent < least:
                    innermost, least = variable, extent
        return innermost

    def callee(self, call: Node) -> str:
        """Return the name that *call* calls, without namespace and template arguments."""
        if not call.children:
            return ""
        return self._plain(call.children[0])

    def _plain(self, name: Node) -> str:
        for _ in range(6):
            if name.kind == "template_function":
                name = name.children[0]
            elif name.kind in ("qualified_identifier", "field_expression") and name.children:
                name = name.children[-1]
            else:
                break
        return self.at(name)

    def arguments(self, call: Node) -> list[Node]:
        """Return the arguments of *call*."""
        last = call.children[-1] if call.children else None
        return last.children if last is not None and last.kind == "argument_list" else []

    def constant(self, node: Node, function: SourceFunction | None, depth: int = 0) -> int | None:
        """Return the integer that *node* is known to be, None where it is not."""
        value = self.number(node, function, depth)
        return int(value) if value is not None and value.denominator == 1 else None

    def number(
        self, node: Node, function: SourceFunction | None, depth: int = 0
    ) -> Fraction | None:
        """Return the exact value of a constant expression of integers, None for others."""
        if depth > _DEEPEST:
            return None
        if node.kind == "number_literal":
            match = _INTEGER.match(self.at(node).replace("'", ""))
            if not match:
                return None
            digits = match[2]
            octal = len(digits) > 1 and digits[0] == "0" and digits.isdigit()
            try:
                value = int(digits, 8 if octal else 0)
            except ValueError:
                return None
            return Fraction(-value if match[1] == "-" else value)
        if node.kind == "sizeof_expression":
            size = _TYPE_BYTES.get(self._sized_type(node))
            return None if size is None else Fraction(size)
        # A template argument that is a name is read as a type, whatever it names, and so are the
        # sides of a dim3 that are names.
        if node.kind in ("identifier", "type_descriptor", "type_identifier"):
            return self._named_number(node, function, depth)
        if node.kind in ("parenthesized_expression", "initializer_list", "argument_list"):
            return (
                self.number(node.children[0], function, depth + 1)
                if len(node.children) == 1
                else None
            )
        if node.kind == "cast_expression" and len(node.children) == 2:
            kind = named_type(self.at(node.children[0]), self.names)
            return self.number(node.children[1], function, depth + 1) if kind in INTEGERS else None
        if node.kind == "unary_expression" and len(node.children) == 1:
            inner = self.number(node.children[0], function, depth + 1)
            return {"-": -inner, "+": inner}.get(self.operator(node)) if inner is not None else None
        if node.kind == "binary_expression" and len(node.children) == 2:
            left = self.number(node.children[0], function, depth + 1)
            right = self.number(node.children[1], function, depth + 1)
            return (
                None if left is None or right is None else _folded(self.operator(node), left, right)
            )
        return None

    def _sized_type(self, node: Node) -> str:
        """Return the type in ``sizeof(float)``; that of an expression is not looked for."""
        words = self.at(node).removeprefix("sizeof").strip()
        return named_type(words.removeprefix("(").removesuffix(")"), self.names)

    def _named_number(
        self, node: Node, function: SourceFunction | None, depth: int
    ) -> Fraction | None:
        name = self.at(node)
        if name == "warpSize":
            return Fraction(32)
        variable = self.variable(name, node, function)
        if variable is not None:
            if not (variable.constant and variable.value is not None) or variable.parameter:
                return None
            if variable.type not in INTEGERS and variable.type != "auto":
                return None
            if variable.value.holds(node):
                return None
            return self.number(variable.value, function, depth + 4)
        enumerator = self.names.enumerators.get(name)
        if enumerator is not None and len(enumerator.children) == 2:
            return self.number(enumerator.children[1], None, depth + 4)
        return self._macro_number(name, depth)

    def _macro_number(self, name: str, depth: int) -> Fraction | None:
        body = self.preprocessed.macros.get(name)
        for _ in range(8):
            if body is None:
                return None
            body = body.strip()
            while body.startswith("(") and body.endswith(")"):
                body = body[1:-1].strip()
            if match := _INTEGER.match(body):
                try:
                    return Fraction(int(match[1] + match[2], 0))
                except ValueError:
                    return None
            if parts := re.fullmatch(r"(\d+)\s*(\*|<<|\+|/|-)\s*(\d+)", body):
                return _folded(parts[2], Fraction(int(parts[1])), Fraction(int(parts[3])))
            body = self.preprocessed.macros.get(body)
        return None

    def is_constant(self, node: Node, function: SourceFunction | None, depth: int = 0) -> bool:
        """Whether the compiler knows the value of *node*, though this tool may not."""
        if depth > _DEEPEST:
            return False
        kind = node.kind
        if kind in ("number_literal", "sizeof_expression", "true", "false", "char_literal"):
            return True
        if kind == "identifier":
            name = self.at(node)
            variable = self.variable(name, node, function)
            if variable is None:
                # Macros, enumerators and constants of headers are written in capitals.
                return (
                    name in self.preprocessed.macros
                    or name in self.names.enumerators
                    or name == "warpSize"
                    or (name.upper() == name and len(name) > 1)
                    or (name[:1] == "k" and name[1:2].isupper())
                )
            if not variable.constant or variable.parameter:
                return False
            if variable.value is None or self._is_constexpr(variable):
                return True
            return self.is_constant(variable.value, function, depth + 4)
        if kind in ("qualified_identifier", "template_function"):
            return True
        if kind == "field_expression":
            return False
        if kind == "call_expression":
            name = self.callee(node)
            return (
                node.children[0].kind in ("qualified_identifier", "template_function")
                and not (name.startswith("__"))
                and name not in ("min", "max")
            ) or name.upper() == name
        if kind in ("type_descriptor", "primitive_type", "sized_type_specifier", "type_identifier"):
            return True
        return bool(node.children) and all(
            self.is_constant(c, function, depth + 1) for c in node.children
        )

    def _is_constexpr(self, variable: Variable) -> bool:
        """Whether the compiler must know the value of *variable*, however it is computed."""
        declaration = variable.node.parent
        if declaration is None:
            return False
        return b"constexpr" in self.text.content[declaration.start : variable.node.start]

    def type_of(self, node: Node, function: SourceFunction | None, depth: int = 0) -> str:
        """Return the type of an expression, UNKNOWN where the file does not say."""
        if depth > _DEEPEST:
            return UNKNOWN
        self.tree.count_work(2)
        handler = _TYPES.get(node.kind)
        return handler(self, node, function, depth + 1) if handler else UNKNOWN

    def _type_of_literal(self, node: Node, _function: SourceFunction | None, _depth: int) -> str:
        return literal_type(self.at(node))

    def _type_of_name(self, node: Node, function: SourceFunction | None, depth: int) -> str:
        name = self.at(node)
        if name == "warpSize":
            return "int"
        variable = self.variable(name, node, function)
        if variable is None:
            body = self.preprocessed.macros.get(name)
            if body is None and (known := _OF_HEADERS.match(name)):
                return "float" if known[1] or known[2] else "double"
            while body and body.startswith("(") and body.endswith(")"):
                body = body[1:-1].strip()
            if body is None and name in MATH_CONSTANTS and name not in self.preprocessed.macros:
                return "double"
            return literal_type(body) if body else UNKNOWN
        if variable.type == "auto":
            value = variable.value
            if value is None or value.holds(node) or value.start > node.start:
                return UNKNOWN
            return self.type_of(value, function, depth + 4)
        if variable.type == "type":
            return UNKNOWN
        if variable.written and variable.written in self.as_float:
            return variable.type.replace(UNKNOWN, "float")
        base = variable.type.rstrip("*")
        shadow = function.variables.get(base) if function else None
        return UNKNOWN if shadow and shadow[0].type == "type" else variable.type

    def _type_of_binary(self, node: Node, function: SourceFunction | None, depth: int) -> str:
        if len(node.children) != 2:
            return UNKNOWN
        operator = self.operator(node)
        if operator in _COMPARING:
            return "bool"
        left = self.type_of(node.children[0], function, depth)
        if operator in ("<<", ">>"):
            return _promoted(left)
        right = self.type_of(node.children[1], function, depth)
        if left.endswith("*") and right in INTEGERS:
            return left
        return common_type(left, right)

    def _type_of_inner(self, node: Node, function: SourceFunction | None, depth: int) -> str:
        return self.type_of(node.children[0], function, depth) if node.children else UNKNOWN

    def _type_of_unary(self, node: Node, function: SourceFunction | None, depth: int) -> str:
        operator = self.operator(node)
        inner = self._type_of_inner(node, function, depth)
        return "bool" if operator == "!" else _promoted(inner) if operator in "-+~" else UNKNOWN

    def _type_of_pointer(self, node: Node, function: SourceFunction | None, depth: int) -> str:
        inner = self._type_of_inner(node, function, depth)
        if self.operator(node) == "&":
            return inner + "*" if inner != UNKNOWN else UNKNOWN
        return inner[:-1] if inner.endswith("*") else UNKNOWN

    def _type_of_subscript(self, node: Node, function: SourceFunction | None, depth: int) -> str:
        inner = self._type_of_inner(node, function, depth)
        if inner == UNKNOWN and self.says(b"TensorAccessor"):
            return self._type_in_tensor(node, function)
        return inner[:-1] if inner.endswith("*") else UNKNOWN

    def _type_in_tensor(self, element: Node, function: SourceFunction | None) -> str:
        """Return the type of an element of a tensor of PyTorch, with an index for each dimension."""
        indices, base = 0, element
        while base.kind == "subscript_expression" and len(base.children) == 2:
            indices, base = indices + len(base.children[1].children), base.children[0]
        tensor = self.variable(self.at(base), base, function) if base.kind == "identifier" else None
        named = _TENSOR.search(tensor.written) if tensor is not None else None
        if named is None or int(named[2]) != indices:
            return UNKNOWN
        if named[1] in self.as_float:
            return "float"
        return named_type(named[1], self.names)

    def _type_of_cast(self, node: Node, function: SourceFunction | None, _depth: int) -> str:
        return self.written_type(node.children[0], function) if node.children else UNKNOWN

    def written_type(self, node: Node, function: SourceFunction | None) -> str:
        """Return the type that a type descriptor names."""
        words = self.at(node)
        base = words.replace("*", "").replace("const", "").strip()
        if base in self.as_float:
            return "float" + "*" * words.count("*")
        shadow = function.variables.get(base) if function else None
        return UNKNOWN if shadow and shadow[0].type == "type" else named_type(words, self.names)

    def _type_of_conditional(self, node: Node, function: SourceFunction | None, depth: int) -> str:
        if len(node.children) != 3:
            return UNKNOWN
        first, second = (self.type_of(c, function, depth) for c in node.children[1:])
        return first if first == second else common_type(first, second)

    def _type_of_field(self, node: Node, function: SourceFunction | None, depth: int) -> str:
        if len(node.children) != 2:
            return UNKNOWN
        base, member = node.children
        if base.kind == "identifier" and self.at(base) in _BUILTIN:
            return "uint"
        owner = self.type_of(base, function, depth).rstrip("*")
        name = self.at(member)
        if "." in owner and name in "xyzw":
            return owner.split(".")[0]
        return self.names.structs.get(owner, {}).get(name, UNKNOWN)

    def _type_of_call(self, node: Node, function: SourceFunction | None, depth: int) -> str:
        name = self.callee(node)
        first = node.children[0]
        if first.kind == "template_function" and name in _CASTS:
            return (
                self.written_type(first.children[-1].children[0], function)
                if first.children[-1].children
                else UNKNOWN
            )
        if first.kind == "primitive_type":
            return named_type(self.at(first), self.names)
        if first.kind == "field_expression":
            return UNKNOWN
        if name in _FLOAT_MATH or _FLOAT_INTRINSIC.match(name):
            return "float"
        arguments = self.arguments(node)
        if name in ("__ldg", "__ldcg", "__ldcs") and len(arguments) == 1:
            inner = self.type_of(arguments[0], function, depth)
            return inner[:-1] if inner.endswith("*") else UNKNOWN
        if name in self.names.returns:
            declared = self.names.returns[name]
            return UNKNOWN if declared in ("auto", "void") else declared
        if name in _OVERLOADED:
            types = [self.type_of(a, function, depth) for a in arguments]
            if any(t == UNKNOWN for t in types) or not types:
                return UNKNOWN
            joined = types[0]
            for kind in types[1:]:
                joined = common_type(joined, kind)
            return "double" if joined in INTEGERS and name not in ("min", "max", "abs") else joined
        if name in self.as_float:
            return "float"
        declared = named_type(name, self.names)
        return (
            declared if declared in INTEGERS or declared in ("float", "double", "half") else UNKNOWN
        )


_TYPES = {
    "number_literal": CudaFile._type_of_literal,
    "identifier": CudaFile._type_of_name,
    "binary_expression": CudaFile._type_of_binary,
    "parenthesized_expression": CudaFile._type_of_inner,
    "assignment_expression": CudaFile._type_of_inner,
    "update_expression": CudaFile._type_of_inner,
    "unary_expression": CudaFile._type_of_unary,
    "pointer_expression": CudaFile._type_of_pointer,
    "subscript_expression": CudaFile._type_of_subscript,
    "cast_expression": CudaFile._type_of_cast,
    "conditional_expression": CudaFile._type_of_conditional,
    "field_expression": CudaFile._type_of_field,
    "call_expression": CudaFile._type_of_call,
    "sizeof_expression": lambda *_: "ullong",
    "true": lambda *_: "bool",
    "false": lambda *_: "bool",
}


def literal_type(words: str) -> str:
    """Return the type of a number as it is written."""
    words = words.replace("'", "")
    if match := _INTEGER.match(words):
        suffix = match[3].lower()
        wide = "l" in suffix or "z" in suffix
        unsigned = "u" in suffix
        return ("ullong" if unsigned else "llong") if wide else "uint" if unsigned else "int"
    if match := _FLOATING.match(words):
        return {"f": "float", "": "double"}.get(match[1].lower(), UNKNOWN)
    return UNKNOWN


def common_type(left: str, right: str) -> str:
    """Return the type that arithmetic on *left* and *right* has."""
    left, right = _promoted(left), _promoted(right)
    if left not in _RANK or right not in _RANK:
        return UNKNOWN
    if left != right and ({"half", "bf16"} & {left, right}):
        return UNKNOWN
    return left if _RANK[left] >= _RANK[right] else right


def _promoted(kind: str) -> str:
    return "int" if kind in NARROW or kind == "bool" else kind


def _folded(operator: str, left: Fraction, right: Fraction) -> Fraction | None:
    a, b = int(left), int(right)
    if operator == "+":
        return Fraction(a + b)
    if operator == "-":
        return Fraction(a - b)
    if operator == "*":
        return Fraction(a * b) if a.bit_length() + b.bit_length() < 128 else None
    if operator == "/" and b:
        return Fraction(abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1))
    if operator == "%" and b:
        return Fraction(a - b * int(a / b)) if abs(a) < 1 << 52 else None
    if operator == "<<" and 0 <= b < 64 and a.bit_length() < 64:
        return Fraction(a << b)
    if operator == ">>" and 0 <= b < 64:
        return Fraction(a >> b)
    return None


def _take_from_headers(names: Names, plain: Preprocessed, declared: Declarations) -> None:
    """Enter what headers *declared*; what the file says itself comes after it."""
    for name, body in declared.macros.items():
        plain.macros.setdefault(name, body)
    names.aliases.update(declared.aliases)
    names.structs.update((name, {}) for name in declared.records)  # which others may hold
    for name, fields in declared.records.items():
        names.structs[name] = {one: named_type(words, names) for one, words in fields.items()}
    for name, words in declared.results.items():
        names.returns[name] = named_type(words, names)


def read_cuda(
    text: SourceText,
    build: Build = UNKNOWN_BUILD,
    declared: Declarations = NOTHING_DECLARED,
) -> CudaFile:
    """Return the facts of a CUDA source file; syntax that is not understood is left out.

    What its headers *declared* holds where the file does not say it itself.

    Macros that the *build* defines stand for their values where the file does not define them. Raises BadInput when a single declaration is larger than the parser is given, and TooCostly.
    """
    plain = preprocessed(text.content, text.file)
    pieces = (plain.text[start:end] for start, end in pieces_of(plain.text))
    longest = max(len(piece) - piece.count(b" ") for piece in pieces)
    if longest > LARGEST_PIECE:
        raise BadInput(
            f"{quoted_path(text.file)} holds one declaration of {longest:,} bytes; lint reads up to {LARGEST_PIECE:,}.",
            hint="Leave generated files out.",
        )
    tree = parse(plain.text, text.file)
    for name, value in build.definitions.items():
        plain.macros.setdefault(name, value)
    names = Names()
    _take_from_headers(names, plain, declared)
    for name, body in plain.macros.items():
        if body and re.fullmatch(r"[A-Za-z_][\w ]*\**", body):
            names.aliases[name] = body
    functions = functions_of(tree, text, names)
    return CudaFile(
        text=text, preprocessed=plain, tree=tree, names=names, functions=functions, build=build
    )


__all__ = [
    "INTEGERS",
    "MATH_CONSTANTS",
    "UNKNOWN",
    "CudaFile",
    "common_type",
    "literal_type",
    "read_cuda",
]

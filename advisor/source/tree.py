"""The syntax tree of a CUDA file, light enough to walk millions of nodes a second.

The parser is tree-sitter with its CUDA grammar. It goes on after syntax that it does not know;
such stretches are reported. Nothing here recurses: a file may nest brackets as deep as it likes.

Of functions the heads are copied; a body is opened when somebody asks for what stands in it.
Large files are parsed in pieces of whole declarations, so that the parser's own tree, which takes
40 to 80 times the size of what it parses, exists for one piece at a time. Text that keeps the parser
busy far longer than code does is refused: the parser follows several readings of it at once.
"""

from __future__ import annotations

import functools
import re
import sys
import time
from bisect import bisect_left, bisect_right, insort
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.errors import Unavailable
from gpuadvise.advisor.source.text import most_seconds, too_costly

if TYPE_CHECKING:
    from collections.abc import Iterator

LOOPS = ("for_statement", "while_statement", "do_statement", "for_range_loop")
# Children whose role in their parent cannot be told from their order.
_WITH_FIELDS = frozenset(("for_statement", "if_statement", "while_statement", "do_statement"))
_LEAVES = frozenset(
    (
        "string_literal",
        "char_literal",
        "raw_string_literal",
        "concatenated_string",
        "identifier",
        "number_literal",
        "type_identifier",
        "field_identifier",
        "primitive_type",
        "true",
        "false",
        "namespace_identifier",
        "type_qualifier",
        "storage_class_specifier",
        "placeholder_type_specifier",
    )
)
# Types are read as text: what stands in them is looked at only where syntax is unknown.
_TYPES = frozenset(("template_type", "type_descriptor", "sized_type_specifier"))
# The kinds that `Tree.inside` finds.
_FILED = (
    *LOOPS,
    "alias_declaration",
    "assignment_expression",
    "binary_expression",
    "call_expression",
    "class_specifier",
    "declaration",
    "enumerator",
    "function_definition",
    "identifier",
    "if_statement",
    "init_declarator",
    "kernel_call_syntax",
    "lambda_expression",
    "new_expression",
    "number_literal",
    "pointer_expression",
    "return_statement",
    "struct_specifier",
    "subscript_argument_list",
    "subscript_expression",
    "type_definition",
    "update_expression",
)
_PLACE = {kind: place for place, kind in enumerate(_FILED)}
# A file without launches whose host functions name none of these holds nothing to say of them:
# no code of the device, no call of the runtime. Macros for the device are those of `scopes`.
_LAUNCH = b"<<<"
_MARKS = re.compile(
    rb"cuda|LaunchKernel|device_vector|__global__|__device__|DEVICE|HOSTDEV|GPU_FUNC"
)
# Code that nests deeper is generated; what stands so deep is not asked about its surroundings.
_DEEPEST = 200
# Most nodes of an expression or a body that a question looks at.
_MOST = 20_000
_ERROR = 0xFFFF  # the number that the parser gives to a stretch of unknown syntax
# Longer text is cut between declarations, into pieces of at least so many bytes.
PIECE = 2 << 20
# A declaration that is larger is refused: the parser would take more than a gigabyte.
LARGEST_PIECE = 16 << 20
# The parser tells of its progress every 100 operations. Of 1,500 headers of the CUDA toolkit the densest takes 21
# reports for each 1,000 bytes, code without a space up to 100; text that it reads in ever more ways has no such rate.
MOST_REPORTS = 1000
MOST_REPORTS_PER_KILOBYTE = 200
# It takes 0.4 us and 80 bytes of memory for a byte of code. Counts of operations hold on every machine; where single
# ones are slow or large, these do.
MOST_SECONDS = 1.5
MOST_SECONDS_PER_BYTE = 5e-6
MOST_MEMORY = 160 << 20
MOST_MEMORY_PER_BYTE = 80
_SELDOM = 16  # reports of which one is looked at: asking for the time and the memory takes a while
_READ = 1 << 16  # bytes that the parser is given at a time
# Nodes that questions about a file may look at: no header of the CUDA toolkit asks for one for each byte.
MOST_WORK = 500_000
MOST_WORK_PER_BYTE = 10
_LOOKED_AT = 20_000  # nodes between two looks at the clock
# Nodes of bodies that are held at once, some 250 bytes each.
_MOST_HELD = 200_000
_BRACKETS = re.compile(
    rb"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)'|[{}()]|;", re.DOTALL
)
# What begins a declaration after a bracket that ended another.
_DECLARES = re.compile(
    rb"\s*(?:__global__|__device__|__host__|__constant__|template|static|extern|inline|namespace|void"
    rb"|int|float|double|struct|class|typedef|using|const|constexpr)\b"
)
# Kinds that are left out, or not, by what they hold: see _Outside.
_LEFT_OUT = frozenset(("compound_statement", "initializer_list"))
# Longer lists of values outside functions are tables: nobody asks for one of them.
_LONGEST_LIST = 1000


class Node:
    """A named node: its *kind*, the bytes it covers, its place among all nodes of the file.

    Nodes are numbered parents before children: those below this one have the numbers from
    *index* + 1 to *last*. *field* is the role in a loop or a condition.
    """

    __slots__ = ("children", "end", "field", "index", "kind", "last", "parent", "start")

    field: str | None

    def __init__(
        self,
        kind: str,
        start: int,
        end: int,
        parent: Node | None,
        index: int,
        children: list[Node],
    ) -> None:
        self.kind = kind
        self.start = start
        self.end = end
        self.parent = parent
        self.index = self.last = index
        self.children = children
        self.field = None

    def ancestors(self) -> Iterator[Node]:
        """Yield the nodes around this one, from the inside out, as far as people nest code."""
        node = self.parent
        for _ in range(_DEEPEST):
            if node is None:
                return
            yield node
            node = node.parent

    def child(self, *kinds: str) -> Node | None:
        """Return the first child of one of *kinds*."""
        for child in self.children:
            if child.kind in kinds:
                return child
        return None

    def part(self, field: str) -> Node | None:
        """Return the child in the role *field*."""
        for child in self.children:
            if child.field == field:
                return child
        return None

    def holds(self, other: Node) -> bool:
        """Whether *other* is this node or below it."""
        return self.index <= other.index <= self.last


def bare(node: Node) -> Node:
    """Return *node* without brackets around it."""
    while node.kind == "parenthesized_expression" and len(node.children) == 1:
        node = node.children[0]
    return node


class _Nodes:
    """Nodes that were copied together: *every* one in order, and those of some kinds."""

    __slots__ = ("_by_kind", "_places", "every")

    def __init__(self) -> None:
        self.every: list[Node] = []
        self._by_kind: list[list[Node]] = [[] for _ in _FILED]
        self._places: dict[str, list[int]] = {}

    def of(self, kind: str) -> list[Node]:
        """Return the nodes of *kind*, in order."""
        return self._by_kind[_PLACE[kind]]

    def inside(self, node: Node, kind: str) -> list[Node]:
        """Return the nodes of *kind* that are *node* or below it, in order."""
        nodes = self.of(kind)
        if not nodes:
            return []
        places = self._places.get(kind)
        if places is None:
            places = self._places[kind] = [filed.index for filed in nodes]
        first = bisect_left(places, node.index)
        return nodes[first : bisect_right(places, node.last, first)]

    def release(self) -> None:
        """Cut the links upwards, so that the nodes go as soon as nobody holds them."""
        for node in self.every:
            node.parent = None

    def copy(self, raw: Any, base: int, top: Node, index: int, outside: _Outside | None) -> int:
        """Copy what is below *raw* under *top*, without brackets, keywords and comments.

        The nodes are numbered from *index* on; the next free number is returned. *base* is the
        place of the piece in the file. *outside* decides what is left out where the file is read
        from the outside; a body is copied whole.
        """
        cursor = raw.walk()
        down, right, up = cursor.goto_first_child, cursor.goto_next_sibling, cursor.goto_parent
        append, known, by_kind = self.every.append, _parser()[1].get, self._by_kind
        blank = Node.__new__  # filled here: a call of __init__ would take a quarter of the time
        none: list[Node] = []  # the children of every leaf; nothing is added to it
        damaged = raw.has_error
        parent: Node = top
        parent_has_fields = top.kind in _WITH_FIELDS
        siblings = top.children
        if not down():
            return index
        while True:
            raw = cursor.node
            entry = known(raw.kind_id)
            if entry is not None:
                kind, place, leaf, special = entry
                if special:
                    # A type has nothing to say unless its syntax is unknown.
                    leaf = kind in _TYPES and not (damaged and raw.has_error)
                node = blank(Node)
                node.kind = kind
                node.start = raw.start_byte + base
                node.end = raw.end_byte + base
                node.parent = parent
                node.index = node.last = index
                node.children = children = none if leaf else []
                node.field = cursor.field_name if parent_has_fields else None
                index += 1
                append(node)
                siblings.append(node)
                if place >= 0:
                    by_kind[place].append(node)
                if damaged and outside is not None and (kind == "ERROR" or raw.is_missing):
                    outside.unparsed.append((node.start, node.end))
                if not leaf:
                    if special and outside is not None and outside.leaves_out(node, raw):
                        index += raw.descendant_count - 1
                        node.last = index - 1
                    elif down():
                        parent, parent_has_fields = node, kind in _WITH_FIELDS
                        siblings = children
                        continue
            while not right():
                if not up() or parent is top:
                    return index
                parent.last = index - 1
                parent = parent.parent  # type: ignore[assignment]  # never that of *top*
                parent_has_fields = parent.kind in _WITH_FIELDS
                siblings = parent.children


class _Outside:
    """What is left out where a file is read from the outside: bodies of functions, long lists.

    *foreign* is the text where a body without marks has nothing to say, None where it may have.
    *closed* takes the bodies that may be opened, *unparsed* all unknown syntax, also of bodies.
    """

    def __init__(self, foreign: bytes | None, closed: set[int]) -> None:
        self._foreign = foreign
        self._closed = closed
        self.base = 0
        self.unparsed: list[tuple[int, int]] = []

    def leaves_out(self, node: Node, raw: Any) -> bool:
        """Whether nothing below *node* is copied now."""
        if node.kind == "initializer_list":
            return raw.descendant_count > _LONGEST_LIST and not raw.has_error
        around = node.parent
        if node.kind != "compound_statement" or around is None:
            return False
        if around.kind != "function_definition":
            return False
        if raw.has_error:
            self.unparsed.extend(_unknown(raw, self.base))
        if self._foreign is None or _MARKS.search(self._foreign, around.start, node.end):
            self._closed.add(node.index)
        return True


def _unknown(top: Any, base: int) -> Iterator[tuple[int, int]]:
    """Yield the stretches of unknown syntax below *top*, in order."""
    known = _parser()[1]
    stack = [child for child in reversed(top.children) if child.has_error]
    while stack:
        raw = stack.pop()
        entry = known.get(raw.kind_id)
        if entry is None:
            continue
        if raw.kind_id == _ERROR or raw.is_missing:
            yield raw.start_byte + base, raw.end_byte + base
        if not entry[2]:
            stack.extend(child for child in reversed(raw.children) if child.has_error)


class Tree:
    """The nodes of a file; *unparsed* are the bytes of unknown syntax."""

    def __init__(self, text: bytes, file: str) -> None:
        self._text = text
        self._file = file
        self._deadline = time.process_time() + most_seconds(len(text))
        self._work_left = MOST_WORK + MOST_WORK_PER_BYTE * len(text)
        self._next_look = self._work_left - _LOOKED_AT
        self._pieces = pieces_of(text)
        self._parsed: tuple[int, Any] | None = None
        self._outside = _Nodes()
        self._closed: set[int] = set()  # the numbers of the bodies that nobody asked for yet
        self._opened: dict[int, _Nodes] = {}
        self._first_of: list[int] = []  # the numbers of the opened bodies, in order
        self._held = 0
        self.root = Node("translation_unit", 0, len(text), None, 0, [])
        outside = _Outside(None if _LAUNCH in text else text, self._closed)
        index = 1
        for number, (start, _) in enumerate(self._pieces):
            outside.base = start
            raw = self._raw(number)
            if raw.kind_id == _ERROR:
                outside.unparsed.append((raw.start_byte + start, raw.end_byte + start))
            index = self._outside.copy(raw, start, self.root, index, outside)
        self.root.last = index - 1
        self.unparsed = tuple(outside.unparsed)

    def _raw(self, number: int) -> Any:
        """Return the parser's own tree of a piece; only the latest is kept."""
        if self._parsed is None or self._parsed[0] != number:
            self._parsed = None
            start, end = self._pieces[number]
            self._parsed = number, self._tree_of(self._text[start:end])
        return self._parsed[1].root_node

    def _tree_of(self, text: bytes) -> Any:
        """Return the parser's own tree of *text*; raises TooCostly."""
        parser = _parser()[0]
        budget = _Budget(self._deadline)
        try:
            return parser.parse(
                lambda at, _: text[at : at + _READ], progress_callback=budget.is_over
            )
        except ValueError:
            parser.reset()  # else the next text would be parsed as the rest of this one
            raise too_costly(self._file) from None

    def count_work(self, nodes: int) -> None:
        """Take *nodes* that a question looks at from what the file may cost; raises TooCostly."""
        self._work_left = left = self._work_left - nodes
        if left < 0:
            raise too_costly(self._file)
        if left < self._next_look:
            self._next_look = left - _LOOKED_AT
            if time.process_time() > self._deadline:
                raise too_costly(self._file)

    def outside(self, kind: str) -> list[Node]:
        """Return the nodes of *kind* that stand in no function, in order."""
        return self._outside.of(kind)

    def open(self, body: Node) -> None:
        """Copy the nodes of the function body *body*, unless that was done, or it has none to show."""
        if body.index not in self._closed:
            return
        self._closed.remove(body.index)
        number = bisect_right(self._pieces, (body.start, len(self._text))) - 1
        base = self._pieces[number][0]
        raw = self._raw(number).named_descendant_for_byte_range(body.start - base, body.end - base)
        nodes = _Nodes()
        nodes.every.append(body)
        nodes.copy(raw, base, body, body.index + 1, None)
        self._opened[body.index] = nodes
        self._held += len(nodes.every)
        insort(self._first_of, body.index)

    @property
    def is_full(self) -> bool:
        """Whether so many bodies are open that those which are done with should be closed."""
        return self._held > _MOST_HELD

    def close(self, body: Node) -> None:
        """Let the nodes of *body* go; they are copied anew when somebody asks again."""
        nodes = self._opened.pop(body.index, None)
        if nodes is not None:
            around = body.parent
            nodes.release()
            body.parent, body.children = around, []
            self._held -= len(nodes.every)
            self._first_of.remove(body.index)
            self._closed.add(body.index)

    def release(self) -> None:
        """Cut the links upwards, so that the nodes go as soon as nobody holds them."""
        for nodes in (self._outside, *self._opened.values()):
            nodes.release()

    def _with(self, node: Node) -> _Nodes:
        """Return the nodes that *node* was copied with."""
        at = bisect_right(self._first_of, node.index) - 1
        if at >= 0:
            nodes = self._opened[self._first_of[at]]
            if node.index <= nodes.every[0].last:
                return nodes
        return self._outside

    def inside(self, node: Node, kind: str) -> list[Node]:
        """Return the nodes of *kind* that are *node* or below it, in order."""
        if node.index in self._closed:
            self.open(node)
        nodes = self._with(node).inside(node, kind)
        self.count_work(len(nodes) + 1)
        return nodes

    def below(self, node: Node) -> list[Node]:
        """Return *node* and the nodes below it; of a huge one the first."""
        nodes = self._with(node)
        if nodes is not self._outside:
            first = node.index - nodes.every[0].index
            count = min(node.last + 1 - node.index, _MOST)
            self.count_work(count >> 3)  # most questions only pass over them
            return nodes.every[first : first + count]
        every: list[Node] = []
        stack = [node]
        while stack and len(every) < _MOST:
            every.append(stack.pop())
            stack.extend(reversed(every[-1].children))
        self.count_work(len(every))
        return every


def pieces_of(text: bytes) -> list[tuple[int, int]]:
    """Return where *text* is cut for the parser: between declarations, and seldom."""
    pieces: list[tuple[int, int]] = []
    start = depth = 0
    if len(text) > PIECE:
        for match in _BRACKETS.finditer(text):
            word = match[0]
            if word in b"{(":
                depth += 1
            elif word in b"})":
                depth -= 1
            if depth or match.end() - start < PIECE or word not in b";}":
                continue
            if word == b";" or _DECLARES.match(text, match.end()):
                pieces.append((start, match.end()))
                start = match.end()
    return [*pieces, (start, len(text))]


@functools.cache
def _parser() -> tuple[Any, dict[int, tuple[str, int, bool, bool]]]:
    """Return the parser, and by their numbers the kinds of nodes that are copied.

    Of each kind: its name, its place in _FILED or -1, whether it is a leaf, and whether it is
    looked at more closely. In a browser it is the page's parser. Raises Unavailable without one.
    """
    try:
        import tree_sitter_cuda
        from tree_sitter import Language, Parser

        language: Any = Language(tree_sitter_cuda.language())
        parser: Any = Parser(language)
    except (ImportError, ValueError) as error:  # a ValueError where the two do not fit
        from gpuadvise.advisor.source.browser_parser import page_parser

        try:
            parser = language = page_parser()
        except ImportError:
            raise _missing(error) from None
    kinds = {_ERROR: ("ERROR", -1, False, False)}
    for number in range(language.node_kind_count):
        name = language.node_kind_for_id(number)
        if name and name != "comment" and language.node_kind_is_named(number):
            special = name in _TYPES or name in _LEFT_OUT
            kinds[number] = (sys.intern(name), _PLACE.get(name, -1), name in _LEAVES, special)
    return parser, kinds


def _missing(error: ImportError | ValueError) -> Unavailable:
    why = f"it cannot be loaded: {error}"
    if isinstance(error, ModuleNotFoundError) and error.name:
        why = f"the Python package {error.name.replace('_', '-')} is not installed"
    return Unavailable(
        f"CUDA sources cannot be read without their parser: {why}.",
        hint="pip install tree-sitter tree-sitter-cuda. Python sources need neither.",
    )


class _Budget:
    """Says to the parser when a text has cost it too much, for as much of it as it has read."""

    __slots__ = ("_began", "_deadline", "_furthest", "_memory", "_reports")

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline
        self._reports = self._furthest = 0
        self._began = time.process_time()
        self._memory = _peak_memory()

    def is_over(self, offset: int, _: bool) -> bool:
        self._reports = reports = self._reports + 1
        if reports % _SELDOM:
            return False
        if offset > self._furthest:
            self._furthest = offset
        furthest = self._furthest
        if reports > MOST_REPORTS + furthest * MOST_REPORTS_PER_KILOBYTE // 1000:
            return True
        now = time.process_time()
        limit = self._began + MOST_SECONDS + furthest * MOST_SECONDS_PER_BYTE
        if now > limit or now > self._deadline:
            return True
        memory = _peak_memory() - self._memory
        return memory > MOST_MEMORY + furthest * MOST_MEMORY_PER_BYTE


def _peak_memory() -> int:
    """Return the most bytes that this process held at a time; 0 where Python cannot tell, as on Windows."""
    try:
        import resource
    except ImportError:
        return 0

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def parse(text: bytes, file: str) -> Tree:
    """Return the tree of *text*, the content of *file* in UTF-8.

    Raises TooCostly for text that keeps the parser busy far longer than code does, and Unavailable
    without a parser of CUDA.
    """
    return Tree(text, file)

"""Conditional compilation made plain: one text that a parser of C++ can follow.

Directives are blanked byte for byte, so that every offset stays what it was. Of branches that
exclude each other all are kept where each is a run of whole statements; of others, the first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from gpuadvise.advisor.source.text import too_costly

# Anchored to its line, and possessive: a search that fails tries each line once.
_DIRECTIVE = re.compile(rb"^[ \t]*+#[ \t]*+(\w++)((?:[^\n\\]++|\\\r?\n|\\)*+)", re.MULTILINE)
_COMMENT = re.compile(rb"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'", re.DOTALL)
_OBJECT_MACRO = re.compile(rb"\s*(\w+)(?:[ \t]+(\S.*))?$", re.DOTALL)
_FUNCTION_MACRO = re.compile(rb"\s*(\w+)\(")
# Of one expression, with all of its parameters named.
_FORMULA = re.compile(rb"\s*\w+\(([\w\s,]*+)\)(.{1,300})$", re.DOTALL)
# Code for other vendors' compilers: this tool knows nothing about it.
_FOREIGN = re.compile(rb"HIP|ROCM|__AMD|MUSA|SYCL")
_NEVER = re.compile(rb"\s*(?:0|false)\s*$")
_NOT = re.compile(rb"^\s*(?:!|n)")
# What the grammar does not know and no rule needs where it stands.
# Each is searched for by the characters that it begins with.
_ATTRIBUTES = (
    (b"__", re.compile(
        rb"__(?<!\w__)(?:(?:align__|cluster_dims__|block_size__|maxnreg__|nv_pure__|declspec|attribute__)"
        rb"\s*(?=\()|grid_constant__\b)"
    )),
    (b"alignas", re.compile(rb"alignas(?<!\walignas)\s*(?=\()")),
    (b"]", re.compile(rb"\](\s*(?:__host__|__device__)(?:\s+(?:__host__|__device__))*)")),
)  # fmt: skip
_LONGEST_ATTRIBUTE = 400
# Only long ones: a parser takes 40 times the size of a list of numbers. Comments may begin and end one.
_LONG_TABLE = 1 << 14
_COMMENTS = rb"(?:\s*+//[^\n]{0,400}+\n){0,9}+"
_TABLE = re.compile(
    rb"=\s*+\{%b([\s0-9a-fA-FxXuUlL.,{}+-]{%d,})%b\s*+\}(?=\s*+;)"
    % (_COMMENTS, _LONG_TABLE, _COMMENTS)
)
# Some formatters put spaces into the brackets of a launch, kernel << <grid, block >> > (x), which nvcc takes all the same.
_SPREAD_LAUNCH = re.compile(rb"<<( ?)<([^;]{1,400}?)>>( ?)>(?=\s*+\()")
# Every byte but the line breaks as a space.
_SPACES = bytes(byte if byte in b"\r\n" else 32 for byte in range(256))


@dataclass(slots=True, kw_only=True)
class _Branch:
    start: int
    condition: bytes
    end: int = 0


@dataclass(slots=True, kw_only=True)
class _Conditional:
    branches: list[_Branch] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """Bytes *start* to *end* are compiled only under *condition*."""

    start: int
    end: int
    condition: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Preprocessed:
    """*text* has the length of the original; *dropped* are the branches that it leaves out.

    *macros* maps object-like macros to their bodies, None where two definitions differ; *formulas*
    those with parameters to the names of these and the body, where it is short.
    """

    text: bytes
    macros: dict[str, str | None]
    function_macros: frozenset[str]
    formulas: dict[str, tuple[tuple[str, ...], str] | None]
    guarded: tuple[Guarded, ...]
    dropped: tuple[tuple[int, int], ...]


# What questions about branches may look at: nested ones are looked at once for each level.
MOST_WORK = 4 << 20
MOST_WORK_PER_BYTE = 16
_LONGEST_CONDITION = 400  # of which a rule asks only whether it names a version


def preprocessed(source: bytes, file: str) -> Preprocessed:
    """Return *source*, the content of *file*, without directives, other than pragmas, and what they said.

    Raises TooCostly where conditions are nested far deeper than people nest them.
    """
    text = bytearray(source)
    macros: dict[str, str | None] = {}
    functions: dict[str, tuple[tuple[str, ...], str] | None] = {}
    open_conditionals: list[_Conditional] = []
    conditionals: list[_Conditional] = []
    for match in _DIRECTIVE.finditer(source):
        start, word = match.start(), match[1]
        if word == b"pragma":
            continue
        if word in (b"if", b"ifdef", b"ifndef"):
            condition = (b"n " if word == b"ifndef" else b"") + match[2]
            condition = condition[:_LONGEST_CONDITION]
            opened = _Conditional(branches=[_Branch(start=match.end(), condition=condition)])
            open_conditionals.append(opened)
        elif word in (b"else", b"elif", b"endif") and open_conditionals:
            conditional = open_conditionals[-1]
            conditional.branches[-1].end = start
            if word == b"endif":
                conditionals.append(open_conditionals.pop())
            else:
                branch = _Branch(
                    start=match.end(), condition=b"else" + match[2][:_LONGEST_CONDITION]
                )
                conditional.branches.append(branch)
        elif word == b"define":
            _define(match[2], macros, functions)
        text[start : match.end()] = _blank(source[start : match.end()])
    looked_at = sum(
        b.end - b.start for c in conditionals for b in c.branches if len(c.branches) > 1
    )
    if looked_at > MOST_WORK + MOST_WORK_PER_BYTE * len(source):
        raise too_costly(file)
    dropped = _drop(text, conditionals)
    _blank_attributes(text)
    if b"<< <" in text or b">> >" in text:
        text = bytearray(_SPREAD_LAUNCH.sub(rb"\1<<<\2>>>\3", text))
    if len(text) > _LONG_TABLE:
        _blank_tables(text)
    return Preprocessed(
        text=bytes(text),
        macros=macros,
        function_macros=frozenset(functions),
        formulas=functions,
        guarded=tuple(_guarded(conditionals)),
        dropped=tuple(dropped),
    )


def _define(
    rest: bytes,
    macros: dict[str, str | None],
    functions: dict[str, tuple[tuple[str, ...], str] | None],
) -> None:
    if function := _FUNCTION_MACRO.match(rest):
        name, formula = function[1].decode("ascii", "replace"), _formula(rest)
        functions[name] = formula if functions.get(name, formula) == formula else None
    elif plain := _OBJECT_MACRO.match(rest):
        name = plain[1].decode("ascii", "replace")
        body = _COMMENT.sub(b"", plain[2] or b"").decode("utf-8", "replace").strip()
        macros[name] = body if macros.get(name, body) == body else None


def _formula(rest: bytes) -> tuple[tuple[str, ...], str] | None:
    """Return the names of the parameters and the body of a macro of one short expression."""
    match = _FORMULA.match(rest)
    if match is None or b";" in match[2] or b"{" in match[2]:
        return None
    body = _COMMENT.sub(b" ", match[2].replace(b"\\\n", b" ")).decode("ascii", "replace")
    names = match[1].decode("ascii", "replace").split(",")
    return tuple(name.strip() for name in names), body.strip()


def _drop(text: bytearray, conditionals: list[_Conditional]) -> list[tuple[int, int]]:
    """Blank the branches that cannot stand beside the others, and return them."""
    dropped: list[tuple[int, int]] = []
    for conditional in conditionals:
        kept = [b for b in conditional.branches if not _foreign(b, conditional)]
        if len(kept) > 1 and not all(_whole(bytes(text[b.start : b.end])) for b in kept):
            kept = kept[:1]
        stays = {id(branch) for branch in kept}
        for branch in conditional.branches:
            if id(branch) not in stays:
                stretch = bytes(text[branch.start : branch.end])
                if stretch.strip():
                    dropped.append((branch.start, branch.end))
                text[branch.start : branch.end] = _blank(stretch)
    return dropped


def _blank_attributes(text: bytearray) -> None:
    for mark, attribute in _ATTRIBUTES:
        if mark not in text:
            continue
        for match in attribute.finditer(bytes(text)):
            start, end = match.span(attribute.groups)
            if text[end : end + 1] == b"(":
                end = _closed(text, end)
            text[start:end] = _blank(bytes(text[start:end]))


def _blank_tables(text: bytearray) -> None:
    """Empty the long lists of numbers that variables start with: no rule asks for one of them."""
    for match in _TABLE.finditer(bytes(text)):
        text[match.start(1) : match.end(1)] = _blank(match[1])


def _closed(text: bytearray, start: int) -> int:
    """Return the offset after the bracket that closes the one at *start*."""
    depth = 0
    for match in re.finditer(rb"[()]", text[start : start + _LONGEST_ATTRIBUTE]):
        depth += 1 if match[0] == b"(" else -1
        if depth == 0:
            return start + match.end()
    return start


def _foreign(branch: _Branch, conditional: _Conditional) -> bool:
    """Whether *branch* is switched off, or made for another vendor's compiler."""
    condition = branch.condition
    if _NEVER.match(condition):
        return True
    first = conditional.branches[0].condition
    if branch is conditional.branches[0]:
        return bool(_FOREIGN.search(condition)) and not _NOT.match(condition)
    if condition.startswith(b"else") and condition[4:].strip():
        return bool(_FOREIGN.search(condition))
    return bool(_FOREIGN.search(first)) and bool(_NOT.match(first))


def _whole(stretch: bytes) -> bool:
    """Whether *stretch* is a run of whole statements, as far as brackets can tell."""
    plain = _COMMENT.sub(b" ", stretch).strip()
    if not plain:
        return True
    if plain[-1:] not in (b";", b"}"):
        return False
    depth = 0
    for bracket in re.findall(rb"[{}()]", plain):
        depth += 1 if bracket in b"{(" else -1
        if depth < 0:
            return False
    return depth == 0 and not plain.startswith((b"else", b"&", b"|", b",", b"?", b":", b"."))


def _guarded(conditionals: list[_Conditional]) -> list[Guarded]:
    spans: list[Guarded] = []
    for conditional in conditionals:
        first = conditional.branches[0].condition
        for branch in conditional.branches:
            words = (
                branch.condition if branch.condition is first else first + b" " + branch.condition
            )
            spans.append(
                Guarded(
                    start=branch.start,
                    end=branch.end,
                    condition=words.decode("utf-8", "replace").strip(),
                )
            )
    return spans


def _blank(stretch: bytes) -> bytes:
    return stretch.translate(_SPACES)

"""Kernel names cut to what a line has room for, so that they can still be told apart.

Pages for people show them so wherever they go. Data (JSON, CSV, NDJSON) has whole names.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST = 72
# In less the parts that differ tell less than the name that is shared.
_ROOM_TO_DIFFER = 32
_CUT = "…"
# Angle brackets that open no template arguments.
_TOKEN = r"operator\s*(?:<=>|<<=?|>>=?|->\*?|<=?|>=?)|->|[<>()]|[^<>()\-o]+|."
_HEAD = r"[^<(]*"
_ABI_TAGS = r"\[abi:\w*\]"


def shortened(names: Sequence[str], longest: int = LONGEST) -> list[str]:
    """Return each of *names* in at most *longest* characters.

    Parameters go first, then nested template arguments, then all of them, then what the function
    returns and the namespaces it lies in. Where that makes two names equal, what they share is cut
    instead, and what differs stays, if there is room for it.
    """
    by_name = {name: _folded(name, longest) for name in names}
    alike: dict[str, list[str]] = {}
    for name, text in by_name.items():
        alike.setdefault(text, []).append(name)
    for group in alike.values():
        if len(group) > 1 and longest >= _ROOM_TO_DIFFER:
            by_name.update(zip(group, _differences(group, longest), strict=True))
    return [_middle_cut(by_name[name], longest) for name in names]


def _folded(name: str, longest: int) -> str:
    """Return *name* with as few brackets emptied as make it fit, and without the tags of Numba's kernels."""
    name = re.sub(_ABI_TAGS, "", name)
    for depth, parameters in ((None, False), (None, True), (1, True), (0, True)):
        text = _fold(name, depth, parameters=parameters)
        if len(text) <= longest:
            return text
    for pattern in (_RETURNED, _NAMESPACES, _BRACKETS):
        text = re.sub(pattern, "", text)
        if len(text) <= longest:
            break
    return text


# Of a name whose brackets are empty: what stands before the function's, and the brackets behind it.
_RETURNED = r"^void (?=\S)"
_NAMESPACES = r"^\S*::(?=~?[\w$]+(?:<…>)?(?:\(…?\))?$)"
_BRACKETS = r"(?<=\w)(?:<…>)?(?:\(…?\))?$"


def _fold(name: str, depth: int | None, *, parameters: bool) -> str:
    """Return *name* without template arguments deeper than *depth*, and without parameters."""
    kept: list[str] = []
    stack: list[str] = []
    hidden_from, hidden = 0, False  # the bracket, counted from 1, whose content goes
    for token in re.findall(_TOKEN, name, flags=re.DOTALL):
        closes = bool(stack) and stack[-1] + token in ("<>", "()")
        if closes:
            if hidden_from == len(stack):
                kept += [_CUT] if hidden else []
                hidden_from, hidden = 0, False
            stack.pop()
        if hidden_from:
            hidden = True
        else:
            kept.append(token)
        if token in "<(" and not closes:
            outside = "<" not in stack
            goes = (
                outside and parameters
                if token == "("
                else depth is not None and len(stack) >= depth
            )
            stack.append(token)
            if goes and not hidden_from:
                hidden_from = len(stack)
    return "".join(kept)


def _differences(names: Sequence[str], longest: int) -> list[str]:
    """Return *names* with the beginning and the end that all of them share cut."""
    bare = [_fold(name, None, parameters=True) for name in names]
    names = bare if len(set(bare)) == len(bare) else names
    before = _word_start(names[0], _shared_length(names))
    rests = [name[before:] for name in names]
    ends = [rest[::-1] for rest in rests]
    after = _shared_length(ends)
    match = re.match(_HEAD, names[0])
    head = names[0][: min(match.end() if match else 0, before)]
    gap = _CUT if len(head) < before else ""
    if len(head) > longest // 2:
        head = _CUT + head[-longest // 2 :]
    tail = _CUT if after > 1 else ""
    stop = -after if after > 1 else None
    return [f"{head}{gap}{rest[:stop]}{tail}" for rest in rests]


def _shared_length(texts: Sequence[str]) -> int:
    """Return how many characters all of *texts* begin with."""
    columns = zip(*texts, strict=False)
    return next(
        (at for at, column in enumerate(columns) if len(set(column)) > 1), min(map(len, texts))
    )


def _word_start(name: str, at: int) -> int:
    """Return where the word that *at* lies in, or behind, begins."""
    while at and (name[at - 1].isalnum() or name[at - 1] in "_:"):
        at -= 1
    return at


def _middle_cut(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    end = longest // 3
    return f"{text[: longest - end - 1]}{_CUT}{text[-end:]}"

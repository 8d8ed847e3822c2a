"""What the Python files of one folder say of one another: who names a function, and who calls it in each step.

Nothing is parsed for it: definitions and calls are told by words and by how far lines are indented, so that a
folder is read in little of the time that its rules take. A call means a function of another file where that file's
name stands in an import, or where no other file defines a function of that name.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_DEFINITION = re.compile(rb"^([ \t]*)(?:async[ \t]+)?(def|class)[ \t]+(\w+)", re.MULTILINE)
_WORD = re.compile(rb"[A-Za-z_]\w{2,}")
_IMPORT = re.compile(rb"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+)?import\b", re.MULTILINE)
_LOADER = re.compile(rb"^[ \t]*class[ \t]+(\w+)\((?:\w+\.)*DataLoader\):", re.MULTILINE)
# A loader that chooses for its callers.
_CHOOSES = re.compile(rb"num_workers|pin_memory")
_GPU = re.compile(rb"\.cuda\b|[\"']cuda|\.to\(\s*(?:self\.|args\.)?_?dev")
_CONDITION = re.compile(
    rb"(?:if|elif)\b.*(?:%|best|interval|eval|log|save|debug|rank|master|main_process|freq|every|plot|vis|verbose|step|iter|epoch|==\s*0)"
    rb"|except\b|else\b"
)
# What runs for each batch or step: a model, a step of training or evaluation; a loss is called by its object.
_STEPS = frozenset((b"forward", b"training_step", b"validation_step", b"test_step"))
_BACKWARD = re.compile(rb"\.backward\(")
_LOSS = re.compile(rb"Loss|Criterion", re.IGNORECASE)
# Functions that set up, load, save or show: what they call runs once, or beside the steps.
_ONCE = re.compile(
    rb"^_*(?:init|main|setup|build|create|make|load|save|export|convert|read|parse|plot|show|vis|draw|log|print|report|test"
    rb"|evaluate|check|debug|seriali[sz]e|quanti[sz]e|download|preprocess|summar|get_args|get_parser)|^__(?!call__)"
)
# Names of so many methods that they say nothing of whose it is.
_COMMON = frozenset(
    (b"forward", b"step", b"update", b"train", b"eval", b"reset", b"get", b"add", b"run", b"call", b"main", b"append",
     b"close", b"fit", b"predict", b"sample", b"encode", b"decode", b"copy", b"mean", b"sum", b"norm", b"view", b"size",
     b"data", b"write", b"push", b"item", b"apply", b"state_dict", b"load_state_dict", b"parameters", b"items", b"keys",
     b"values", b"transform", b"process", b"count", b"index", b"format", b"join", b"split", b"backward", b"loss")
)  # fmt: skip
_LEAST_FILES = 2
# Code has no such lines and no such classes: what does is not looked through again and again.
_LONGEST = 4000
_MOST_LOOKED_AT = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleUse:
    """What other files of its project say of one file.

    *named* are functions and classes of the file that others name, *each_step* functions that run in steps of
    training or evaluation, or in what a model computes, going by who calls them; *on_gpu* whether the project names a GPU.
    *loaders* are classes of the project that are a DataLoader with nothing chosen.
    """

    named: frozenset[str]
    each_step: frozenset[str]
    loaders: frozenset[str]
    on_gpu: bool


class _Definition(NamedTuple):
    start: int
    indent: int
    kind: bytes
    name: bytes


class _Call(NamedTuple):
    """A function that is called, and what stands before its name: None, or the last word before a dot."""

    owner: bytes | None
    name: bytes


class _Outline:
    """The definitions and words of one file."""

    def __init__(self, path: str, data: bytes) -> None:
        self.data = data
        self.stem = PurePath(path).stem.encode()
        if self.stem == b"__init__":
            self.stem = PurePath(path).parent.name.encode()
        self.definitions = [
            _Definition(match.start(), len(match[1].expandtabs()), match[2], match[3])
            for match in _DEFINITION.finditer(data)
        ]
        self.starts = [made.start for made in self.definitions]
        self.names = {made.name for made in self.definitions}
        self.imported = set(_WORD.findall(b"\n".join(_lines_of_imports(data))))
        self.on_gpu = _GPU.search(data) is not None

    def around(self, place: int, indent: int) -> _Definition | None:
        """Return the function in which a line at *place* stands that is indented by *indent*."""
        last = bisect_right(self.starts, place) - 1
        for i in range(last, max(last - _MOST_LOOKED_AT, -1), -1):
            made = self.definitions[i]
            if made.indent < indent and made.start < place:
                return made if made.kind == b"def" else None
        return None

    def class_of(self, made: _Definition) -> bytes:
        """Return the class whose method *made* is."""
        last = bisect_right(self.starts, made.start) - 2
        for i in range(last, max(last - _MOST_LOOKED_AT, -1), -1):
            other = self.definitions[i]
            if other.indent < made.indent:
                return other.name if other.kind == b"class" else b""
        return b""

    def is_rare(self, place: int, least: int) -> bool:
        """Whether a condition around the line of *place* lets it run in few of the rounds whose lines *least* are indented."""
        indent = self.indent_at(place)
        before = self.data[max(place - _LONGEST, 0) : place].split(b"\n")[:-1]
        for line in reversed(before):
            text = line.lstrip()
            if not text or text.startswith((b"#", b")", b"]", b"}")):
                continue
            depth = len(line[: len(line) - len(text)].expandtabs())
            if depth < indent:
                indent = depth
                if depth < least:
                    return False
                if _CONDITION.match(text):
                    return True
        return False

    def indent_at(self, place: int) -> int:
        """Return how far the line of *place* is indented."""
        start = self.data.rfind(b"\n", max(place - _LONGEST, 0), place) + 1
        line = self.data[start:place]
        return len(line[: len(line) - len(line.lstrip())].expandtabs())


def _lines_of_imports(data: bytes) -> Iterator[bytes]:
    behind = 0
    for match in _IMPORT.finditer(data):
        if match.start() < behind:
            continue
        last = match.end() + _LONGEST
        end = data.find(b"\n", match.end(), last)
        bracket = data.find(b"(", match.end(), end if end >= 0 else last)
        if bracket >= 0:
            end = data.find(b")", bracket, last)
        behind = end if end >= 0 else last
        yield data[match.start() : behind]


def uses_of(files: Mapping[str, bytes]) -> dict[str, ModuleUse]:
    """Return what the *files* of a project, by their paths, say of each; nothing where there is only one.

    Of notebooks only their words count.
    """
    if len(files) < _LEAST_FILES:
        return {}
    outlines = {path: _Outline(path, data) for path, data in files.items() if path.endswith(".py")}
    makers: dict[bytes, list[str]] = {}
    for path, outline in outlines.items():
        for name in outline.names:
            makers.setdefault(name, []).append(path)
    words = {path: makers.keys() & set(_WORD.findall(data)) for path, data in files.items()}
    users: dict[bytes, set[str]] = {}
    for path, used in words.items():
        for name in used:
            users.setdefault(name, set()).add(path)
    loaders = set(_loaders(outlines.values()))
    on_gpu = any(outline.on_gpu for outline in outlines.values())
    reached = _reached(outlines, makers, words)
    return {
        path: ModuleUse(
            named=frozenset(
                name.decode() for name in outline.names if users.get(name, set()) - {path}
            ),
            each_step=frozenset(name.decode() for name in reached.get(path, ())),
            loaders=frozenset(name.decode() for name in (loaders & words[path]) - outline.names),
            on_gpu=on_gpu,
        )
        for path, outline in outlines.items()
    }


def _loaders(outlines: Iterable[_Outline]) -> Iterator[bytes]:
    """Yield the classes that are a DataLoader and leave its workers and its memory to their callers."""
    for outline in outlines:
        for match in _LOADER.finditer(outline.data):
            indent = len(match[0]) - len(match[0].lstrip())
            first = bisect_right(outline.starts, match.start())
            behind = outline.definitions[first : first + _MOST_LOOKED_AT]
            end = next(
                (made.start for made in behind if made.indent <= indent), match.end() + _LONGEST
            )
            if not _CHOOSES.search(outline.data, match.end(), end):
                yield match[1]


def _reached(
    outlines: Mapping[str, _Outline],
    makers: Mapping[bytes, list[str]],
    words: Mapping[str, set[bytes]],
) -> dict[str, set[bytes]]:
    """Return for each file its functions that steps reach by calls."""
    calls = {path: _calls(outlines[path], words[path]) for path in outlines}
    callers: dict[tuple[str, bytes], set[_Call]] = {}
    for path, found in calls.items():
        for caller, called, _ in found:
            if caller is not None and called.name != caller.name:
                callers.setdefault((path, caller.name), set()).add(called)
    reached: dict[str, set[bytes]] = {}
    waiting: list[tuple[str, bytes]] = []
    for path, outline in outlines.items():
        for called in _called_in_steps(outline, calls[path]):
            waiting += _meant(path, called, outlines, makers)
    while waiting:
        path, name = waiting.pop()
        known = reached.setdefault(path, set())
        if name in known or _ONCE.match(name):
            continue
        known.add(name)
        for called in callers.get((path, name), ()):
            waiting += _meant(path, called, outlines, makers)
    return reached


def _calls(outline: _Outline, names: set[bytes]) -> list[tuple[_Definition | None, _Call, int]]:
    """Return the calls of *names*, each with the function around it and where it stands."""
    if not names:
        return []
    found = []
    for match in _CALL.finditer(outline.data):
        if match[1] in names:
            place = match.start(1)
            before = outline.data[max(place - _LONGEST_OWNER, 0) : place]
            if before.endswith((b"def ", b"class ")):
                continue
            owner = _OWNER.search(before[:-1]) if before.endswith(b".") else None
            called = _Call(owner[0] if owner else None, match[1])
            found.append((outline.around(place, outline.indent_at(place)), called, place))
    return found


_CALL = re.compile(rb"\b([A-Za-z_]\w{2,})\(")
_OWNER = re.compile(rb"\w*\Z")
_LONGEST_OWNER = 60


def _called_in_steps(
    outline: _Outline, calls: list[tuple[_Definition | None, _Call, int]]
) -> Iterator[_Call]:
    """Yield the functions that a model, a loss or a loop that goes backward calls."""
    backward = [
        (outline.around(match.start(), indent), indent)
        for match in _BACKWARD.finditer(outline.data)
        for indent in (outline.indent_at(match.start()),)
    ]
    for caller, called, place in calls:
        if caller is not None and _is_step(outline, caller):
            if called.name not in _STEPS:
                yield called
        elif backward:
            indent = outline.indent_at(place)
            least = [least for around, least in backward if caller is around and indent >= least]
            if least and not outline.is_rare(place, min(least)):
                yield called


def _is_step(outline: _Outline, made: _Definition) -> bool:
    """Whether a function is what a model or one step computes, or what a loss computes when it is called."""
    is_call = made.name == b"__call__"
    return made.name in _STEPS or (is_call and _LOSS.search(outline.class_of(made)) is not None)


def _meant(
    path: str, called: _Call, outlines: Mapping[str, _Outline], makers: Mapping[bytes, list[str]]
) -> Iterator[tuple[str, bytes]]:
    """Yield the file whose function the file at *path* calls: its own, an imported one, or the only one of that name."""
    owner, name = called
    outline, places = outlines[path], makers.get(called.name, [])
    if name in outline.names and (owner in (None, b"self", b"cls") or name not in _COMMON):
        yield path, name
        return
    for place in places:
        if outlines[place].stem in outline.imported and (
            owner is None or owner in outline.imported
        ):
            yield place, name
            return
    # env.step(action), whose file is env_torch.py
    alike = [place for place in places if owner in outlines[place].stem.lower().split(b"_")]
    if len(alike) == 1:
        yield alike[0], name
        return
    if name in _COMMON:
        return
    if (owner is None and name in outline.imported and places) or (
        owner is not None and len(places) == 1
    ):
        yield places[0], name

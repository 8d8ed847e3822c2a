"""What the other files of a folder show of one CUDA source: which of its functions nobody there names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.headers import NOTHING_DECLARED, Declarations
from gpuadvise.advisor.source.host_effects import NO_EFFECTS, HostEffects
from gpuadvise.advisor.source.text import COMMENT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gpuadvise.advisor.source.cuda_file import CudaFile
    from gpuadvise.advisor.source.scopes import SourceFunction

# A function where it is declared, called or defined: the word before a bracket.
_CALLED = re.compile(rb"\b([A-Za-z_]\w*+)\s*+\(")
_STARTS = re.compile(rb"(?<!\w)(?:main|w?WinMain)\s*\(")
_NO_WORD = bytes(c if chr(c).isalnum() or c == 95 or c > 127 else 32 for c in range(256))


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What is around a file that was found *in_folder*: *unnamed* are functions of it that no other file there names.

    A folder *of_program* has a main: host functions that nothing there calls are called by nobody. Headers of the folder *declared*
    what the file uses of them. A file *of_torch* is part of an extension of PyTorch, as a header says or who calls it. Host functions
    that the file calls have *effects*.
    """

    in_folder: bool = False
    unnamed: frozenset[str] = frozenset()
    of_program: bool = False
    declared: Declarations = NOTHING_DECLARED
    of_torch: bool = False
    effects: HostEffects = NO_EFFECTS


ALONE = Surroundings()


def functions_in(data: bytes) -> frozenset[bytes]:
    """Return the names that a source calls, declares or defines functions by."""
    return frozenset(_CALLED.findall(COMMENT.sub(b" ", data)))


def starts_program(data: bytes) -> bool:
    """Whether a source holds the main function of a program."""
    return (b"main" in data or b"WinMain" in data) and _STARTS.search(data) is not None


def words_of(data: bytes) -> frozenset[bytes]:
    """Return the words of a source, without those of C's comments."""
    return frozenset(COMMENT.sub(b" ", data).translate(_NO_WORD).split())


def unused_functions(facts: CudaFile, around: Surroundings) -> frozenset[str]:
    """Return the functions of a file that nothing leads to, as far as the folder shows.

    A file none of whose functions for the GPU is used says nothing: a program elsewhere may use all of it.
    """
    if not around.unnamed:
        return frozenset()
    judged: dict[str, list[SourceFunction]] = {}
    for function in facts.functions:
        if function.on_device or (around.of_program and _is_called_by_name(facts, function)):
            judged.setdefault(_last(function), []).append(function)
    reached = set(judged).difference(around.unnamed)
    reached.update(_named_beside(facts, judged).intersection(judged))
    waiting = list(reached)
    while waiting:
        for function in judged[waiting.pop()]:
            new = _words(facts, function).intersection(judged) - reached
            reached |= new
            waiting += new
    used = any(function.on_device for name in reached for function in judged[name])
    return frozenset(set(judged) - reached) if used else frozenset()


def _is_called_by_name(facts: CudaFile, function: SourceFunction) -> bool:
    """Whether a call of the host *function* has to name it: members and what C links are reached in other ways, too."""
    return (
        "::" not in function.name
        and function.name != "main"
        and "operator" not in function.name
        and not facts.says(b'extern "C"')
    )


def _last(function: SourceFunction) -> str:
    return function.name.rpartition("::")[2]


def _named_beside(
    facts: CudaFile, judged: Mapping[str, Sequence[SourceFunction]]
) -> frozenset[str]:
    """Return the words of all that is in none of the functions *judged*: other host code, macros, tables."""
    parts, at = [], 0
    functions = (function for group in judged.values() for function in group)
    for function in sorted(functions, key=lambda f: f.node.start):
        parts.append(facts.code[at : function.node.start])
        at = max(at, function.node.end)
    parts.append(facts.code[at:])
    return _split(b" ".join(parts))


def _words(facts: CudaFile, function: SourceFunction) -> frozenset[str]:
    return _split(facts.code[function.body.start : function.body.end])


def _split(code: bytes) -> frozenset[str]:
    return frozenset(
        word.decode("utf-8", "replace") for word in set(code.translate(_NO_WORD).split())
    )

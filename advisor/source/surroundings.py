"""What the other files of a folder show of one CUDA source: which of its device functions nobody there names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpuadvise.advisor.source.cuda_file import CudaFile
    from gpuadvise.advisor.source.scopes import SourceFunction

# A kernel or device function as it is declared; its name is the last word before the first bracket.
_DECLARED = re.compile(
    rb"__(?:global|device)__(?:[^;{}()\"]|__launch_bounds__\s*\([^()]*\)){0,400}?\b(?!__launch_bounds__)([A-Za-z_]\w*)\s*\("
)
_COMMENT = re.compile(rb"//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+\*/")
_NO_WORD = bytes(c if chr(c).isalnum() or c == 95 or c > 127 else 32 for c in range(256))


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What is around a file that was found *in_folder*: *unnamed* are its device functions that no other file there names."""

    in_folder: bool = False
    unnamed: frozenset[str] = frozenset()


ALONE = Surroundings()


def declared_in(data: bytes) -> frozenset[bytes]:
    """Return the names of the kernels and device functions that a source declares."""
    if b"__global__" not in data and b"__device__" not in data:
        return frozenset()
    return frozenset(match[1] for match in _DECLARED.finditer(_COMMENT.sub(b" ", data)))


def words_of(data: bytes) -> frozenset[bytes]:
    """Return the words of a source, without those of C's comments."""
    return frozenset(_COMMENT.sub(b" ", data).translate(_NO_WORD).split())


def unused_functions(facts: CudaFile, unnamed: frozenset[str]) -> frozenset[str]:
    """Return the device functions of a file that nothing leads to, as far as the folder shows.

    A file none of whose device functions is used says nothing: a program elsewhere may use all of it.
    """
    if not unnamed:
        return frozenset()
    on_device: dict[str, list[SourceFunction]] = {}
    for function in facts.functions:
        if function.on_device:
            on_device.setdefault(_last(function), []).append(function)
    reached = set(on_device).difference(unnamed)
    reached.update(_named_beside(facts).intersection(on_device))
    waiting = list(reached)
    while waiting:
        for function in on_device[waiting.pop()]:
            new = _words(facts, function).intersection(on_device) - reached
            reached |= new
            waiting += new
    return frozenset(set(on_device) - reached) if reached else frozenset()


def _last(function: SourceFunction) -> str:
    return function.name.rpartition("::")[2]


def _named_beside(facts: CudaFile) -> frozenset[str]:
    """Return the words of all that is no device function: host code, macros, tables."""
    parts, at = [], 0
    on_device = (function for function in facts.functions if function.on_device)
    for function in sorted(on_device, key=lambda f: f.node.start):
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

"""Waits for the GPU that PyTorch told of while a program ran, by the places of its sources."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class StackFrame(NamedTuple):
    """One function of a stack: its file, the line that was running, its name."""

    file: str
    line: int
    function: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """How often the host waited for the GPU below one stack of the user's code, the innermost frame first.

    *through* is the function of a library that the innermost frame called, None where it called PyTorch's
    C++ itself.
    """

    frames: tuple[StackFrame, ...]
    through: str | None
    count: int

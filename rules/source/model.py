"""What the file of a source rule holds: what looks for the fault, and the code of its page."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule
    from gpuadvise.advisor.source.rule_context import RuleContext


class Extent(StrEnum):
    """Of what a fault that comes again is said once: it is one habit of a function, or one decision of a file."""

    FUNCTION = "function"
    FILE = "file"


class BeforeAfter(NamedTuple):
    """Two pieces of code: *language* is cuda (device code), host (a part of a program), python or sh."""

    language: str
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CudaCheck:
    """What looks for one fault in a function of a CUDA source, and the *code* of its page.

    It looks at device code when *on_device*, at host code when not, at both when None. What comes again is said
    once for the whole of *said_once*, None: at each place.
    """

    faults: Callable[[RuleContext], Iterator[Diagnostic]]
    code: BeforeAfter
    on_device: bool | None = None
    said_once: Extent | None = Extent.FUNCTION


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonCheck:
    """What looks for one fault in a Python file, and the *code* of its page."""

    faults: Callable[[PythonModule], Iterator[Diagnostic]]
    code: BeforeAfter

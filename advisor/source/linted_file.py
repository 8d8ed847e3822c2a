"""What lint says of one source file: its faults, those that comments accept, and what could not be read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpuadvise.advisor.source.diagnostic import Diagnostic, SourceRange
    from gpuadvise.advisor.source.suppressions import Suppression


@dataclass(frozen=True, slots=True, kw_only=True)
class LintedFile:
    """What one file holds: faults in the order of the text, and what could not be checked.

    *unparsed* is syntax that the parser does not know, *dropped* are branches of conditional
    compilation that cannot stand beside the one that was read. A file of *hip* is written for
    another vendor's compiler, and nothing was checked. *not_understood* says that kernels may
    stand where the parser could not follow; *no_gpu_code*, that nothing in it is for a GPU, as in a file of
    comments or one that names no library that lint knows.
    """

    file: str
    diagnostics: tuple[Diagnostic, ...]
    accepted: tuple[Diagnostic, ...] = ()
    unused: tuple[Suppression, ...] = ()
    unparsed: tuple[SourceRange, ...] = ()
    dropped: tuple[SourceRange, ...] = ()
    hip: bool = False
    not_understood: bool = False
    no_gpu_code: bool = False

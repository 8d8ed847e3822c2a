"""What compiled code and source files say about a kernel."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpuadvise.advisor.binaries.model import Entry
    from gpuadvise.advisor.compatibility.survey import Survey


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchBounds:
    """``__launch_bounds__(threads, blocks)``; *blocks* is None where only one is written."""

    threads: int
    blocks: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """Bytes per thread that a kernel keeps in local memory, and its double-precision use.

    *spills_exact* is False where the spill figures are upper bounds; *debug* is True for device code
    that nvcc -G left as it was written. *file* is what it was read from, a member behind ``!``.
    """

    spill_store_bytes: int | None = None
    spill_load_bytes: int | None = None
    stack_bytes: int | None = None
    spills_exact: bool = True
    fp64_instructions: int | None = None
    instructions: int | None = None
    debug: bool | None = None
    file: str | None = None
    defined_at: tuple[str, int] | None = None  # file and line, of code with line information
    local_instructions: int | None = (
        None  # loads and stores of local memory, as they stand in the code
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One place in a source file where *fault* (a rule's id) was seen.

    *seen* is the text at that place, *detail* holds the words that the rule needs. *message* and
    *action* are what the reader of the file says of that very place; None where a person saw it.
    Little is won at a place that is *minor*.
    """

    fault: str
    file: str
    line: int
    seen: str
    column: int = 1
    kernel: str | None = None
    detail: Mapping[str, str] = field(default_factory=dict)
    message: str | None = None
    action: str | None = None
    minor: bool = False


def entries_of(code: Survey | None) -> tuple[Entry, ...]:
    """Return one entry of each kind that *code* holds; () when the code is not known."""
    return tuple(holding.entry for holding in code.holdings) if code else ()

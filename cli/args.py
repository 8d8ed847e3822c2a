"""From option texts to values, with messages that name the option."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import quoted
from gpuadvise.advisor.quantity import show_share
from gpuadvise.cli.exits import Exit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")

# More digits than any count has; int() on longer text costs quadratic time.
_LONGEST = 20


def named(option: str, parse: Callable[[str], T], text: str) -> T:
    """Return *parse(text)*; its BadInput names *option*."""
    try:
        return parse(text)
    except BadInput as error:
        raise BadInput(f"{option}: {error.message}", hint=error.hint) from None


def whole(option: str, text: str, *, low: int, high: int) -> int:
    """Return the whole number *text*, from *low* to *high*; raises BadInput."""
    clean = text.strip()
    if len(clean) <= _LONGEST and clean.isascii() and clean.lstrip("-").isdigit():
        try:
            value = int(clean)
        except ValueError:
            value = low - 1
        if low <= value <= high:
            return value
    raise BadInput(f"{option}: {quoted(text)} is not a whole number from {low} to {high}.")


def share(option: str, text: str) -> float:
    """Return the fraction (0 to 1) that ``50%`` or ``0.5`` names; raises BadInput."""
    clean = text.strip()
    try:
        value = float(clean.rstrip("%")) / 100 if clean.endswith("%") else float(clean)
    except ValueError:
        value = -1.0
    if 0 <= value <= 1:
        return value
    raise BadInput(f"{option}: {quoted(text)} is not a share.", hint="Write 50% or 0.5.")


def block_dims(option: str, text: str) -> tuple[int, int, int]:
    """Return the block dimensions that ``256``, ``16x16`` or ``16x16x4`` names; raises BadInput."""
    parts = text.lower().split("x") if len(text) <= 3 * _LONGEST else []
    if not 1 <= len(parts) <= 3 or not all(_is_count(part) for part in parts):
        raise BadInput(
            f"{option}: {quoted(text)} is not a size in threads or blocks.",
            hint="Write 256, 16x16 or 16x16x4, each from 1 to 2147483647.",
        )
    x, y, z = (*map(int, parts), 1, 1)[:3]
    return x, y, z


def _is_count(text: str) -> bool:
    digits = len(text) <= _LONGEST and text.isascii() and text.isdigit()
    return digits and 1 <= int(text) < 2**31  # the largest grid dimension


def fails_under(what: str, value: float | None, least: float | None) -> tuple[Exit, Sequence[str]]:
    """Return the exit code of ``--fail-under`` and, where *value* of *what* fails, a note.

    Raises BadInput when there is a threshold and nothing to hold it against: a check that
    cannot fail must not look like one that passed.
    """
    if least is None:
        return Exit.RAN, ()
    if value is None:
        raise BadInput(
            "--fail-under has nothing to compare.", hint="Give what was measured: --time."
        )
    if value >= least:
        return Exit.RAN, ()
    said = f"{show_share(value)} {what} is below --fail-under {show_share(least)}."
    return Exit.THRESHOLD, (said,)

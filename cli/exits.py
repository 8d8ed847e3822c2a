"""The exit codes that scripts may rely on; docs/exit-codes.md explains them."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typer import Context

    from gpuadvise.rules.fail_on import FailOn
    from gpuadvise.rules.model import Category, Priority


class Exit(IntEnum):
    """What the process says to the shell."""

    RAN = 0
    THRESHOLD = 1  # a threshold that the user set was met
    BAD_INPUT = 2
    UNAVAILABLE = 3  # something asked for is not there, or broke
    INTERRUPTED = 130  # 128 + SIGINT
    CLOSED_PIPE = 141  # 128 + SIGPIPE: the reader went away


def exit_of(failed: object, *, in_part: object = False) -> Exit:
    """Return the exit code where a gate *failed*, else where the answer is about a *part* of what was asked."""
    return Exit.THRESHOLD if failed else Exit.UNAVAILABLE if in_part else Exit.RAN


def threshold(option: str, words: str | None) -> FailOn | None:
    """Return what *words* (priorities, CATEGORY:PRIORITY or a category) name, None for None; raises BadInput."""
    if words is None:
        return None
    from gpuadvise.rules.fail_on import FailOn

    return FailOn(words, tuple(_least(option, word.strip()) for word in words.split(",")))


def _least(option: str, word: str) -> tuple[Category | None, Priority]:
    from gpuadvise.advisor.prose import and_list, quoted
    from gpuadvise.rules.model import Category, Priority

    category, colon, priority = word.partition(":")
    if not colon and word in [*Category]:
        return Category(word), Priority.LOW
    if colon and category not in [*Category]:
        accepted = and_list([*Category], "or")
        raise BadInput(f"{option}: {quoted(category)} is not a category.", hint=f"Use {accepted}.")
    level = priority if colon else word
    if level not in [*Priority]:
        accepted = and_list([*Priority], "or")
        raise BadInput(
            f"{option}: {quoted(level)} is not a priority.",
            hint=f"Use {accepted}, or one of a category: performance:high.",
        )
    return (Category(category) if colon else None), Priority(level)


def refuse_undescribed(ctx: Context, options: Sequence[str], hint: str) -> None:
    """Raise BadInput where none of *options* was typed: a gate would judge what the program assumes."""
    typed = (ctx.get_parameter_source(name) for name in options)
    if not any(source is not None and source.name == "COMMANDLINE" for source in typed):
        raise BadInput("--fail-under has nothing to compare: no access is described.", hint=hint)


_HINT = "Give what was measured: --time."


def fails_over(what: str, value: float | None, most: float | None) -> tuple[Exit, Sequence[str]]:
    """Return the exit code of ``--fail-over`` and, where *value* of *what* fails, a note.

    Raises BadInput as ``fails_under`` does.
    """
    return _fails("above --fail-over", what, value, most, _HINT)


def fails_under(
    what: str, value: float | None, least: float | None, hint: str = _HINT
) -> tuple[Exit, Sequence[str]]:
    """Return the exit code of ``--fail-under`` and, where *value* of *what* fails, a note.

    Raises BadInput when there is a threshold and nothing to hold it against: a check that
    cannot fail must not look like one that passed.
    """
    return _fails("below --fail-under", what, value, least, hint)


def _fails(
    beyond: str, what: str, value: float | None, limit: float | None, hint: str
) -> tuple[Exit, Sequence[str]]:
    if limit is None:
        return Exit.RAN, ()
    side, option = beyond.split()
    if value is None:
        raise BadInput(f"{option} has nothing to compare.", hint=hint)
    if value <= limit if side == "above" else value >= limit:
        return Exit.RAN, ()
    from gpuadvise.advisor.quantity import show_share

    return Exit.THRESHOLD, (f"{show_share(value)} {what} is {beyond} {show_share(limit)}.",)

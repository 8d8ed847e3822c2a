"""The exit codes that scripts may rely on; docs/exit-codes.md explains them."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typer import Context

    from gpuadvise.rules.model import Priority


class Exit(IntEnum):
    """What the process says to the shell."""

    RAN = 0
    THRESHOLD = 1  # a threshold that the user set was met
    BAD_INPUT = 2
    UNAVAILABLE = 3  # something asked for is not there, or broke
    INTERRUPTED = 130  # 128 + SIGINT
    CLOSED_PIPE = 141  # 128 + SIGPIPE: the reader went away


def threshold(option: str, word: str | None) -> Priority | None:
    """Return the priority that *word* names, None for None; raises BadInput."""
    if word is None:
        return None
    from gpuadvise.advisor.prose import and_list, quoted
    from gpuadvise.rules.model import Priority

    if word not in [*Priority]:
        accepted = and_list([*Priority], "or")
        raise BadInput(f"{option}: {quoted(word)} is not a priority.", hint=f"Use {accepted}.")
    return Priority(word)


def refuse_undescribed(ctx: Context, options: Sequence[str], hint: str) -> None:
    """Raise BadInput where none of *options* was typed: a gate would judge what the program assumes."""
    typed = (ctx.get_parameter_source(name) for name in options)
    if not any(source is not None and source.name == "COMMANDLINE" for source in typed):
        raise BadInput("--fail-under has nothing to compare: no access is described.", hint=hint)


def fails_over(what: str, value: float | None, most: float | None) -> tuple[Exit, Sequence[str]]:
    """Return the exit code of ``--fail-over`` and, where *value* of *what* fails, a note.

    Raises BadInput as ``fails_under`` does.
    """
    if most is None:
        return Exit.RAN, ()
    if value is None:
        raise BadInput(
            "--fail-over has nothing to compare.", hint="Give what was measured: --time."
        )
    if value <= most:
        return Exit.RAN, ()
    from gpuadvise.advisor.quantity import show_share

    sentence = f"{show_share(value)} {what} is above --fail-over {show_share(most)}."
    return Exit.THRESHOLD, (sentence,)


def fails_under(
    what: str,
    value: float | None,
    least: float | None,
    hint: str = "Give what was measured: --time.",
) -> tuple[Exit, Sequence[str]]:
    """Return the exit code of ``--fail-under`` and, where *value* of *what* fails, a note.

    Raises BadInput when there is a threshold and nothing to hold it against: a check that
    cannot fail must not look like one that passed.
    """
    if least is None:
        return Exit.RAN, ()
    if value is None:
        raise BadInput("--fail-under has nothing to compare.", hint=hint)
    if value >= least:
        return Exit.RAN, ()
    from gpuadvise.advisor.quantity import show_share

    sentence = f"{show_share(value)} {what} is below --fail-under {show_share(least)}."
    return Exit.THRESHOLD, (sentence,)

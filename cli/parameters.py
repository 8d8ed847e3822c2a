"""What the signature of a command says of its parameters, without the parser of command lines.

Commands stay free of Typer, so that a library calls them; ``cli/app.py`` makes Typer's options of
these when the command line starts one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class ArgumentSpec:  # no tuple or dataclass: either takes longer to make than all arguments of a start
    """A value that stands without an option's name."""

    def __init__(self, metavar: str, help: str, complete: Callable[..., Any] | None) -> None:
        self.metavar = metavar
        self.help = help
        self.complete = complete


class OptionSpec:
    """An option, as the table of options and the command that picks it describe it."""

    def __init__(
        self,
        *,
        spellings: tuple[str, ...],
        metavar: str | None,  # None: a switch
        help: str,
        complete: Callable[..., Any] | None,
        topic: str,
        callback: Callable[..., Any] | None,
    ) -> None:
        self.spellings = spellings
        self.metavar = metavar
        self.help = help
        self.complete = complete
        self.topic = topic
        self.callback = callback


def argument(metavar: str, help: str, *, complete: Callable[..., Any] | None = None) -> Any:
    """Return what the signature of a command says of a value without a name."""
    return ArgumentSpec(metavar, help, complete)

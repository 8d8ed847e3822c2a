"""The errors a user can meet; ``cli.main`` catches their root once."""

from __future__ import annotations


class GpuAdviseError(Exception):
    """Something the user must know: a *message*, often a *hint*, and an exit code.

    *log* is what another program wrote about it, for people to read as it is.
    """

    exit_code = 3
    log: str | None = None

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class BadInput(GpuAdviseError):
    """What the user typed or piped in cannot be used; the message names it."""

    exit_code = 2


class OtherText(BadInput):
    """A text file of a kind that the command does not read: beside others it is none of them."""


class TooCostly(BadInput):
    """An input that would take more time or memory than its reader allows: it was not judged."""


class Unavailable(GpuAdviseError):
    """Something that was asked for is not on this machine, or broke."""

    exit_code = 3

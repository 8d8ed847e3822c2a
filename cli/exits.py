"""The exit codes that scripts may rely on; docs/exit-codes.md explains them."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """What the process says to the shell."""

    RAN = 0
    THRESHOLD = 1  # a threshold that the user set was met
    BAD_INPUT = 2
    UNAVAILABLE = 3  # something asked for is not there, or broke
    INTERRUPTED = 130  # 128 + SIGINT
    CLOSED_PIPE = 141  # 128 + SIGPIPE: the reader went away

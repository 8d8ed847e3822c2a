"""What a warp does between two of its instructions, by the words of the profiler's metrics."""

from __future__ import annotations

from enum import StrEnum


class Stall(StrEnum):
    """A reason why a warp does not issue, or that it does.

    A profiler of tomorrow may name others: these stay texts, and equal none of the members.
    """

    SELECTED = "selected"  # it issues
    NOT_SELECTED = "not_selected"  # it could, and another warp does
    LONG_SCOREBOARD = "long_scoreboard"
    SHORT_SCOREBOARD = "short_scoreboard"
    LG_THROTTLE = "lg_throttle"
    MIO_THROTTLE = "mio_throttle"
    TEX_THROTTLE = "tex_throttle"
    BARRIER = "barrier"
    MEMBAR = "membar"
    WAIT = "wait"
    MATH_PIPE_THROTTLE = "math_pipe_throttle"
    DRAIN = "drain"
    IMC_MISS = "imc_miss"
    NO_INSTRUCTION = "no_instruction"
    BRANCH_RESOLVING = "branch_resolving"
    DISPATCH_STALL = "dispatch_stall"
    SLEEPING = "sleeping"
    GMMA = "gmma"
    MISC = "misc"
    SEVERAL = "several"  # none is long: a details page names a wait from 30 % of a warp's time on

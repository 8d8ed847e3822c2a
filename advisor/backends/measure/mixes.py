"""The jobs that staging is measured with, and how often each is repeated."""

from __future__ import annotations

from dataclasses import dataclass

STREAMS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32)
QUICK_STREAMS = (1, 2, 4, 8, 16)
MIB = 1 << 20
# Copies alone are repeated up to this, for which the time of an event is nothing.
LONG = 64 * MIB
_REPEATS = 31
_MOST_TIMES = 4
_QUICK_REPEATS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """A job: *bytes* down, a kernel *balance* times as long as that copy, perhaps bytes back."""

    name: str
    bytes: int
    balance: float
    copy_back: bool


MIXES = tuple(
    Mix(name=name, bytes=size * MIB, balance=balance, copy_back=back)
    for name, size, balance in (
        ("copy-bound", 64, 0.25),
        ("balanced", 64, 1.0),
        ("kernel-bound", 64, 4.0),
        ("small", 4, 1.0),
        ("large", 256, 1.0),
    )
    for back in (False, True)
)
QUICK_MIXES = tuple(mix for mix in MIXES if mix.name in {"balanced", "small"})


def repeats(mix: Mix, *, quick: bool) -> int:
    """Return the rounds of *mix*: more of short ones, which a late microsecond changes more."""
    return (_QUICK_REPEATS if quick else _REPEATS) * min(LONG // mix.bytes or 1, _MOST_TIMES)

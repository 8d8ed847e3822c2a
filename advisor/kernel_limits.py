"""Limits that a project sets for its kernels, and exceptions from them with a reason."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from gpuadvise.advisor.description.tables import DescriptionFault, Key, KeyTable
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.values import share, text, whole

if TYPE_CHECKING:
    from collections.abc import Collection

_MOST = 1000  # patterns


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelLimit:
    """What the kernels whose names match *pattern* may take; None: there is no limit.

    *regs* are registers per thread, *spills* the bytes that a thread stores and loads for them,
    *occupancy* (0 to 1) the least. As an exception it says what is accepted, and *reason* why.
    """

    pattern: str
    regs: int | None = None
    spills: int | None = None
    occupancy: float | None = None
    reason: str | None = None

    def matches(self, names: Collection[str]) -> bool:
        """Return whether the pattern is that of one of a kernel's *names*."""
        return any(fnmatchcase(name, self.pattern) for name in names)


_LIMITS = {
    "regs": Key("regs", whole(1)),
    "spills": Key("spills", whole()),
    "occupancy": Key("occupancy", share),
}
_LIMIT = KeyTable(dict, _LIMITS)
_EXCEPTION = KeyTable(dict, {**_LIMITS, "reason": Key("reason", text)})


def limits(value: object) -> tuple[KernelLimit, ...]:
    """Return the limits of a table of patterns; raises BadInput."""
    return _patterns(value, _LIMIT, "a limit: regs, spills or occupancy")


def exceptions(value: object) -> tuple[KernelLimit, ...]:
    """Return the exceptions of a table of patterns, each with its reason; raises BadInput."""
    read = _patterns(value, _EXCEPTION, "what is accepted: regs, spills or occupancy")
    for each in read:
        if not each.reason or not each.reason.strip():
            raise BadInput(
                f'"{each.pattern}": an exception has a reason.',
                hint='Write: reason = "measured faster"',
            )
    return read


def _patterns(value: object, table: KeyTable, wanted: str) -> tuple[KernelLimit, ...]:
    if not isinstance(value, dict) or len(value) > _MOST:
        raise BadInput(f"A table of up to {_MOST:,} patterns belongs here.")
    read = []
    for pattern, raw in value.items():
        try:
            given = table.fields(raw, ())
        except DescriptionFault as fault:
            key = f".{fault.path[-1]}" if fault.path else ""
            raise BadInput(f'"{pattern}"{key}: {fault.message}', hint=fault.hint) from None
        if not given.keys() & _LIMITS.keys():
            raise BadInput(f'"{pattern}" does not say {wanted}.')
        read.append(KernelLimit(pattern=str(pattern), **given))
    return tuple(read)


def names_of(name: str, demangled: str | None) -> tuple[str, ...]:
    """Return what a pattern may call a kernel: its symbol, its whole name, and its bare name."""
    whole_name = demangled or name
    head = re.split(r"[(<]", whole_name.removeprefix("void "), maxsplit=1)[0].strip()
    return tuple(dict.fromkeys((name, whole_name, head, head.rpartition("::")[2])))

"""The stack of a kernel and of all it calls, as its image tells it."""

from __future__ import annotations

_UNBOUNDED = 0xFFFFFFFF
# These toolkits write 0 for recursion, too.
_SILENT_SINCE, _SILENT_BEFORE = (12, 6), (13, 5)


def stack_of(
    recorded: int | None, toolkit: tuple[int, int] | None
) -> tuple[int | None, bool | None]:
    """Return bytes per thread, and whether recursion leaves them without a bound; None: not known."""
    if recorded is None:
        return None, None
    if recorded == _UNBOUNDED:
        return None, True
    silent = toolkit is None or _SILENT_SINCE <= toolkit < _SILENT_BEFORE
    return recorded, None if silent and not recorded else False

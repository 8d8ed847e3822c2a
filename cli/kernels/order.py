"""The orders of the list of kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

Record = dict[str, Any]


def in_order(records: list[Record], name: str | None) -> list[Record]:
    """Return *records* in the order *name*; what matters most comes first by default."""
    return sorted(records, key=_KEYS[name or "matters"])


def _matters(record: Record) -> tuple[Any, ...]:
    """Return the key of: cannot start, spills, little occupancy, many registers."""
    return (
        record["launchable"] is not False,
        -spills(record),
        _or(record["occupancy"], 2.0),
        -_or(record["registers"], 0),
        record["demangled"] or record["name"],
    )


def spills(record: Record) -> int:
    """Return the bytes a thread spills and reads back."""
    return int(_or(record["spill_stores"], 0) + _or(record["spill_loads"], 0))


def _or(value: Any, otherwise: Any) -> Any:
    return otherwise if value is None else value


def _most(field: str) -> Callable[[Record], Any]:
    return lambda record: -_or(record[field], -1)


_KEYS: dict[str, Callable[[Record], Any]] = {
    "matters": _matters,
    "name": lambda record: record["demangled"] or record["name"],
    "occupancy": lambda record: _or(record["occupancy"], 2.0),
    "registers": _most("registers"),
    "smem": _most("static_smem"),
    "stack": _most("stack"),
    "spills": lambda record: -spills(record),
    "code": _most("code_bytes"),
}

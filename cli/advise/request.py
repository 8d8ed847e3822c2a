"""The flags of ``advise`` as the kernel description that they abbreviate."""

from __future__ import annotations

from re import Pattern
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.description.reader import Described, described
from gpuadvise.advisor.description.tables import DescriptionFault
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.values import Distance
from gpuadvise.cli.options import OPTIONS, flag, read

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpuadvise.advisor.device import Device

# The options that describe a kernel, and where a description holds each; --time has its place in
# traffic and in work.
PLACES = {name: option.key for name, option in OPTIONS.items() if option.key}
_OPTIONS = {path: name for name, path in PLACES.items()}
_SECONDS = {"traffic": ("read", "write"), "work": ("flops", "bytes")}


def given_flags(flags: Mapping[str, Any]) -> dict[str, Any]:
    """Return the flags that describe a kernel and were given."""
    return {
        name: value
        for name, value in flags.items()
        if name in (*PLACES, "time") and value is not None
    }


def from_flags(flags: Mapping[str, Any], device: Device | None) -> Described:
    """Return the kernel that *flags* describe, on *device*; BadInput names the option."""
    record = _record(flags)
    try:
        return described(record, lambda gpu, cc: device)
    except DescriptionFault as fault:
        raise BadInput(_message(fault), hint=_hint(fault)) from None


def _message(fault: DescriptionFault) -> str:
    if fault.missing and (option := _option((*fault.path, fault.missing))):
        return f"{option} is missing."
    option = _option(fault.path)
    return f"{option}: {fault.message}" if option else fault.message


def _record(flags: Mapping[str, Any]) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for name, value in flags.items():
        if name in PLACES:
            *table, key = PLACES[name]
            target = record.setdefault(table[0], {}) if table else record
            target[key] = value
    _add_time(record, flags.get("time"))
    if "accesses" in record:  # named as it would be written in a kernel
        stride = str(record["accesses"].get("stride", 1)).strip()
        index = "i" if stride == "1" else f"{stride} * i" if stride.isdigit() else stride
        record["accesses"] = [{"name": f"x[{index}]", **record["accesses"]}]
    return record


def _add_time(record: dict[str, Any], time: str | None) -> None:
    if time is None:
        return
    tables = [name for name in _SECONDS if name in record]
    if not tables:
        raise BadInput(
            "--time alone says nothing about a kernel.",
            hint="Add --read and --write, or --flops and --bytes.",
        )
    for name in tables:
        record[name]["time"] = time
    if "traffic" in record:
        record["traffic"] = {"read": 0, "write": 0, **record["traffic"]}


def _option(path: tuple[str | int, ...]) -> str | None:
    words = tuple(part for part in path if isinstance(part, str))
    if words[-1:] == ("time",):
        return "--time"
    name = _OPTIONS.get(words)
    return flag(name) if name else None


def _hint(fault: DescriptionFault) -> str | None:
    """Return the hint in terms of options where a table of them is incomplete."""
    table = fault.path[0] if fault.path and isinstance(fault.path[0], str) else None
    options = [name for name, path in PLACES.items() if path[0] == table and len(path) > 1]
    if not options or len(fault.path) > 1:
        return fault.hint
    listed = ", ".join(map(flag, options))
    more = ", --time" if table in _SECONDS else ""
    return f"These belong together: {listed}{more}."


# Options whose plain numbers the answer repeats as numbers; other texts it repeats as typed.
_COUNTS = (
    "regs", "carveout", "barriers", "elements", "ilp", "latency", "flops", "streams",
    "processors", "target", "word", "stride", "offset",
)  # fmt: skip


def shown_value(name: str, value: Any) -> Any:
    """Return the *value* of option *name* as the answer repeats it."""
    if isinstance(value, Pattern):
        return value.pattern
    if name not in _COUNTS or not isinstance(value, str):
        return value
    number = read(name, value)
    if isinstance(number, Distance):
        return value if number.in_bytes else number.amount
    return number

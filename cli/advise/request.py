"""The flags of ``advise`` as the kernel description that they abbreviate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.description.reader import described
from gpuadvise.advisor.description.tables import DescriptionFault
from gpuadvise.advisor.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpuadvise.advisor.description.reader import Described
    from gpuadvise.advisor.device import Device

# Option (its parameter's name) -> where its value goes; --time belongs to traffic and work.
PLACES: dict[str, tuple[str, ...]] = {
    "name": ("name",),
    "regs": ("regs",),
    "block": ("block",),
    "grid": ("grid",),
    "smem": ("smem",),
    "dynamic_smem": ("dynamic_smem",),
    "max_dynamic_smem": ("max_dynamic_smem",),
    "carveout": ("carveout",),
    "barriers": ("barriers",),
    "cluster": ("cluster",),
    "launch_bounds": ("launch_bounds",),
    "elements": ("elements",),
    "syncs": ("syncs",),
    "ilp": ("ilp",),
    "latency": ("latency",),
    "concurrent": ("concurrent",),
    "read": ("traffic", "read"),
    "write": ("traffic", "write"),
    "reported_rate": ("traffic", "reported_rate"),
    "flops": ("work", "flops"),
    "bytes": ("work", "bytes"),
    "dtype": ("work", "dtype"),
    "h2d": ("pipeline", "h2d"),
    "kernel_time": ("pipeline", "kernel"),
    "d2h": ("pipeline", "d2h"),
    "streams": ("pipeline", "streams"),
    "total_time": ("total_time",),
    "parallel": ("scaling", "parallel"),
    "processors": ("scaling", "processors"),
    "target": ("scaling", "target"),
    "word": ("accesses", "word"),
    "stride": ("accesses", "stride"),
    "offset": ("accesses", "offset"),
    "row_bytes": ("accesses", "row_bytes"),
    "space": ("accesses", "space"),
    "spill_stores": ("compiled", "spill_stores"),
    "spill_loads": ("compiled", "spill_loads"),
    "stack": ("compiled", "stack"),
    "code": ("code",),
    "driver": ("driver",),
    "compile_flags": ("compile_flags",),
}
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
            target[key] = _split(name, value)
    _add_time(record, flags.get("time"))
    if "accesses" in record:
        record["accesses"] = [{"name": _index(record["accesses"]), **record["accesses"]}]
    return record


def _split(name: str, value: Any) -> Any:
    """Return the list behind ``--code sm_80,compute_90`` and ``--launch-bounds 256,4``."""
    if name == "code":
        return value.split(",")
    if name != "launch_bounds":
        return value
    parts = value.split(",")
    return [int(part) if part.strip().isdecimal() and len(part) < 12 else part for part in parts]


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


def _index(access: dict[str, Any]) -> str:
    """Return how the access would be written in a kernel: ``x[i]``, ``x[2 * i]``."""
    stride = access.get("stride", 1)
    return "x[i]" if stride == 1 else f"x[{stride} * i]"


def _option(path: tuple[str | int, ...]) -> str | None:
    words = tuple(part for part in path if isinstance(part, str))
    if words[-1:] == ("time",):
        return "--time"
    name = _OPTIONS.get(words)
    return "--" + name.replace("_", "-") if name else None


def _hint(fault: DescriptionFault) -> str | None:
    """Return the hint in terms of options where a table of them is incomplete."""
    table = fault.path[0] if fault.path and isinstance(fault.path[0], str) else None
    options = [name for name, path in PLACES.items() if path[0] == table and len(path) > 1]
    if not options or len(fault.path) > 1:
        return fault.hint
    listed = ", ".join("--" + name.replace("_", "-") for name in options)
    more = ", --time" if table in _SECONDS else ""
    return f"These belong together: {listed}{more}."

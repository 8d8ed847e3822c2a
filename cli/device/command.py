"""``gpuadvise device``: what a GPU is and what it does now."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

from gpuadvise.advisor.backends.choose import VARIABLE
from gpuadvise.advisor.errors import BadInput, Unavailable
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.devices import choice_of, device_block
from gpuadvise.cli.exits import Exit
from gpuadvise.cli.formats import Format
from gpuadvise.cli.head_start import nvml_knows, of_telemetry
from gpuadvise.cli.options import Cc, FormatName, Get, Gpu, Live, Snapshot, pick

if TYPE_CHECKING:
    from gpuadvise.advisor.backends.choose import Choice, Depth
    from gpuadvise.advisor.gpu import Machine

EXAMPLES = """\
  gpuadvise device --telemetry
  gpuadvise device --gpu h200 --get memory_bandwidth
  gpuadvise device --all --telemetry --format json > box.json
  gpuadvise device --from box.json --device 1"""

_NO_TELEMETRY = "There is no telemetry of this device; only a live GPU gives it."


def command(
    gpu: Gpu = None,
    cc: Cc = None,
    device: Live = None,
    from_file: Snapshot = None,
    all_gpus: Annotated[bool, pick("all", "Every GPU of this machine.")] = False,
    telemetry: Annotated[bool, pick("telemetry")] = False,
    format: FormatName = Format.TEXT,
    get: Get = None,
) -> Answer:
    """Print what one GPU, or every GPU of this machine, is and does."""
    sources = {"gpu": gpu, "cc": cc, "device": device, "from": from_file}
    _refuse(sources, all_gpus=all_gpus, telemetry=telemetry)
    fields = tuple(get or ())
    telemetry = telemetry or (gpu is None and cc is None and of_telemetry(fields))
    options = {**sources, "all": all_gpus, "telemetry": telemetry}
    depth = _depth(fields, telemetry=telemetry)
    return _all_gpus(options) if all_gpus else _one_gpu(options, depth)


def _refuse(options: dict[str, str | None], *, all_gpus: bool, telemetry: bool) -> None:
    named = [f"--{name}" for name, value in options.items() if value is not None]
    if all_gpus and (sources := [name for name in named if name != "--from"]):
        raise BadInput(f"--all and {sources[0]} contradict each other.", hint="Give one of them.")
    if telemetry and (fixed := [name for name in named if name in ("--gpu", "--cc")]):
        raise BadInput(f"--telemetry needs a live GPU; {fixed[0]} names none.")


def _depth(fields: tuple[str, ...], *, telemetry: bool) -> Depth:
    """Return how much to ask for *fields*; none means all of them."""
    from gpuadvise.advisor.backends.choose import Depth

    if nvml_knows(fields):
        return Depth.NVML_LIVE if telemetry else Depth.NVML
    return Depth.TELEMETRY if telemetry else Depth.FACTS


def _one_gpu(options: dict[str, Any], depth: Depth) -> Answer:
    from gpuadvise.advisor.gpu import Gpu, Identity
    from gpuadvise.advisor.snapshot import gpu_record

    choice = choice_of(options, depth)
    if choice.gpu is None and not _names_one(options):
        raise Unavailable(
            " ".join(choice.notes[:-1]) or "This machine has no GPU that answers.",
            hint="--gpu NAME answers from the catalogue; gpuadvise doctor says what is wrong here.",
        )
    gpu = choice.gpu or Gpu(device=choice.device, identity=Identity())
    missing = (_NO_TELEMETRY,) if options["telemetry"] and gpu.telemetry is None else ()
    return Answer(
        command="device",
        device=device_block(choice.device),
        input=options,
        result={**gpu_record(gpu), **_about(choice)},
        rows=[row(gpu_record(gpu))],
        blocks=lambda: _pages().one_gpu(gpu, choice.machine),
        notes=(*choice.notes, *missing),
    )


def _names_one(options: dict[str, Any]) -> bool:
    """Return whether the user named a GPU; a default one would be passed off as this machine's."""
    named = any(options[name] is not None for name in ("gpu", "cc", "device", "from"))
    return named or bool(os.environ.get(VARIABLE))


def _about(choice: Choice) -> dict[str, Any]:
    machine = choice.machine
    return {
        "driver_version": machine.driver_version if machine else None,
        "cuda_version": machine.cuda_version if machine else None,
        "problems": list(machine.problems) if machine else [],
    }


def _all_gpus(options: dict[str, Any]) -> Answer:
    from gpuadvise.advisor.snapshot import machine_record

    machine = _machine(options["from"], telemetry=options["telemetry"])
    result = machine_record(machine)
    return Answer(
        command="device",
        device=None,
        input=options,
        result=result,
        rows=[row(record) for record in result["devices"]],
        blocks=lambda: _pages().whole_machine(machine),
        notes=() if machine.gpus else machine.problems,
        exit=Exit.RAN if machine.gpus else Exit.UNAVAILABLE,
    )


def _machine(path: str | None, *, telemetry: bool) -> Machine:
    if path is not None:
        from gpuadvise.advisor.backends.user_files import read_snapshot

        return read_snapshot(path)
    from gpuadvise.advisor.backends.live import live_machine

    return live_machine(telemetry=telemetry)


def row(record: dict[str, Any]) -> dict[str, Any]:
    """Return *record* flat for CSV and NDJSON: no sources and reasons, telemetry's fields by dot."""
    flat = {name: value for name, value in record.items() if name not in _NOT_IN_ROWS}
    last = {name: flat.pop(name) for name in _LAST_IN_ROWS}
    peaks = {f"peaks.{name}": value for name, value in record["peaks"].items()}
    now = record["telemetry"] or {}
    live = {f"telemetry.{name}": value for name, value in now.items() if name not in _NOT_IN_ROWS}
    able = {f"features.{name}": value for name, value in (record["features"] or {}).items()}
    return {**flat, **peaks, **live, **able, **last}


_NOT_IN_ROWS = (
    "sources", "reasons", "peaks", "features", "topology", "telemetry", "notes", "mig",
    "clock_limit_seconds",
)  # fmt: skip
# Columns that came later stand behind the older ones: scripts count columns.
_LAST_IN_ROWS = ("minor", "visible", "hidden_because", "max_blocks_per_sm_in_clusters")


def _pages() -> Any:
    from gpuadvise.cli.device import text

    return text

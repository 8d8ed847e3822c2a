"""``gpuadvise device``: what a GPU is and what it does now."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

from gpuadvise.advisor.backends.choose import VARIABLE, Depth
from gpuadvise.advisor.errors import BadInput, Unavailable
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.devices import device_block
from gpuadvise.cli.exits import Exit
from gpuadvise.cli.formats import Format
from gpuadvise.cli.head_start import nvml_knows, of_telemetry
from gpuadvise.cli.options import FormatName, Get, GpuOptions, pick

if TYPE_CHECKING:
    from gpuadvise.advisor.gpu import Machine

EXAMPLES = """\
  gpuadvise device --telemetry
  gpuadvise device --gpu h200 --get memory_bandwidth
  gpuadvise device --all --telemetry --format json > box.json
  gpuadvise device --from box.json --device 1"""

_NO_TELEMETRY = "There is no telemetry of this device; only a live GPU gives it."


def command(
    gpu: GpuOptions = GpuOptions(),
    all_gpus: Annotated[bool, pick("all", "Every GPU of this machine.")] = False,
    telemetry: Annotated[bool, pick("telemetry")] = False,
    format: FormatName = Format.TEXT,
    get: Get = None,
) -> Answer:
    """Print what one GPU, or every GPU of this machine, is and does."""
    _refuse(gpu.asked(), all_gpus=all_gpus, telemetry=telemetry)
    fields = tuple(get or ())
    telemetry = telemetry or (gpu.gpu is None and gpu.cc is None and of_telemetry(fields))
    depth = _depth(fields, telemetry=telemetry)
    if all_gpus:
        return _all_gpus({**gpu.asked(), "all": True, "telemetry": telemetry})
    return _one_gpu(gpu, depth, telemetry=telemetry)


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


def _one_gpu(named: GpuOptions, depth: Depth, *, telemetry: bool) -> Answer:
    from gpuadvise.advisor.gpu import Gpu, Identity
    from gpuadvise.advisor.snapshot import gpu_record

    choice = named.choice(depth)
    machine = choice.machine
    # A default one would be passed off as this machine's.
    if choice.gpu is None and not named.given and not os.environ.get(VARIABLE):
        raise Unavailable(
            " ".join(choice.notes[:-1]) or "This machine has no GPU that answers.",
            hint="--gpu NAME answers from the catalogue; gpuadvise doctor says what is wrong here.",
        )
    gpu = choice.gpu or Gpu(device=choice.device, identity=Identity())
    missing = (_NO_TELEMETRY,) if telemetry and gpu.telemetry is None else ()
    return Answer(
        command="device",
        device=device_block(choice.device),
        input={**named.asked(), "all": False, "telemetry": telemetry},
        result={
            **gpu_record(gpu),
            "driver_version": machine.driver_version if machine else None,
            "cuda_version": machine.cuda_version if machine else None,
            "problems": list(machine.problems) if machine else [],
        },
        rows=[row(gpu_record(gpu))],
        blocks=lambda: _pages().one_gpu(gpu, machine),
        notes=(*choice.notes, *missing),
    )


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

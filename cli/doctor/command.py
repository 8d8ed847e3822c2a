"""``gpuadvise doctor``: what this machine's GPUs, driver and settings suffer from."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import quoted
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.emit import emit
from gpuadvise.cli.exits import Exit
from gpuadvise.cli.formats import Format, Output
from gpuadvise.cli.options import FormatName, Get, Snapshot, Text, pick, read

if TYPE_CHECKING:
    from gpuadvise.advisor.gpu import Machine

EXAMPLES = """\
  gpuadvise doctor
  gpuadvise doctor --load --fail-on high
  gpuadvise doctor --report markdown > ticket.md
  gpuadvise doctor --from box.json    # of device --all, or nvidia-smi -q -x"""

_SHORTEST_WATCH = 0.5  # seconds; NVML's own counters move about that fast


def command(
    from_file: Snapshot = None,
    all_checks: Annotated[
        bool, pick("all", "List every check, passed ones too, and the software.")
    ] = False,
    load: Annotated[bool, pick("load")] = False,
    report: Annotated[Text, pick("report")] = None,
    with_ids: Annotated[bool, pick("with_ids")] = False,
    fail_on: Annotated[Text, pick("fail_on", "Exit 1 on high, medium, low.")] = None,
    watch: Annotated[Text, pick("watch")] = None,
    format: FormatName = Format.TEXT,
    get: Get = None,
) -> Answer | Exit:
    """Judge the GPUs of this machine, their links, the driver, and what is set around them."""
    import time

    from gpuadvise.cli.exits import threshold

    if load and from_file is not None:
        raise BadInput("--load needs this machine's GPUs; --from reads a saved answer.")
    interval = _interval(watch)
    output = Output(format=read("report", report) or format, fields=tuple(get or ()))
    limit = threshold("--fail-on", fail_on)

    def examined() -> Answer:
        from gpuadvise.advisor.backends.software import software
        from gpuadvise.cli.doctor.answer import answer
        from gpuadvise.rules.machine_checks import checks

        # The drivers are starting meanwhile: see cli/head_start.py.
        around, environment = None, None
        if from_file is None:
            around = software(ids=with_ids)
            prefixes = ("CUDA_", "NVIDIA_")
            environment = {k: v for k, v in os.environ.items() if k.startswith(prefixes)}
        machine = _machine(from_file, load=load)
        named = _named(from_file, with_ids)
        return answer(
            machine,
            around,
            checks(machine, environment),
            {"from": named, "load": load, "fail_on": fail_on, "with_ids": with_ids},
            limit=limit,
            full=all_checks or report is not None,
            with_ids=with_ids,
        )

    while interval is not None:
        emit(examined(), output)
        time.sleep(interval)
    return examined() if report is None else emit(examined(), output)


def _interval(text: str | None) -> float | None:
    """Return the seconds of ``--watch``; raises BadInput where NVML has nothing new so soon."""
    seconds: float | None = read("watch", text)
    if seconds is not None and seconds < _SHORTEST_WATCH:
        raise BadInput(
            f"--watch: {quoted(text or '')} is too short.",
            hint=f"Write {_SHORTEST_WATCH}s or more.",
        )
    return seconds


def _named(path: str | None, with_ids: bool) -> str | None:
    """Return how the answer calls the file *path*: by its bare name where it names no paths."""
    if path is None or with_ids:
        return path
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2]


def _machine(path: str | None, *, load: bool) -> Machine:
    if path is not None:
        from gpuadvise.advisor.backends.user_files import read_snapshot

        return read_snapshot(path)
    from gpuadvise.advisor.backends.live import live_machine

    if load:
        from gpuadvise.advisor.backends.measure.load import machine_at_work

        return machine_at_work()
    return live_machine(telemetry=True)

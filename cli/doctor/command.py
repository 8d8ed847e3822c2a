"""``gpuadvise doctor``: what this machine's GPUs, driver and settings suffer from."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import quoted
from gpuadvise.cli.emit import emit
from gpuadvise.cli.exits import Exit
from gpuadvise.cli.formats import Format, Output
from gpuadvise.cli.options import FormatName, Get, Snapshot

if TYPE_CHECKING:
    from gpuadvise.advisor.gpu import Machine
    from gpuadvise.advisor.software import Software
    from gpuadvise.cli.answer import Answer
    from gpuadvise.cli.doctor.evaluate import Check

EXAMPLES = """\
  gpuadvise doctor
  gpuadvise doctor --load --fail-on high
  gpuadvise doctor --report markdown > ticket.md
  gpuadvise doctor --from box.json        # device --all --telemetry, or nvidia-smi -q -x"""

REPORTS = (Format.MARKDOWN, Format.JSON)
_SHORTEST_WATCH = 0.5  # seconds; NVML's own counters move about that fast


def command(
    from_file: Snapshot = None,
    all_checks: Annotated[
        bool, typer.Option("--all", help="List every check, passed ones too, and the software.")
    ] = False,
    load: Annotated[
        bool,
        typer.Option(
            "--load", help="Put each GPU to work for up to 3 s, to judge clocks and link."
        ),
    ] = False,
    report: Annotated[
        str | None,
        typer.Option("--report", metavar="FORMAT", help="All of it for a ticket: markdown, json."),
    ] = None,
    with_ids: Annotated[
        bool, typer.Option("--with-ids", help="Leave UUIDs, PCI addresses and paths in.")
    ] = False,
    fail_on: Annotated[
        str | None,
        typer.Option("--fail-on", metavar="PRIORITY", help="Exit 1 at this priority or above."),
    ] = None,
    watch: Annotated[
        float | None,
        typer.Option("--watch", metavar="SECONDS", help="Ask again every so many seconds."),
    ] = None,
    format: FormatName = Format.TEXT,
    get: Get = None,
) -> Exit:
    """Judge the GPUs of this machine, their links, the driver, and what is set around them."""
    from gpuadvise.cli.doctor.answer import priority_named

    if report is not None and report not in REPORTS:
        raise BadInput(f"--report: {quoted(report)} is not a report.", hint="Use markdown or json.")
    if load and from_file is not None:
        raise BadInput("--load needs this machine's GPUs; --from reads a saved answer.")
    if watch is not None and not watch >= _SHORTEST_WATCH:
        raise BadInput(
            f"--watch: {watch:g} is not a number of seconds.", hint=f"{_SHORTEST_WATCH} or more."
        )
    output = Output(format=report or format, fields=tuple(get or ()))
    limit = priority_named(fail_on)

    def examined() -> Answer:
        from gpuadvise.cli.doctor.answer import answer

        machine = _machine(from_file, load=load)
        here = from_file is None
        checks, software = _gathered(machine, here=here, with_ids=with_ids)
        inputs = {"from": from_file, "load": load, "fail_on": fail_on, "with_ids": with_ids}
        return answer(
            machine,
            software,
            checks,
            inputs,
            limit=limit,
            full=all_checks or report is not None,
            with_ids=with_ids,
        )

    while watch is not None:
        emit(examined(), output)
        _wait(watch)
    return emit(examined(), output)


def _wait(seconds: float) -> None:
    import time

    time.sleep(seconds)


def _gathered(
    machine: Machine, *, here: bool, with_ids: bool
) -> tuple[tuple[Check, ...], Software | None]:
    from gpuadvise.cli.doctor.evaluate import checks

    environment = {k: v for k, v in os.environ.items() if k.startswith(("CUDA_", "NVIDIA_"))}
    software = None
    if here:
        from gpuadvise.advisor.backends.software import software as installed

        software = installed(ids=with_ids)
    return checks(machine, environment if here else None), software


def _machine(path: str | None, *, load: bool) -> Machine:
    if path is not None:
        from gpuadvise.advisor.backends.user_files import read_snapshot

        return read_snapshot(path)
    from gpuadvise.advisor.backends.live import live_machine

    if load:
        from gpuadvise.advisor.backends.measure.load import machine_at_work

        return machine_at_work()
    return live_machine(telemetry=True)

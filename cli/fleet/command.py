"""``gpuadvise fleet``: which of many machines is unwell, or differs from its equals."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import and_list, quoted
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.formats import Format
from gpuadvise.cli.options import EngineOptions, Get, Text, Whole, pick
from gpuadvise.cli.parameters import argument

if TYPE_CHECKING:
    from gpuadvise.advisor.backends.machine_dumps import Unread
    from gpuadvise.advisor.engines.cluster import DaskCluster
    from gpuadvise.advisor.engines.engine import TaskEngine
    from gpuadvise.advisor.fleet.machine import FleetMachine

EXAMPLES = """\
  gpuadvise fleet dumps/                      # node01.xml, node02.xml, ...
  gpuadvise fleet dumps/ --fail-on high --host 'node0*'
  ssh login tar -cf - dumps | gpuadvise fleet -
  gpuadvise fleet dumps/ --show-hosts --format prometheus > gpus.prom
  gpuadvise fleet --engine dask --scheduler tcp://10.0.0.1:8786   # the machines of its workers"""

# More take the machine from others, and one of them then waits for the disk.
_MOST_JOBS = 4


def command(
    files: Annotated[
        list[str] | None,
        argument("[PATH]...", "Saved machines, folders or tar archives of them; -: stdin."),
    ] = None,
    host: Annotated[Text, pick("host")] = None,
    all_lines: Annotated[
        bool, pick("all", "A line for every GPU, and every host by name.")
    ] = False,
    since: Annotated[
        Text, pick("since", "Only what was saved from this day on: 2026-11-20.", metavar="DATE")
    ] = None,
    show_hosts: Annotated[bool, pick("show_hosts")] = False,
    with_ids: Annotated[bool, pick("with_ids", "Leave UUIDs and PCI addresses in.")] = False,
    jobs: Annotated[
        Whole, pick("jobs", "Processes that read the files; up to 4 unless given.")
    ] = None,
    engine: EngineOptions = EngineOptions(),
    measure: Annotated[
        bool, pick("measure", "Without PATH: measure each worker's copies, too.")
    ] = False,
    fail_on: Annotated[Text, pick("fail_on", "Exit 1 on high, medium, low.")] = None,
    format: Annotated[
        str, pick("format", "text, json, csv, ndjson, markdown, html, prometheus or github.")
    ] = Format.TEXT,
    get: Get = None,
) -> Answer:
    """Judge many machines by what was saved of each: one file, one machine."""
    from gpuadvise.advisor.backends.machine_dumps import SUFFIXES
    from gpuadvise.advisor.backends.remote_files import located
    from gpuadvise.advisor.backends.worker_processes import usable_cores
    from gpuadvise.advisor.engines.processes import Processes
    from gpuadvise.cli.engines import chosen_engine, with_lost
    from gpuadvise.cli.exits import threshold
    from gpuadvise.cli.fleet.answer import answer, hashed
    from gpuadvise.cli.fleet.gather import JUDGING, WORTH_PROCESS
    from gpuadvise.rules.fleet_report import report_on

    files = located(files or [], SUFFIXES)
    limit = threshold("--fail-on", fail_on)
    patterns = [word.strip() for word in (host or "").split(",") if word.strip()]
    processes: int = jobs or min(usable_cores(), _MOST_JOBS)
    here = Processes(jobs=processes, worth=WORTH_PROCESS, modules=JUDGING)
    cluster = chosen_engine(engine)
    first_day = _day(since)
    machines, left = _gathered(files, patterns, cluster, here, measure=measure, since=first_day)
    # What is written in another form than text may leave the house.
    hidden = not show_hosts and (format != Format.TEXT or bool(get))
    if hidden:
        machines = [replace(machine, host=hashed(machine.host)) for machine in machines]
    inputs = {
        "paths": files if show_hosts and files else None,
        "host": patterns if show_hosts else None,
        "show_hosts": show_hosts,
        "with_ids": with_ids,
        "fail_on": fail_on,
        "since": since,
    }
    said = answer(
        report_on(machines),
        left,
        inputs,
        limit=limit,
        hidden=hidden,
        with_ids=with_ids,
        full=all_lines,
    )
    return with_lost(said, cluster)


def _gathered(
    files: list[str],
    patterns: list[str],
    cluster: DaskCluster | None,
    here: TaskEngine,
    *,
    measure: bool,
    since: str,
) -> tuple[list[FleetMachine], list[Unread]]:
    """Return the machines of *files*, or without any of the hosts of *cluster*, and what is unread.

    Raises BadInput where there are none, and as the engine does.
    """
    from gpuadvise.advisor.backends.machine_dumps import dump_files
    from gpuadvise.advisor.backends.user_files import kept_pipes
    from gpuadvise.advisor.fleet.joined_files import joined, matching
    from gpuadvise.cli.fleet.gather import judged_files, machines_of

    if measure and (files or cluster is None):
        raise BadInput(
            "--measure is for the machines of a cluster.",
            hint="Give --engine dask and --scheduler, and no PATH.",
        )
    if files:
        left: list[Unread] = []
        with kept_pipes(files):
            named = dump_files(files, left)
            chosen = matching(named, patterns)
            if not chosen and not left:
                raise _nothing(files, patterns, len(named))
            machines, unread = joined(judged_files(chosen, cluster or here), since)
        if chosen and not machines and not unread and not left:
            raise BadInput(f"--since: nothing was saved on {since} or later.")
        return machines, [*left, *unread]
    if cluster is None:
        raise BadInput(
            "There is no machine to judge.",
            hint="Name files or a folder of them, or --engine dask for the machines of a cluster.",
        )
    machines, unread = joined(machines_of(cluster, patterns, copies=measure))
    if not machines and not unread:
        raise BadInput(f"--host: no machine of the cluster is called {_any_of(patterns)}.")
    return machines, unread


def _day(since: str | None) -> str:
    """Return the day *since*, empty for none; raises BadInput."""
    from datetime import date

    if since is None:
        return ""
    try:
        return date.fromisoformat(since).isoformat()
    except ValueError:
        raise BadInput(
            f"--since: {quoted(since)} is not a day.", hint="Write it as 2026-11-20."
        ) from None


def _any_of(patterns: list[str]) -> str:
    return and_list([quoted(pattern) for pattern in patterns], "or")


def _nothing(files: list[str], patterns: list[str], count: int) -> BadInput:
    if count:
        words = _any_of(patterns)
        return BadInput(
            f"--host: none of the {count} machines is called {words}.",
            hint="* stands for any letters: --host 'node0*'; the names are those of the files.",
        )
    return BadInput(
        f"There is no saved machine in {and_list([quoted(path) for path in files])}.",
        hint="fleet reads files that end in .json, .xml, .csv or .txt, and archives of tar.",
    )

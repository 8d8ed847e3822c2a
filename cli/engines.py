"""Who works over many files: what ``--engine``, ``--scheduler`` and ``--task-time`` say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput
from gpuadvise.cli.exits import Exit

if TYPE_CHECKING:
    from gpuadvise.advisor.engines.cluster import DaskCluster
    from gpuadvise.advisor.engines.engine import TaskEngine
    from gpuadvise.cli.answer import Answer
    from gpuadvise.cli.options import EngineOptions

DASK = "dask"


def chosen_engine(given: EngineOptions) -> DaskCluster | None:
    """Return the engine that the options name, None for what works without one; raises BadInput."""
    if given.engine != DASK:
        for option, value in (("--scheduler", given.scheduler), ("--task-time", given.task_time)):
            if value is not None:
                raise BadInput(f"{option} is for --engine dask, which is not given.")
        return None
    if given.scheduler is None:
        raise BadInput(
            "--engine dask needs the address of a scheduler.",
            hint="Give --scheduler tcp://host:8786, or the file of dask scheduler --scheduler-file.",
        )
    from gpuadvise.advisor.engines.cluster import DEFAULT_SECONDS, DaskCluster
    from gpuadvise.cli.emit import note
    from gpuadvise.cli.progress import Progress

    return DaskCluster(
        address=given.scheduler,
        seconds=given.task_time or DEFAULT_SECONDS,
        say=note,
        told=Progress().reading,
    )


def with_lost(answer: Answer, engine: TaskEngine | None) -> Answer:
    """Return *answer*, with exit code 3 where *engine* lost an input and no threshold was met."""
    return answer._replace(exit=exit_with_lost(answer.exit, engine))


def exit_with_lost(code: Exit, engine: TaskEngine | None) -> Exit:
    """Return *code*, or 3 where that is 0 and *engine* lost an input."""
    return Exit.UNAVAILABLE if code is Exit.RAN and engine and engine.lost else code

"""The answer for ``--all-cc``: one launch on every compute capability."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.catalogue import known_capabilities, limits_of
from gpuadvise.advisor.occupancy.model import occupancy
from gpuadvise.advisor.occupancy.record import record
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.formats import Format
from gpuadvise.cli.occupancy.curve import capabilities
from gpuadvise.cli.occupancy.question import option, question
from gpuadvise.cli.occupancy.result import echo, flat

if TYPE_CHECKING:
    from gpuadvise.cli.occupancy.asked import Asked


def answer(asked: Asked) -> Answer:
    """Return the answer, oldest capability first; raises BadInput."""
    launch = question(asked.texts, option)
    found = [(cc, occupancy(limits_of(cc)[0], launch.launch)) for cc in known_capabilities()]
    table = [{"compute_capability": str(cc), **record(each)} for cc, each in found]
    code, notes = asked.verdict([each for _, each in found])
    return Answer(
        command="occupancy",
        device=None,
        input=echo(launch),
        result={"sweep": table},
        blocks=lambda: capabilities(found),
        rows=[flat(row) for row in table] if asked.output.format == Format.CSV else table,
        notes=notes,
        exit=code,
    )

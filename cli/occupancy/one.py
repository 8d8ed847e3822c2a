"""The answer for one launch on one device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.cli.answer import Answer
from gpuadvise.cli.devices import device_block
from gpuadvise.cli.formats import Format
from gpuadvise.cli.occupancy.case import examined
from gpuadvise.cli.occupancy.question import option, question
from gpuadvise.cli.occupancy.result import echo, flat, result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.cli.blocks import Block
    from gpuadvise.cli.occupancy.asked import Asked


def answer(asked: Asked) -> Answer:
    """Return the answer; raises BadInput or Unavailable."""
    launch = question(asked.texts, option)
    threshold = asked.verdict
    choice = asked.choice()
    case = examined(choice.device, launch)
    fields = result(case)
    check = None
    if asked.driver_check:
        from gpuadvise.cli.occupancy.driver_check import driver_check

        check = fields["driver_check"] = driver_check(choice)

    def blocks() -> Sequence[Block]:
        from gpuadvise.cli.occupancy.screen import screen

        return screen(case, check)

    code, notes = threshold([case.found])
    return Answer(
        command="occupancy",
        device=device_block(choice.device),
        input=echo(launch),
        result=fields,
        blocks=blocks,
        rows=[flat(fields)] if asked.output.format == Format.CSV else None,
        notes=(*choice.notes, *notes),
        exit=code,
    )

"""The answer for ``--sweep``: the launch itself, if it is whole, and its neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.cli.answer import Answer
from gpuadvise.cli.devices import device_block
from gpuadvise.cli.formats import Format
from gpuadvise.cli.occupancy.curve import curve
from gpuadvise.cli.occupancy.question import option, question
from gpuadvise.cli.occupancy.result import echo, flat
from gpuadvise.cli.occupancy.sweep import Axis, axis, rows, swept

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.occupancy.launch import Launch
    from gpuadvise.cli.blocks import Block
    from gpuadvise.cli.occupancy.asked import Asked


def answer(asked: Asked) -> Answer:
    """Return the answer; the swept option need not be given. Raises BadInput or Unavailable."""
    by = axis(asked.sweep or "")
    given = asked.texts[by] is not None
    texts = asked.texts if given else {**asked.texts, by.value: "1"}
    launch = question(texts, option)
    choice = asked.choice()
    points = swept(choice.device.limits, launch.launch, by)
    table = rows(points, by)

    def blocks() -> Sequence[Block]:
        own = _value(launch.launch, by) if given else None
        drawn = curve(choice.device, points, by, own)
        if not asked.plot:
            return drawn
        from shutil import get_terminal_size

        from gpuadvise.cli.occupancy.chart import chart

        return [drawn[0], chart(points, by, get_terminal_size().columns)]

    return Answer(
        command="occupancy",
        device=device_block(choice.device),
        input={**echo(launch), by.value: None if not given else echo(launch)[by], "sweep": by},
        result={"sweep": table},
        blocks=blocks,
        rows=[flat(row) for row in table] if asked.output.format == Format.CSV else table,
        notes=choice.notes,
    )


def _value(launch: Launch, by: Axis) -> int:
    match by:
        case Axis.BLOCK:
            return launch.threads
        case Axis.REGS:
            return launch.registers or 0
        case Axis.SMEM:
            return launch.dynamic_shared

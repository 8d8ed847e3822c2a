"""``gpuadvise scaling``: what parallelising part of a program can win."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.scaling import (
    amdahl,
    amdahl_limit,
    gustafson,
    needed_parallel,
    needed_processors,
)
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.blocks import Block, Cell, Fact, Heading, LabelledFacts, Line, Tone, table
from gpuadvise.cli.options import pick

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

EXAMPLES = """\
  gpuadvise scaling --parallel 0.75 --processors 1000
  gpuadvise scaling --parallel 95% --processors 132 --target 15
  gpuadvise scaling --parallel 75% --target 3
  gpuadvise scaling --parallel 3/4 --processors 64 --get amdahl"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingRequest:
    """A parallel fraction, processors, and perhaps a speed-up to reach."""

    parallel: float
    processors: int
    target: float | None


def command(
    parallel: Annotated[float, pick("parallel")],
    processors: Annotated[int | None, pick("processors")] = None,
    target: Annotated[float | None, pick("target")] = None,
) -> Answer:
    """Print the bounds of Amdahl and Gustafson."""
    request = ScalingRequest(
        parallel=parallel, processors=processors or _needed(parallel, target), target=target
    )
    return Answer(
        command="scaling",
        device=None,
        input=asdict(request),
        result=result(request),
        rows=rows(request),
        blocks=lambda: blocks(request),
    )


def _needed(parallel: float, target: float | None) -> int:
    """Return the processors that reach *target*; raises BadInput where none is given or none do."""
    if target is None:
        raise BadInput(
            "--processors is missing.",
            hint="Give how many there are, or the speed-up to reach: --target 3.",
        )
    count = needed_processors(target, parallel)
    if count is None:
        raise BadInput(
            f"--target: no number of processors reaches {_times(target)} with "
            f"{_close(parallel)} in parallel; {_times(amdahl_limit(parallel))} is the limit.",
            hint="Give --processors to see what a number of them wins.",
        )
    return count


def result(request: ScalingRequest) -> dict[str, Any]:
    """Return the ``result``; a limit of null means that there is none."""
    limit = amdahl_limit(request.parallel)
    target = request.target
    return {
        "amdahl": amdahl(request.parallel, request.processors),
        "amdahl_limit": None if math.isinf(limit) else limit,
        "gustafson": gustafson(request.parallel, request.processors),
        "target_reached": target and amdahl(request.parallel, request.processors) >= target,
        "needed_parallel": target and needed_parallel(target, request.processors),
        "needed_processors": target and needed_processors(target, request.parallel),
    }


def rows(request: ScalingRequest) -> list[Mapping[str, Any]]:
    """Return one row per power of two up to the processors asked for, and that number."""
    counts = [2**power for power in range(request.processors.bit_length())]
    return [
        {
            "processors": count,
            "amdahl": amdahl(request.parallel, count),
            "gustafson": gustafson(request.parallel, count),
        }
        for count in sorted({*counts, request.processors})
    ]


def blocks(request: ScalingRequest) -> list[Block]:
    """Return what a person reads."""
    speed_ups = table(
        rows(request),
        (">processors", lambda row: f"{row['processors']:,}"),
        (">Amdahl", lambda row: _times(row["amdahl"])),
        (">Gustafson", lambda row: _times(row["gustafson"])),
    )
    facts = LabelledFacts(tuple(_facts(request)))
    told = map(Line, _target(request))
    return [_verdict(request), facts, *told, Heading("Speed-up"), speed_ups]


def _verdict(request: ScalingRequest) -> Line:
    """Return the answer in a sentence: what these processors win, and any number of them."""
    limit = amdahl_limit(request.parallel)
    machine = plural(request.processors, "processor")
    won = f"{_times(amdahl(request.parallel, request.processors))} with {machine}"
    most = "" if math.isinf(limit) else f", at most {_times(limit)} with any number"
    return Line(f"{won}{most}.", Tone.STRONG)


def _facts(request: ScalingRequest) -> Iterator[Fact]:
    limit = amdahl_limit(request.parallel)
    at_most = "no limit" if math.isinf(limit) else _times(limit)
    fixed = Cell(_times(amdahl(request.parallel, request.processors)))
    yield Fact("Amdahl", fixed, "the problem stays as it is")
    yield Fact("limit", Cell(at_most), "with any number of processors")
    grown = Cell(_times(gustafson(request.parallel, request.processors)))
    yield Fact("Gustafson", grown, "the problem grows with the machine")


def _target(request: ScalingRequest) -> Iterator[str]:
    target = request.target
    if target is None:
        return
    machine = plural(request.processors, "processor")
    fraction = needed_parallel(target, request.processors)
    if fraction is None:
        yield f"{_times(target)} is more than {machine} can ever give."
    else:
        yield f"{_times(target)} on {machine} needs a fraction of {_close(fraction)}."
    count = needed_processors(target, request.parallel)
    if count is None:
        yield f"With {_close(request.parallel)} in parallel no number of processors reaches it."
    else:
        needed = plural(count, "processor")
        yield f"With {_close(request.parallel)} in parallel it takes {needed}."


def _close(fraction: float) -> str:
    """Return *fraction* with digits enough to tell it from 1."""
    return next(
        (text for digits in (4, 6, 9, 12) if (text := f"{fraction:.{digits}g}") != "1"), "1"
    )


def _times(factor: float) -> str:
    return f"{factor:,.4g}x" if factor < 1000 else f"{factor:,.0f}x"

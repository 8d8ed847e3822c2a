"""What a subject of measuring is: how to run it, and what its rows say."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.json_records import named_fields
from gpuadvise.advisor.quantity import show_seconds, show_share
from gpuadvise.cli.blocks import Block, Cell, Tone, known

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from gpuadvise.advisor.backends.measure.session import Session
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.measurement import Sample

Row = dict[str, Any]
# Repetitions that differ by more than this say that something else was going on.
UNSTEADY = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Rows for JSON and CSV, what goes beside them in ``result``, and the text's blocks."""

    rows: Sequence[Mapping[str, Any]]
    blocks: Callable[[], Sequence[Block]]
    summary: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One thing that can be measured.

    ``run`` yields measurements from a session (second argument: quick), ``count`` tells how
    many at most, ``label`` names one for the progress bar, ``measured`` makes an answer of one or
    more of them (its session is None once the device failed; last argument: quick). *kept*: the
    answer's summary holds what ``--save`` can keep.
    """

    run: Callable[[Session, bool], Iterator[Any]]
    count: Callable[[bool], int]
    label: Callable[[Any], str]
    measured: Callable[[Session | None, Device, Sequence[Any], bool], Measured]
    kept: bool = False
    needs_memory: bool = True  # what is left out of `count` lacked it


def sample_fields(sample: Sample) -> dict[str, float | int]:
    """Return *sample* as JSON fields: seconds, their spread and the repetitions."""
    fields = named_fields(sample, "seconds=median low high")
    return {**fields, "spread": round(sample.spread, 4), "n": sample.n}


def compared(item: Any, names: str, expected: float | None) -> Row:
    """Return the row of *item*: the fields that *names* lists, its sample, and its rate beside what is *expected*."""
    ratio = item.rate / expected if expected else None
    told = {**named_fields(item, names), **sample_fields(item.seconds)}
    return {**told, "rate": item.rate, "expected": expected, "ratio": ratio}


def _spread(row: Row) -> Cell:
    """Return the difference of the longest and the shortest run, to the picosecond."""
    apart = row["high"] - row["low"]
    steady = not row["seconds"] or apart / row["seconds"] <= UNSTEADY
    return Cell(show_seconds(round(apart, 12)), Tone.FAINT if steady else Tone.POOR)


SPREAD: tuple[tuple[str, Callable[[Row], Cell]], ...] = (
    (">spread", _spread),
    (">runs", lambda row: Cell(str(row["n"]), Tone.FAINT)),
)


def share(name: str) -> Callable[[Row], str]:
    """Return what shows the field *name* of a row as a percentage; nothing where nothing was expected."""
    return lambda row: known(row[name], show_share, "")

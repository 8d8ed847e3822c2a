"""What a subject of measuring is: how to run it, and what its rows say."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.quantity import show_seconds, show_share
from gpuadvise.cli.blocks import Block, Cell, Tone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from gpuadvise.advisor.backends.measure.session import Session
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.measurement import Sample

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
    return {
        "seconds": sample.median,
        "low": sample.low,
        "high": sample.high,
        "spread": round(sample.spread, 4),
        "n": sample.n,
    }


def spread_cells(sample: Sample) -> tuple[Cell, Cell]:
    """Return the difference of the longest and the shortest run, to the picosecond, and the runs."""
    tone = Tone.POOR if sample.spread > UNSTEADY else Tone.FAINT
    spread = show_seconds(round(sample.high - sample.low, 12))
    return Cell(spread, tone), Cell(str(sample.n), Tone.FAINT)


def ratio_cell(ratio: float | None) -> Cell:
    """Return measured / expected as a percentage; nothing where nothing was expected."""
    return Cell("" if ratio is None else show_share(ratio))

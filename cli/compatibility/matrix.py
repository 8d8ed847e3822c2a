"""``compat --matrix``: one file against every GPU of the catalogue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.catalogue import entries
from gpuadvise.advisor.compatibility.fit import Outcome
from gpuadvise.advisor.compatibility.verdict import judge
from gpuadvise.advisor.prose import and_list, plural
from gpuadvise.cli.blocks import Block, Cell, Column, Line, Table
from gpuadvise.cli.compatibility.result import counted, is_complete
from gpuadvise.cli.compatibility.screen import TONES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gpuadvise.advisor.capability import Capability
    from gpuadvise.advisor.compatibility.drivers import Driver
    from gpuadvise.advisor.compatibility.survey import Survey

# GPUs named of each capability; the others are counted.
_NAMED = 3


def matrix(survey: Survey, driver: Driver | None) -> list[dict[str, Any]]:
    """Return the verdict on each capability of the catalogue, newest first, with its GPUs."""
    gpus: dict[Capability, list[str]] = {}
    for each in entries():
        gpus.setdefault(each.device.capability, []).append(each.device.name)
    return [_row(survey, gpu, gpus[gpu], driver) for gpu in sorted(gpus, reverse=True)]


def _row(
    survey: Survey, gpu: Capability, names: list[str], driver: Driver | None
) -> dict[str, Any]:
    verdict = judge(survey, gpu, driver)
    return {
        "compute_capability": str(gpu),
        "gpus": names,
        "verdict": str(verdict.outcome),
        "complete": is_complete(verdict),
        **counted(verdict),
        "reason": verdict.blocked,
    }


def gpu_rows(found: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return one row for each GPU, as CSV and NDJSON list them."""
    return [{"gpu": name, **row, "gpus": None} for row in found for name in row["gpus"]]


def blocks(found: Sequence[Mapping[str, Any]], summary: str) -> list[Block]:
    """Return the verdicts as a table, one line for each capability."""
    columns = (
        Column("cc"),
        Column("verdict"),
        *(Column(name, right=True) for name in ("runs", "jit", "fails")),
        Column("GPUs"),
    )
    rows = tuple(
        (
            Cell(row["compute_capability"]),
            Cell(row["verdict"], TONES[row["verdict"]]),
            *(Cell(f"{row[name]:,}") for name in ("runs", "jit", "fails")),
            Cell(_named(row["gpus"])),
        )
        for row in found
    )
    return [Line(summary), Table(columns=columns, rows=rows)]


def summary_of(found: Sequence[Mapping[str, Any]], what: str) -> str:
    """Return one sentence: on how many of the catalogue's GPUs it runs."""
    counts = {str(outcome): 0 for outcome in Outcome}
    for row in found:
        counts[row["verdict"]] += len(row["gpus"])
    total = sum(counts.values())
    return (
        f"{what} runs on {counts['runs']:,} of {plural(total, 'GPU')} of the catalogue, "
        f"on {counts['jit']:,} after compilation by the driver, on {counts['fails']:,} not at all."
    )


def _named(names: Sequence[str]) -> str:
    shown = list(names[:_NAMED])
    if len(names) > _NAMED:
        shown.append(f"{len(names) - _NAMED:,} more")
    return and_list(shown)

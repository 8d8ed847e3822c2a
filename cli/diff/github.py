"""``diff --format github``: annotations that a workflow puts on a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import inert
from gpuadvise.advisor.resource_diff.change import Status
from gpuadvise.cli.diff.words import moved, number, short, spills, tier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.cli.diff.words import Record

# GitHub shows ten annotations of a kind per step and drops the rest.
_MOST = 10


def render(summary: str, records: Sequence[Record]) -> str:
    """Return *summary* as a notice, kernels in a worse tier as errors, more spills as warnings."""
    worse = [record for record in records if record["status"] == Status.WORSE]
    spilling = [record for record in records if record["status"] == Status.SPILLS_MORE]
    lines = [f"::notice title=gpuadvise diff::{_escaped(summary)}"]
    lines += [_annotation("error", "Occupancy dropped", record) for record in worse[:_MOST]]
    lines += [_annotation("warning", "More spills", record) for record in spilling[:_MOST]]
    return "".join(f"{line}\n" for line in lines)


def _annotation(level: str, title: str, record: Record) -> str:
    facts = (
        f"occupancy {moved(record, tier)}",
        f"registers {moved(record, lambda side: number(side['registers']))}",
        f"shared memory {moved(record, lambda side: number(side['static_smem']))}",
        f"spills {moved(record, spills)}",
    )
    name = short(record["demangled"] or record["name"])
    message = f"{name} ({record['arch'] or '?'}): {', '.join(facts)}"
    return f"::{level} title={title}::{_escaped(message)}"


def _escaped(text: str) -> str:
    """Return *text* as the message of a workflow command: one line, no command of its own."""
    return inert(text).replace("%", "%25")

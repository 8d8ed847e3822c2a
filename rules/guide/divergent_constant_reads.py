"""Constant memory read at several addresses by one warp."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.rules.evidence import given
from gpuadvise.rules.model import (
    Advice,
    Examples,
    Gain,
    Kind,
    Priority,
    Rule,
    Threshold,
    Topic,
    Verdict,
)
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.access import Access

ONE = 1


def check(constant_accesses: tuple[Access, ...]) -> Verdict:
    """Advise for constant reads that are not the same for all lanes."""
    return tuple(
        _advice(access.name, access.distinct_addresses or ONE)
        for access in constant_accesses
        if (access.distinct_addresses or ONE) > ONE
    )


def _advice(name: str, addresses: int) -> Advice:
    return Advice(
        message=(
            f'A warp reads {addresses} different addresses of constant memory at "{name}": '
            f"{addresses} reads one after the other."
        ),
        action=(
            "Index constant memory by values that are the same for the whole warp; put tables "
            "with an index per thread into shared memory, or into global memory read with __ldg()."
        ),
        evidence=(given("distinct addresses per warp", addresses, "addresses"),),
        gain=Gain(
            kind="time of constant reads", upper_bound=addresses, how="distinct addresses / 1"
        ),
    )


RULE = Rule(
    id="divergent-constant-reads",
    title="Read constant memory uniformly",
    topic=Topic.MEMORY,
    priority=Priority.MEDIUM,
    kinds=(Kind.PATTERN,),
    why="The constant cache broadcasts one address at a time to a warp.",
    when="The lanes of a warp read more than one address of constant memory.",
    thresholds=(
        Threshold(name="distinct addresses", value=ONE, unit="addresses", source="guide 10.2.6"),
    ),
    citations=guide("10.2.6", "9.2.5"),
    check=check,
    examples=Examples(
        fires={
            "accesses": [
                {"name": "table[threadIdx.x]", "space": "constant", "word": 4, "distinct": 32}
            ]
        },
        quiet={
            "accesses": [{"name": "coefficients[k]", "space": "constant", "word": 4, "distinct": 1}]
        },
        edges=(
            {
                "accesses": [
                    {"name": "table[lane / 16]", "space": "constant", "word": 4, "distinct": 2}
                ]
            },
            {"accesses": [{"name": "table[0]", "space": "constant", "word": 4, "distinct": 1}]},
        ),
    ),
)

"""Scattered reads with 2-D locality that bypass the texture path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.rules.advice import Advice, Verdict
from gpuadvise.rules.evidence import given
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.access import Access


def check(scattered_accesses: tuple[Access, ...]) -> Verdict:
    """Advise for reads that are local in two dimensions and not textured."""
    return tuple(
        _advice(access) for access in scattered_accesses if access.local_2d and not access.textured
    )


def _advice(access: Access) -> Advice:
    return Advice(
        message=(
            f'"{access.name}" reads {access.word_bytes}-byte words that are neighbours in two '
            "dimensions, in an order that does not coalesce."
        ),
        action=(
            "Try a texture object (cudaCreateTextureObject) over a cudaArray: its cache follows "
            "2-D neighbourhood, and it filters and clamps for free. It shortens no latency, and "
            "data written in the same launch must not be read through it."
        ),
        evidence=(given("word", access.word_bytes, "bytes"),),
    )


RULE = Rule(
    id="untextured-reads",
    title="Try textures for reads with 2-D locality",
    topic=Topic.MEMORY,
    priority=Priority.LOW,
    kinds=(Kind.PATTERN,),
    why="Linear caches keep rows, so of a small square they fetch far more than is read.",
    when="Reads are local in two dimensions, cannot be coalesced, and do not go through a texture.",
    citations=guide("10.2.5", "9.2.4"),
    check=check,
    examples=Examples(
        fires={"accesses": [{"name": "image at (u, v)", "word": 4, "local_2d": True}]},
        quiet={
            "accesses": [{"name": "image at (u, v)", "word": 4, "local_2d": True, "textured": True}]
        },
    ),
)

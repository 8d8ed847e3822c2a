"""Memory by category, as fields and in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.json_records import named_fields
from gpuadvise.advisor.quantity import show_bytes, show_seconds, show_share
from gpuadvise.cli.blocks import Block, Heading, Line, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.timelines.memory_timeline import MemoryByCategory


def record(memory: MemoryByCategory) -> dict[str, Any]:
    """Return a memory timeline as JSON values."""
    return {
        **named_fields(memory, "file peak_bytes peak_seconds seconds"),
        "categories": [named_fields(one, "category bytes most_bytes") for one in memory.categories],
    }


def blocks(memories: Sequence[MemoryByCategory]) -> list[Block]:
    """Return a table for each memory timeline: what memory held when it held the most."""
    screen: list[Block] = []
    for memory in memories:
        told = (
            f"At most {show_bytes(memory.peak_bytes)} are allocated, {show_seconds(memory.peak_seconds)} "
            f"into {show_seconds(memory.seconds)} recorded."
        )
        screen += [Heading("Memory by category"), _table(memory), Line(told)]
    return screen


def _table(memory: MemoryByCategory) -> Block:
    whole = memory.peak_bytes
    return table(
        memory.categories,
        (">share", lambda one: show_share(one.bytes / whole) if whole else "-"),
        (">at the peak", lambda one: show_bytes(one.bytes)),
        (">at most", lambda one: show_bytes(one.most_bytes)),
        ("category", lambda one: one.category.replace("-", " ")),
    )

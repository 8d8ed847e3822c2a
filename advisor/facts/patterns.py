"""A described access as the pattern of addresses that the memory model judges."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from gpuadvise.advisor.memory.coalescing import coalesce
from gpuadvise.advisor.memory.pattern import gathered, strided
from gpuadvise.advisor.memory.remedies import remedies

if TYPE_CHECKING:
    from gpuadvise.advisor.capability import Capability
    from gpuadvise.advisor.facts.access import Access
    from gpuadvise.advisor.memory.coalescing import Access as Coalescing
    from gpuadvise.advisor.memory.pattern import Pattern
    from gpuadvise.advisor.memory.remedies import Remedy


def pattern_of(access: Access) -> Pattern:
    """Return the addresses of a full warp that makes *access*."""
    if access.indices is not None:
        return gathered(access.word_bytes, access.indices, alignment=access.alignment)
    return strided(
        access.word_bytes,
        stride_bytes=access.stride * access.word_bytes,
        offset_bytes=access.offset_bytes,
        alignment=access.alignment,
    )


@lru_cache(maxsize=512)
def coalesced(pattern: Pattern, capability: Capability) -> Coalescing:
    """Return what *pattern* costs on *capability*; kernels repeat each other's patterns."""
    return coalesce(pattern, capability)


@lru_cache(maxsize=512)
def best_remedy(pattern: Pattern, capability: Capability) -> Remedy | None:
    """Return the change of layout that moves the fewest bytes, None when none moves fewer."""
    return next(iter(remedies(pattern, capability)), None)


def in_words(access: Access) -> str:
    """Return how the lanes address memory, such as ``4-byte words at stride 2``."""
    shape = "gathered by index" if access.indices is not None else f"at stride {access.stride}"
    shift = f", {access.offset_bytes} bytes off" if access.offset_bytes else ""
    return f"{access.word_bytes}-byte words {shape}{shift}"

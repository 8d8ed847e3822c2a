"""How one element becomes memory instructions: only 1, 2, 4, 8 and 16 bytes are words.

Programming Guide, "Size and Alignment Requirement": anything else, or a misaligned address,
is compiled to several narrower instructions, each with its own addresses across the warp.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

WARP_SIZE = 32
WORD_SIZES = (1, 2, 4, 8, 16)
LARGEST_ELEMENT = 4096


def natural_alignment(element_bytes: int) -> int:
    """Return the widest word (bytes) that divides the element: 4 for 12, 16 for 64.

    A struct of floats without ``__align__`` keeps the alignment of its members (4); pass that
    alignment on where it is known. Raises BadInput for a size outside 1 to LARGEST_ELEMENT.
    """
    if not 1 <= element_bytes <= LARGEST_ELEMENT:
        raise BadInput(f"An element has 1 to {LARGEST_ELEMENT} bytes, not {element_bytes}.")
    return _widest(element_bytes, 16)


def instruction_width(element_bytes: int, starts: Iterable[int], alignment: int) -> int:
    """Return the bytes per instruction that size, alignment and every address allow."""
    return _widest(math.gcd(element_bytes, *starts), alignment)


def lane_addresses(starts: Sequence[int], element_bytes: int, width: int) -> list[list[int]]:
    """Return, for each instruction that reads an element, the byte address of every lane."""
    return [[start + piece for start in starts] for piece in range(0, element_bytes, width)]


def _widest(number: int, limit: int) -> int:
    return max(size for size in WORD_SIZES if size <= limit and number % size == 0)

"""The performance directives of one PTX kernel, between its parameters and its body."""

from __future__ import annotations

import re
from typing import TypedDict

_DIRECTIVE = re.compile(
    r"\.(maxntid|reqntid|minnctapersm|maxnreg|reqnctapercluster|maxclusterrank)\s+"
    r"(\d{1,9})(?:\s*,\s*(\d{1,9}))?(?:\s*,\s*(\d{1,9}))?"
)
Block = tuple[int, int, int]


class Bounds(TypedDict, total=False):
    """The fields of a Kernel that directives state."""

    max_block: Block
    required_block: Block
    cluster: Block
    min_blocks: int
    register_cap: int
    max_cluster_rank: int


def parse_bounds(text: str) -> Bounds:
    """Return what the directives in *text* state.

    LLVM writes only the numbers it was given, NVIDIA's compilers all three; missing ones are 1.
    """
    bounds: Bounds = {}
    for name, *numbers in _DIRECTIVE.findall(text):
        x, y, z = (int(number or 1) for number in numbers)
        match name:
            case "maxntid":
                bounds["max_block"] = (x, y, z)
            case "reqntid":
                bounds["required_block"] = (x, y, z)
            case "reqnctapercluster":
                bounds["cluster"] = (x, y, z)
            case "minnctapersm":
                bounds["min_blocks"] = x
            case "maxnreg":
                bounds["register_cap"] = x
            case _:
                bounds["max_cluster_rank"] = x
    return bounds

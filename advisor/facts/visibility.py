"""The entries of CUDA_VISIBLE_DEVICES, and the first that names no GPU.

Programming guide, "CUDA Environment Variables": indices or UUIDs (whole or by a prefix), and
everything from the first bad entry on is ignored.
"""

from __future__ import annotations

import re

_UUID = r"(GPU|MIG)-[0-9A-Fa-f/-]*"


def listed_entries(value: str) -> list[str]:
    """Return the entries of *value* without blanks; an empty value hides every GPU."""
    return [entry.strip() for entry in value.split(",")] if value.strip() else []


def first_bad_entry(entries: list[str], count: int | None) -> int | None:
    """Return the position of the first entry that names none of *count* GPUs, or a GPU twice."""
    for position, entry in enumerate(entries):
        number = int(entry) if entry.isdecimal() and len(entry) < 10 else None
        known = re.fullmatch(_UUID, entry) if number is None else count is None or number < count
        if not known or entry in entries[:position]:
            return position
    return None

"""From texts, options or columns alike, to the launch that is asked about."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.json_records import named_fields
from gpuadvise.advisor.occupancy.case import LaunchRequest
from gpuadvise.advisor.occupancy.launch import CachePreference, Launch
from gpuadvise.advisor.values import LARGEST_LAUNCH
from gpuadvise.cli.options import OPTIONS, named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from gpuadvise.advisor.limits import Limits


def question(texts: Mapping[str, str | None], label: Callable[[str], str]) -> LaunchRequest:
    """Return the question that *texts* ask, keyed by KEYS; None is not given.

    *label* makes of a key what the user called it. Raises BadInput that names it.
    """
    given = {key: text for key, text in texts.items() if text is not None}
    values = fields(given.items(), label)
    min_blocks = values.pop("min_blocks", None)
    elements = texts.get("elements")
    return LaunchRequest(
        launch=Launch(**values),
        min_blocks=min_blocks,
        elements=None if elements is None else OPTIONS["elements"].read(elements),
    )


def question_with_block(
    texts: Mapping[str, str | None], label: Callable[[str], str], limits: Limits
) -> LaunchRequest:
    """Return the question that *texts* ask, with a block size that suits it if none is given."""
    if texts["block"] is not None:
        return question(texts, label)
    from gpuadvise.advisor.occupancy.block_sizes import best_block

    launch = question({**texts, "block": "1", "elements": None}, label).launch
    block = best_block(limits, launch)
    return replace(question({**texts, "block": str(block)}, label), chosen_block=True)


def fields(texts: Iterable[tuple[str, str]], label: Callable[[str], str]) -> dict[str, Any]:
    """Return the fields of Launch (and ``min_blocks``) that *texts* give; raises BadInput."""
    values: dict[str, Any] = {}
    for key, text in texts:
        if key in _SIZES:
            # Sizes take too many values to be worth remembering; most are plain digits.
            plain = len(text) < _DIGITS and text.isascii() and text.isdigit()
            size = int(text) if plain else named(label(key), OPTIONS[key].read, text)
            values[_SIZES[key]] = size
        else:
            values.update(parsed(key, label(key), text))
    for key, field, what in NEEDED:
        if field not in values:
            raise BadInput(f"{label(key)} is missing: {what}.")
    if "dynamic_per_thread" in values:
        values["dynamic_shared"] = _grown(values, label("smem_per_thread"))
    if "elements" in values:
        values["grid_dim"] = _covering(values, label)
    return values


def _grown(values: Mapping[str, Any], label: str) -> int:
    """Return the dynamic shared memory of a block, its part per thread included."""
    threads, per_thread = values["threads"], values["dynamic_per_thread"]
    total: int = values.get("dynamic_shared", 0) + threads * per_thread
    if total > LARGEST_LAUNCH:
        raise BadInput(
            f"{label}: {per_thread:,} bytes for each of {threads:,} threads are too many; a block takes "
            f"{LARGEST_LAUNCH:,} bytes at most."
        )
    return total


def _covering(values: dict[str, Any], label: Callable[[str], str]) -> tuple[int, int, int]:
    """Return the grid that has a thread for each element, in whole clusters."""
    if "grid_dim" in values:
        raise BadInput(f"{label('elements')} and {label('grid')} both give the grid.")
    elements, threads = values.pop("elements"), values["threads"]
    size = math.prod(values.get("cluster_dim", (1, 1, 1)))
    blocks = -(-elements // (threads * size)) * size
    if blocks > LARGEST_LAUNCH:
        raise BadInput(
            f"{label('elements')}: {elements:,} elements take {blocks:,} blocks of {threads:,} "
            f"threads; a grid has at most {LARGEST_LAUNCH:,}.",
            hint="Let each thread work on several elements, and give --grid.",
        )
    return blocks, 1, 1


@lru_cache(maxsize=4096)  # a batch repeats itself
def parsed(key: str, label: str, text: str) -> Mapping[str, Any]:
    """Return the fields of Launch that *text* gives for *key*; raises BadInput naming *label*."""
    value = named(label, OPTIONS[key].read, text)
    match key:
        case "block":
            threads = math.prod(value)
            flat = threads == value[0]
            return {"threads": threads} if flat else {"threads": threads, "block_dim": value}
        case "launch_bounds":
            return {"max_threads": value[0], "min_blocks": value[1]}
        case "cache":
            return {"cache": CachePreference(value)}
        case "no_opt_in":
            return {"optin": not value}
    return {_FIELDS[key]: value}


_DIGITS = len(str(LARGEST_LAUNCH))
_SIZES = {"smem": "static_shared", "dynamic_smem": "dynamic_shared"}
# The options that fill one field of Launch each, and the others of a launch.
_FIELDS = {
    "regs": "registers",
    "barriers": "barriers",
    "cluster": "cluster_dim",
    "nonportable_cluster": "nonportable_cluster",
    "grid": "grid_dim",
    "carveout": "carveout",
    "smem_per_thread": "dynamic_per_thread",
    "elements": "elements",
}
KEYS = frozenset((*_FIELDS, *_SIZES, "block", "launch_bounds", "cache", "no_opt_in"))
NEEDED = (
    ("regs", "registers", "the registers per thread, as the compiler's -v log prints them"),
    ("block", "threads", "the threads per block, as 256 or 16x16"),
)


def flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return *row* for CSV: each member of ``limits`` and its like under its ``--get`` path."""
    cells: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, dict):
            cells.update({f"{key}.{name}": item for name, item in flat(value).items()})
        else:
            cells[key] = value
    return cells


def echo(request: LaunchRequest) -> dict[str, Any]:
    """Return the question as it was understood, for ``input``."""
    launch = request.launch
    memory = "smem=static_shared dynamic_smem=dynamic_shared smem_per_thread=dynamic_per_thread"
    grid = "barriers cluster=cluster_dim nonportable_cluster grid=grid_dim"
    return {
        "regs": launch.registers,
        "block": list(launch.block_dim or (launch.threads, 1, 1)),
        **named_fields(launch, f"{memory} {grid}"),
        "elements": request.elements,
        **named_fields(launch, "carveout cache"),
        "launch_bounds": [launch.max_threads, request.min_blocks] if launch.max_threads else None,
        "no_opt_in": not launch.optin,
    }

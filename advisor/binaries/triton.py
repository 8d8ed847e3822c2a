"""What Triton says of a launch in the JSON beside a cubin: NAME.json beside NAME.cubin."""

from __future__ import annotations

import json
import os
import stat
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.backends.user_files import read_small
from gpuadvise.advisor.binaries.model import Kernel, TritonOptions
from gpuadvise.advisor.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.binaries.model import Item

_LARGEST = 1 << 18  # Triton 3.6 writes 1 KB
_WARP = 32
_MOST_WARPS = 32  # a block has 1,024 threads at most
_MOST_BLOCKS = 16  # of a cluster
_MOST_BYTES = 1 << 20  # of a block's shared memory
_MOST = 1 << 16


def launched_by_triton(items: Iterator[Item], path: str) -> Iterator[Item]:
    """Yield *items* of the cubin *path*, its kernel with the launch that Triton states."""
    stem, suffix = os.path.splitext(path)
    fields = _fields(f"{stem}.json") if suffix == ".cubin" else None
    options = _options(fields) if fields else None
    if not options or not fields:
        yield from items
        return
    shared = _whole(fields.get("shared"), 0, _MOST_BYTES)
    for item in items:
        if isinstance(item, Kernel) and item.entry and item.name == fields.get("name"):
            yield _launched(item, options, shared)
        else:
            yield item


def _launched(kernel: Kernel, options: TritonOptions, shared: int | None) -> Kernel:
    cluster = (options.num_ctas, 1, 1) if options.num_ctas > 1 else None
    return kernel._replace(
        launched_block=kernel.required_block or (options.num_warps * _WARP, 1, 1),
        launched_dynamic_smem=shared,
        cluster=kernel.cluster or cluster,
        triton=options,
    )


def _fields(path: str) -> dict[str, Any] | None:
    """Return the object in the file *path*; None: there is no such file."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return None
        fields = json.loads(read_small(path, largest=_LARGEST))
    except (OSError, ValueError, RecursionError, BadInput):
        return None
    return fields if isinstance(fields, dict) else None


def _options(fields: dict[str, Any]) -> TritonOptions | None:
    """Return how the kernel is launched; None: Triton did not write this, or not for CUDA."""
    target = fields.get("target")
    backend = target.get("backend") if isinstance(target, dict) else None
    warps = _whole(fields.get("num_warps"), 1, _MOST_WARPS)
    if backend != "cuda" or warps is None:
        return None
    return TritonOptions(
        num_warps=warps,
        num_ctas=_whole(fields.get("num_ctas"), 1, _MOST_BLOCKS) or 1,
        num_stages=_whole(fields.get("num_stages"), 0, _MOST),
        maxnreg=_whole(fields.get("maxnreg"), 1, _MOST),
    )


def _whole(value: object, least: int, most: int) -> int | None:
    """Return *value* if it is a whole number of that range."""
    return value if type(value) is int and least <= value <= most else None

"""The recorded runs of tests/recordings, unpacked and read."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

from gpuadvise.advisor.catalogue.lookup import find
from gpuadvise.advisor.timelines.read import read_recordings
from gpuadvise.advisor.timelines.timeline import timelines_of

if TYPE_CHECKING:
    from gpuadvise.advisor.timelines.timeline import Timeline

FOLDER = Path(__file__).parent.parent / "recordings"
KINDS = ("torch", "torch_h100", "nsys", "jax")
# Which repair belongs to which fault.
TWINS = {
    "h2d_pageable": "h2d_pinned",
    "d2h_pageable": "d2h_pinned",
    "small_copies": "one_copy",
    "serial": "staged",
    "tiny_launches": "graph",
    "transformer_eager": "transformer_compiled",
    "item_each_step": "item_once",
    "sync_each_step": "sync_once",
    "host_gaps": "host_beside",
    "alloc_in_loop": "alloc_once",
    "gemm_fp32": "gemm_tf32",
    "gemm_odd": "gemm_even",
    "gemm_fp64": "gemm_fp64_as_tf32",
    "pointwise_eager": "pointwise_compiled",
    "triton_one_warp": "triton_four_warps",
    "one_warp_blocks": "four_warp_blocks",
    "large_shared": "small_shared",
    "resnet50_fp32": "resnet50_amp_channels_last",
    "managed_faults": "managed_prefetched",
}

# Recordings of a few steps, whose seconds are those of one step; `ranks` has a folder for each case.
LOOPS = ("loops", "jax_loops", "nvtx", "inference", "ranks")
LOOP_TWINS = {
    "loader_slow_collate": "loader_workers",
    "resize_on_host": "resize_on_gpu",
    "loss_item_each_batch": "loss_item_once",
    "decode_eager": "decode_graph",
    "adamw_loop": "adamw_fused",
    "attention_plain": "attention_fused",
    "norm_eager": "norm_compiled",
    "losses_kept": "losses_detached",
    "checkpoint_each_second_step": "checkpoint_seldom",
    "loop_waits": "loop_ahead",
    "nvtx_loop_before": "nvtx_loop_after",
}  # `even_ranks` has half of the work of `uneven_ranks`, and is no repair of it


def unpack(target: Path, kinds: tuple[str, ...] = KINDS) -> Path:
    """Unpack the archives of *kinds* below *target* and return it."""
    for kind in kinds:
        with tarfile.open(FOLDER / f"{kind}.tar.xz") as archive:
            archive.extractall(target / kind, filter="data")
    return target


def unpack_caches(target: Path) -> Path:
    """Unpack the kernel caches below *target* and return it."""
    with tarfile.open(FOLDER / "caches.tar.xz") as archive:
        archive.extractall(target, filter="data")
    return target


def cases(folder: Path) -> dict[str, Path]:
    """Return the recordings of a folder by the names of their cases."""
    return {
        path.name.split(".")[0]: path
        for path in sorted(folder.iterdir())
        if path.name.endswith((".json.gz", ".sqlite"))
    }


def line_of(path: Path) -> Timeline:
    """Return the one timeline in a file; JAX does not name its GPU."""
    (recording,) = read_recordings(str(path))
    (line,) = timelines_of(recording, device=find("h200-sxm"))
    return line


def seconds(folder: Path) -> dict[str, float]:
    """Return the median seconds of each case without a profiler."""
    rows = map(json.loads, (folder / "seconds.ndjson").read_text().splitlines())
    times = {row["case"]: sorted(row["seconds"]) for row in rows if "seconds" in row}
    return {case: values[len(values) // 2] for case, values in times.items()}

"""Hold recorded timelines against what was measured beside them.

    check.py FOLDER

FOLDER is where record_timelines.sh wrote, with its tars unpacked as torch/, nsys/ and jax/.
Compared are: occupancy with the driver's (driver.csv), kernels, copies and calls with the sums of
``nsys stats``, and the bounds with what each repair really won. Ends 1 on any difference.
"""

from __future__ import annotations

import csv
import json
import sys
from math import prod
from pathlib import Path

from gpuadvise.advisor.catalogue.lookup import find
from gpuadvise.advisor.errors import GpuAdviseError
from gpuadvise.advisor.timelines.evidence import traced_run
from gpuadvise.advisor.timelines.read import read_recordings
from gpuadvise.advisor.timelines.timeline import Timeline, timelines_of
from gpuadvise.advisor.timelines.what_if import what_if
from gpuadvise.advisor.transfers.links import default_link_model

H200 = find("h200-sxm")
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
    "triton_one_warp": "triton_four_warps",
    "one_warp_blocks": "four_warp_blocks",
    "resnet50_fp32": "resnet50_amp_channels_last",
    "managed_faults": "managed_prefetched",
}


def lines_of(folder: Path) -> dict[str, Timeline]:
    """Return the timelines of a folder by the names of their cases."""
    lines = {}
    for path in sorted(folder.iterdir()):
        if path.name.endswith((".json.gz", ".sqlite")):
            try:
                (recording,) = read_recordings(str(path))
                (lines[path.name.split(".")[0]],) = timelines_of(recording, device=H200)
            except (GpuAdviseError, ValueError) as error:
                print(f"{path.name}: {error}")
    return lines


def wrong_occupancy(lines: dict[str, Timeline], driver: Path) -> int:
    """Print the shapes whose occupancy is not the driver's."""
    rows = csv.DictReader(driver.open())
    truth = {
        (int(row["registers"]), int(row["shared"]), int(row["threads"])): row["blocks_per_sm"]
        for row in rows
        if max(int(row["registers"]), 32) + 7 >> 3 == max(int(row["driver_registers"]), 32) + 7 >> 3
    }
    wrong = compared = 0
    for name, line in lines.items():
        for kernel in line.kernels:
            shape = kernel.shape
            if kernel.occupancy is None or shape.block is None:
                continue
            shared = shape.static_shared + (shape.dynamic_shared or 0)
            blocks = truth.get((shape.registers or 0, shared, prod(shape.block)))
            compared += blocks is not None
            if blocks is not None and blocks != str(kernel.occupancy.blocks_per_sm):
                wrong += 1
                print(f"{name}: {shape}: {kernel.occupancy.blocks_per_sm} against {blocks}")
    print(f"occupancy: {compared} compared, {wrong} differ")
    return wrong


def wrong_sums(lines: dict[str, Timeline], stats: Path) -> int:
    """Print what differs from the sums of ``nsys stats``."""
    wrong = compared = 0
    for name, line in lines.items():
        for report, ours in (
            ("cuda_gpu_kern_sum", sum(kernel.total_ns for kernel in line.kernels)),
            ("cuda_api_sum", sum(call.total_ns for call in line.calls)),
            (
                "cuda_gpu_mem_time_sum",
                sum(copies.total_ns for copies in line.copies) + line.memset_ns,
            ),
        ):
            path = stats / f"{name}_{report}.csv"
            rows = list(csv.DictReader(path.open())) if path.exists() else []
            theirs = sum(int(row["Total Time (ns)"]) for row in rows)
            compared += bool(rows)
            if rows and theirs != ours:
                wrong += 1
                print(f"{name}: {report}: {ours} against {theirs}")
    print(f"nsys stats: {compared} sums compared, {wrong} differ")
    return wrong


def low_bounds(lines: dict[str, Timeline], seconds: Path) -> int:
    """Print every pair, and count those whose largest bound is below the measured gain."""
    rows = [json.loads(text) for text in seconds.read_text().splitlines()]
    times = {row["case"]: sorted(row["seconds"]) for row in rows if "seconds" in row}
    low = 0
    for fault, repair in TWINS.items():
        if fault not in times or repair not in times or fault not in lines:
            continue
        gain = times[fault][len(times[fault]) // 2] / times[repair][len(times[repair]) // 2]
        link = default_link_model(lines[fault].device)
        changes = what_if(lines[fault], link, traced_run(lines[fault], link))
        bounds = [f"{one.change} {one.speedup or float('inf'):.2f}" for one in changes[:4]]
        reached = any(one.speedup is None or one.speedup >= gain for one in changes)
        low += gain > 1.05 and not reached
        print(f"{seconds.parent.name}/{fault}: measured {gain:.2f}; bounds {', '.join(bounds)}")
    return low


def main() -> None:
    """Compare everything in a folder."""
    folder = Path(sys.argv[1])
    differences = 0
    for kind in ("torch", "nsys", "jax"):
        if not (folder / kind).is_dir():
            continue
        lines = lines_of(folder / kind)
        differences += wrong_occupancy(lines, folder / "driver.csv")
        if kind == "nsys":
            differences += wrong_sums(lines, folder / kind / "stats")
        differences += low_bounds(lines, folder / kind / "seconds.ndjson")
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    main()

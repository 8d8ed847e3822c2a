"""Small exports of Nsight Systems, with the tables and columns of schema 3.20."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

KERNEL_COLUMNS = [
    "start",
    "end",
    "deviceId",
    "streamId",
    "correlationId",
    "demangledName",
    "registersPerThread",
    "gridX",
    "gridY",
    "gridZ",
    "blockX",
    "blockY",
    "blockZ",
    "staticSharedMemory",
    "dynamicSharedMemory",
    "localMemoryPerThread",
    "graphNodeId",
]
TABLES = {
    "CUPTI_ACTIVITY_KIND_KERNEL": KERNEL_COLUMNS,
    "CUPTI_ACTIVITY_KIND_MEMCPY": [
        "start",
        "end",
        "deviceId",
        "streamId",
        "correlationId",
        "bytes",
        "copyKind",
        "srcKind",
        "dstKind",
    ],
    "CUPTI_ACTIVITY_KIND_MEMSET": ["start", "end", "deviceId", "streamId", "bytes"],
    "CUPTI_ACTIVITY_KIND_RUNTIME": [
        "start",
        "end",
        "globalTid",
        "correlationId",
        "nameId",
        "returnValue",
    ],
    "StringIds": ["id", "value"],
    "TARGET_INFO_GPU": ["id", "name", "computeMajor", "computeMinor", "smCount", "totalMemory"],
    "META_DATA_EXPORT": ["name", "value"],
    "ENUM_CUDA_MEMCPY_OPER": ["id", "name", "label"],
    "ENUM_CUDA_MEM_KIND": ["id", "name", "label"],
}
ROWS: dict[str, list[tuple[object, ...]]] = {
    "CUPTI_ACTIVITY_KIND_KERNEL": [
        (10_000, 30_500, 0, 7, 1, 1, 32, 264, 1, 1, 256, 1, 1, 1024, 0, 16, None),
        (100_000, 110_000, 0, 7, 4, 1, 32, 264, 1, 1, 256, 1, 1, 1024, 0, 16, None),
    ],
    "CUPTI_ACTIVITY_KIND_MEMCPY": [
        (20_500, 40_500, 0, 8, 2, 1 << 20, 1, 0, 2),
        (50_000, 60_000, 0, 8, 3, 1 << 10, 2, 2, 1),
    ],
    "CUPTI_ACTIVITY_KIND_MEMSET": [(60_000, 61_000, 0, 7, 64)],
    "CUPTI_ACTIVITY_KIND_RUNTIME": [
        (0, 5_000, 1, 1, 2, 0),
        (12_000, 16_000, 1, 2, 3, 0),
        (45_000, 61_000, 1, 3, 4, 0),
        (61_000, 111_000, 1, 5, 5, 0),
    ],
    "StringIds": [
        (1, "add(float *)"),
        (2, "cudaLaunchKernel_v7000"),
        (3, "cudaMemcpyAsync_v3020"),
        (4, "cudaMemcpy_v3020"),
        (5, "cudaDeviceSynchronize_v3020"),
    ],
    "TARGET_INFO_GPU": [(0, "NVIDIA H200", 9, 0, 132, 150110011392)],
    "META_DATA_EXPORT": [("EXPORT_SCHEMA_VERSION", "3.20.3")],
    "ENUM_CUDA_MEMCPY_OPER": [(1, "CUDA_MEMCPY_KIND_HTOD", ""), (2, "CUDA_MEMCPY_KIND_DTOH", "")],
    "ENUM_CUDA_MEM_KIND": [
        (0, "CUDA_MEMOPR_MEMORY_KIND_PAGEABLE", ""),
        (1, "CUDA_MEMOPR_MEMORY_KIND_PINNED", ""),
        (2, "CUDA_MEMOPR_MEMORY_KIND_DEVICE", ""),
    ],
}


def export(
    path: Path,
    *,
    rows: dict[str, list[tuple[object, ...]]] | None = None,
    without: tuple[str, ...] = (),
) -> Path:
    """Write an export with *rows* in place of its own, *without* some tables or columns."""
    database = sqlite3.connect(path)
    for table, columns in TABLES.items():
        if table in without:
            continue
        kept = [at for at, name in enumerate(columns) if f"{table}.{name}" not in without]
        database.execute(f"CREATE TABLE {table} ({', '.join(columns[at] for at in kept)})")
        for row in (rows or {}).get(table, ROWS[table]):
            values = [row[at] for at in kept]
            marks = ", ".join("?" * len(values))
            database.execute(f"INSERT INTO {table} VALUES ({marks})", values)
    database.commit()
    database.close()
    return path

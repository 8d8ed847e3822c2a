"""Recordings that are no timeline: what such a file is, and the way to one that is read."""

from __future__ import annotations

import re

_PICKLE = re.compile(rb"\x80[\x02-\x05]")
# [[time, action, bytes, category], ...], as torch.profiler's memory timeline has it.
_MEMORY_TIMELINE = re.compile(rb"\s*\[\s*\[\s*-?\d+\s*,\s*\d+\s*,\s*-?\d+\s*,\s*\d+\s*\]")
# [[time, time, ...], [[0, bytes, ...], ...]]: sizes by category. Times have nine digits or more.
_BY_CATEGORY = re.compile(
    rb"\s*\[\s*\[\s*\d{9,19}(?:\s*,\s*\d{9,19})*(?:\s*,?\s*\d*\Z|\s*\]\s*,\s*\[\s*\[\s*0\s*,)"
)
# As torch.profiler.ExecutionTraceObserver begins one, and Chakra after it.
_EXECUTION_TRACE = re.compile(rb'\s*\{\s*"schema"\s*:\s*"\d+\.\d+\.\d+')
_SUMS = re.compile(rb"(?:Time \(%\)|Total \(MB\)|Rank|Duration \(ns\)),")
_EXPORT = "Export it: nsys export --type sqlite --output report.sqlite FILE"
_READ = (
    "PyTorch's and JAX's traces are read, and of Nsight Systems SQLite exports and the "
    "cuda_gpu_trace.csv of nsys stats."
)
_OF_MEMORY = (
    "Record a trace with profile_memory=True: gpuadvise timeline --operators shows its memory, and beside "
    'it what prof.export_memory_timeline("memory.json") writes by category. '
    "https://pytorch.org/memory_viz draws snapshots."
)
# How packed files begin, what they are packed with, and what unpacks them, whole and into a pipe.
_PACKED = (
    (b"\x28\xb5\x2f\xfd", "with Zstandard", "zstd -d FILE", "zstd -dc FILE"),
    (b"\xfd7zXZ\0", "with xz", "xz -dk FILE", "xz -dc FILE"),
    (b"BZh", "with bzip2", "bzip2 -dk FILE", "bzip2 -dc FILE"),
    (b"\x04\x22\x4d\x18", "with LZ4", "lz4 -d FILE", "lz4 -dc FILE"),
    (b"PK\x03\x04", "in a zip archive", "unzip FILE", "unzip -p FILE"),
    (b"7z\xbc\xaf\x27\x1c", "in a 7z archive", "7z x FILE", None),
)


def packed_with(head: bytes) -> tuple[str, str] | None:
    """Return that a file which begins with *head* is packed, and how to unpack it; None where it is not.

    Files of gzip are read as they are.
    """
    for magic, how, unpack, into_pipe in _PACKED:
        if head.startswith(magic):
            pipe = f", or give its content: gpuadvise timeline <({into_pipe})" if into_pipe else ""
            return (
                f"is packed {how}",
                f"Unpack it: {unpack}{pipe}. Files of gzip are read as they are.",
            )
    return None


def is_memory_timeline(head: bytes) -> bool:
    """Return whether a file that begins with *head* is a list of allocations, which are no events."""
    return _MEMORY_TIMELINE.match(head) is not None and not is_memory_by_category(head)


def is_memory_by_category(head: bytes) -> bool:
    """Return whether a file that begins with *head* holds what memory held by category, and when."""
    return _BY_CATEGORY.match(head) is not None


def is_pickle(head: bytes) -> bool:
    """Return whether a file that begins with *head* is a pickle: loading one runs what it says."""
    return _PICKLE.match(head) is not None


def is_no_timeline(head: bytes) -> bool:
    """Return whether a file that begins with *head* is a recording without the times of a GPU."""
    of_memory = is_memory_timeline(head) or is_memory_by_category(head)
    return is_pickle(head) or of_memory or _EXECUTION_TRACE.match(head) is not None


def way_on(name: str, head: bytes) -> tuple[str, str]:
    """Return what a file called *name* that begins with *head* is, and what to give instead."""
    if name.endswith((".nsys-rep", ".qdrep", ".qdstrm")):
        return "is a report of Nsight Systems that only its own program reads", _EXPORT
    if name.endswith(".ncu-rep"):
        return "is a report of Nsight Compute, on single kernels", "gpuadvise advise FILE reads it."
    if packed := packed_with(head):
        return packed
    if _EXECUTION_TRACE.match(head):
        return (
            "is an execution trace of PyTorch, which has no times of a GPU",
            "Record a trace: torch.profiler.profile(), then export_chrome_trace().",
        )
    if is_pickle(head):
        return (
            "is a pickle, as PyTorch's memory snapshots are, and loading one would run its code",
            _OF_MEMORY,
        )
    if is_memory_timeline(head):
        return "is a memory timeline of PyTorch, which has no work of a GPU", _OF_MEMORY
    if is_memory_by_category(head):
        return (
            "is a memory timeline of PyTorch, which has no work of a GPU",
            "Give it beside its trace: gpuadvise timeline trace.json FILE.",
        )
    if _SUMS.match(head):
        return (
            "holds the sums of nsys stats, without times",
            "Give the SQLite export, or: nsys stats --report cuda_gpu_trace --format csv FILE",
        )
    return "is not a timeline", _READ

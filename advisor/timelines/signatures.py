"""What tells a timeline: how its file begins, whatever it is called."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path
from typing import IO

from gpuadvise.advisor.backends.user_files import is_file, is_kept, opened
from gpuadvise.advisor.compression.packed_file import UNBOUNDED, PackedStream, Packing, first_bytes
from gpuadvise.advisor.errors import BadInput

SQLITE = b"SQLite format 3\0"
GZIP = b"\x1f\x8b"
# The first field of what XLA records is a plane, whose second is its name.
XPLANE = re.compile(
    rb"\x0a.{1,5}(?:\x08.{1,10})?\x12.{1,2}(?:/host:|/device:|#Chip|Task )", re.DOTALL
)
# The header of nsys stats --report cuda_gpu_trace.
GPU_TRACE = re.compile(rb'\s*"?Start \([a-z]+\)"?,"?Duration \([^\n]*"?Strm"?,"?Name"?\s')
SUFFIXES = (".json", ".json.gz", ".sqlite", ".xplane.pb", "cuda_gpu_trace.csv")
# Of files that are packed with something else than gzip.
_PACKED_SUFFIXES = (".zst", ".zstd", ".xz", ".bz2", ".lz4", ".zip", ".7z")
# A trace of PyTorch or JAX shows itself in its first lines, before or after its GPUs' properties.
_SNIFFED = 1 << 16
_CHROME = re.compile(rb'"(?:traceEvents|deviceProperties|displayTimeUnit)"')
_PHASE = re.compile(rb'[{,]\s*"ph"\s*:\s*"')


def is_packed_timeline(path: str) -> bool:
    """Return whether the file *path* is called as a timeline is that was packed with something else than gzip."""
    name = path.lower()
    return any(
        name.removesuffix(suffix).endswith(SUFFIXES)
        for suffix in _PACKED_SUFFIXES
        if name.endswith(suffix)
    )


def is_timeline(path: str) -> bool:
    """Return whether the content of *path*, or of a file in that folder, looks like a timeline.

    False for what cannot be read: whoever reads it says so. Of stdin (``-``) nothing is taken.
    """
    if path == "-":
        return looks_like_timeline(_waiting(sys.stdin.buffer))
    if not path or "\0" in path:
        return False
    if Path(path).is_dir():
        return any(_file_is_timeline(str(file)) for file in _likely_files(Path(path)))
    return _file_is_timeline(path)


def _likely_files(folder: Path) -> list[Path]:
    """Return the first files of a folder that are called as timelines are."""
    try:
        return [file for file in sorted(folder.iterdir()) if file.name.endswith(SUFFIXES)][:64]
    except OSError:
        return []


def _file_is_timeline(path: str) -> bool:
    """Return whether *path* begins as a timeline does; False where it cannot be read."""
    if not (is_kept(path) or is_file(path)):
        return False
    try:
        with opened(path) as file:
            return looks_like_timeline(file.read(_SNIFFED))
    except BadInput:
        return False


def may_be_timeline(path: Path) -> bool:
    """Return whether *path*, called as timelines are, is one, or so damaged that nobody can tell."""
    if not path.is_file():
        return False
    try:
        with opened(str(path)) as file:
            head = file.read(_SNIFFED)
    except BadInput:
        return True
    return looks_like_timeline(head) or _is_cut(head)


def _is_cut(head: bytes) -> bool:
    """Return whether a file that starts with *head* ends, or breaks, before it tells what it is."""
    whole = len(head) < _SNIFFED
    if SQLITE.startswith(head):
        return True
    if GZIP.startswith(head[: len(GZIP)]):
        stream = PackedStream(io.BytesIO(head), Packing.GZIP, "", UNBOUNDED)
        head = stream.read(_SNIFFED)
        if whole and stream.fault:
            return True
        whole = len(head) < _SNIFFED
    if not whole or head.lstrip()[:1] not in (b"{", b"["):
        return False
    try:
        json.JSONDecoder().raw_decode(head.decode("utf-8-sig").lstrip())
    except (ValueError, RecursionError):
        return True
    return False


def _waiting(stream: IO[bytes]) -> bytes:
    """Return what is already there of *stream*, and leave it there."""
    return stream.peek(_SNIFFED) if hasattr(stream, "peek") else b""


def looks_like_timeline(head: bytes) -> bool:
    """Return whether a file that starts with *head* is a timeline."""
    if head.startswith(SQLITE) or XPLANE.match(head) or GPU_TRACE.match(head):
        return True
    if head.startswith(GZIP):
        head = first_bytes(io.BytesIO(head), _SNIFFED, "")
    start = head.lstrip()[:1]
    if start == b"[" and _PHASE.search(head):  # events without what stands around them
        return True
    return start in (b"{", b"[") and _CHROME.search(head) is not None

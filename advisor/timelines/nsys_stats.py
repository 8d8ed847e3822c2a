"""What ``nsys stats --report cuda_gpu_trace --format csv`` writes, with ``cuda_api_trace`` beside it.

Each row is a kernel, a copy or a memset in order of time. Units stand in the header and are those
that were asked for; shared memory and bytes are rounded there to a thousandth of the unit.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING

from gpuadvise.advisor.backends.user_files import opened
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.timelines.activities import (
    LATEST,
    LONGEST_NAME,
    MOST_ACTIVITIES,
    MOST_SHAPES,
    CopyPath,
    CopyRoute,
    KernelShape,
    MemoryKind,
    Recorder,
    Recording,
)
from gpuadvise.advisor.timelines.calls import plain_name
from gpuadvise.advisor.timelines.collectives import collective_named
from gpuadvise.advisor.timelines.copy_calls import CopyCalls
from gpuadvise.advisor.timelines.gpus import named_device

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.timelines.activities import KernelRuns
    from gpuadvise.advisor.timelines.copy_calls import UnjoinedCopies

_UNIT = re.compile(r"(.+?) \(([\w/]+)\)$")
_SCALES = {
    "ns": 1, "us": 1e3, "usec": 1e3, "ms": 1e6, "msec": 1e6, "s": 1e9, "sec": 1e9,
    "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
}  # fmt: skip
_DEVICE = re.compile(r"(.{1,200}) \((\d{1,4})\)$")
_COPY = re.compile(r"\[CUDA memcpy (.+)\]$")
_MEMSET = "[CUDA memset]"
_PATHS = {
    "Host-to-Device": CopyPath.H2D,
    "HtoD": CopyPath.H2D,
    "Device-to-Host": CopyPath.D2H,
    "DtoH": CopyPath.D2H,
    "Device-to-Device": CopyPath.D2D,
    "DtoD": CopyPath.D2D,
    "Peer-to-Peer": CopyPath.P2P,
    "PtoP": CopyPath.P2P,
    "Host-to-Host": CopyPath.H2H,
    "HtoH": CopyPath.H2H,
}
_GPU_REPORT, _CALL_REPORT = "cuda_gpu_trace.csv", "cuda_api_trace.csv"


def read_nsys_stats(path: str) -> Recording:
    """Return the recording of the table *path*; raises BadInput where it holds no work of a GPU.

    Calls of the host are taken from the ``cuda_api_trace.csv`` of the same name, if it is there.
    """
    with opened(path) as file:
        recording = read_gpu_trace(file)
    beside = Path(path.removesuffix(_GPU_REPORT) + _CALL_REPORT)
    if path.endswith(_GPU_REPORT) and beside.is_file():
        with opened(str(beside)) as file:
            _Table(file, recording).read_calls()
    else:
        recording.notes.append(
            "What the host did is in cuda_api_trace.csv, which does not stand beside it."
        )
    return recording


def read_gpu_trace(file: IO[bytes]) -> Recording:
    """Return the recording of a table alone."""
    recording = Recording(recorder=Recorder.NSIGHT_SYSTEMS)
    _Table(file, recording).read_work()
    if not recording.gpus:
        raise BadInput("The table holds no work of a GPU.")
    return recording


@dataclass(slots=True)
class _Table:
    """A table that is being read into a recording."""

    file: IO[bytes]
    recording: Recording
    _kinds: dict[tuple[str, ...], UnjoinedCopies] = field(default_factory=dict)
    _shapes: dict[tuple[str, ...], KernelRuns] = field(default_factory=dict)

    def rows(self) -> Iterator[tuple[int, dict[str, str], dict[str, float]]]:
        """Yield each row's number and cells by the column's name, and the scale of each column."""
        text = io.TextIOWrapper(self.file, "utf-8", "replace", newline="")
        try:
            reader = csv.reader(text, strict=False)
            header = next((row for row in reader if row), [])
            columns, scales = [], {}
            for title in header:
                unit = _UNIT.match(title)
                columns.append(unit[1] if unit else title)
                if unit:
                    scales[unit[1]] = float(_SCALES.get(unit[2], 1))
            for number, row in enumerate(reader, 2):
                if number > MOST_ACTIVITIES:
                    self.recording.notes.append(f"Only the first {number - 2:,} rows were read.")
                    return
                yield number, dict(zip(columns, row, strict=False)), scales
        except csv.Error:
            self.recording.notes.append("The table is damaged: what stands before that was read.")
        finally:
            text.detach()

    def read_work(self) -> None:
        """Add the kernels, copies and memsets."""
        copies = CopyCalls(self.recording)
        for number, cells, scales in self.rows():
            try:
                self._add(cells, scales, copies)
            except (KeyError, ValueError, OverflowError):
                self.recording.skip(number, "its times, device or name are not readable")
        copies.finish()

    def _add(self, cells: dict[str, str], scales: dict[str, float], copies: CopyCalls) -> None:
        start, end = _interval(cells, scales)
        gpu = self._gpu(cells["Device"])
        name = cells["Name"][:LONGEST_NAME]
        if copy := _COPY.match(name):
            size = round(float(cells["Bytes"]) * scales["Bytes"])
            kind = self._kind(gpu, copy[1], cells, copies)
            copies.add_copy(kind, start, end, size, None)
            kind.streams.add(_whole(cells.get("Strm")) or 0)
        elif name == _MEMSET:
            activities = self.recording.gpu(gpu)
            activities.memset_times.add(start, end)
            activities.memset_bytes += round(float(cells["Bytes"]) * scales["Bytes"])
        else:
            runs = self._runs(gpu, name, cells, scales)
            runs.add(start, end)
            activities = self.recording.gpu(gpu)
            if runs.times is activities.communication_times:
                activities.collectives.add(collective_named(name), start, end)
            runs.streams.add(_whole(cells.get("Strm")) or 0)

    def _kind(
        self, gpu: int, path: str, cells: dict[str, str], copies: CopyCalls
    ) -> UnjoinedCopies:
        key = (str(gpu), path, cells.get("SrcMemKd", ""), cells.get("DstMemKd", ""))
        kind = self._kinds.get(key)
        if kind is None:
            route = CopyRoute(
                path=_PATHS.get(path, CopyPath.UNKNOWN),
                source=_memory(key[2]),
                target=_memory(key[3]),
            )
            kind = self._kinds[key] = copies.kind(gpu, route)
        return kind

    def _runs(
        self, gpu: int, name: str, cells: dict[str, str], scales: dict[str, float]
    ) -> KernelRuns:
        words = ("GrdX", "GrdY", "GrdZ", "BlkX", "BlkY", "BlkZ", "Reg/Trd", "StcSMem", "DymSMem")
        key = (str(gpu), name, *(cells.get(word, "") for word in words))
        runs = self._shapes.get(key)
        if runs is None:
            if len(self._shapes) >= MOST_SHAPES:
                raise ValueError("too many launch shapes")
            sizes = [_whole(cells.get(word)) or 0 for word in words[:6]]
            static, dynamic = (
                round(float(cells.get(word) or 0) * scales.get(word, 1)) for word in words[7:]
            )
            shape = KernelShape(
                name=name,
                grid=(sizes[0], sizes[1], sizes[2]) if all(sizes[:3]) else None,
                block=(sizes[3], sizes[4], sizes[5]) if all(sizes[3:]) else None,
                registers=_whole(cells.get("Reg/Trd")) or None,
                static_shared=static,
                dynamic_shared=dynamic,
            )
            runs = self._shapes[key] = self.recording.gpu(gpu).runs_of(shape)
        return runs

    def _gpu(self, words: str) -> int:
        """Return the number of a GPU, of which ``NVIDIA H100 80GB HBM3 (0)`` says also the name."""
        match = _DEVICE.match(words)
        if match is None:
            raise ValueError("no device")
        number = int(match[2])
        if number not in self.recording.gpus:
            device = named_device(match[1])
            if device is not None:
                self.recording.devices[number] = device
        return number

    def read_calls(self) -> None:
        """Add the calls of the host."""
        for number, cells, scales in self.rows():
            try:
                start, end = _interval(cells, scales)
                calls = self.recording.call(plain_name(cells["Name"][:LONGEST_NAME]))
                calls.add(start, end)
            except (KeyError, ValueError, OverflowError):
                self.recording.skip(number, "its times or name are not readable")


def _interval(cells: dict[str, str], scales: dict[str, float]) -> tuple[int, int]:
    start = _nanoseconds(cells["Start"], scales["Start"])
    return start, start + _nanoseconds(cells["Duration"], scales["Duration"])


def _nanoseconds(cell: str, scale: float) -> int:
    """Return a time in nanoseconds, exact where that is the unit; raises ValueError."""
    time = int(cell) if scale == 1 else round(float(cell) * scale)
    if not 0 <= time < LATEST:
        raise ValueError("out of range")
    return time


def _whole(cell: str | None) -> int | None:
    return int(cell) if cell and cell.isascii() and cell.isdigit() and len(cell) < 10 else None


def _memory(word: str) -> MemoryKind:
    return next((kind for kind in MemoryKind if kind == word.lower()), MemoryKind.UNKNOWN)

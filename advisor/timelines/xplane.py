"""XLA's own recordings, ``*.xplane.pb``: the few fields of the protobuf that a timeline needs.

Fields are numbered as in ``tsl/profiler/protobuf/xplane.proto``. What is read becomes the same
events as in the ``trace.json.gz`` beside it, so that one reader judges both; this file names the
GPU, which the other does not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from struct import error as StructError
from struct import unpack_from
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.timelines.activities import LONGEST_NAME
from gpuadvise.advisor.timelines.gpus import traced_device

if TYPE_CHECKING:
    from collections.abc import Iterator
    from mmap import mmap

    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.timelines.chrome import Event

    Bytes = bytes | mmap

_GPU_PLANE = re.compile(r"/device:GPU:(\d{1,3})$")
_HOST_PLANE = "/host:CPU"
_MOST_NAMES = 1 << 20
_VARINT, _FIXED_64, _BYTES, _FIXED_32 = 0, 1, 2, 5
_LONGEST_VARINT = 10


@dataclass(slots=True)
class XplaneRecording:
    """A recording in memory or mapped into it; raises BadInput where it is damaged."""

    data: Bytes
    devices: dict[int, Device] = field(default_factory=dict)

    def events(self) -> Iterator[tuple[int, Event]]:
        """Yield the events of GPUs and of the host's threads as JAX's trace has them.

        ``devices`` holds the GPUs that the recording describes once its planes were read.
        """
        count = 0
        try:
            for number, (at, end) in enumerate(_planes(self.data)):
                for event in self._of_plane(number, at, end):
                    count += 1
                    yield count, event
        except (IndexError, StructError, _Damaged):
            raise BadInput("The recording is damaged or ends early.") from None

    def _of_plane(self, pid: int, at: int, end: int) -> Iterator[Event]:
        plane = _Plane.read(self.data, at, end)
        gpu = _GPU_PLANE.search(plane.name)
        if gpu is None and plane.name != _HOST_PLANE:
            return
        if gpu and (device := plane.device()):
            self.devices[int(gpu[1])] = device
        yield {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": plane.name}}
        for tid, line in enumerate(plane.lines):
            yield from plane.of_line(pid, tid, *line)


class _Damaged(Exception):
    """Bytes that are no protobuf."""


@dataclass(slots=True)
class _Plane:
    """What one device or the host recorded: where its lines are, and the names of its events."""

    data: Bytes
    name: str = ""
    lines: list[tuple[int, int]] = field(default_factory=list)
    event_names: dict[int, str] = field(default_factory=dict)
    stat_names: dict[int, str] = field(default_factory=dict)
    stats: list[tuple[int, int]] = field(default_factory=list)

    @classmethod
    def read(cls, data: Bytes, at: int, end: int) -> _Plane:
        """Return the plane that stands from *at* to *end*."""
        plane = cls(data)
        for number, value in _fields(data, at, end):
            if number == 2:
                plane.name = _text(data, value)
            elif number == 3:
                plane.lines.append(_span(value))
            elif number in (4, 5):
                names = plane.event_names if number == 4 else plane.stat_names
                key, name = _named(data, *_span(value))
                if len(names) < _MOST_NAMES:
                    names[key] = name
            elif number == 6:
                plane.stats.append(_span(value))
        return plane

    def device(self) -> Device | None:
        """Return the GPU that the plane's own stats describe."""
        facts = dict(stat for span in self.stats if (stat := self.stat(*span)))
        return traced_device(
            name=facts.get("gpu_device_name"),
            major=facts.get("compute_cap_major"),
            minor=facts.get("compute_cap_minor"),
            sm_count=facts.get("core_count"),
            memory_bytes=facts.get("memory_size"),
        )

    def stat(self, at: int, end: int) -> tuple[str, Any] | None:
        """Return a stat's name and value; None where it has no name or no value."""
        key, value = 0, None
        for number, content in _fields(self.data, at, end):
            if number == 1:
                key = _whole(content)
            elif number == 2:
                value = unpack_from("<d", self.data, _span(content)[0])[0]
            elif number in (3, 4):
                value = _whole(content)
            elif number == 5:
                value = _text(self.data, content)
            elif number == 7:
                value = self.stat_names.get(_whole(content))
        name = self.stat_names.get(key)
        return None if name is None or value is None else (name, value)

    def of_line(self, pid: int, tid: int, at: int, end: int) -> Iterator[Event]:
        """Yield the events of one stream or thread, after its name."""
        name, begin, spans = "", 0, []
        for number, value in _fields(self.data, at, end):
            if number == 2:
                name = _text(self.data, value)
            elif number == 3:
                begin = _whole(value)
            elif number == 4:
                spans.append(_span(value))
        yield {
            "ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": name},
        }  # fmt: skip
        for span in spans:
            yield {"ph": "X", "pid": pid, "tid": tid, **self.event(begin, *span)}

    def event(self, begin_ns: int, at: int, end: int) -> Event:
        """Return an event on a line that began at *begin_ns*; times in microseconds."""
        key = offset = duration = 0
        arguments: dict[str, Any] = {}
        for number, value in _fields(self.data, at, end):
            if number == 1:
                key = _whole(value)
            elif number == 2:
                offset = _whole(value)
            elif number == 3:
                duration = _whole(value)
            elif number == 4 and (stat := self.stat(*_span(value))):
                arguments[stat[0]] = stat[1]
        return {
            "name": self.event_names.get(key, ""),
            "ts": (begin_ns * 1000 + offset) / 1e6,
            "dur": duration / 1e6,
            "args": arguments,
        }


def _planes(data: Bytes) -> Iterator[tuple[int, int]]:
    """Yield where the planes of a recording stand."""
    for number, value in _fields(data, 0, len(data)):
        if number == 1:
            yield _span(value)


def _named(data: Bytes, at: int, end: int) -> tuple[int, str]:
    """Return the key and the name of an entry of a map of metadata."""
    key, name = 0, ""
    for number, value in _fields(data, at, end):
        if number == 1:
            key = _whole(value)
        elif number == 2:
            for inner, content in _fields(data, *_span(value)):
                if inner == 2:
                    name = _text(data, content)
    return key, name


# A field's value: a whole number, or where its bytes are.
_Value = int | tuple[int, int]


def _fields(data: Bytes, at: int, end: int) -> Iterator[tuple[int, _Value]]:
    """Yield the number and value of each field between *at* and *end*."""
    while at < end:
        key, at = _varint(data, at)
        kind = key & 7
        value: _Value
        if kind == _VARINT:
            value, at = _varint(data, at)
        else:
            if kind == _BYTES:
                length, at = _varint(data, at)
            elif kind in (_FIXED_64, _FIXED_32):
                length = 8 if kind == _FIXED_64 else 4
            else:
                raise _Damaged
            value = at, at + length
            at += length
        if at > end:
            raise _Damaged
        yield key >> 3, value


def _varint(data: Bytes, at: int) -> tuple[int, int]:
    """Return the number that begins at *at*, and where it ends."""
    byte = data[at]
    if byte < 128:
        return byte, at + 1
    number = shift = 0
    for place in range(at, at + _LONGEST_VARINT):
        byte = data[place]
        number |= (byte & 127) << shift
        if byte < 128:
            return number, place + 1
        shift += 7
    raise _Damaged


def _span(value: _Value) -> tuple[int, int]:
    if isinstance(value, int):
        raise _Damaged
    return value


def _whole(value: _Value) -> int:
    if not isinstance(value, int):
        raise _Damaged
    return value


def _text(data: Bytes, value: _Value) -> str:
    at, end = _span(value)
    return data[at : min(end, at + LONGEST_NAME)].decode("utf-8", "replace")

"""The report file of Nsight Compute, ``.ncu-rep``: launches with their metrics, rules and code.

A report is the bytes ``NVR`` and zero, a file header, and blocks until the end. A block is a header
that counts what follows, and its entries: sources (code of a module), then launches, then what
was profiled as a range or a graph. Every header and entry is a little-endian 32-bit length with
a protobuf message behind it. Metrics are named by their place in a table of strings that grows
from block to block. Field numbers are those of the messages that NVIDIA ships beside the tool
(``extras/FileFormat``; Nsight Compute Customization Guide, "Report File Format").

What a report says of the machine it comes from (host, user, addresses, command line,
environment, processes, source paths, call stacks, comments) is stepped over and never decoded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import islice
from struct import Struct
from typing import IO, TYPE_CHECKING

from gpuadvise.advisor.capability import Capability
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.facts.kernel_profile import ProfilerRule
from gpuadvise.advisor.profiles.signatures import HINT, MAGIC

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping


# Whole numbers, shares in per cent and nanoseconds, as stored; or text, such as a device's name.
Value = float | str
Dimensions = tuple[int, int, int]
# What metrics are per instance of (an address, an opcode, a number), with the value there.
Instances = tuple[tuple[Value, Value], ...]

# Only version that any report seen has, from 2020 to 2025.
_VERSION = 7
# One entry holds a launch, or the code of one module; the largest seen are tens of megabytes.
_LARGEST_ENTRY = 2**30
_LARGEST_HEADER = 2**27
# A full set names some 2,300 strings; a launch has as many metrics, and some dozens of rules.
_MOST_STRINGS = 2**20
_MOST_METRICS = 2**17
_MOST_RULES = 2**12
_LARGEST_NAME = 2**20
_MOST_ENTRIES = 2**24
# Empty blocks are 10 bytes: no honest report has more of them than this.
_MOST_BLOCKS = 2**22

_LENGTH = Struct("<I")
_DOUBLE = Struct("<d")
_FLOAT = Struct("<f")
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MOST_SHIFT = 63  # a varint is at most ten bytes

# How the profiler's pages print the kinds of a rule's message.
_KINDS = {0: "", 1: "INF", 2: "WRN", 3: "ERR", 4: "OPT"}
# "@url:words:https://..@" and "@section:Name:words@" in a rule's text.
_LINK = re.compile(r"@(url|section):([^@]*)@")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedLaunch:
    """One launch of a report: what was launched, and what was measured, in stored units.

    *metrics* are in the profiler's base units: per cent, nanoseconds, bytes, hertz, counts.
    *code* is the reference of the `ReportedCode` that ran, None where the report has none.
    """

    kernel: str  # demangled, with parameters where the report has them
    mangled: str
    grid: Dimensions | None
    block: Dimensions | None
    code: int | None
    metrics: Mapping[str, Value]
    rules: tuple[ProfilerRule, ...]
    instances: Mapping[str, Instances] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedCode:
    """The code of one module: its cubin, or its PTX text, for one architecture.

    Later sources that only add relocations to a module have neither, and are not yielded.
    """

    reference: int
    capability: Capability | None
    cubin: bytes | None
    ptx: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedRange:
    """A range or graph of launches profiled as one: counted, not read."""


ReportEntry = ReportedLaunch | ReportedCode | ReportedRange


def read_ncu_report(
    file: IO[bytes], name: str, *, instances: Collection[str] = frozenset()
) -> Iterator[ReportEntry]:
    """Yield the entries of the report *file* in their order: code stands before its launches.

    Only the metrics in *instances* are read per instance; who sees the code of a block may add to
    them before its launches come. One entry is in memory at a time.
    Raises BadInput, with *name*, for what is no report, is cut short or is over the bounds.
    """
    report = _ReportFile(file, name)
    if report.read(len(MAGIC)) != MAGIC:
        raise BadInput(f"{name}: no report of Nsight Compute.", hint=HINT)
    version = _only(_fields(report.sized(_LARGEST_HEADER)), 1, _VERSION)
    if version != _VERSION:
        raise BadInput(f"{name}: a report of version {version}; only version {_VERSION} is known.")
    for _ in range(_MOST_BLOCKS):
        if not (block := report.block()):
            return
        yield from report.entries(block, instances)
    raise BadInput(f"{name}: more than {_MOST_BLOCKS} blocks.")


@dataclass(frozen=True, slots=True, kw_only=True)
class _BlockHeader:
    """What a block's header counts."""

    sources: int
    launches: int
    ranges: int
    size: int


class _Names:
    """The strings of a report so far, by which metrics are named, and metrics seen already."""

    __slots__ = ("by_row", "seen", "texts")

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.by_row: dict[int, str] = {}  # by the two bytes that name a metric in a row
        # A device's attributes and a launch's settings are in each launch, byte by byte alike.
        self.seen: dict[bytes, tuple[str, Value]] = {}

    def add(self, text: str) -> None:
        """Add the next string."""
        index = len(self.texts)
        self.texts.append(text)
        if 0x80 <= index < 0x4000:
            self.by_row[index & 0x7F | 0x80 | index >> 7 << 8] = text


class _ReportFile:
    """A report being read: the file, where it stands, and the strings so far."""

    __slots__ = ("_file", "_name", "_names")

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file = file
        self._name = name
        self._names = _Names()

    def read(self, size: int) -> bytes:
        """Return the next *size* bytes, fewer at the end of the file."""
        return self._file.read(size)

    def sized(self, most: int) -> bytes:
        """Return the message behind the length that comes next."""
        length = self.read(_LENGTH.size)
        if len(length) < _LENGTH.size:
            raise self._damaged("it ends within a block")
        (size,) = _LENGTH.unpack(length)
        if size > most:
            raise self._damaged(f"an entry of {size} bytes")
        message = self.read(size)
        if len(message) < size:
            raise self._damaged("it ends within an entry")
        return message

    def block(self) -> _BlockHeader | None:
        """Return what the next block's header says, None at the end; keep its strings."""
        length = self.read(_LENGTH.size)
        if not length:
            return None
        (size,) = _LENGTH.unpack(length.ljust(_LENGTH.size, b"\xff"))
        if size > _LARGEST_HEADER or len(header := self.read(size)) < size:
            raise self._damaged("it ends within a block")
        counts = dict.fromkeys(range(1, 11), 0)
        try:
            for number, value in _fields(header):
                if number == 4 and isinstance(value, bytes):
                    self._name_strings(value)
                elif number in counts and isinstance(value, int):
                    counts[number] = value
        except _DamagedError as error:
            raise self._damaged(str(error)) from None
        ranges = counts[7] + counts[8] + counts[9]
        if counts[1] + counts[2] + ranges > _MOST_ENTRIES:
            raise self._damaged("too many entries")
        return _BlockHeader(sources=counts[1], launches=counts[2], ranges=ranges, size=counts[5])

    def entries(self, block: _BlockHeader, instances: Collection[str]) -> Iterator[ReportEntry]:
        """Yield the entries of *block*; what comes after the known ones is stepped over."""
        left = block.size
        wanted: frozenset[int] = frozenset()
        for index in range(block.sources + block.launches):
            message = self.sized(min(left, _LARGEST_ENTRY))
            left -= _LENGTH.size + len(message)
            if index == block.sources and instances:
                wanted = self._numbers(instances)
            try:
                entry = (
                    _code(message)
                    if index < block.sources
                    else _launch(message, self._names, wanted)
                )
            except _DamagedError as error:
                raise self._damaged(str(error)) from None
            if entry is not None:
                yield entry
        if left < block.ranges * _LENGTH.size:
            raise self._damaged("an entry is larger than its block")
        for _ in range(block.ranges):
            yield ReportedRange()
        self._skip(left)

    def _numbers(self, names: Collection[str]) -> frozenset[int]:
        return frozenset(n for n, text in enumerate(self._names.texts) if text in names)

    def _name_strings(self, table: bytes) -> None:
        for number, text in _fields(table):
            if number == 1 and isinstance(text, bytes):
                self._names.add(_text(text))
                if len(self._names.texts) > _MOST_STRINGS:
                    raise _DamagedError("too many strings")

    def _skip(self, size: int) -> None:
        """Step over *size* bytes; a pipe cannot seek, and a seek would pass the end unseen."""
        while size > 0:
            passed = len(self.read(min(size, 2**20)))
            if not passed:
                raise self._damaged("it ends within a block")
            size -= passed

    def _damaged(self, how: str) -> BadInput:
        return BadInput(f"{self._name}: a damaged report of Nsight Compute: {how}.", hint=HINT)


class _DamagedError(Exception):
    """A message that is no protobuf, or is over a bound."""


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield number and value of each field; fixed-width numbers come as their bytes."""
    at, end = 0, len(message)
    while at < end:
        key, at = _varint(message, at)
        kind = key & 7
        if kind == _VARINT:
            value, at = _varint(message, at)
            yield key >> 3, value
            continue
        if kind == _BYTES:
            size, at = _varint(message, at)
        elif kind in (_FIXED64, _FIXED32):
            size = 8 if kind == _FIXED64 else 4
        else:
            raise _DamagedError(f"a field of kind {kind}")
        if size > end - at:
            raise _DamagedError("a field is larger than its message")
        yield key >> 3, message[at : at + size]
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """Return the number that begins at *at*, and where the next field begins."""
    try:
        byte = message[at]
        if byte < 0x80:
            return byte, at + 1
        value, shift = byte & 0x7F, 7
        while True:
            at += 1
            byte = message[at]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value, at + 1
            shift += 7
            if shift > _MOST_SHIFT:
                raise _DamagedError("a number is too long")
    except IndexError:
        raise _DamagedError("a message ends within a number") from None


def _only(fields: Iterator[tuple[int, int | bytes]], number: int, default: int) -> int:
    """Return the whole number in field *number*."""
    try:
        return next((v for n, v in fields if n == number and isinstance(v, int)), default)
    except _DamagedError:
        return -1


def _text(value: int | bytes) -> str:
    if not isinstance(value, bytes) or len(value) > _LARGEST_NAME:
        raise _DamagedError("a text that is none")
    return value.decode("utf-8", errors="replace")


def _message(value: int | bytes) -> bytes:
    if not isinstance(value, bytes):
        raise _DamagedError("a number where a message belongs")
    return value


def _code(message: bytes) -> ReportedCode | None:
    """Return the code of one module, None where the source holds none."""
    reference, version = 0, 0
    cubin: bytes | None = None
    ptx: str | None = None
    for number, value in _fields(message):
        if number == 1 and isinstance(value, int):
            reference = value
        elif number == 2 and isinstance(value, bytes):
            ptx = value.decode("utf-8", errors="replace")
        elif number == 4 and isinstance(value, bytes):
            cubin = value
        elif number == 6 and isinstance(value, int):
            version = value
    if not cubin and not ptx:
        return None
    return ReportedCode(
        reference=reference,
        capability=_capability(version),
        cubin=cubin or None,
        ptx=ptx or None,
    )


def _capability(version: int) -> Capability | None:
    """Return the capability that a version as ``major << 16 | minor`` stands for."""
    major, minor = version >> 16, version & 0xFFFF
    return Capability(major, minor) if 0 < major < 100 and minor < 10 else None


def _launch(message: bytes, strings: _Names, wanted: frozenset[int]) -> ReportedLaunch:
    """Return one launch; sections, comments and call stacks are stepped over."""
    names = dict.fromkeys((5, 6, 7, 31), "")
    sizes: dict[int, Dimensions] = {}
    code: int | None = None
    rules: list[ProfilerRule] = []
    metrics: dict[str, Value] = {}
    instances: dict[str, Instances] = {}
    at, end = 0, len(message)
    while at < end:
        if message[at] == _METRIC:
            begun, at = at, _metrics(message, at, strings, metrics)
            if wanted:
                instances |= _all_instances(message[begun:at], strings.texts, wanted)
            continue
        number, start, at = _span(message, at)
        if number in names:
            names[number] = _text(message[start:at])
        elif number in (10, 11):
            sizes[number] = _dimensions(message[start:at])
        elif number == 15:
            code = _only(_fields(message[start:at]), 1, 0) or None
        elif number == 19:
            rules += islice(_rules(message[start:at]), _MOST_RULES + 1 - len(rules))
            if len(rules) > _MOST_RULES:
                raise _DamagedError("too many rules")
    return ReportedLaunch(
        kernel=names[31] or names[7] or names[6] or names[5],
        mangled=names[5] or names[6],
        grid=sizes.get(10),
        block=sizes.get(11),
        code=code,
        metrics=metrics,
        rules=tuple(rules),
        instances=instances,
    )


def _span(message: bytes, at: int) -> tuple[int, int, int]:
    """Return the number of the field at *at*, where its content begins, and where it ends."""
    key, at = _varint(message, at)
    kind = key & 7
    if kind == _VARINT:
        return 0, at, _varint(message, at)[1]  # none that is read here
    if kind == _BYTES:
        size, at = _varint(message, at)
    elif kind in (_FIXED64, _FIXED32):
        size = 8 if kind == _FIXED64 else 4
    else:
        raise _DamagedError(f"a field of kind {kind}")
    if size > len(message) - at:
        raise _DamagedError("a field is larger than its message")
    return key >> 3 if kind == _BYTES else 0, at, at + size


# Keys of a launch's metric, of its name and value, and of the value's types that are numbers.
_METRIC, _NAME, _VALUE = 13 << 3 | _BYTES, 1 << 3 | _VARINT, 2 << 3 | _BYTES
_WHOLE_NUMBERS = (4 << 3 | _VARINT, 5 << 3 | _VARINT)
_DOUBLE_KEY = 3 << 3 | _FIXED64
# Metrics behind each other whose name takes two bytes, and whose value is a double: 16 bytes each.
_ROWS = re.compile(rb"(?:\x6a\x0e\x08[\x80-\xff][\x01-\x7f]\x12\x09\x19.{8})++", re.DOTALL)
_ROW = Struct("<3xH3xd")
# Metrics are remembered up to this size, and as many: 2 MB at most.
_SHORT, _MOST_SEEN = 64, 2**13


def _metrics(message: bytes, at: int, strings: _Names, metrics: dict[str, Value]) -> int:
    """Add the metrics that stand in a row from *at* to *metrics*; return where they end.

    Of some 2,300 metrics of a launch, 1,900 are doubles in rows of equal size: those are read
    by row, without a step of the interpreter for each of their bytes; any other by `_metric`.
    """
    end, by_row, seen = len(message), strings.by_row, strings.seen
    while at < end and message[at] == _METRIC:
        size, start = message[at + 1] if at + 1 < end else 0x80, at + 2
        if size == _ROW.size - 2 and (rows := _ROWS.match(message, at)):
            at = rows.end()
            for name, number in _ROW.iter_unpack(memoryview(message)[rows.start() : at]):
                if name in by_row:
                    metrics[by_row[name]] = number
            continue
        if size >= 0x80:
            size, start = _varint(message, at + 1)
        at = start + size
        if at > end:
            raise _DamagedError("a field is larger than its message")
        if size <= _SHORT and (known := seen.get(message[start:at])):
            metrics[known[0]] = known[1]
            continue
        index, value = _metric(message, start, at)
        if value is not None and index < len(strings.texts):
            name = strings.texts[index]
            metrics[name] = value
            if size <= _SHORT and len(seen) < _MOST_SEEN:
                seen[message[start:at]] = name, value
    if len(metrics) > _MOST_METRICS:
        raise _DamagedError("too many metrics")
    return at


def _metric(message: bytes, at: int, end: int) -> tuple[int, Value | None]:
    """Return the number of a metric's name, and its value: the first two fields of some."""
    if at >= end or message[at] != _NAME:
        return -1, None
    name, at = _varint(message, at + 1)
    if at >= end or message[at] != _VALUE:
        return -1, None
    size, at = _varint(message, at + 1)
    if at + size > end:
        raise _DamagedError("a field is larger than its message")
    key = message[at] if size else 0
    if key == _DOUBLE_KEY and size == 1 + _DOUBLE.size:
        return name, _DOUBLE.unpack_from(message, at + 1)[0]
    return name, _value(message[at : at + size])


def _value(message: bytes) -> Value | None:
    """Return the number or text that *message* holds."""
    if message and message[0] in _WHOLE_NUMBERS:
        return _varint(message, 1)[0]
    for number, value in _fields(message):
        if isinstance(value, int):
            continue
        if number == 3 and len(value) == _DOUBLE.size:
            return float(_DOUBLE.unpack(value)[0])
        if number == 2 and len(value) == _FLOAT.size:
            return float(_FLOAT.unpack(value)[0])
        if number == 1:
            return _text(value)
    return None


def _all_instances(
    metrics: bytes, strings: list[str], wanted: frozenset[int]
) -> dict[str, Instances]:
    """Return the wanted ones of *metrics* per instance, by name."""
    by_name: dict[str, Instances] = {}
    for _, content in _fields(metrics):
        metric = _message(content)
        name = _only(_fields(metric), 1, -1)
        if name in wanted:
            by_name[strings[name]] = tuple(
                _instance(_message(entry)) for number, entry in _fields(metric) if number == 3
            )
    return by_name


def _instance(message: bytes) -> tuple[Value, Value]:
    """Return what an instance belongs to, and its value; 0 stands for what is not stored."""
    parts = {n: _value(_message(content)) for n, content in _fields(message) if n in (1, 2)}
    return parts.get(1) or 0, parts.get(2) or 0


def _dimensions(message: bytes) -> Dimensions:
    sizes = {number: value for number, value in _fields(message) if isinstance(value, int)}
    return sizes.get(1, 0), sizes.get(2, 0), sizes.get(3, 0)


def _rules(message: bytes) -> Iterator[ProfilerRule]:
    """Yield the messages of one rule; a rule that had nothing to say has none."""
    name = ""
    for number, value in _fields(message):
        if number == 1:
            name = _text(value)
        elif number == 3:
            for inner, body in _fields(_message(value)):
                if inner == 1:
                    yield from _rule(name, _message(body))


def _rule(name: str, body: bytes) -> Iterator[ProfilerRule]:
    """Yield what one result of rule *name* says, with the speed-up it estimates (per cent)."""
    text, kind, speedup = "", 0, None
    for number, value in _fields(body):
        if number == 1:
            for inner, part in _fields(_message(value)):
                if inner == 1:
                    text = _plain(_text(part))
                elif inner == 2 and isinstance(part, int):
                    kind = part
        elif number == 10:
            speedup = next((_double(v) for n, v in _fields(_message(value)) if n == 2), None)
    if text:
        yield ProfilerRule(
            name=name, kind=_KINDS.get(kind, ""), message=text, estimated_speedup=speedup
        )


def _double(value: int | bytes) -> float | None:
    if not isinstance(value, bytes) or len(value) != _DOUBLE.size:
        return None
    number = float(_DOUBLE.unpack(value)[0])
    return number if abs(number) < float("inf") else None


def _plain(text: str) -> str:
    """Return a rule's text with its links written out, as the profiler's pages print them."""
    return _LINK.sub(_written_out, text)


def _written_out(link: re.Match[str]) -> str:
    if link[1] == "section":
        return link[2].partition(":")[2]
    words, colon, address = link[2].partition(":http")
    return f"{words} (http{address})" if colon else words

"""Chrome traces event by event: JSON of any size in a few megabytes of memory.

PyTorch's profiler and others write each event on lines of its own. Such a trace is searched for
the events that are wanted, and these alone are parsed; any other layout is parsed event by event.
"""

from __future__ import annotations

import json
import re
from collections import deque
from dataclasses import dataclass, field
from json import JSONDecodeError
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

PIECE = 1 << 20
_FIRST_PIECE = 1 << 14
# Longest event seen is 30 kB, with the stack of a Python call; what is longer is passed over.
LONGEST_EVENT = 1 << 20
# What stands before or behind the events: device properties, metadata of a job.
_LONGEST_HEAD = 16 << 20
# Characters that may be parsed in vain beyond those of the file: what is broken on purpose, each
# event inside of the one before, would take time that grows with its square. Some 60 ns each.
_MOST_IN_VAIN = 8 << 20
# Of events that are broken one behind the other so many are tried each; behind them, ever more is passed over.
_TRIED_EACH = 16
_PASSED_OVER = 0.25  # of what was broken so far
_EVENTS = re.compile(rb'"traceEvents"\s*:\s*\[')
_LINED = re.compile(rb"\s*?\r?\n([ \t]{0,16})\{[ \t]*\r?\n")
_RESYNC = re.compile(r"\}\s*,\s*(?=\{)")
_CLOSED = rb"[\s,]*\]"
_PIECES_BEHIND = 4  # of the file's end, in which the end of the list is looked for
_GAP = re.compile(r"[\s,]*")
# Control characters in strings are no JSON, but occur (kernel names, user annotations).
_DECODER = json.JSONDecoder(strict=False)

# An event of which nothing is left, as PyTorch's profiler indents it.
EMPTY = b"\n  {\n  }"

Event = dict[str, Any]


@dataclass(slots=True)
class ChromeTrace:
    """A trace that is being read: what stands around its events, and its events, once.

    ``header`` has what stood before the events, and once they were read also what stands behind
    them, since the keys of an object have no order. ``broken`` is called with the number of each
    event that is no JSON, counted from 1.
    """

    read: Callable[[int], bytes]
    broken: Callable[[int, str], None]
    header: dict[str, Any] = field(default_factory=dict)
    truncated: bool = False
    text: bytes = b""  # of the event that came last, where events have lines of their own
    _buffer: bytes = b""
    _bare: bool = False  # a list of events without the object around it
    _close: bytes = b""
    _open: bytes = b""
    _ending: bytes = b""

    def start(self) -> None:
        """Read up to the first event; raises BadInput when there is none."""
        head = self._head()
        match = _EVENTS.search(head)
        if match is None:
            bare = head.lstrip(b"\xef\xbb\xbf \t\r\n")
            if not bare.startswith(b"["):
                raise BadInput("There are no trace events in it.")
            self._buffer = bare[1:]
            self._bare = True
        else:
            self.header = _header(head[: match.start()])
            self._buffer = head[match.end() :]
        while len(self._buffer) < 64 and (piece := self.read(PIECE)):
            self._buffer += piece
        if lined := _LINED.match(self._buffer):
            self._open = b"\n" + lined[1] + b"{"
            self._close = b"\n" + lined[1] + b"}"

    def _head(self) -> bytes:
        head = bytearray()
        while len(head) < _LONGEST_HEAD and (piece := self.read(PIECE)):
            head += piece
            if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[") or _EVENTS.search(head):
                break
        return bytes(head)

    @property
    def beginning(self) -> bytes:
        """The first bytes of the events, to tell who wrote them."""
        return self._buffer[:PIECE]

    @property
    def edges(self) -> tuple[bytes, bytes]:
        """The first bytes of the events, and of the events that were read the last."""
        return self.beginning, self._ending

    def events(
        self,
        wanted: re.Pattern[bytes] | None = None,
        take: Callable[[bytes], bytes] | None = None,
    ) -> Iterator[tuple[int, Event]]:
        """Yield the events with their numbers; with *wanted* at least those it occurs in.

        *take* is given the text of many events with lines of their own, and returns it with those
        that it took emptied to EMPTY: it saves parsing what differs in a few numbers.
        """
        if self._open:
            yield from self._lined(wanted or re.compile(re.escape(self._open)), take)
        else:
            yield from self._any_layout()

    def _lined(
        self, wanted: re.Pattern[bytes], take: Callable[[bytes], bytes] | None
    ) -> Iterator[tuple[int, Event]]:
        buffered = b"\n" + self._buffer.lstrip(b"\r\n")
        latest = deque([buffered], maxlen=_PIECES_BEHIND)
        before, tail = 0, b""
        for piece in self._pieces(buffered, latest):
            block = tail + piece
            cut = block.rfind(self._open) if piece else len(block)
            if cut < 1:
                cut, tail = (0, block) if len(block) < LONGEST_EVENT else (len(block), b"")
            else:
                tail = block[cut:]
            block = block[:cut]
            before = yield from self._in_block(block, wanted, take, before)
        self._look_behind(b"".join(latest))

    def _pieces(self, buffered: bytes, latest: deque[bytes]) -> Iterator[bytes]:
        """Yield what is *buffered*, then the file, of which *latest* keeps the end; b"" is last.

        The first pieces are small: what their events teach holds for all others.
        """
        at, size = 0, _FIRST_PIECE
        while at < len(buffered):
            yield buffered[at : at + size]
            at, size = at + size, 2 * size
        while piece := self.read(min(size, PIECE)):
            size *= 2
            latest.append(piece)
            yield piece
        yield b""

    def _look_behind(self, end: bytes) -> None:
        """Take what stands behind the list of events in the *end* of the file.

        A bare list need not be closed.
        """
        self._ending = end
        closed = re.search(re.escape(self._close) + _CLOSED, end)
        if closed:
            self._add_behind(end[closed.end() :])
        self.truncated = self.truncated or not (closed or self._bare)

    def _add_behind(self, text: bytes) -> None:
        """Add the keys behind the events to the header; none of them where they are no JSON."""
        if not self._bare:
            behind = text.strip(b" \t\r\n,").removesuffix(b"}")
            self.header = {**_header(b"{" + behind), **self.header}

    def _in_block(
        self,
        block: bytes,
        wanted: re.Pattern[bytes],
        take: Callable[[bytes], bytes] | None,
        before: int,
    ) -> Generator[tuple[int, Event], None, int]:
        """Yield the wanted events of whole lines; *before* events came earlier. Return how many now did."""
        counted = at = 0
        if take is not None and self._open == EMPTY[: len(self._open)]:
            block = take(block)
        for match in wanted.finditer(block):
            if match.start() < at:
                continue  # the same event
            start = max(block.rfind(self._open, at, match.end()), 0)
            end = block.find(self._close, max(match.end() - 1, start))
            before += block.count(self._open, counted, start + len(self._open))
            counted = start + len(self._open)
            if end < 0:
                self.truncated = True
                self.broken(before, "it has no end")
                return before
            at = end + len(self._close)
            self.text = block[start:at]
            event = self._decoded(self.text, before)
            if event is not None:
                yield before, event
        return before + block.count(self._open, counted)

    def _decoded(self, text: bytes, number: int) -> Event | None:
        try:
            # `decode` searches for blanks around each event by a pattern, which takes longer.
            lines = text.decode("utf-8", "replace").strip()
            event, end = _DECODER.raw_decode(lines)
            if end != len(lines):
                raise ValueError
        except RecursionError:
            self.broken(number, "it is nested too deeply")
        except ValueError:
            self.broken(number, "it is no JSON")
        else:
            if isinstance(event, dict):
                return event
            self.broken(number, "it is not an object")
        return None

    def _any_layout(self) -> Iterator[tuple[int, Event]]:
        """Yield the events of a trace whose layout says nothing, each parsed in turn."""
        from codecs import getincrementaldecoder

        decode = getincrementaldecoder("utf-8")("replace").decode
        text, at, number, more = decode(self._buffer), 0, 0, True
        in_vain = broken = since = 0
        while True:
            if more and len(text) - at < LONGEST_EVENT:
                piece = self.read(PIECE)
                more = bool(piece)
                in_vain -= len(piece)
                text, at, since = text[at:] + decode(piece, not piece), 0, since - at
                continue
            at = _GAP.match(text, at).end()  # type: ignore[union-attr]
            if at >= len(text) or text[at] == "]":
                self.truncated = at >= len(text)
                self._read_behind(text[at + 1 :])
                return
            number += 1
            try:
                event, at = _DECODER.raw_decode(text, at)
            except (ValueError, RecursionError) as error:
                deep = isinstance(error, RecursionError)
                self.broken(number, "it is nested too deeply" if deep else "it is no JSON")
                end = error.pos if isinstance(error, JSONDecodeError) else len(text)
                in_vain += end - at
                if in_vain > _MOST_IN_VAIN:
                    self.truncated = True
                    return
                since, broken = (since, broken + 1) if broken else (at, 1)
                over = int((at - since) * _PASSED_OVER) if broken > _TRIED_EACH else 0
                behind = _RESYNC.search(text, at + 1 + over)
                at = behind.end() if behind else len(text)
                continue
            broken = 0
            if isinstance(event, dict):
                yield number, event
            else:
                self.broken(number, "it is not an object")

    def _read_behind(self, text: str) -> None:
        """Read on behind the list of events, of which *text* is known."""
        behind = bytearray(text.encode())
        while len(behind) < _LONGEST_HEAD and (piece := self.read(PIECE)):
            behind += piece
        self._add_behind(bytes(behind))


def _header(text: bytes) -> dict[str, Any]:
    """Return the keys before the events; none of them where they are no JSON."""
    try:
        closed = text.decode("utf-8-sig", "replace").rstrip().rstrip(",") + "}"
        header = _DECODER.decode(closed)
    except (ValueError, RecursionError):
        return {}
    return header if isinstance(header, dict) else {}

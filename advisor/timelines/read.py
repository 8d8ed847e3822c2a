"""Timelines from files, pipes and folders of traces."""

from __future__ import annotations

import io
import os
import re
import sys
from contextlib import contextmanager, suppress
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import IO, TYPE_CHECKING

from gpuadvise.advisor.backends.remote_files import is_address
from gpuadvise.advisor.backends.user_files import opened, pieces
from gpuadvise.advisor.compression.packed_file import (
    PackedStream,
    Packing,
    Readable,
    UnpackingBounds,
)
from gpuadvise.advisor.errors import BadInput, Unavailable
from gpuadvise.advisor.prose import plural, quoted_path
from gpuadvise.advisor.timelines.activities import Recorder, Recording
from gpuadvise.advisor.timelines.chrome import ChromeTrace
from gpuadvise.advisor.timelines.foreign_files import is_no_timeline, packed_with, way_on
from gpuadvise.advisor.timelines.signatures import (
    GPU_TRACE,
    GZIP,
    SQLITE,
    SUFFIXES,
    XPLANE,
    is_packed_timeline,
    may_be_timeline,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gpuadvise.advisor.timelines.chrome import Event

_JAX = re.compile(rb"/(?:device|host):\w+|hlo_module")
_KINETO = re.compile(rb'"(?:schemaVersion|deviceProperties|cat)"')
# Real traces compress up to 51:1, deflate's most is 1032:1.
_BOUNDS = UnpackingBounds(freely=256 << 20, times=200, most=64 << 30)
_LARGEST_PIPED_DATABASE = 4 << 30
_MOST_FILES = 4096
_MOST_NOTES = 3
_TOLD_BY = 1 << 9  # bytes of a file that tell its format
_LARGEST_PIPED = 1 << 30  # of what is read whole


def read_recordings(
    path: str, *, progress: Callable[[int], None] | None = None
) -> Iterator[Recording]:
    """Yield what *path* holds: a file, stdin (``-``), or each trace of a folder.

    *progress* is told the bytes read so far of each file. Raises BadInput for what is no
    timeline, and for a folder without one.
    """
    if path == "-":
        yield _read_stream(sys.stdin.buffer, "stdin", progress)
    elif path and Path(path).is_dir():
        yield from _readable(timeline_files(path), progress)
    else:
        yield _read_file(path, progress)


def timeline_files(path: str) -> list[str]:
    """Return the traces of the folder *path*: one for each rank of a distributed program.

    Raises BadInput where there are none, or far too many.
    """
    folder = Path(path)
    try:
        files = [
            file
            for file in sorted(folder.iterdir())
            if file.name.endswith(SUFFIXES)
            and not file.is_symlink()
            and may_be_timeline(file)  # reading it says why it is left out
        ]
    except OSError as error:
        raise BadInput(f"{quoted_path(str(folder))} cannot be read: {error.strerror}.") from None
    if not files:
        packed = next((file for file in folder.iterdir() if is_packed_timeline(str(file))), None)
        if packed is not None:
            refuse_packed(str(packed))
        raise BadInput(
            f"{quoted_path(str(folder))} holds no timeline.",
            hint="Timelines end in .json, .json.gz, .sqlite, .xplane.pb or cuda_gpu_trace.csv.",
        )
    if len(files) > _MOST_FILES:
        raise BadInput(f"{quoted_path(str(folder))} holds more than {_MOST_FILES:,} files.")
    return [str(file) for file in files]


def refuse_packed(path: str) -> None:
    """Raise BadInput, with what unpacks it, for the file *path* where it is a timeline that is packed."""
    if not is_packed_timeline(path):
        return
    with opened(path) as file:
        packed = packed_with(file.read(_TOLD_BY))
    if packed is not None:
        kind, hint = packed
        raise BadInput(f"{quoted_path(path)} {kind}.", hint=hint)


def _readable(paths: list[str], progress: Callable[[int], None] | None) -> Iterator[Recording]:
    """Yield the recordings of *paths*, the last with notes on those that hold none.

    Raises BadInput where all of them hold none.
    """
    last, errors = None, []
    for path in paths:
        try:
            recording = read_member(path, beside=len(paths) > 1, progress=progress)
        except BadInput as error:
            errors.append(error)
            continue
        if last is not None:
            yield last
        last = recording
    if last is None:
        raise errors[0]
    last.notes += left_out_notes([error.message for error in errors])
    yield last


def read_member(
    path: str, *, beside: bool, progress: Callable[[int], None] | None = None
) -> Recording:
    """Return the recording of the file *path* of a folder; its notes name it where others are *beside* it.

    Raises BadInput for what is no timeline.
    """
    recording = _read_file(path, progress)
    recording.member = os.path.basename(path)
    if beside:
        name = quoted_path(recording.member)
        recording.notes = [f"{name}: {note}" for note in recording.notes]
    return recording


def left_out_notes(reasons: list[str]) -> list[str]:
    """Return what to say of the files of a folder that could not be read, each for its reason."""
    notes = [f"Left out of the folder: {reason}" for reason in reasons[:_MOST_NOTES]]
    if len(reasons) > _MOST_NOTES:
        notes.append(f"{plural(len(reasons) - _MOST_NOTES, 'more file')} left out.")
    return notes


def _read_file(path: str, progress: Callable[[int], None] | None) -> Recording:
    name = os.path.basename(path)
    with opened(path) as file:
        if is_address(path) or not file.seekable():  # a pipe, as the shell makes of <(command)
            return _read_stream(file, name, progress)
        head = file.read(_TOLD_BY)
        file.seek(0)
        if head.startswith(SQLITE):
            from gpuadvise.advisor.timelines.nsys import read_nsys

            return read_nsys(Path(path))
        if GPU_TRACE.match(head):
            from gpuadvise.advisor.timelines.nsys_stats import read_nsys_stats

            return read_nsys_stats(path)
        if XPLANE.match(head):
            with mmap(file.fileno(), 0, access=ACCESS_READ) as mapped:
                return _read_xplane(mapped, name)
        return _read_trace(file, name, progress)


def _read_xplane(data: bytes | mmap, name: str) -> Recording:
    """Read what XLA recorded itself."""
    from gpuadvise.advisor.timelines.jax import read_jax
    from gpuadvise.advisor.timelines.xplane import XplaneRecording

    planes = XplaneRecording(data)
    recording = Recording(recorder=Recorder.JAX)
    try:
        read_jax(planes.events(), recording)
    except BadInput as error:
        raise BadInput(f"{quoted_path(name)}: {error.message}", hint=error.hint) from None
    recording.devices.update(planes.devices)
    return recording


def _read_stream(stream: IO[bytes], name: str, progress: Callable[[int], None] | None) -> Recording:
    """Read a pipe; a database is kept in a temporary file, since it is not read front to back."""
    head = stream.read(_TOLD_BY)
    if XPLANE.match(head):
        return _read_xplane(head + stream.read(_LARGEST_PIPED), name)
    if GPU_TRACE.match(head):
        from gpuadvise.advisor.timelines.nsys_stats import read_gpu_trace

        return read_gpu_trace(io.BytesIO(head + stream.read(_LARGEST_PIPED)))
    if not head.startswith(SQLITE):
        return _read_trace(_Ahead(head, stream), name, progress)
    from gpuadvise.advisor.backends.temporary_folder import temporary_folder
    from gpuadvise.advisor.timelines.nsys import read_nsys

    with temporary_folder() as folder:
        kept = os.path.join(folder, "kept.sqlite")
        try:
            with open(kept, "wb") as file:
                file.write(head)
                for piece in pieces(stream):
                    file.write(piece)
                    if file.tell() > _LARGEST_PIPED_DATABASE:
                        raise BadInput(
                            f"{name} is larger than 4 GiB.", hint="Give the file itself."
                        )
        except OSError as error:
            raise Unavailable(
                f"What comes through {quoted_path(name)} cannot be kept: {error.strerror}.",
                hint="Give the file itself, or name a folder with room: TMPDIR=FOLDER.",
            ) from None
        return read_nsys(Path(kept))


class _Ahead:
    """A stream with the bytes that were read from it already put back."""

    def __init__(self, head: bytes, stream: Readable) -> None:
        self.head = head
        self.stream = stream

    def read(self, size: int = -1, /) -> bytes:
        """Return up to *size* bytes."""
        if not self.head:
            return self.stream.read(size)
        cut = len(self.head) if size < 0 else size
        head, self.head = self.head[:cut], self.head[cut:]
        return head


class _Counted:
    """A stream that counts its bytes, tells them on, and ends where too much comes."""

    def __init__(self, stream: Readable, progress: Callable[[int], None] | None) -> None:
        self.stream = stream
        self.progress = progress
        self.count = 0

    def read(self, size: int = -1, /) -> bytes:
        """Return up to *size* bytes."""
        piece = self.stream.read(size)
        self.count += len(piece)
        if self.progress is not None:
            self.progress(self.count)
        return piece


def _read_trace(file: Readable, name: str, progress: Callable[[int], None] | None) -> Recording:
    """Read a Chrome trace, compressed or not."""
    counted = _Counted(file, progress)
    head = counted.read(_TOLD_BY)
    if not head:
        raise BadInput(
            f"{quoted_path(name)} is empty.", hint="Did the program end before it wrote?"
        )
    stream: Readable = counted
    inflated = None
    if head.startswith(GZIP):
        ahead = _Ahead(head, counted)
        stream = inflated = PackedStream(ahead, Packing.GZIP, quoted_path(name), _BOUNDS)
        head = stream.read(_TOLD_BY)
    recording = Recording(recorder=Recorder.PYTORCH)
    trace = ChromeTrace(_Ahead(head, stream).read, recording.skip)
    _start(trace, name, head)
    try:
        _interpret(trace, recording, name)
    except BadInput:
        if recording.gpus or not (trace.truncated or (inflated and inflated.fault)):
            raise
        raise BadInput(
            f"{quoted_path(name)} ends early, and up to there it holds no work of a GPU.",
            hint="Is the copy or download complete?",
        ) from None
    if trace.truncated or (inflated and inflated.fault):
        recording.notes.append("The file ends early: what it holds up to there was read.")
    if recording.skipped_count:
        recording.notes.append(
            f"{plural(recording.skipped_count, 'event')} could not be read and "
            f"{'was' if recording.skipped_count == 1 else 'were'} left out."
        )
    return recording


@contextmanager
def pytorch_events(path: str) -> Iterator[Iterator[tuple[int, Event]]]:
    """Give all events of the PyTorch trace *path*, for what a timeline does not look at.

    Raises BadInput where it is none.
    """
    name = os.path.basename(path)
    with opened(path) as file:
        head = file.read(_TOLD_BY)
        file.seek(0)
        stream: Readable = file
        if head.startswith(GZIP):
            stream = PackedStream(file, Packing.GZIP, quoted_path(name), _BOUNDS)
        trace = ChromeTrace(stream.read, lambda number, reason: None)
        other = any(form.match(head) for form in (XPLANE, GPU_TRACE)) or head.startswith(SQLITE)
        if not other:
            _start(trace, name, head)
        if other or not (trace.header or _KINETO.search(trace.beginning)):
            raise BadInput(
                f"{quoted_path(name)} is no trace of PyTorch, which alone names operators."
            )
        yield trace.events()


def _start(trace: ChromeTrace, name: str, head: bytes) -> None:
    """Read up to the first event; raises BadInput, with the way on, for what is no trace."""
    with suppress(BadInput):
        trace.start()
        if not is_no_timeline(head):
            return
    kind, hint = way_on(name, head)
    raise BadInput(f"{quoted_path(name)} {kind}.", hint=hint)


def _interpret(trace: ChromeTrace, recording: Recording, name: str) -> None:
    """Let the reader of the trace's writer read it."""
    beginning = trace.beginning
    try:
        if not trace.header.keys() & {"schemaVersion", "deviceProperties"} and _JAX.search(
            beginning
        ):
            from gpuadvise.advisor.timelines.jax import read_jax

            read_jax(trace.events(), recording)
        elif trace.header or _KINETO.search(beginning):
            from gpuadvise.advisor.timelines.kineto import read_kineto

            read_kineto(trace, recording)
        else:
            raise BadInput("It is a Chrome trace of neither PyTorch nor JAX.")
    except BadInput as error:
        raise BadInput(f"{quoted_path(name)}: {error.message}", hint=error.hint) from None

"""What ``timeline`` is asked, and the timelines of its files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import quoted_path
from gpuadvise.cli.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.timelines.timeline import Timeline

STDIN = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineRequest:
    """The command line of ``gpuadvise timeline`` as values."""

    files: tuple[str, ...]
    device: Mapping[str, str | None]  # --gpu, --cc, --device, --from as given
    top: int  # kernels that the text lists; 0: all
    show: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTimeline:
    """One GPU's timeline and the file that holds it."""

    file: str
    timeline: Timeline


def parse_files(files: list[str]) -> tuple[str, ...]:
    """Return *files*; raises BadInput when standard input is named twice."""
    if files.count(STDIN) > 1:
        raise BadInput("Standard input can be read only once.")
    return tuple(files)


def chosen_device(options: Mapping[str, str | None]) -> Device | None:
    """Return the GPU that the options name, for files that name none; None: no option was given."""
    if all(value is None for value in options.values()):
        return None
    from gpuadvise.advisor.backends.choose import choose

    return choose(
        gpu=options["gpu"],
        cc=options["cc"],
        device=options["device"],
        from_file=options["from"],
    ).device


def timelines_in(paths: tuple[str, ...], device: Device | None) -> Iterator[FileTimeline]:
    """Yield the timeline of each GPU in each file, a recording at a time.

    Raises BadInput for a file that is none, and for one without work of a GPU.
    """
    from gpuadvise.advisor.timelines.read import read_recordings
    from gpuadvise.advisor.timelines.timeline import timelines_of

    for path in paths:
        progress = Progress()
        try:
            for recording in read_recordings(path, progress=progress.reading_bytes):
                try:
                    timelines = timelines_of(recording, device=device)
                except BadInput as error:
                    raise BadInput(f"{quoted_path(path)}: {error.message}") from None
                yield from (FileTimeline(file=path, timeline=timeline) for timeline in timelines)
        finally:
            progress.end()

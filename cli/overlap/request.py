"""What ``overlap`` is asked, from option texts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import and_list
from gpuadvise.advisor.transfers.links import (
    PAGEABLE_D2H_RATE,
    PAGEABLE_H2D_RATE,
    Link,
    default_link_model,
)
from gpuadvise.advisor.transfers.overlap import MOST_STREAMS
from gpuadvise.advisor.transfers.pipeline import StagedWork
from gpuadvise.advisor.values import CopyAmount, seconds
from gpuadvise.cli.calibration import NONE
from gpuadvise.cli.options import named, pick
from gpuadvise.cli.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.timelines.staging import TracedStaging
    from gpuadvise.advisor.timelines.timeline import Timeline
    from gpuadvise.advisor.transfers.links import LinkModel

# What the guide's two formulas leave out.
_IDEAL: dict[str, Any] = {
    "copy_latency": 0.0,
    "kernel_latency": 0.0,
    "copy_cost": 0.0,
    "launch_cost": 0.0,
    "duplex_slowdown": 1.0,
    "duplex_latency": 0.0,
}


class StagingOptions(NamedTuple):
    """The copies and the kernel, and how they are spread over streams; ``None`` is not given."""

    kernel: Annotated[str | None, pick("kernel_time")] = None
    h2d: Annotated[CopyAmount | None, pick("h2d")] = None
    d2h: Annotated[CopyAmount | None, pick("d2h")] = None
    streams: Annotated[int | None, pick("streams", "Predict this many streams.")] = None
    chunks: Annotated[int | None, pick("chunks")] = None
    most: Annotated[int, pick("max_streams")] = MOST_STREAMS
    granularity: Annotated[int, pick("granularity")] = 256  # bytes
    pageable: Annotated[bool, pick("pageable")] = False

    def given(self) -> dict[str, object]:
        """Return what a recorded run would say itself, None where it is not typed."""
        return {
            "--h2d": self.h2d,
            "--kernel": self.kernel,
            "--d2h": self.d2h,
            "--pageable": self.pageable or None,
        }

    def pieces(self) -> int | None:
        """Return the number of ``--chunks``; raises BadInput where there are fewer than streams."""
        if self.chunks and (self.streams is None or self.chunks < self.streams):
            raise BadInput("--chunks needs --streams, and at least as many chunks as streams.")
        return self.chunks

    def work(self) -> StagedWork:
        """Return the work that the options describe; raises BadInput."""
        if self.kernel is None:
            raise BadInput(
                "--kernel is missing.", hint="Give the time of the kernel: --kernel 5ms."
            )
        to_device, to_host = self.h2d or CopyAmount(), self.d2h or CopyAmount()
        if not any((*to_device, *to_host)):
            raise BadInput("There is nothing to overlap.", hint="Give --h2d, --d2h or both.")
        return StagedWork(
            kernel_seconds=named("--kernel", seconds, self.kernel),
            h2d_bytes=to_device.size,
            h2d_seconds=to_device.seconds,
            d2h_bytes=to_host.size,
            d2h_seconds=to_host.seconds,
            pageable=self.pageable,
        )


class LinkOptions(NamedTuple):
    """What replaces parameters of the link model; ``None`` is not given."""

    pcie: Annotated[Link | None, pick("pcie")] = None
    rate: Annotated[float | None, pick("rate")] = None
    per_op: Annotated[float | None, pick("per_op")] = None
    copy_latency: Annotated[float | None, pick("copy_latency")] = None
    duplex: Annotated[float | None, pick("duplex")] = None
    engines: Annotated[int | None, pick("engines")] = None
    ideal: Annotated[bool, pick("ideal")] = False
    calibration: Annotated[str | None, pick("calibration")] = None

    @property
    def link_given(self) -> bool:
        """Whether the options give the rates of the link."""
        return any((self.pcie, self.rate, self.calibration not in (None, NONE)))


def timeline_of_copies(path: str, typed: Mapping[str, object]) -> tuple[Timeline, list[str]]:
    """Return the timeline of *path* whose GPU copied longest, with notes.

    They say what of the file could not be read, and which of several timelines this is. Raises BadInput for a file that is no timeline, and where *typed* options say the same things.
    """
    given = [option for option, value in typed.items() if value is not None]
    if given:
        raise BadInput(f"--from-timeline tells what {and_list(given)} would: leave one out.")
    from gpuadvise.advisor.timelines.case import line_name
    from gpuadvise.advisor.timelines.read import read_recordings
    from gpuadvise.advisor.timelines.timeline import timelines_of

    def timelines() -> list[Timeline]:
        progress = Progress()
        try:
            recordings = read_recordings(path, progress=progress.reading_bytes)
            return [line for recording in recordings for line in timelines_of(recording)]
        finally:
            progress.end()

    lines = named("--from-timeline", lambda _: timelines(), path)
    longest = max(lines, key=lambda line: line.copy_ns)
    notes = list(dict.fromkeys(note for line in lines for note in line.notes))
    if len(lines) > 1:
        name = line_name(longest)
        notes.append(f"Of {len(lines)} timelines this is {name}, whose copies took longest.")
    return longest, notes


def staged_as_traced(timeline: Timeline, link: LinkModel) -> TracedStaging:
    """Return the copies and kernels of *timeline* as work to stage; raises BadInput without both."""
    from gpuadvise.advisor.timelines.staging import traced_staging

    staging = traced_staging(timeline, link)
    if staging is None:
        raise BadInput("--from-timeline: kernels, or copies between host and GPU, are missing.")
    return staging


def model(
    device: Device | None, changes: LinkOptions, measured: LinkModel | None = None
) -> LinkModel:
    """Return the link model of *device* or of the calibration, with the changes applied.

    *measured* is what was saved for this GPU; what the options give goes before it. Raises BadInput.
    """
    if changes.pcie is not None and (changes.rate is not None or changes.calibration is not None):
        raise BadInput("--pcie gives the link's rates: leave out --rate and --calibration.")
    link = measured or default_link_model(device)
    if changes.pcie is not None:
        link = _in_slot(link, changes.pcie)
    if changes.calibration not in (None, NONE):
        from gpuadvise.advisor.backends.user_files import read_calibration

        link = named("--calibration", read_calibration, changes.calibration)
    if changes.ideal:
        link = replace(link, **_IDEAL)
    return replace(link, **_replaced(changes))


def _in_slot(model: LinkModel, link: Link) -> LinkModel:
    rate = link.attainable
    return replace(
        model,
        h2d_rate=rate,
        d2h_rate=rate,
        pageable_h2d_rate=min(PAGEABLE_H2D_RATE, rate),
        pageable_d2h_rate=min(PAGEABLE_D2H_RATE, rate),
        source=f"you: {link.name}, share that pinned copies reach",
    )


def _replaced(changes: LinkOptions) -> dict[str, Any]:
    given: dict[str, Any] = {}
    if changes.rate is not None:
        given |= {"h2d_rate": changes.rate, "d2h_rate": changes.rate, "source": "you"}
        given |= {"pageable_h2d_rate": changes.rate, "pageable_d2h_rate": changes.rate}
    if changes.per_op is not None:
        given |= {"copy_cost": changes.per_op, "launch_cost": changes.per_op}
    if changes.copy_latency is not None:
        given["copy_latency"] = changes.copy_latency
    if changes.duplex is not None:
        given["duplex_slowdown"] = changes.duplex
    if changes.engines is not None:
        given |= {"engines": changes.engines, "engines_source": "you"}
    return given

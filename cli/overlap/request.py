"""What ``overlap`` is asked, from option texts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import and_list
from gpuadvise.advisor.transfers.links import (
    PAGEABLE_D2H_RATE,
    PAGEABLE_H2D_RATE,
    default_link_model,
)
from gpuadvise.advisor.transfers.pipeline import StagedWork
from gpuadvise.advisor.values import CopyAmount, seconds
from gpuadvise.cli.calibration import NONE
from gpuadvise.cli.options import named, read
from gpuadvise.cli.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.timelines.staging import TracedStaging
    from gpuadvise.advisor.timelines.timeline import Timeline
    from gpuadvise.advisor.transfers.links import Link, LinkModel

# What the guide's two formulas leave out.
_IDEAL: dict[str, Any] = {
    "copy_latency": 0.0,
    "kernel_latency": 0.0,
    "copy_cost": 0.0,
    "launch_cost": 0.0,
    "duplex_slowdown": 1.0,
    "duplex_latency": 0.0,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """Options that replace parameters of the link model, as typed; ``None`` is not given."""

    pcie: str | None = None
    rate: str | None = None
    per_op: str | None = None
    copy_latency: str | None = None
    duplex: str | None = None
    engines: str | None = None
    calibration: str | None = None
    ideal: bool = False

    @property
    def link_given(self) -> bool:
        """Whether the options give the rates of the link."""
        return any((self.pcie, self.rate, self.calibration not in (None, NONE)))


def work(*, h2d: str | None, kernel: str | None, d2h: str | None, pageable: bool) -> StagedWork:
    """Return the work that the options describe; raises BadInput."""
    if kernel is None:
        raise BadInput("--kernel is missing.", hint="Give the time of the kernel: --kernel 5ms.")
    to_device = read("h2d", h2d) or CopyAmount()
    to_host = read("d2h", d2h) or CopyAmount()
    if not any((*to_device, *to_host)):
        raise BadInput("There is nothing to overlap.", hint="Give --h2d, --d2h or both.")
    return StagedWork(
        kernel_seconds=named("--kernel", seconds, kernel),
        h2d_bytes=to_device.size,
        h2d_seconds=to_device.seconds,
        d2h_bytes=to_host.size,
        d2h_seconds=to_host.seconds,
        pageable=pageable,
    )


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


def model(device: Device | None, changes: Changes, measured: LinkModel | None = None) -> LinkModel:
    """Return the link model of *device* or of the calibration, with the changes applied.

    *measured* is what was saved for this GPU; what the options give goes before it. Raises BadInput.
    """
    if changes.pcie is not None and (changes.rate is not None or changes.calibration is not None):
        raise BadInput("--pcie gives the link's rates: leave out --rate and --calibration.")
    link = measured or default_link_model(device)
    if changes.pcie is not None:
        link = _in_slot(link, read("pcie", changes.pcie))
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


def _replaced(changes: Changes) -> dict[str, Any]:
    given: dict[str, Any] = {}
    if changes.rate is not None:
        rate = read("rate", changes.rate)
        given |= {"h2d_rate": rate, "d2h_rate": rate, "source": "you"}
        given |= {"pageable_h2d_rate": rate, "pageable_d2h_rate": rate}
    if changes.per_op is not None:
        cost = read("per_op", changes.per_op)
        given |= {"copy_cost": cost, "launch_cost": cost}
    if changes.copy_latency is not None:
        given["copy_latency"] = read("copy_latency", changes.copy_latency)
    if changes.duplex is not None:
        given["duplex_slowdown"] = read("duplex", changes.duplex)
    if changes.engines is not None:
        given |= {"engines": read("engines", changes.engines), "engines_source": "you"}
    return given

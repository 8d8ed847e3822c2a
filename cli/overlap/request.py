"""What ``overlap`` is asked, from option texts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import quoted
from gpuadvise.advisor.quantity import parse_bytes, parse_rate, parse_seconds
from gpuadvise.advisor.transfers.links import (
    PAGEABLE_D2H_RATE,
    PAGEABLE_H2D_RATE,
    default_link_model,
    parse_pcie,
)
from gpuadvise.advisor.transfers.pipeline import MOST_PIECES, StagedWork
from gpuadvise.cli.args import named, whole

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.transfers.links import Link, LinkModel

_MOST_ENGINES = 16
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


def work(*, h2d: str | None, kernel: str, d2h: str | None, pageable: bool) -> StagedWork:
    """Return the work that the options describe; raises BadInput."""
    h2d_bytes, h2d_seconds = _copy("--h2d", h2d)
    d2h_bytes, d2h_seconds = _copy("--d2h", d2h)
    if h2d is None and d2h is None:
        raise BadInput("There is nothing to overlap.", hint="Give --h2d, --d2h or both.")
    return StagedWork(
        kernel_seconds=named("--kernel", parse_seconds, kernel),
        h2d_bytes=h2d_bytes,
        h2d_seconds=h2d_seconds,
        d2h_bytes=d2h_bytes,
        d2h_seconds=d2h_seconds,
        pageable=pageable,
    )


def _copy(option: str, text: str | None) -> tuple[int, float]:
    """Return bytes and seconds of a copy; the one that was not given is 0."""
    if text is None:
        return 0, 0.0
    try:
        if text.rstrip().endswith("s"):
            return 0, named(option, parse_seconds, text)
        return named(option, lambda size: parse_bytes(size, minimum=1), text), 0.0
    except BadInput as error:
        hint = "Write a copy as its size (256MiB, 1GB) or as its time (3ms, 250us)."
        raise BadInput(error.message, hint=hint) from None


def model(device: Device | None, changes: Changes) -> LinkModel:
    """Return the link model of *device* or of the calibration, with the changes applied."""
    if changes.pcie is not None and (changes.rate is not None or changes.calibration is not None):
        raise BadInput("--pcie gives the link's rates: leave out --rate and --calibration.")
    found = default_link_model(device)
    if changes.pcie is not None:
        found = _in_slot(found, named("--pcie", parse_pcie, changes.pcie))
    if changes.calibration is not None:
        from gpuadvise.advisor.backends.user_files import read_calibration

        found = named("--calibration", read_calibration, changes.calibration)
    if changes.ideal:
        found = replace(found, **_IDEAL)
    return replace(found, **_replaced(changes))


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
        rate = named("--rate", parse_rate, changes.rate)
        given |= {"h2d_rate": rate, "d2h_rate": rate, "source": "you"}
        given |= {"pageable_h2d_rate": rate, "pageable_d2h_rate": rate}
    if changes.per_op is not None:
        cost = named("--per-op", _seconds_or_none, changes.per_op)
        given |= {"copy_cost": cost, "launch_cost": cost}
    if changes.copy_latency is not None:
        given["copy_latency"] = named("--copy-latency", _seconds_or_none, changes.copy_latency)
    if changes.duplex is not None:
        given["duplex_slowdown"] = _factor(changes.duplex)
    if changes.engines is not None:
        given["engines"] = whole("--engines", changes.engines, low=0, high=_MOST_ENGINES)
    return given


def _seconds_or_none(text: str) -> float:
    return 0.0 if text.strip() == "0" else parse_seconds(text, zero=True)


def _factor(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 1 <= value <= 10:
        raise BadInput(
            f"--duplex: {quoted(text)} is no slow-down.",
            hint="1 is none, 1.1 to 1.2 is usual on PCIe 5.",
        )
    return value


def stream_count(option: str, text: str | None) -> int | None:
    """Return the number of streams that *text* gives; raises BadInput."""
    return None if text is None else whole(option, text, low=1, high=MOST_PIECES)

"""What one machine's GPU was measured to reach: links, memory, arithmetic."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import quoted
from gpuadvise.advisor.transfers.links import LinkModel, link_model_from_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpuadvise.advisor.device import Device

_LARGEST = 1e21  # FLOP/s and bytes/s: beyond any GPU


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Parts are ``None`` or empty until they are measured; *peaks* by unit and type, in FLOP/s."""

    gpu: str | None = None
    measured: str | None = None  # the day, as 2026-11-22
    links: LinkModel | None = None
    memory_bandwidth: float | None = None
    peaks: Mapping[str, float] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """How facts from it name their origin."""
        return "measured" + (f" here on {self.measured}" if self.measured else "")


def with_roofs(device: Device, calibration: Calibration) -> Device:
    """Return *device* with the memory bandwidth and the peaks that were measured."""
    sources = {f"peaks.{kind}": calibration.source for kind in calibration.peaks}
    if calibration.memory_bandwidth:
        sources["memory_bandwidth"] = calibration.source
    return replace(
        device,
        memory_bandwidth=calibration.memory_bandwidth or device.memory_bandwidth,
        peaks={**device.peaks, **calibration.peaks},
        sources={**device.sources, **sources},
    )


def merged(old: Calibration, new: Calibration) -> Calibration:
    """Return *new* with what only *old* knows."""
    return replace(
        new,
        links=new.links or old.links,
        memory_bandwidth=new.memory_bandwidth or old.memory_bandwidth,
        peaks={**old.peaks, **new.peaks},
    )


def to_json(calibration: Calibration) -> dict[str, Any]:
    """Return *calibration* as a JSON object; ``from_json`` reads it back."""
    return {**asdict(calibration), "peaks": dict(calibration.peaks)}


def from_json(data: Any) -> Calibration:
    """Return the calibration of *data*: a saved one, or the ``result`` of a measurement.

    Raises BadInput for anything else; unknown fields are left.
    """
    if not isinstance(data, dict):
        raise BadInput("It holds no calibration.")
    links = data.get("links") or data.get("calibration")
    peaks = data.get("peaks") or {}
    if not isinstance(peaks, dict) or not (links is None or isinstance(links, dict)):
        raise BadInput("It holds no calibration.")
    bandwidth = data.get("memory_bandwidth")
    return Calibration(
        gpu=_text(data.get("gpu")),
        measured=_text(data.get("measured")),
        links=link_model_from_json(links) if links else None,
        memory_bandwidth=None if bandwidth is None else _rate("memory_bandwidth", bandwidth),
        peaks={kind: _rate(f"peaks.{kind}", rate) for kind, rate in peaks.items()},
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _rate(name: str, value: Any) -> float:
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    if not 1 <= number <= _LARGEST:
        raise BadInput(f"{name} of a calibration is not {quoted(str(value))}.")
    return float(number)

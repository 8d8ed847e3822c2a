"""The roofline: what a kernel of some arithmetic intensity can reach, and what it reaches."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.quantity import show_share
from gpuadvise.advisor.thresholds import number

FAR_FROM_ROOF = number(0.5, "far from the roof", "share", "roofline model")
# No kernel, device or time is that large; products of such numbers leave the range of floats.
_BEYOND = 1e30


class Bound(StrEnum):
    """The roof above a kernel."""

    MEMORY = "memory"
    COMPUTE = "compute"


@dataclass(frozen=True, slots=True, kw_only=True)
class Roofline:
    """A kernel under its roof; FLOP/byte, FLOP/s, shares 0 to 1.

    ``attainable`` is the roof at the kernel's intensity. ``achieved`` and its ``share`` of
    that are None without a time. ``least_seconds`` is the time at the roof.
    """

    intensity: float
    ridge: float
    peak: float
    bandwidth: float
    attainable: float
    bound: Bound
    least_seconds: float
    achieved: float | None = None
    share: float | None = None

    @property
    def impossible(self) -> bool:
        """Whether the kernel seems to be faster than its roof allows."""
        return self.share is not None and self.share > 1

    @property
    def far(self) -> bool:
        """Whether the kernel is known to reach less than half of its roof."""
        return self.share is not None and self.share < FAR_FROM_ROOF


def ridge_point(peak: float, bandwidth: float) -> float:
    """Return the FLOP/byte at which *peak* FLOP/s and *bandwidth* bytes/s meet."""
    return peak / bandwidth


def roofline(
    flops: float, moved_bytes: float, peak: float, bandwidth: float, seconds: float | None = None
) -> Roofline:
    """Return where a kernel of *flops* operations and *moved_bytes* of traffic stands.

    *peak* is in FLOP/s, *bandwidth* in bytes/s. Raises BadInput unless all are above zero.
    """
    values = (flops, moved_bytes, peak, bandwidth, 1.0 if seconds is None else seconds)
    if not all(1 / _BEYOND < value < _BEYOND for value in values):
        raise BadInput(
            "A roofline needs operations, bytes, peak, bandwidth and time above zero and below 1e30."
        )
    intensity, ridge = flops / moved_bytes, ridge_point(peak, bandwidth)
    attainable = min(peak, intensity * bandwidth)
    achieved = flops / seconds if seconds else None
    return Roofline(
        intensity=intensity,
        ridge=ridge,
        peak=peak,
        bandwidth=bandwidth,
        attainable=attainable,
        bound=Bound.MEMORY if intensity < ridge else Bound.COMPUTE,
        least_seconds=flops / attainable,
        achieved=achieved,
        share=achieved / attainable if achieved else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A change that moves a kernel under its roof, and the most that it can win (a factor)."""

    name: str
    how: str
    intensity: float
    attainable: float
    gain: float


def narrowed(now: Roofline, name: str, bits: int, narrow_bits: int, peak: float) -> Move:
    """Return what another type or unit does: as many bytes or fewer, another peak."""
    intensity = now.intensity * bits / narrow_bits
    attainable = min(peak, intensity * now.bandwidth)
    fewer = f"{narrow_bits} instead of {bits} bits move {narrow_bits / bits:g} of the bytes"
    if attainable < peak:
        fewer += "; memory still bounds it, on any unit"
    return Move(
        name=name,
        how=fewer if narrow_bits < bits else "the same bytes on a faster unit",
        intensity=intensity,
        attainable=attainable,
        gain=attainable / now.attainable,
    )


def fused(now: Roofline) -> Move | None:
    """Return what fusing with neighbours can reach at best; None above the ridge.

    Operations stay and traffic falls until the kernel stands at the ridge.
    """
    if now.bound is Bound.COMPUTE:
        return None
    share = now.intensity / now.ridge
    return Move(
        name="fusion",
        how=f"keep all but {show_share(share)} of the traffic on chip",
        intensity=now.ridge,
        attainable=now.peak,
        gain=now.peak / now.attainable,
    )

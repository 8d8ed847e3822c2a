"""Where the gap between effective and theoretical bandwidth can come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.memory.bandwidth import Band
from gpuadvise.advisor.quantity import show_bytes, show_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.device import Device
    from gpuadvise.cli.memory.traffic import Traffic

# A launch and its first memory accesses take some microseconds; a kernel this short is mostly
# that (a minimal kernel takes about 2 us on a H200).
_SHORT = 10e-6


def causes(device: Device | None, traffic: Traffic, band: Band) -> list[str]:
    """Return the likely causes of *band*, the ones that the numbers show first."""
    return [*_shown(device, traffic, band), *_usual(band)]


def _shown(device: Device | None, traffic: Traffic, band: Band) -> Iterator[str]:
    cache = device.l2_bytes if device else None
    if cache and traffic.moved and traffic.moved <= cache:
        yield (
            f"The data fit the L2 cache of {show_bytes(cache)}: repeated runs measure the cache, "
            "so use larger data."
        )
    if traffic.seconds and traffic.seconds < _SHORT and band is not Band.IMPOSSIBLE:
        yield (
            f"{show_seconds(traffic.seconds)} is little more than a launch takes: give the "
            "kernel more work before judging it."
        )


def _usual(band: Band) -> Iterator[str]:
    match band:
        case Band.IMPOSSIBLE:
            yield (
                "More than memory can deliver: bytes counted twice, served by a cache, or GiB "
                "taken for GB, or a time without synchronisation."
            )
        case Band.BAD | Band.POOR:
            yield "Uncoalesced or misaligned accesses: see gpuadvise access."
            yield "Too few bytes in flight: occupancy, or narrow words (try 16 bytes per load)."
            yield "Another limit than memory: see gpuadvise roofline."
        case Band.FAIR:
            yield "Wider words or more independent loads per thread often close the rest."
        case Band.GOOD:
            pass

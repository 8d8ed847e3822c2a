"""The parameters that staged copies and kernels follow, by default or as measured."""

from __future__ import annotations

import math
import re
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import and_list, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpuadvise.advisor.device import Device


_SLOT = r"\s*(?:gen)?\s*([0-9])(?:\.0)?\s*(?:x\s*([0-9]{1,2}))?\s*"
LANES = (1, 2, 4, 8, 12, 16)
# PCI Express base specifications: transfers per second and lane, and the share left by the
# line code (8b/10b, 128b/130b; from 6.0 on 242 of the 256 bytes of a flit, less CRC and FEC).
_PCIE = {
    1: (2.5e9, 8 / 10),
    2: (5e9, 8 / 10),
    3: (8e9, 128 / 130),
    4: (16e9, 128 / 130),
    5: (32e9, 128 / 130),
    6: (64e9, 242 / 256),
}
# Grace Hopper and Grace Blackwell data sheets: bytes/s, both directions together.
_C2C_BOTH_DIRECTIONS = 900e9
# Share of the theoretical rate that large pinned copies reach, packet headers taken off:
# guide, "Pinned Memory", has 6 of 8 GB/s on generation 2; 55.5 of 63.0 GB/s was measured on a
# H200 (generation 5). Packets are alike from 3 on; what is left there depends on the host.
_REACHED_OLD = 0.75
_REACHED = 0.88


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link by name, its theoretical rate and what copies usually reach (bytes/s)."""

    name: str
    theoretical: float
    attainable: float
    formula: str


@lru_cache(maxsize=64)
def pcie(generation: int, lanes: int = 16) -> Link:
    """Return the PCI Express link of *generation* (1 to 6) with *lanes*; raises BadInput."""
    if generation not in _PCIE or lanes not in LANES:
        raise BadInput(
            f"There is no PCIe generation {generation} with {lanes} lanes.",
            hint="Generations are 1 to 6; lanes 1, 2, 4, 8, 12 or 16.",
        )
    transfers, share = _PCIE[generation]
    rate = transfers * lanes * share / 8
    return Link(
        name=f"PCIe {generation} x{lanes}",
        theoretical=rate,
        attainable=rate * (_REACHED if generation > 2 else _REACHED_OLD),
        formula=f"{transfers / 1e9:g} GT/s x {lanes} lanes x {share:.4g} / 8",
    )


def parse_pcie(text: str) -> Link:
    """Return the link that ``4x8``, ``gen4 x8`` or ``5`` (16 lanes) names; raises BadInput."""
    match = re.fullmatch(_SLOT, text, re.IGNORECASE)
    if not match:
        raise BadInput(
            f"{quoted(text)} is no PCIe link.", hint="Write generation and lanes as 4x8 or 5x16."
        )
    return pcie(int(match[1]), int(match[2] or LANES[-1]))


def host_link(device: Device) -> Link | None:
    """Return the link of *device* to its host; None for an integrated part or an unknown link.

    A part that reads its host's pages coherently is linked by NVLink-C2C, whatever its PCIe
    connector says.
    """
    if device.integrated:
        return None
    if device.coherent_host_memory:
        return nvlink(_C2C_BOTH_DIRECTIONS, "NVLink-C2C")
    generation, lanes = device.pcie_generation, device.pcie_lanes or 16
    if generation not in _PCIE or lanes not in LANES:
        return None
    return pcie(generation, lanes)


def nvlink(both_directions: float, name: str = "NVLink") -> Link:
    """Return the NVLink whose published rate counts *both_directions* together."""
    rate = both_directions / 2
    return Link(
        name=name,
        theoretical=rate,
        attainable=rate * _REACHED,
        formula="published rate of both directions / 2",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkModel:
    """How copies and launches of one machine behave: bytes/s, seconds, factors, counts.

    A copy takes ``copy_latency + bytes / rate``, a piece of a kernel its share of the kernel's
    time and then ``kernel_latency`` until its end, while the next one may run already. Both
    directions of the link at once slow each other down by ``duplex_slowdown``, and each copy
    then takes ``duplex_latency`` more. The host issues operations one after another and spends
    ``copy_cost`` on each copy and ``launch_cost`` on each launch. ``engines`` is the driver's
    asyncEngineCount, of which ``engines_source`` says where it comes from; ``source`` speaks of the
    rates.
    """

    h2d_rate: float
    d2h_rate: float
    pageable_h2d_rate: float
    pageable_d2h_rate: float
    copy_latency: float = 0.0
    kernel_latency: float = 0.0
    copy_cost: float = 0.0
    launch_cost: float = 0.0
    duplex_slowdown: float = 1.0
    duplex_latency: float = 0.0
    engines: int = 2
    source: str = "you"
    engines_source: str = "you"

    def to_json(self) -> dict[str, float | int | str]:
        """Return the fields as a JSON object, in base units; ``from_json`` reads it back."""
        return asdict(self)


# Measured on a H200 (PCIe 5 x16) with pinned memory: a 1 to 4 KiB copy takes 3.3 to 4.7 us,
# and 64 KiB to 16 MiB fit 3.8 us + bytes / rate.
COPY_LATENCY = 3.8e-6
# What the shortest kernel adds to the copy it waits for, and the host's time per copy and launch.
KERNEL_LATENCY = 7e-6
COPY_COST = 2.7e-6  # 11 us per copy, launch and copy back, from Python
LAUNCH_COST = 6e-6
# Copies of 2 to 16 MiB each way at once took 1.09 to 1.12 times one way, 1.2 times where others
# disturbed them, and six pieces of 1 MiB 1.5 to 3.3 us each on top of that (6 runs).
DUPLEX_SLOWDOWN = 1.10
DUPLEX_LATENCY = 2.2e-6
# Pageable copies go through a staging buffer at the processor's pace; measured on that host.
PAGEABLE_H2D_RATE = 7e9
PAGEABLE_D2H_RATE = 17e9
# The slowest over the fastest of 12 processes that copied the same 8 x 16 MiB to pageable memory of a
# host, 9.1 to 15.6 ms, recorded or not: it depends on where the host's pages happen to lie.
PAGEABLE_D2H_SPREAD = 1.72
# Assumed where nothing is known: the commonest link, and engines for both directions.
_COMMON_PCIE = 4
# What parts of a compute capability before Ampere's have, by its major number: white papers of the
# architectures, and all parts of the catalogue but three of Kepler's.
_OLD_PCIE = {1: 1, 2: 2, 3: 3, 5: 3, 6: 3, 7: 3}
_COMMON_ENGINES = 2
# Integrated parts copy within one memory: each byte is read and written there, and copies
# reach about 80 % of the theoretical rate.
_INTEGRATED_SHARE = 0.8 / 2


def default_link_model(device: Device | None) -> LinkModel:
    """Return the model of *device*: its link's attainable rate, latencies of a PCIe 5 host.

    ``source`` says where the rate comes from. Measured parameters are better: these are for
    a machine nobody has measured.
    """
    rate, source = _rate(device)
    engines, engines_source = _engines(device)
    coherent = bool(device and device.coherent_host_memory)
    return _unmeasured(rate, source, engines, engines_source, coherent)


def _engines(device: Device | None) -> tuple[int, str]:
    """Return how many engines copy beside kernels, and where that comes from.

    Best practices guide, "Asynchronous and Overlapping Transfers with Computation": from capability
    1.1 on; both directions at once came with 2.x.
    """
    if device is None:
        return _COMMON_ENGINES, "assumed"
    if device.async_engines is not None:
        return device.async_engines, device.sources.get("async_engines", str(device.origin))
    if device.capability.major == 1:
        return min(1, device.capability.minor), f"derived: compute capability {device.capability}"
    return _COMMON_ENGINES, f"assumed: of compute capability {device.capability} nothing is known"


@lru_cache(maxsize=64)  # the kernels of a file are for a few GPUs
def _unmeasured(
    rate: float, source: str, engines: int, engines_source: str, coherent: bool
) -> LinkModel:
    """Return the model of a link of *rate*; *coherent* memory needs no buffer for pageable copies."""
    return LinkModel(
        h2d_rate=rate,
        d2h_rate=rate,
        pageable_h2d_rate=rate if coherent else min(PAGEABLE_H2D_RATE, rate),
        pageable_d2h_rate=rate if coherent else min(PAGEABLE_D2H_RATE, rate),
        copy_latency=COPY_LATENCY,
        kernel_latency=KERNEL_LATENCY,
        copy_cost=COPY_COST,
        launch_cost=LAUNCH_COST,
        duplex_slowdown=DUPLEX_SLOWDOWN,
        duplex_latency=DUPLEX_LATENCY,
        engines=engines,
        source=source,
        engines_source=engines_source,
    )


def _rate(device: Device | None) -> tuple[float, str]:
    if device and device.integrated and device.memory_bandwidth:
        return device.memory_bandwidth * _INTEGRATED_SHARE, "copy within the shared memory"
    link = host_link(device) if device else None
    if link is None:
        major = device.capability.major if device else 0
        link = pcie(_OLD_PCIE.get(major, _COMMON_PCIE))
        return link.attainable, f"assumed: {link.name}"
    return link.attainable, f"derived: {link.name}, share that pinned copies reach"


def link_model_from_json(data: Mapping[str, object]) -> LinkModel:
    """Return the model that *data* (as ``to_json`` writes it) holds; raises BadInput."""
    known = {field.name for field in fields(LinkModel)}
    if strange := sorted(set(data) - known):
        raise BadInput(
            f"A calibration has no field {quoted(strange[0])}.",
            hint=f"It has {and_list(sorted(known))}.",
        )
    missing = [name for name in _RATES if name not in data]
    if missing:
        raise BadInput(f"The calibration lacks {and_list(missing)}.")
    numbers = {name: _number(name, data[name]) for name in data if name not in _TEXTS}
    source = str(data.get("source", "calibration"))
    known_engines = "engines" in numbers
    return LinkModel(
        **{name: value for name, value in numbers.items() if name != "engines"},
        engines=int(numbers.get("engines", _COMMON_ENGINES)),
        source=source,
        engines_source=str(data.get("engines_source", source if known_engines else "assumed")),
    )


_TEXTS = ("source", "engines_source")
_RATES = ("h2d_rate", "d2h_rate", "pageable_h2d_rate", "pageable_d2h_rate")
# What no link has: beyond these a product of two would leave the range of floats.
_RANGES = {
    **dict.fromkeys(_RATES, (1.0, 1e18)),
    "duplex_slowdown": (1.0, 100.0),
    "engines": (0.0, 64.0),
}
_TIMES = (0.0, 1e3)
_SHORTEST = 1e-12  # less is rounding of a time that is 0


def _number(name: str, value: object) -> float:
    least, most = _RANGES.get(name, _TIMES)
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    if not least <= number <= most:
        raise BadInput(
            f"{name} of a calibration is a number from {least:g} to {most:g}, "
            f"not {quoted(str(value))}."
        )
    if name == "engines" and number != int(number):
        raise BadInput(f"engines of a calibration is a whole number, not {number:g}.")
    return float(number) if number >= _SHORTEST else 0.0

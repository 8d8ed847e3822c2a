"""Which machine code and which PTX a GPU can use, by compute capability alone.

Sources: CUDA Programming Guide, "Compute Capability and Feature Set Compiler Targets" (plain,
``a`` and ``f`` targets) and "Cubin Compatibility" (same major, same or later minor; desktop
and server parts only, not Tegra, and never between the two); best practices guide, chapter
"CUDA Compatibility Developer's Guide" (PTX goes forward).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import and_list

if TYPE_CHECKING:
    from gpuadvise.advisor.capability import Capability

# Embedded parts. Cubin Compatibility: "not supported for Tegra", nor between desktop and Tegra.
# 8.8 exists in compilers only and is undocumented: it gets no benefit of the doubt.
EMBEDDED = frozenset({(3, 2), (5, 3), (6, 2), (7, 2), (8, 7), (8, 8), (11, 0)})

# Members of a family beside the target itself: parts that an "f" target also runs on.
_FAMILY = {
    (10, 0): frozenset({(10, 3), (10, 7)}),
    (10, 3): frozenset({(10, 7)}),
    (12, 0): frozenset({(12, 1)}),
}

# sm_101 became sm_110 in CUDA 13.0: one part, two numbers.
_RENAMED = {(10, 1): (11, 0)}


def number(capability: Capability) -> tuple[int, int]:
    """Return the capability's number under its present name: sm_101 is sm_110."""
    pair = (capability.major, capability.minor)
    return _RENAMED.get(pair, pair)


def virtual(target: Capability) -> str:
    """Return the compiler's name for PTX of *target*, such as ``compute_90a``."""
    return target.target.replace("sm_", "compute_")


def sass_fits(target: Capability, gpu: Capability) -> bool:
    """Return whether machine code for *target* runs on *gpu*; the driver is not considered."""
    built, card = number(target), number(gpu)
    if built == card:
        return True
    match target.variant:
        case "a":
            return False
        case "f":
            return card in _FAMILY.get(built, frozenset())
        case _:
            desktop = not (built in EMBEDDED or card in EMBEDDED)
            return desktop and built[0] == card[0] and built[1] < card[1]


def ptx_fits(target: Capability, gpu: Capability) -> bool:
    """Return whether PTX for *target* can be compiled for *gpu*; the driver is not considered."""
    built, card = number(target), number(gpu)
    match target.variant:
        case "a":
            return built == card
        case "f":
            return built == card or card in _FAMILY.get(built, frozenset())
        case _:
            return built <= card


def why_sass_fails(target: Capability, gpu: Capability) -> str:
    """Return the reason why machine code for *target* does not run on *gpu*."""
    built, card = number(target), number(gpu)
    if target.variant == "a":
        return f"{target.target} code runs on {target} only"
    if target.variant == "f":
        return f"{target.target} code runs on {_family(built)} only"
    if built[0] != card[0]:
        where = "{}.{}".format(*built) if built in EMBEDDED else f"{target.major}.x"
        return f"{target.target} code runs on {where} only"
    if built > card:
        return f"{target.target} code needs {target} or later"
    embedded, plain = (gpu, target) if card in EMBEDDED else (target, gpu)
    return f"{embedded} is a Tegra part: it does not share machine code with {plain}"


def why_ptx_fails(target: Capability, gpu: Capability) -> str:
    """Return the reason why PTX for *target* cannot be compiled for *gpu*."""
    name = virtual(target)
    if target.variant == "a":
        return f"{name} PTX compiles for {target} only"
    if target.variant == "f":
        return f"{name} PTX compiles for {_family(number(target))} only"
    return f"{name} PTX needs a GPU of {target} or later, not {gpu}"


def _family(built: tuple[int, int]) -> str:
    members = sorted({built, *_FAMILY.get(built, ())})
    return and_list(["{}.{}".format(*member) for member in members])

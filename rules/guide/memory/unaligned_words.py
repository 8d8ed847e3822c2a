"""Elements whose size or alignment takes several instructions to move."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.access import coalesced, pattern_of
from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.facts.workload import relieved
from gpuadvise.advisor.memory.remedies import padded_element
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_share
from gpuadvise.rules.advice import Advice, Gain, GainKind, Verdict
from gpuadvise.rules.evidence import derived, given
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Threshold, Topic
from gpuadvise.rules.sources import guide, programming_guide

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.access import Access
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile


def check(
    device: Device, global_accesses: tuple[Access, ...], profile: KernelProfile | None = None
) -> Verdict:
    """Advise for each access that takes more than one instruction per element."""
    advised = (_advice(access, device, profile) for access in global_accesses)
    return tuple(advice for advice in advised if advice)


def _advice(access: Access, device: Device, profile: KernelProfile | None) -> Advice | None:
    cost = coalesced(pattern_of(access), device.capability)
    size = access.word_bytes
    fewest = -(-size // 16)
    if cost.instructions <= fewest:
        return None
    slot = padded_element(size)
    align = min(slot, 16)
    change = (
        f"Declare the type with __align__({align})"
        if slot == size
        else f"Pad the element to {slot} bytes and declare it __align__({align}), which moves "
        f"{show_share(slot / size - 1)} more bytes"
    )
    return Advice(
        message=(
            f'"{access.name}" moves elements of {size} bytes in '
            f"{plural(cost.instructions, 'instruction')} of {plural(cost.width, 'byte')} each, "
            f"where {fewest} of up to 16 bytes would do."
        ),
        action=(
            f"{change}, so that every address is a multiple of {align}; or keep each field in "
            "an array of its own."
        ),
        evidence=(
            given("element size", size, "bytes"),
            derived("instructions per element", cost.instructions, "instructions"),
        ),
        gain=Gain(
            kind=GainKind.LOADS_AND_STORES,
            upper_bound=cost.instructions / fewest,
            how=f"instructions now / then = {cost.instructions} / {fewest}",
        ),
        relief=relieved(
            profile, cost.instructions / fewest, Unit.ISSUE, Unit.LSU, Unit.ADU, Unit.L1_SHARED
        )
        if profile
        else None,
    )


RULE = Rule(
    id="unaligned-words",
    title="Align elements to 4, 8 or 16 bytes",
    topic=Topic.MEMORY,
    priority=Priority.MEDIUM,
    kinds=(Kind.PATTERN, Kind.SOURCE),
    family=Family.WIDTH,
    why="A load moves 1, 2, 4, 8 or 16 aligned bytes per thread; anything else is split.",
    when="An element takes more instructions than its size in words of 16 bytes.",
    thresholds=(
        Threshold(
            name="instructions per 16 bytes",
            value=1,
            unit="instructions",
            source="programming guide, Size and Alignment Requirement",
        ),
    ),
    citations=(programming_guide("Size and Alignment Requirement"), *guide("10.2.1")),
    check=check,
    examples=Examples(
        fires={"gpu": "h200", "accesses": [{"name": "points[i]", "word": 12}]},
        quiet={"gpu": "h200", "accesses": [{"name": "points[i]", "word": 16}]},
        edges=(
            {"gpu": "h200", "accesses": [{"name": "points[i]", "word": 16, "alignment": 8}]},
            {"gpu": "h200", "accesses": [{"name": "points[i]", "word": 16, "alignment": 16}]},
        ),
    ),
)

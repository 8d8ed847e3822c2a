"""What only the code of a kernel tells: its spills and its instructions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries import attributes, elf, spills
from gpuadvise.advisor.binaries.instructions import count
from gpuadvise.advisor.binaries.model import Exactness

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.binaries.attributes import Facts
    from gpuadvise.advisor.binaries.identity import Identity
    from gpuadvise.advisor.binaries.layout import Function, Layout
    from gpuadvise.advisor.binaries.model import Kernel

    # Bytes of stores and of loads, and how far to trust them.
    Spills = tuple[int | None, int | None, Exactness | None]


def counted(kernel: Kernel, layout: Layout, function: Function) -> Kernel:
    """Return *kernel* with its instructions counted, where they can be."""
    found = count(elf.read_section(layout.span, function.text), layout.identity.sm)
    if found is None:
        return kernel
    return kernel._replace(instructions=found[0], fp64_instructions=found[1])


def spills_of(layout: Layout, function: Function, facts: Facts, frame: int | None) -> Spills:
    """Return spill stores and loads in bytes, and how far to trust them."""
    identity = layout.identity
    if identity.debug or (frame is None and not facts.has(attributes.ANNOTATIONS)):
        return None, None, None  # a debug build keeps its variables in memory anyway
    annotations, told = facts.words(attributes.ANNOTATIONS), annotates(identity)
    if not annotations and (
        not frame or (told and not spills.hides(function.text.size, identity.sm))
    ):
        return 0, 0, Exactness.EXACT
    code = elf.read_section(layout.span, function.text)
    return spilled(annotations, code, identity.sm, told=told)


def annotates(identity: Identity) -> bool:
    """Return whether the toolkit of an image would have annotated spills."""
    return bool(identity.toolkit and identity.toolkit >= spills.ANNOTATED_SINCE)


def spilled(annotations: Sequence[int], code: bytes, sm: int, *, told: bool = False) -> Spills:
    """Return the spills in *code*, by its *annotations*, or as all local traffic.

    *told*: the toolkit annotates, so that none are no spills.
    """
    if (annotations or told) and not spills.may_be_cut(annotations, code, sm):
        return *spills.annotated(annotations, code, sm), Exactness.EXACT
    stores, loads = spills.local_traffic(code, sm)
    return stores, loads, Exactness.UPPER_BOUND if stores or loads else Exactness.EXACT

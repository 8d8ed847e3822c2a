"""What only the code of a kernel tells: its spills and its instructions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries import attributes, elf, spills
from gpuadvise.advisor.binaries.instructions import count
from gpuadvise.advisor.binaries.model import Exactness

if TYPE_CHECKING:
    from gpuadvise.advisor.binaries.attributes import Facts
    from gpuadvise.advisor.binaries.layout import Function, Layout
    from gpuadvise.advisor.binaries.model import Kernel


def counted(kernel: Kernel, layout: Layout, function: Function) -> Kernel:
    """Return *kernel* with its instructions counted, where they can be."""
    found = count(elf.read_section(layout.span, function.text), layout.identity.sm)
    if found is None:
        return kernel
    return kernel._replace(instructions=found[0], fp64_instructions=found[1])


def spills_of(
    layout: Layout, function: Function, facts: Facts, frame: int | None
) -> tuple[int | None, int | None, Exactness | None]:
    """Return spill stores and loads in bytes, and how far to trust them."""
    sm, toolkit = layout.identity.sm, layout.identity.toolkit
    if layout.identity.debug or (frame is None and not facts.has(attributes.ANNOTATIONS)):
        return None, None, None  # a debug build keeps its variables in memory anyway
    annotations = facts.words(attributes.ANNOTATIONS)
    if annotations:
        code = elf.read_section(layout.span, function.text)
        found = spills.annotated(annotations, code, sm)
        if spills.may_be_cut(found, code, sm):
            return *spills.local_traffic(code, sm), Exactness.UPPER_BOUND
        return *found, Exactness.EXACT
    if not frame or (toolkit and toolkit >= spills.ANNOTATED_SINCE):
        return 0, 0, Exactness.EXACT
    stores, loads = spills.local_traffic(elf.read_section(layout.span, function.text), sm)
    return stores, loads, Exactness.UPPER_BOUND if stores or loads else Exactness.EXACT

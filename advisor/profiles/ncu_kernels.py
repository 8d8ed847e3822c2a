"""Kernels out of an Nsight Compute report: each as it was launched, once per kind of launch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries.model import Kernel, Source
from gpuadvise.advisor.capability import parse_capability
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.profiles.ncu_csv import read_launches
from gpuadvise.advisor.profiles.ncu_facts import profiled_kernel

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gpuadvise.advisor.binaries.model import Place
    from gpuadvise.advisor.capability import Capability
    from gpuadvise.advisor.profiles.ncu_csv import LaunchRecord

# A line of a raw page has some thousand columns; nothing honest is longer.
LONGEST_LINE = 1 << 20


def read_report(lines: Iterable[tuple[str, int]], place: Place) -> Iterator[Kernel]:
    """Yield the kernels of a report's numbered *lines*; raises BadInput without its header.

    Launches that differ in nothing an occupancy depends on are one.
    """
    seen: set[Kernel] = set()
    for record in read_launches((text for text, _ in lines), place.path):
        kernel = _kernel(record, place)
        if kernel is not None and kernel not in seen:
            seen.add(kernel)
            yield kernel


def _kernel(record: LaunchRecord, place: Place) -> Kernel | None:
    profiled = profiled_kernel(record)
    launch = profiled.launch
    if launch is None:
        return None
    return Kernel(
        name=profiled.kernel,
        source=Source.NCU,
        place=place,
        capability=_capability(record.columns.get("CC", "")),
        linked=True,
        registers=launch.registers,
        static_smem=launch.static_shared,
        dynamic_smem=launch.dynamic_shared > 0,
        barriers=launch.barriers,
        launched_block=launch.block_dim,
        launched_dynamic_smem=launch.dynamic_shared,
    )


def _capability(text: str) -> Capability | None:
    try:
        return parse_capability(text)
    except BadInput:
        return None

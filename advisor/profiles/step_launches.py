"""Launches of one kernel in a row that are steps over one array: of a scan, a sort or a transform."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.library_kernels import base_name, library_of
from gpuadvise.advisor.profiles import passes

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpuadvise.advisor.facts.kernel_profile import KernelProfile

_MOST_STEPS = 64  # that are looked at in either direction
_STEP = re.compile(r"(?:^|_)(?:step|stage|pass)(?:_|\d|$)|(?:Step|Stage|Pass)(?![a-z])")
_SAME_WORK = 0.05  # instructions of two steps, but for


def steps_of_one(
    profile: KernelProfile, neighbour: Callable[[int], KernelProfile | None]
) -> list[KernelProfile]:
    """Return the launches in a row around *profile* that are steps over one array: one kernel, whose name says so."""
    if library_of(profile.kernel) is not None or not _STEP.search(base_name(profile.kernel)):
        return []
    read = profile.dram_read or 0.0
    once = (profile.global_loads.bytes_used or math.inf) <= passes.MOST_WRITTEN * read
    moved = read if once else profile.dram_bytes or 0.0
    counted = profile.global_loads.bytes_used is not None
    if once is not counted or moved < passes.LEAST_BYTES:
        return []
    if not passes.takes_the_time_of_its_bytes(profile, moved):
        return []
    steps = [profile]
    for step in (-1, 1):
        for distance in range(1, _MOST_STEPS):
            link = neighbour(step * distance)
            if link is None or not _is_same_step(link, profile):
                break
            steps.insert(0, link) if step < 0 else steps.append(link)
    return steps


def _is_same_step(one: KernelProfile, other: KernelProfile) -> bool:
    same = (one.kernel, one.grid, one.block, one.device)
    if same != (other.kernel, other.grid, other.block, other.device):
        return False
    return math.isclose(one.instructions or 0.0, other.instructions or 0.0, rel_tol=_SAME_WORK)

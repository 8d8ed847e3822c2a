"""How many clusters of a launch a whole GPU holds: by its groups of SMs, or at most."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device

# SMs of each group (GPC) of a chip, by the GPU's name in the catalogue. Read off one H200 from the
# SMs that clusters ran on; the counts equal the driver's for 24,136 launches (docs/validation.md).
# The four pairs belong to no group and take clusters of two at most.
GROUPS = {"h200-sxm": (18, 18, 16, 16, 16, 16, 16, 8, 2, 2, 2, 2)}


class ClusterSource(StrEnum):
    """How sure a count of clusters is."""

    DRIVER = "driver"  # of this GPU
    MEASURED = "measured"  # of another GPU of this product: chips differ
    BOUND = "bound"  # at most: the groups are not known


@dataclass(frozen=True, slots=True, kw_only=True)
class Clusters:
    """How many clusters are resident on a whole GPU at a time."""

    count: int
    source: ClusterSource
    largest: int | None = None  # blocks of the largest cluster that can start; None: not asked


def clusters_upper_bound(blocks_per_sm: int, size: int, device: Device) -> int | None:
    """Return the most clusters of *size* blocks that can be resident, however SMs are grouped."""
    if size == 1 or device.sm_count is None:
        return None
    return device.sm_count * _held(blocks_per_sm, device) // size


def _held(blocks_per_sm: int, device: Device) -> int:
    most = device.limits.max_blocks_per_sm_in_clusters
    return blocks_per_sm if most is None else min(blocks_per_sm, most)


def resident_clusters(blocks_per_sm: int, size: int, device: Device) -> Clusters | None:
    """Return the clusters of *size* blocks on *device*; None without clusters or number of SMs.

    A cluster stays inside one group of SMs, and which SMs are switched off differs from chip to
    chip: without a measured chip the count is a bound.
    """
    most = clusters_upper_bound(blocks_per_sm, size, device)
    if most is None:
        return None
    groups = GROUPS.get(device.id or "", ())
    if sum(groups) != device.sm_count:
        return Clusters(count=most, source=ClusterSource.BOUND)
    blocks = _held(blocks_per_sm, device)
    count = sum(sms * blocks // size for sms in groups if sms >= size)
    return Clusters(count=count, source=ClusterSource.MEASURED)

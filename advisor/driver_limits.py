"""The driver's device attributes as limits, and where they differ from the model's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpuadvise.advisor.limits import Limits

# Field of Limits -> attribute of the driver (CUDA driver API, CUdevice_attribute).
ATTRIBUTES = {
    "warp_size": "warp_size",
    "max_threads_per_block": "max_threads_per_block",
    "max_threads_per_sm": "max_threads_per_multiprocessor",
    "max_blocks_per_sm": "max_blocks_per_multiprocessor",
    "registers_per_sm": "max_registers_per_multiprocessor",
    "registers_per_block": "max_registers_per_block",
    "shared_memory_per_sm": "max_shared_memory_per_multiprocessor",
    "shared_memory_per_block": "max_shared_memory_per_block",
    "shared_memory_per_block_optin": "max_shared_memory_per_block_optin",
    "shared_memory_reserved_per_block": "reserved_shared_memory_per_block",
}
_DIMENSIONS = {"max_block_dim": "max_block_dim", "max_grid_dim": "max_grid_dim"}

Limit = int | tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitDifference:
    """A limit for which the model and the driver give different numbers."""

    field: str
    model: Limit
    driver: Limit


def driver_limits(attributes: Mapping[str, int]) -> dict[str, Limit]:
    """Return the fields of Limits that *attributes* answer; a zero is no answer."""
    limits: dict[str, Limit] = {
        field: attributes[name] for field, name in ATTRIBUTES.items() if attributes.get(name)
    }
    for field, stem in _DIMENSIONS.items():
        axes = tuple(attributes.get(f"{stem}_{axis}", 0) for axis in "xyz")
        if all(axes):
            limits[field] = axes
    if "max_threads_per_sm" in limits and "warp_size" in limits:
        limits["max_warps_per_sm"] = (
            attributes["max_threads_per_multiprocessor"] // attributes["warp_size"]
        )
    return limits


def with_driver(limits: Limits, attributes: Mapping[str, int]) -> Limits:
    """Return *limits* with every number that the driver gives replaced by it."""
    return replace(limits, **driver_limits(attributes))  # type: ignore[arg-type]  # by name


def differences(limits: Limits, attributes: Mapping[str, int]) -> tuple[LimitDifference, ...]:
    """Return where the model's *limits* and the driver's *attributes* disagree."""
    return tuple(
        LimitDifference(field=field, model=getattr(limits, field), driver=value)
        for field, value in driver_limits(attributes).items()
        if getattr(limits, field) != value
    )

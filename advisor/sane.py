"""Numbers of a recorded device that arithmetic may rest on: none is impossible."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.limits import Limits

# What a GPU may have none of.
_MAY_BE_ZERO = frozenset(
    ("shared_memory_reserved_per_block", "async_engines", "persisting_l2_bytes", "nvlink_bandwidth")
)
_LARGEST = 2**63 - 1


def refuse_impossible(device: Device, where: str) -> None:
    """Raise BadInput naming the first number of *device* that no GPU can have."""
    peaks = (("peaks", rate) for rate in device.peaks.values())
    for name, value in (*_numbers(device), *_numbers(device.limits), *peaks):
        least = 0 if name in _MAY_BE_ZERO else 1
        if not least <= value <= _LARGEST:
            raise BadInput(f"{where}.{name}: {value} is not a number from {least} to 2^63-1.")
    limits = device.limits
    if not limits.shared_memory_configs:
        raise BadInput(f"{where}.shared_memory_configs is empty.")


def _numbers(record: Device | Limits) -> Iterator[tuple[str, float]]:
    for field in fields(record):
        value = getattr(record, field.name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield field.name, value
        elif isinstance(value, tuple) and field.name.endswith("_dim"):
            yield from ((field.name, each) for each in value)

"""Devices for tests of arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gpuadvise.advisor.capability import Capability
from gpuadvise.advisor.catalogue.capabilities import limits_of
from gpuadvise.advisor.device import Device, Origin

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(scope="session")
def make_device() -> Callable[..., Device]:
    """Return a device of capability 9.0 with the given facts and no others."""

    def make(cc: tuple[int, int] = (9, 0), **facts: object) -> Device:
        capability = Capability(*cc)
        limits, _ = limits_of(capability)
        return Device(
            name="test", capability=capability, limits=limits, origin=Origin.CATALOGUE, **facts
        )

    return make

"""Measurements gathered one by one, so that what was measured before an end is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from gpuadvise.advisor.backends.measure.calls import DriverFault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected(Generic[T]):
    """What was measured; *interrupted* by the user, or *fault*: the driver's last words."""

    items: tuple[T, ...]
    interrupted: bool = False
    fault: str | None = None

    @property
    def partial(self) -> bool:
        """Whether more had been asked for."""
        return self.interrupted or self.fault is not None


def collect(items: Iterable[T], told: Callable[[T], None]) -> Collected[T]:
    """Return *items* as far as they come, each *told* as soon as it is there.

    Raises DriverFault when nothing could be measured at all.
    """
    found: list[T] = []
    try:
        for item in items:
            found.append(item)
            told(item)
    except KeyboardInterrupt:
        return Collected(items=tuple(found), interrupted=True)
    except DriverFault as fault:
        if not found:
            raise
        return Collected(items=tuple(found), fault=fault.message)
    return Collected(items=tuple(found))

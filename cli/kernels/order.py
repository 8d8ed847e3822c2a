"""The orders of the list of kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpuadvise.advisor.binaries.kernel_occupancy import Residency
    from gpuadvise.advisor.binaries.model import Kernel


class Found(NamedTuple):
    """A kernel and its occupancy."""

    kernel: Kernel
    residency: Residency

    @property
    def spilled(self) -> int:
        """Bytes that a thread spills and reads back."""
        return (self.kernel.spill_stores or 0) + (self.kernel.spill_loads or 0)


def in_order(found: list[Found], name: str | None) -> list[Found]:
    """Return *found* in the order *name*; what matters most comes first by default."""
    return sorted(found, key=_KEYS[name or "matters"])


def _matters(one: Found) -> tuple[Any, ...]:
    """Return the key of: cannot start, spills, little occupancy, many registers."""
    share = one.residency.share
    return (
        not one.residency.stuck,
        -one.spilled,
        2.0 if share is None else share,
        -(one.kernel.registers or 0),
        one.kernel.name,
    )


def _name(one: Found) -> str:
    from gpuadvise.advisor.binaries.names import demangle

    return demangle(one.kernel.name) or one.kernel.name


def _occupancy(one: Found) -> float:
    share = one.residency.share
    return 2.0 if share is None else share


def _most(field: str) -> Callable[[Found], int]:
    def key(one: Found) -> int:
        value = getattr(one.kernel, field)
        return 1 if value is None else -value

    return key


_KEYS: dict[str, Callable[[Found], Any]] = {
    "matters": _matters,
    "name": _name,
    "occupancy": _occupancy,
    "registers": _most("registers"),
    "smem": _most("static_smem"),
    "stack": _most("stack"),
    "spills": lambda one: -one.spilled,
    "code": _most("code_bytes"),
}

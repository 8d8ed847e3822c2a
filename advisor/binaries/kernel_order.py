"""The orders of the list of kernels."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gpuadvise.advisor.binaries.kernel_occupancy import Residency
    from gpuadvise.advisor.binaries.model import Kernel


class ListedKernel(NamedTuple):
    """A kernel and its occupancy."""

    kernel: Kernel
    residency: Residency

    @property
    def spilled(self) -> int:
        """Bytes that a thread spills and reads back."""
        return (self.kernel.spill_stores or 0) + (self.kernel.spill_loads or 0)


def in_order(kernels: list[ListedKernel], name: str | None) -> list[ListedKernel]:
    """Return *kernels* in the order *name*; what matters most comes first by default.

    By default the candidates that Triton compiled of one kernel stand together, as far up as the
    first of them.
    """
    return [listed for _, listed in sorted(keyed(kernels, name), key=itemgetter(0))]


def keyed(kernels: Iterable[ListedKernel], name: str | None) -> Iterator[tuple[Any, ListedKernel]]:
    """Yield each of *kernels* with a key that sorts them as ``in_order`` says.

    Those of Triton come last: where one stands depends on the others.
    """
    key = _KEYS[name or "matters"]
    if name:
        yield from ((key(listed), listed) for listed in kernels)
        return
    candidates = []
    for at, listed in enumerate(kernels):
        if listed.kernel.triton:
            candidates.append((key(listed), at, listed))
        else:
            yield (key(listed), at), listed
    first: dict[object, tuple[Any, int]] = {}
    for own, at, listed in sorted(candidates, key=itemgetter(0, 1)):
        candidate = listed.kernel.name, listed.kernel.capability
        place = first.setdefault(candidate, (own, at))
        yield (*place, own), listed


def rank(residency: Residency, spilled: int, registers: int | None) -> tuple[Any, ...]:
    """Return the key of: cannot start, spills, little occupancy, many registers."""
    share = residency.share
    return (not residency.stuck, -spilled, 2.0 if share is None else share, -(registers or 0))


def matters(listed: ListedKernel) -> tuple[Any, ...]:
    """Return the key of the default order: by ``rank``, then by name."""
    kernel = listed.kernel
    return (*rank(listed.residency, listed.spilled, kernel.registers), kernel.name)


def _name(listed: ListedKernel) -> str:
    from gpuadvise.advisor.binaries.names import demangle

    return demangle(listed.kernel.name) or listed.kernel.name


def _occupancy(listed: ListedKernel) -> float:
    share = listed.residency.share
    return 2.0 if share is None else share


def _most(field: str) -> Callable[[ListedKernel], int]:
    def key(listed: ListedKernel) -> int:
        value = getattr(listed.kernel, field)
        return 1 if value is None else -value

    return key


_KEYS: dict[str, Callable[[ListedKernel], Any]] = {
    "matters": matters,
    "name": _name,
    "occupancy": _occupancy,
    "registers": _most("registers"),
    "smem": _most("static_smem"),
    "stack": _most("stack"),
    "spills": lambda listed: -listed.spilled,
    "code": _most("code_bytes"),
    "code_bytes": _most("code_bytes"),
}

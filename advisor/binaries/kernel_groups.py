"""Kernels counted by file, by target or by how their names begin."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.binaries.kernel_counts import LOW
from gpuadvise.advisor.binaries.names import demangle
from gpuadvise.advisor.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gpuadvise.advisor.binaries.kernel_order import ListedKernel
    from gpuadvise.advisor.binaries.model import Kernel

_WORDS = 3  # of a name without namespaces
# The template arguments or parameters of a demangled name begin here.
_ARGUMENTS = re.compile(r"[<(]")
_ANONYMOUS = "(anonymous namespace)"


@dataclass(slots=True, kw_only=True)
class KernelGroup:
    """What the kernels of one group have together; sizes in bytes."""

    group: str
    kernels: int = 0
    code_bytes: int | None = 0  # None: of some kernel it is not known
    spilling: int = 0  # kernels
    spill_bytes: int = 0  # per thread, stored and loaded, of all of them
    most_registers: int | None = None
    lowest_occupancy: float | None = None  # 0 to 1
    below_half: int = 0  # kernels under half of the warps, or that cannot start

    def count(self, listed: ListedKernel) -> None:
        """Take one kernel in."""
        kernel = listed.kernel
        self.kernels += 1
        if self.code_bytes is None or kernel.code_bytes is None:
            self.code_bytes = None
        else:
            self.code_bytes += kernel.code_bytes
        self.spilling += listed.spilled > 0
        self.spill_bytes += listed.spilled
        if kernel.registers is not None:
            self.most_registers = max(self.most_registers or 0, kernel.registers)
        share = 0.0 if listed.residency.stuck else listed.residency.share
        if share is not None:
            lowest = self.lowest_occupancy
            self.lowest_occupancy = share if lowest is None else min(lowest, share)
            self.below_half += share < LOW


def grouped(kernels: Iterable[ListedKernel], by: str, order: str | None) -> list[KernelGroup]:
    """Return *kernels* counted by *by*, most code first or as *order* says; raises BadInput."""
    if order not in _ORDERS:
        raise BadInput(
            f"--sort {order} has no meaning for groups.",
            hint="Use code_bytes, spills, occupancy, registers or name.",
        )
    groups: dict[str, KernelGroup] = {}
    for listed in kernels:
        name = _name(listed.kernel, by)
        group = groups.get(name)
        if group is None:
            group = groups[name] = KernelGroup(group=name)
        group.count(listed)
    return sorted(groups.values(), key=lambda group: (_ORDERS[order](group), group.group))


def _name(kernel: Kernel, by: str) -> str:
    match by:
        case "prefix":
            return prefix_of(kernel.name)
        case "arch":
            return kernel.capability.target if kernel.capability else "?"
    return "!".join(filter(None, kernel.place[:2]))  # the file, and the member of a wheel


_ORDERS: dict[str | None, Callable[[KernelGroup], Any]] = {
    **dict.fromkeys(
        (None, "matters", "code", "code_bytes"), lambda group: -(group.code_bytes or 0)
    ),
    "spills": lambda group: -group.spill_bytes,
    "occupancy": lambda group: 2.0 if group.lowest_occupancy is None else group.lowest_occupancy,
    "registers": lambda group: -(group.most_registers or 0),
    "name": lambda group: group.group,
}


@lru_cache(maxsize=1 << 14)
def prefix_of(name: str) -> str:
    """Return how *name* begins: the function without arguments, or up to three words of it."""
    whole = (demangle(name) or name).replace(_ANONYMOUS, "anonymous")
    bare = _ARGUMENTS.split(whole, maxsplit=1)[0].strip().rpartition(" ")[2]
    if "::" in bare:
        return bare
    words = bare.split("_")
    number = (at for at, word in enumerate(words) if at and (not word or word[0].isdigit()))
    kept = "_".join(words[: min(next(number, _WORDS), _WORDS)])
    return kept or bare or name

"""The smallest change that makes an impossible launch possible."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from gpuadvise.advisor.occupancy.checks import first_fault
from gpuadvise.advisor.occupancy.repairs import repairs
from gpuadvise.advisor.prose import and_list

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.limits import Limits
    from gpuadvise.advisor.occupancy.fault import Fault
    from gpuadvise.advisor.occupancy.launch import Launch

# How a changed field of the launch is said; "{}" is its new value.
_WORDS = {
    "threads": "launch {} threads per block",
    "registers": "compile for at most {} registers per thread (-maxrregcount={})",
    "static_shared": "declare at most {} bytes of static shared memory",
    "dynamic_shared": "ask for {} bytes of dynamic shared memory",
    "max_dynamic_shared": "set the kernel's MaxDynamicSharedMemorySize to {}",
    "optin": "raise the kernel's MaxDynamicSharedMemorySize before the launch",
    "caching": "let the caching of global loads be given up where a block is too large",
    "barriers": "use at most {} named barriers",
    "grid_dim": "launch a grid of {} blocks",
    "cluster_dim": "use clusters of {} blocks",
    "nonportable_cluster": "set the kernel's NonPortableClusterSizeAllowed",
    "max_threads": "compile with __launch_bounds__({})",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """A launch near an impossible one that can start, and *how* to get there."""

    launch: Launch
    how: str
    loss: float  # what the changed figures give up, each as a share of itself


def fixes(limits: Limits, launch: Launch, fault: Fault) -> tuple[Fix, ...]:
    """Return changes that rid *launch* of *fault* and all others, the smallest first."""
    found = {
        _said(launch, fixed): fixed
        for mended in repairs(limits, launch, fault)
        for fixed in _repaired(limits, mended)
    }
    ranked = [Fix(launch=to, how=how, loss=_loss(launch, to)) for how, to in found.items()]
    return tuple(sorted(ranked, key=lambda fix: fix.loss))


def _repaired(limits: Limits, launch: Launch) -> Iterator[Launch]:
    """Yield every launch without a fault that mending one fault after the other leads to."""
    fault = first_fault(limits, launch)
    if fault is None:
        yield launch
        return
    for mended in repairs(limits, launch, fault):
        yield from _repaired(limits, mended)


def _changed(before: Launch, after: Launch) -> list[str]:
    names = [field.name for field in fields(before)]
    return [name for name in names if getattr(before, name) != getattr(after, name)]


def _said(before: Launch, after: Launch) -> str:
    changed = _changed(before, after)
    if "block_dim" in changed and after.block_dim:
        changed.remove("threads")
    parts = [_words(name, getattr(after, name)) for name in changed]
    text = and_list([part for part in parts if part])
    return f"{text[:1].upper()}{text[1:]}."


def _words(name: str, value: object) -> str:
    if name == "block_dim":
        return f"launch blocks of {_shape(value)} threads" if value else ""
    if name == "cluster_dim" and value == (1, 1, 1):
        return "launch without clusters"
    return _WORDS[name].replace("{}", _shape(value))


def _shape(value: object) -> str:
    """Return a number as it is, dimensions as ``33x31``."""
    if not isinstance(value, tuple):
        return str(value)
    x, y, z = value
    return f"{x}x{y}x{z}" if z > 1 else f"{x}x{y}" if y > 1 else f"{x}"


def _loss(before: Launch, after: Launch) -> float:
    """Return the shares by which figures shrink, added up; growing ones cost nothing."""
    pairs = (
        (before.threads, after.threads),
        (before.registers or 0, after.registers or 0),
        (before.shared_memory, after.shared_memory),
        (before.barriers, after.barriers),
        (before.cluster_size, after.cluster_size),
    )
    return sum(max(0, old - new) / old for old, new in pairs if old)

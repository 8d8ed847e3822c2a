"""Device-linked code that does not fit: the driver links its inputs again, where it can.

Source: nvcc documentation, "JIT Linking"; seen on a live GPU (driver 580): it works when each
input has PTX or machine code that fits, and fails when a single one has not. LTO-IR is not
used for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries.model import Content
from gpuadvise.advisor.compatibility.fit import Outcome, fit

if TYPE_CHECKING:
    from gpuadvise.advisor.binaries.model import Entry
    from gpuadvise.advisor.capability import Capability
    from gpuadvise.advisor.compatibility.drivers import Driver
    from gpuadvise.advisor.compatibility.survey import Modules


def made_from(module: Modules, inputs: tuple[Modules, ...]) -> bool:
    """Return whether *module* is what a device link made of *inputs*, as far as headers tell.

    Such a module has machine code only, for targets that its inputs have too.
    """
    if any(entry.content is Content.PTX for entry in module.entries):
        return False
    return bool(inputs) and _targets((module,)) <= _targets(inputs)


def _targets(modules: tuple[Modules, ...]) -> set[Capability | None]:
    images = (Content.SASS, Content.STUB)
    return {e.capability for module in modules for e in module.entries if e.content in images}


def relinks(inputs: tuple[Modules, ...], gpu: Capability, driver: Driver | None) -> bool:
    """Return whether the driver can link *inputs* again for *gpu*."""
    return all(usable(module, gpu, driver) for module in inputs)


def usable(module: Modules, gpu: Capability, driver: Driver | None) -> list[Entry]:
    """Return the entries of one input that the driver could link for *gpu*."""
    fits = (fit(entry, gpu, driver, linking=True) for entry in module.entries)
    return [one.entry for one in fits if one.outcome is not Outcome.FAILS]

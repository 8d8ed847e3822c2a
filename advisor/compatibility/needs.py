"""The oldest driver with which everything that can run does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.compatibility.fit import NEW_ABI_CUDA, Outcome, fit, made_by_newer
from gpuadvise.advisor.compatibility.releases import AFTER_NEWEST, FIRST_CUDA, cuda_for_ptx
from gpuadvise.advisor.compatibility.targets import number

if TYPE_CHECKING:
    from gpuadvise.advisor.binaries.model import Entry
    from gpuadvise.advisor.capability import Capability
    from gpuadvise.advisor.compatibility.releases import Version
    from gpuadvise.advisor.compatibility.survey import Modules, Survey

_UNKNOWN = (0, 0)


def needed_cuda(survey: Survey, gpu: Capability) -> Version | None:
    """Return the CUDA version a driver must support for all that *gpu* can use of *survey*.

    None when it can use nothing, or when the capability is too old or new to be in the tables.
    """
    needs = (need for one in survey.loadable if (need := _needed(one, gpu)))
    most = max(needs, default=_UNKNOWN)
    return None if most == _UNKNOWN else most


def _needed(modules: Modules, gpu: Capability) -> Version | None:
    fits = [fit(entry, gpu) for entry in modules.entries]
    images = [one.entry for one in fits if one.outcome is Outcome.RUNS]
    programs = [one.entry for one in fits if one.outcome is Outcome.JIT]
    return min((_of(entry, gpu) for entry in images or programs), default=None)


def _of(entry: Entry, gpu: Capability) -> Version:
    first = FIRST_CUDA.get(number(gpu), _UNKNOWN)
    if entry.ptx_version is not None:
        return max(first, cuda_for_ptx(entry.ptx_version) or AFTER_NEWEST)
    return max(first, NEW_ABI_CUDA) if made_by_newer(entry) else first

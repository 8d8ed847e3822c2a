"""The oldest driver with which everything that can run does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.compatibility.fit import NEW_ABI_CUDA, made_by_newer
from gpuadvise.advisor.compatibility.loaded import loaded
from gpuadvise.advisor.compatibility.releases import AFTER_NEWEST, FIRST_CUDA, cuda_for_ptx
from gpuadvise.advisor.compatibility.relink import made_from, relinks, usable
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
    needs = (
        _needed(one, survey.inputs.get(one.path, ()), gpu) or _UNKNOWN for one in survey.loadable
    )
    most = max(needs, default=_UNKNOWN)
    return None if most == _UNKNOWN else most


def _needed(modules: Modules, inputs: tuple[Modules, ...], gpu: Capability) -> Version | None:
    chosen = loaded(modules.entries, gpu)
    if chosen or not (made_from(modules, inputs) and relinks(inputs, gpu, None)):
        return max(
            (_with(modules.toolkit, _of(entry, gpu), entry) for entry in chosen), default=None
        )
    return max(min(_of(e, gpu) for e in usable(one, gpu, None)) for one in inputs)


def _with(toolkit: Version | None, need: Version, entry: Entry) -> Version:
    if toolkit is None or entry.ptx_version is not None:
        return need
    return max(need, (toolkit[0], 0))


def _of(entry: Entry, gpu: Capability) -> Version:
    first = FIRST_CUDA.get(number(gpu), _UNKNOWN)
    if entry.ptx_version is not None:
        return max(first, cuda_for_ptx(entry.ptx_version) or AFTER_NEWEST)
    return max(first, NEW_ABI_CUDA) if made_by_newer(entry) else first

"""``--device N|UUID|PCI-id``: one GPU among several."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.backends.merge import pci_id
from gpuadvise.advisor.errors import BadInput, Unavailable
from gpuadvise.advisor.prose import and_list, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.gpu import Gpu

_INDEX = re.compile(r"\d{1,4}", re.ASCII)
_UUID = re.compile(r"(GPU|MIG)-[0-9a-f-]+(/\d+/\d+)?", re.ASCII | re.IGNORECASE)
_PCI = re.compile(
    r"([0-9a-f]{1,8}:)?[0-9a-f]{1,2}:[0-9a-f]{1,2}(\.[0-7])?", re.ASCII | re.IGNORECASE
)


def check_selector(text: str) -> str:
    """Return *text* without blanks around it if it can name a device; raises BadInput."""
    clean = text.strip()
    if len(clean) <= 64 and any(form.fullmatch(clean) for form in (_INDEX, _UUID, _PCI)):
        return clean
    raise BadInput(
        f"--device: {quoted(text)} is no index, UUID or PCI id.",
        hint="Write 0, GPU-3f2a…, MIG-3f2a… or 0000:06:00.0; --gpu takes names.",
    )


def select(gpus: Sequence[Gpu], text: str) -> Gpu:
    """Return the one of *gpus* that *text* names.

    A number counts as nvidia-smi does; where NVML gave no numbers, as CUDA does. A UUID may
    be shortened. Raises BadInput for no possible name, Unavailable if there is no such GPU.
    """
    wanted = check_selector(text)
    found = [gpu for gpu in gpus if _names(wanted, gpu)]
    if len(found) > 1:
        raise BadInput(f"--device: {quoted(wanted)} names {len(found)} GPUs here.")
    if not found:
        raise Unavailable(f"No GPU here is {quoted(wanted)}.", hint=_what_is_there(gpus))
    return found[0]


def _names(wanted: str, gpu: Gpu) -> bool:
    own = gpu.identity
    if _INDEX.fullmatch(wanted):
        index = own.cuda_index if own.index is None else own.index
        return own.mig is None and index == int(wanted)
    if _UUID.fullmatch(wanted):
        return (own.uuid or "").lower().startswith(wanted.lower())
    return own.mig is None and own.pci_bus_id is not None and _pci(wanted) == _pci(own.pci_bus_id)


def _pci(text: str) -> str:
    return pci_id(text if text.count(":") == 2 else f"0:{text}")


def _what_is_there(gpus: Sequence[Gpu]) -> str:
    if not gpus:
        return "There is no live GPU; --gpu NAME answers from the catalogue."
    return f"There are: {and_list([_short(gpu) for gpu in gpus])}."


def _short(gpu: Gpu) -> str:
    own = gpu.identity
    index = own.cuda_index if own.index is None else own.index
    label = str(index) if own.mig is None else str(own.uuid)
    return f"{label} ({gpu.device.name})"

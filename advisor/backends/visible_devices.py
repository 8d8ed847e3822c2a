"""Which GPUs a CUDA program started here would see, by the CUDA_VISIBLE_DEVICES rules."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gpuadvise.advisor.backends.readings import NvmlGpu

MASK = "CUDA_VISIBLE_DEVICES"
ORDER = "CUDA_DEVICE_ORDER"
# The driver reads a number as C does and ignores what follows it.
_NUMBER = re.compile(r"\d{1,9}", re.ASCII)


def visible(gpus: Sequence[NvmlGpu], environ: Mapping[str, str]) -> tuple[int, ...]:
    """Return the positions in *gpus* that CUDA would see, in CUDA's order.

    CUDA programming guide, "CUDA Environment Variables": entries are indices, UUIDs or
    prefixes of UUIDs; the first invalid one ends the list, a repeated one empties it. Numbers
    count in PCI order here: without CUDA_DEVICE_ORDER=PCI_BUS_ID the driver puts faster
    products first, and only the driver can tell how.
    """
    usable = [n for n, gpu in enumerate(gpus) if not gpu.problem]
    whole = [n for n in usable if gpus[n].mig is None]
    mask = environ.get(MASK)
    if mask is None:
        return tuple(_default(gpus, whole, usable))
    chosen: list[int] = []
    for entry in mask.split(","):
        position = _position(entry.strip(), gpus, whole, usable)
        if position is None:
            break
        if position in chosen:
            return ()
        chosen.append(position)
    return tuple(chosen)


def order_is_known(gpus: Sequence[NvmlGpu], environ: Mapping[str, str]) -> bool:
    """Return whether CUDA's numbers are those of PCI order."""
    return environ.get(ORDER) == "PCI_BUS_ID" or len({g.name for g in gpus if not g.mig}) < 2


def _default(gpus: Sequence[NvmlGpu], whole: list[int], usable: list[int]) -> list[int]:
    # With MIG on, a program cannot use the parent: it gets the first slice instead.
    plain = [n for n in whole if not gpus[n].mig_enabled]
    return plain or [n for n in usable if gpus[n].mig][:1]


def _position(
    entry: str, gpus: Sequence[NvmlGpu], whole: list[int], usable: list[int]
) -> int | None:
    if leading := _NUMBER.match(entry):
        number = int(leading[0])
        return _first_slice(gpus, whole[number], usable) if number < len(whole) else None
    if not entry.startswith(("GPU-", "MIG-")):
        return None
    matches = [n for n in usable if (gpus[n].uuid or "").startswith(entry)]
    return matches[0] if len(matches) == 1 else None


def _first_slice(gpus: Sequence[NvmlGpu], parent: int, usable: list[int]) -> int | None:
    if not gpus[parent].mig_enabled:
        return parent
    slices = [n for n in usable if gpus[n].mig and gpus[n].index == gpus[parent].index]
    return slices[0] if slices else None

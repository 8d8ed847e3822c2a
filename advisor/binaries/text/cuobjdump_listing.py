"""Kernels out of what ``cuobjdump --dump-resource-usage`` prints."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries.model import Kernel, Source
from gpuadvise.advisor.binaries.reserved_shared import split_smem
from gpuadvise.advisor.capability import Capability

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gpuadvise.advisor.binaries.model import Place

_FUNCTION = re.compile(r"\s{0,8}Function (\S.*):\s*$")
_TARGET = re.compile(r"\s{0,8}arch = sm_(\d{1,2})(\d)([af]?)\s*$", re.ASCII)
_ITEM = re.compile(r"(?<!\S)([A-Z]{1,12}|CONSTANT\[\d{1,2}\]):(\d{1,10}|UNKNOWN)(?!\S)")


def read_usage(lines: Iterable[tuple[str, int]], place: Place) -> Iterator[Kernel]:
    """Yield the functions of cuobjdump's numbered *lines*.

    Only a kernel has a constant bank 0, for its parameters; a line without one is a device
    function's. For those of sm_90 and later the tool prints REG:0, which is not passed on.
    """
    target: Capability | None = None
    name: str | None = None
    named_at = 0
    for text, number in lines:
        if name is not None and "REG:" in text:
            yield _kernel(name, place._replace(line=named_at), target, text)
            name = None
        elif match := _FUNCTION.match(text):
            name, named_at = match[1], number
        elif match := _TARGET.match(text):
            target = Capability(int(match[1]), int(match[2]), match[3])
        elif text.startswith(("Fatbin ", "member ", "Resource usage:")):
            name = None
            target = None if not text.startswith("Resource") else target


def _kernel(name: str, place: Place, target: Capability | None, text: str) -> Kernel:
    items = dict(_ITEM.findall(text))
    stack, registers = items.get("STACK"), _count(items.get("REG"))
    banks = ((key, _count(value)) for key, value in items.items() if key.startswith("CONSTANT["))
    smem = _count(items.get("SHARED"))
    user, reserved = split_smem(smem, target) if smem is not None else (None, None)
    return Kernel(
        name=name,
        source=Source.CUOBJDUMP,
        place=place,
        capability=target,
        entry="CONSTANT[0]" in items,
        registers=registers or None,
        static_smem=user,
        reserved_smem=reserved,
        stack=_count(stack),
        stack_unbounded=True if stack == "UNKNOWN" else None,
        constant_banks=tuple(
            sorted((int(key[9:-1]), size) for key, size in banks if size is not None)
        )
        or None,
    )


def _count(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None

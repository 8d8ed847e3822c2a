"""What files say of kernels and runs, before any rule judges it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.json_records import plain
from gpuadvise.api.answer import FrozenMapping

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gpuadvise.advisor.description.reader import Described


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelEvidence:
    """All that the files know of one kernel, or of a run: *facts* by the names that rules ask for."""

    name: str | None
    gpu: str | None
    facts: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {"name": self.name, "gpu": self.gpu, "facts": dict(self.facts)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What files say together; ``advise(evidence)`` judges it."""

    paths: tuple[str, ...]
    kernels: tuple[KernelEvidence, ...]
    notes: tuple[str, ...]  # what to know about how the files were read
    unread: tuple[str, ...]  # what of them could not be

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "paths": list(self.paths),
            "kernels": [kernel.to_dict() for kernel in self.kernels],
            "notes": list(self.notes),
            "unread": list(self.unread),
        }

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one record per kernel: its name, and each fact under its own."""
        return [{"name": each.name, "gpu": each.gpu, **each.facts} for each in self.kernels]


def evidence_of(paths: Sequence[str], gpu: str | None) -> Evidence:
    """Return what the files *paths* say; raises GpuAdviseError."""
    from gpuadvise.advisor.evidence.files import read_evidence

    device = None
    if gpu is not None:
        from gpuadvise.advisor.backends.choose import choose

        device = choose(gpu=gpu).device
    read = read_evidence(*paths, device=device)
    return Evidence(
        paths=tuple(paths),
        kernels=tuple(map(_kernel, read.kernels)),
        notes=read.notes,
        unread=tuple(f"{part.place.path}: {part.message}" for part in read.damage),
    )


def _kernel(kernel: Described) -> KernelEvidence:
    facts = kernel.facts
    known = {
        field.name: plain(value)
        for field in fields(facts)
        if field.name not in _APART and (value := getattr(facts, field.name)) not in (None, ())
    }
    device = facts.device
    return KernelEvidence(
        name=facts.kernel,
        gpu=device.name if device else None,
        facts=FrozenMapping(known),
    )


_APART = ("kernel", "device")

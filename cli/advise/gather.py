"""All evidence of one call: flags, descriptions, profiles, and the GPU they are about."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.description.files import BadLine
from gpuadvise.advisor.description.reader import Described
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.facts.bag import Facts
from gpuadvise.advisor.facts.derive import completed
from gpuadvise.cli.advise.request import from_flags

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gpuadvise.advisor.backends.choose import Choice
    from gpuadvise.advisor.device import Device


_CUDA = "CUDA_"


@dataclass(frozen=True)
class GatheredEvidence:
    """Where the evidence comes from; *flags* describe one kernel, *files* any number."""

    flags: Mapping[str, Any]
    files: tuple[str, ...] = ()
    profiles: tuple[str, ...] = ()
    gpu: str | None = None
    cc: str | None = None
    device: str | None = None
    snapshot: str | None = None
    environment: bool = False
    reminders: bool = False
    notes: list[str] = field(default_factory=list)  # what the choice of device has to say

    def kernels(self) -> Iterator[Described | BadLine]:
        """Yield every described kernel, complete with what is known of its surroundings."""
        first = True
        for kernel in self._described():
            if isinstance(kernel, BadLine):
                yield kernel
            else:
                self.notes.extend(note for note in kernel.notes if note not in self.notes)
                yield replace(kernel, facts=self._surrounded(kernel.facts, remind=first))
                first = False

    def _described(self) -> Iterator[Described | BadLine]:
        if not (self.flags or self.files or self.profiles):
            yield from_flags({}, self.chosen.device)
            return
        if self.profiles:
            yield from profiled_kernels(self.profiles, self.flags, self._device_named)
        elif self.flags:
            yield from_flags(self.flags, self.chosen.device)
        for path in self.files:
            if path.endswith((".cu", ".cuh", ".py")):
                yield source_facts(path, self.chosen.device)
                continue
            from gpuadvise.advisor.backends.description_file import kernels_in

            yield from kernels_in(path, self._device)

    @cached_property
    def chosen(self) -> Choice:
        """The device that the options name, or the default one; a live one with its state."""
        from gpuadvise.advisor.backends.choose import Depth, choose

        named = self.device is not None or self.snapshot is not None
        choice = choose(
            gpu=self.gpu,
            cc=self.cc,
            device=self.device,
            from_file=self.snapshot,
            depth=Depth.TELEMETRY if named else Depth.IDENTITY,
        )
        self.notes.extend(choice.notes)
        return choice

    def _device(self, gpu: str | None, cc: str | None) -> Device | None:
        from gpuadvise.advisor.description.devices import from_catalogue

        return from_catalogue(gpu, cc) or self.chosen.device

    def _device_named(self, name: str | None) -> Device:
        """Return the device that the options name, else the profiled one, else the default."""
        if name is None or self.gpu or self.cc or self.device or self.snapshot:
            return self.chosen.device
        from gpuadvise.advisor.catalogue.lookup import find

        try:
            return find(name)
        except BadInput:
            return self.chosen.device

    def _surrounded(self, facts: Facts, *, remind: bool) -> Facts:
        """Return *facts* with the state of the live or recorded GPU and of the environment.

        *remind*: include what is asked once per program, not once per kernel.
        """
        found: dict[str, Any] = {}
        if self.device is not None or self.snapshot is not None:
            found |= _state(self.chosen)
        if self.environment:
            found["environment"] = {k: v for k, v in os.environ.items() if k.startswith(_CUDA)}
        if self.reminders and remind:
            found["sanitized"] = False
        missing = {key: value for key, value in found.items() if getattr(facts, key) is None}
        return completed(replace(facts, **missing)) if missing else facts


def _state(choice: Choice) -> dict[str, Any]:
    from gpuadvise.advisor.compatibility.drivers import parse_driver

    machine, gpu = choice.machine, choice.gpu
    version = machine.cuda_version if machine else None
    return {
        "telemetry": gpu.telemetry if gpu else None,
        "mig": gpu.identity.mig is not None if gpu else None,
        "devices": tuple(each.device for each in machine.gpus) if machine else None,
        "driver": parse_driver(version) if version else None,
    }


def source_facts(path: str, device: Device) -> Described:
    """Return what the source file *path* shows."""
    from gpuadvise.advisor.backends.user_files import opened
    from gpuadvise.advisor.source.observations import observations_of
    from gpuadvise.advisor.source.text import LARGEST

    with opened(path) as file:
        seen = observations_of(file.read(LARGEST + 1), path)
    return Described(facts=Facts(device=device, observations=seen))


def profiled_kernels(
    paths: tuple[str, ...], flags: Mapping[str, Any], device: Callable[[str | None], Device]
) -> Iterator[Described]:
    """Yield every kernel of the profiles, with what *flags* say of all of them."""
    from gpuadvise.advisor.profiles.ncu_file import read_profiles

    for path in paths:
        for profiled in read_profiles(path):
            base = from_flags(flags, None).facts if flags else Facts()
            facts = replace(
                base,
                kernel=base.kernel or profiled.kernel,
                device=device(profiled.device),
                sm_count=profiled.sm_count,
                launch=profiled.launch or base.launch,
                profile=profiled.profile,
            )
            yield Described(facts=completed(facts))

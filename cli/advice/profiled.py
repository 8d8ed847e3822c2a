"""Profiled kernels as described ones."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.description.reader import Described
from gpuadvise.advisor.facts.bag import Facts
from gpuadvise.advisor.facts.derive import completed
from gpuadvise.cli.advice.record import from_flags

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gpuadvise.advisor.device import Device


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

"""Kernels out of an Nsight Compute report: each as it was launched, once per kind of launch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries.model import Damage, Kernel, Source
from gpuadvise.advisor.profiles.metrics import page_profile
from gpuadvise.advisor.profiles.ncu_csv import read_launches

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO

    from gpuadvise.advisor.binaries.model import Place
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile


def read_report(lines: Iterable[tuple[str, int]], place: Place) -> Iterator[Kernel | Damage]:
    """Yield the kernels of a report's numbered *lines*; raises BadInput without its header.

    Launches that differ in nothing an occupancy depends on are one; damage comes last.
    """
    damage: list[Damage] = []
    records = read_launches(
        (text for text, _ in lines),
        place.path,
        lambda message: damage.append(Damage(place=place, message=message)),
    )
    yield from _distinct(_kernel(page_profile(record), None, place) for record in records)
    yield from damage


def read_report_file(file: BinaryIO, place: Place) -> Iterator[Kernel]:
    """Yield the kernels of a report file, with what its own code says of each; raises BadInput."""
    from gpuadvise.advisor.profiles.ncu_report_kernels import report_kernels

    launches = report_kernels(file, place.path)
    yield from _distinct((_kernel(profile, code, place) for profile, code in launches))


def _distinct(kernels: Iterable[Kernel | None]) -> Iterator[Kernel]:
    seen: set[Kernel] = set()
    for kernel in kernels:
        if kernel is not None and kernel not in seen:
            seen.add(kernel)
            yield kernel


def _kernel(profile: KernelProfile, code: Kernel | None, place: Place) -> Kernel | None:
    """Return the kernel of one launch: the launch's own figures, the others from its *code*."""
    launch = profile.launch
    if launch is None:
        return None
    kernel = code or Kernel(name=profile.kernel, source=Source.NCU, place=place)
    return kernel._replace(
        source=Source.NCU,
        place=place,
        capability=profile.capability,
        linked=True,
        registers=launch.registers,
        static_smem=launch.static_shared,
        dynamic_smem=launch.dynamic_shared > 0,
        barriers=launch.barriers,
        launched_block=launch.block_dim,
        launched_dynamic_smem=launch.dynamic_shared,
    )

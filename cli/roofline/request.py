"""The kernels under the roof: typed, or described in a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.peaks import arithmetic
from gpuadvise.advisor.prose import inert, quoted, quoted_path
from gpuadvise.advisor.roofline_placement import Workload, workload
from gpuadvise.cli.damage import unreadable
from gpuadvise.cli.options import read

if TYPE_CHECKING:
    from gpuadvise.advisor.binaries.model import Damage

_LARGEST_BYTES = 16 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Profiled:
    """The kernels of a profile, the GPU it names, and how many have no place under a roof."""

    workloads: list[Workload]
    device: str | None
    left_out: int  # without floating-point operations
    uncounted: tuple[str, ...]  # kernels of launches that lack a counter or the time
    damage: tuple[Damage, ...] = ()  # what of the file could not be read


def typed(flops: float, moved: float, dtype: str, time: float | None) -> Workload:
    """Return the kernel that the options describe; raises BadInput."""
    number_type, tensor = arithmetic(read("dtype", dtype))
    return Workload(
        name=None,
        flops=flops,
        bytes=moved,
        number_type=number_type,
        tensor=tensor,
        seconds=time,
    )


def described(path: str) -> list[Workload]:
    """Return the kernels with a ``work`` table in the TOML file *path*; raises BadInput."""
    from gpuadvise.advisor.backends.user_files import read_small
    from gpuadvise.advisor.description.devices import from_catalogue
    from gpuadvise.advisor.description.files import from_toml

    try:
        text = read_small(path, largest=_LARGEST_BYTES).decode("utf-8")
    except UnicodeDecodeError:
        raise BadInput(f"--describe: {quoted(path)} is not UTF-8.") from None
    facts = [kernel.facts for kernel in from_toml(text, path, from_catalogue)]
    workloads = [workload(fact.kernel, fact.work) for fact in facts if fact.work]
    if not workloads:
        raise BadInput(f"--describe: {inert(path)} has no kernel with a work table.")
    return workloads


def profiled(path: str) -> Profiled:
    """Return the kernels of the Nsight Compute report *path*; raises BadInput if none computes."""
    from gpuadvise.advisor.profiles.ncu_file import read_profiles

    damage: list[Damage] = []
    launches = [profile for profile, _ in read_profiles(path, damage)]
    if damage and not launches:
        raise unreadable(quoted_path(path), damage)
    workloads = [workload(launch.kernel, launch.work) for launch in launches if launch.work]
    if not workloads and any(launch.float_operations and launch.dram_bytes for launch in launches):
        raise BadInput(
            f"--ncu: no launch of {quoted(path)} did floating-point work, so none has a place "
            "under a roofline.",
            hint="gpuadvise advise says what limits such kernels.",
        )
    if not workloads:
        raise BadInput(
            f"--ncu: {quoted(path)} has no launch with operations, DRAM traffic and a time.",
            hint="Make it with: ncu --set full -o report ./app, and give report.ncu-rep, or its CSV "
            "of --page raw.",
        )
    uncounted = tuple([each.kernel for each in launches if each.work is None and not each.is_idle])
    return Profiled(
        workloads=workloads,
        device=launches[0].device,
        left_out=len(launches) - len(workloads) - len(uncounted),
        uncounted=uncounted,
        damage=tuple(damage),
    )


def known_name(name: str | None) -> str | None:
    """Return *name* if the catalogue knows a GPU by it, else None."""
    from gpuadvise.advisor.catalogue import find

    try:
        return name and find(name).name
    except BadInput:
        return None

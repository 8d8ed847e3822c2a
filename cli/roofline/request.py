"""The kernels under the roof: typed, or described in a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.peaks import UnitPeak, arithmetic, other_peaks, peak
from gpuadvise.advisor.prose import inert, quoted, quoted_path
from gpuadvise.advisor.roofline import Move, Roofline, fused, narrowed, roofline
from gpuadvise.cli.damage import unreadable
from gpuadvise.cli.options import read

if TYPE_CHECKING:
    from gpuadvise.advisor.binaries.model import Damage
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.timing import Work
    from gpuadvise.advisor.memory.number_types import NumberType

_LARGEST_BYTES = 16 << 20
_GIVEN = "you"  # source of a peak that was typed


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Operations, bytes and perhaps the time of one kernel, computed in one type."""

    name: str | None
    flops: float
    bytes: float
    number_type: NumberType
    seconds: float | None = None
    tensor: bool | None = None  # the unit, where it is known


@dataclass(frozen=True, slots=True, kw_only=True)
class Profiled:
    """The kernels of a profile, the GPU it names, and how many have no place under a roof."""

    workloads: list[Workload]
    device: str | None
    left_out: int  # without floating-point operations
    uncounted: tuple[str, ...]  # kernels of launches that lack a counter or the time
    damage: tuple[Damage, ...] = ()  # what of the file could not be read


@dataclass(frozen=True, slots=True, kw_only=True)
class Roofs:
    """What replaces the device's own peaks; ``None`` is not given. *tensor* picks the unit."""

    peak: float | None = None
    bandwidth: float | None = None
    tensor: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A kernel under its roof, and what would move it."""

    workload: Workload
    unit: UnitPeak
    roofline: Roofline
    moves: tuple[Move, ...]


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


def workload(name: str | None, work: Work) -> Workload:
    """Return the *work* of the kernel *name* as what has a place under a roof."""
    number_type, tensor = work.arithmetic
    return Workload(
        name=name,
        flops=work.flops,
        bytes=work.bytes,
        number_type=number_type,
        tensor=tensor,
        seconds=work.seconds,
    )


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


def placed(device: Device, workload: Workload, roofs: Roofs) -> Placed:
    """Return where *workload* stands on *device*; raises BadInput for an unknown roof."""
    rate = roofs.bandwidth or device.memory_bandwidth
    if rate is None:
        raise BadInput(
            f"The memory bandwidth of {device.name} is not known.", hint="--bandwidth gives it."
        )
    unit = _unit(device, workload, roofs)
    position = roofline(workload.flops, workload.bytes, unit.rate, rate, workload.seconds)
    return Placed(
        workload=workload,
        unit=unit,
        roofline=position,
        moves=_moves(device, workload, unit, position),
    )


def _unit(device: Device, workload: Workload, roofs: Roofs) -> UnitPeak:
    if roofs.peak is not None:
        return UnitPeak(key=str(workload.number_type), rate=roofs.peak, source=_GIVEN)
    tensor = workload.tensor if roofs.tensor is None else roofs.tensor
    return peak(device, workload.number_type, tensor=tensor)


def _moves(
    device: Device, workload: Workload, unit: UnitPeak, roofline: Roofline
) -> tuple[Move, ...]:
    kind = workload.number_type
    alternatives = [] if unit.source == _GIVEN else other_peaks(device, kind, unit)
    moves = [
        narrowed(roofline, its_unit.key, kind.bits, narrow.bits, its_unit.rate)
        for narrow, its_unit in alternatives
    ]
    fusion = fused(roofline)
    better = [move for move in (*moves, *([fusion] if fusion else [])) if move.gain > 1]
    return tuple(sorted(better, key=lambda move: move.gain))

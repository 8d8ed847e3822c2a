"""Groups of equal machines, and what one of them has that most of its group have not."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from statistics import median, quantiles
from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import and_list
from gpuadvise.advisor.thresholds import number

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from gpuadvise.advisor.fleet.machine import FleetGpu, FleetMachine

OUTER_FENCE = number(
    3.0,
    "how far below the lower quartile a copy rate is an outlier",
    "interquartile ranges",
    "Tukey, Exploratory Data Analysis (1977): the outer fence; of normal values one in 800,000",
)
STEADY = number(
    0.05,
    "how far below the median a copy rate may always be",
    "of the median",
    "judgement: runs of one healthy link differ by less",
)
LEAST_RATES = 4  # fewer have no quartiles
_SAME_SIZE = 0.01  # of memory: drivers keep parts of it for themselves


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Machines with the same GPUs; *kind* says which: ``8 x NVIDIA H200``."""

    kind: str
    machines: tuple[FleetMachine, ...]

    @property
    def gpus(self) -> int:
        """How many GPUs they have together, without MIG slices."""
        return sum(gpu.mig is None for machine in self.machines for gpu in machine.gpus)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One machine, or GPU number *gpu* of its list, that differs from most of its group in *fact*.

    *usual* is what more than half of the *of* others and itself have.
    """

    host: str
    gpu: int | None
    fact: str
    value: Hashable
    usual: Hashable
    of: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """A *fact* in which a group differs without a value that more than half of it have."""

    kind: str
    fact: str
    counts: tuple[tuple[Hashable, int], ...]


# What machines of one group ought to have in common. The current generation of a link is not
# among it: idle links fall back to save power, but keep their lanes.
OF_A_GPU = (
    "persistence_mode",
    "compute_mode",
    "ecc_enabled",
    "memory_total_bytes",
    "sm_clock_max_hz",
    "memory_clock_max_hz",
    "power_limit_watts",
    "pcie_generation_max",
    "pcie_lanes_max",
    "pcie_lanes",
    "nvlinks_up",
)
OF_A_MACHINE: dict[str, Callable[[FleetMachine], Hashable]] = {
    "driver_version": lambda machine: machine.driver_version,
    "fabric": lambda machine: machine.fabric and machine.fabric.links,
    "fabric_firmware": lambda machine: machine.fabric and machine.fabric.firmware,
    "nccl_network": lambda machine: (machine.nccl and and_list(machine.nccl.networks)) or None,
    "nccl_adapters": lambda machine: machine.nccl and machine.nccl.adapters,
    "nccl_gpu_direct": lambda machine: machine.nccl and machine.nccl.gpu_direct,
    "nccl_peers": lambda machine: (machine.nccl and and_list(machine.nccl.peers)) or None,
    "nccl_version": lambda machine: machine.nccl and machine.nccl.version,
}
FACTS = (*OF_A_MACHINE, *OF_A_GPU, "h2d", "d2h")
# What the group of machines is called of which only the network is known.
UNDESCRIBED = "GPUs that no file describes"


def grouped(machines: Iterable[FleetMachine]) -> tuple[Group, ...]:
    """Return the groups of *machines*, the largest first; one whose GPUs are not known is in none."""
    groups: dict[str, list[FleetMachine]] = {}
    for machine in machines:
        if kind := machine.kind or (UNDESCRIBED if machine.fabric or machine.nccl else ""):
            groups.setdefault(kind, []).append(machine)
    made = [Group(kind=kind, machines=tuple(members)) for kind, members in groups.items()]
    return tuple(sorted(made, key=lambda group: (-len(group.machines), group.kind)))


def differences(group: Group) -> tuple[tuple[Difference, ...], tuple[Split, ...]]:
    """Return what differs in *group*: by machine where most have one value, else as a whole."""
    odd: list[Difference] = []
    splits: list[Split] = []
    for fact in (*OF_A_MACHINE, *OF_A_GPU):
        values = list(_values(group, fact))
        counts = Counter(value for _, _, value in values)
        if len(counts) < 2:
            continue
        usual, count = counts.most_common(1)[0]
        same = count + sum(
            n for value, n in counts.items() if value != usual and _is_same(fact, value, usual)
        )
        if same * 2 <= len(values):
            splits.append(Split(kind=group.kind, fact=fact, counts=tuple(counts.most_common())))
            continue
        odd += [
            Difference(host=host, gpu=gpu, fact=fact, value=value, usual=usual, of=len(values))
            for host, gpu, value in values
            if value != usual and not _is_same(fact, value, usual)
        ]
    odd += [slow for direction in ("h2d", "d2h") for slow in slow_copies(group, direction)]
    return tuple(odd), tuple(splits)


def _is_same(fact: str, value: Hashable, usual: Hashable) -> bool:
    if fact != "memory_total_bytes" or not isinstance(value, int) or not isinstance(usual, int):
        return False
    return abs(value - usual) <= usual * _SAME_SIZE


def _values(group: Group, fact: str) -> Iterator[tuple[str, int | None, Hashable]]:
    """Yield the known values of *fact* in *group*, with the machine and the GPU that have them."""
    for machine in group.machines:
        if fact in OF_A_MACHINE:
            if (value := OF_A_MACHINE[fact](machine)) is not None:
                yield machine.host, None, value
            continue
        for position, gpu in enumerate(machine.gpus):
            value = _value(gpu, fact)
            if value is not None and gpu.mig is None:
                yield machine.host, position, value


def _value(gpu: FleetGpu, fact: str) -> Hashable:
    value: Hashable = getattr(gpu, fact)
    return value


def slow_copies(group: Group, direction: str) -> Iterator[Difference]:
    """Yield the machines of *group* whose copies in *direction* are slower than the group's spread.

    That is by more than the outer fence of all rates, by more than the spread of the machine's own
    repetitions and by more than what runs of one healthy link differ by.
    """
    rates = [
        (machine.host, copy)
        for machine in group.machines
        for copy in machine.copies
        if copy.direction == direction
    ]
    if len(rates) < LEAST_RATES:
        return
    usual = median(copy.rate for _, copy in rates)
    fence = _fence([copy.rate for _, copy in rates])
    for host, copy in rates:
        if copy.rate < min(fence, usual * (1 - max(STEADY, copy.spread))):
            yield Difference(
                host=host, gpu=None, fact=direction, value=copy.rate, usual=usual, of=len(rates)
            )


def _fence(rates: Sequence[float]) -> float:
    low, _, high = quantiles(rates, n=4, method="inclusive")
    return low - OUTER_FENCE * (high - low)


def median_rate(group: Group, direction: str) -> float | None:
    """Return the median of the rates of *group* in *direction*, bytes/s."""
    rates = [
        copy.rate
        for machine in group.machines
        for copy in machine.copies
        if copy.direction == direction
    ]
    return median(rates) if rates else None

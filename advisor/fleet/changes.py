"""What became worse on a machine between two descriptions of it, days apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.fleet.groups import STEADY
from gpuadvise.advisor.thresholds import number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gpuadvise.advisor.fleet.machine import FleetGpu, FleetMachine

HOTTER = number(
    10, "how much hotter a GPU is than before at no more power", "degrees Celsius",
    "judgement: a fan, paste or filter; air of a room changes by less",
)  # fmt: skip
MORE_POWER = number(
    0.1, "from how much more power on heat is no news", "of the power before", "judgement"
)
# Links that lose what they had, and counters that only grow where something failed.
FALLING = ("pcie_lanes", "pcie_lanes_max", "pcie_generation_max", "nvlinks", "nvlinks_up")
RISING = (
    "ecc_uncorrected", "ecc_uncorrected_lifetime", "ecc_corrected_lifetime", "rows_remapped_corrected",
    "rows_remapped_uncorrected", "pages_retired_single_bit", "pages_retired_double_bit",
)  # fmt: skip
FACTS = (*FALLING, *RISING, "xids", "ecc_enabled", "temperature_celsius", "gpu", "h2d", "d2h")
GONE = "gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineChange:
    """A *fact* of a machine, or of GPU number *gpu* of its list, that became worse.

    Of a GPU that is gone *gpu* is None, *before* says which it was.
    """

    host: str
    gpu: int | None
    fact: str
    before: str | float | bool
    now: str | float | bool
    since: str
    until: str


def same_machine(one: FleetMachine, other: FleetMachine) -> bool:
    """Return whether two descriptions under one name are of one machine, at two times.

    Its GPUs tell, by their UUIDs where both have some, else by their models.
    """
    if one.taken is None or other.taken is None or one.taken == other.taken:
        return False
    ids, others = ({gpu.uuid for gpu in m.gpus if gpu.uuid} for m in (one, other))
    if ids and others:
        return not ids.isdisjoint(others)
    return bool(one.kind) and one.kind == other.kind


def changes(machine: FleetMachine) -> Iterator[MachineChange]:
    """Yield what became worse on *machine* since the description before it."""
    before = machine.before
    if before is None or before.taken is None or machine.taken is None:
        return

    def change(
        fact: str, then: str | float | bool, now: str | float | bool, gpu: int | None
    ) -> MachineChange:
        assert before is not None
        return MachineChange(
            host=machine.host, gpu=gpu, fact=fact, before=then, now=now,
            since=str(before.taken), until=str(machine.taken),
        )  # fmt: skip

    for then, position in _pairs(before.gpus, machine.gpus):
        if position is None:
            yield change("gpu", f"{then.index}: {then.model}", GONE, None)
            continue
        for fact, old, new in _worse(then, machine.gpus[position]):
            yield change(fact, old, new, position)
    rates = {copy.direction: copy for copy in machine.copies}
    for old_rate in before.copies:
        rate = rates.get(old_rate.direction)
        if rate is None:
            continue
        spread = max(STEADY, old_rate.spread, rate.spread)
        if rate.rate < old_rate.rate * (1 - spread):
            yield change(rate.direction, old_rate.rate, rate.rate, None)


def _pairs(
    before: Iterable[FleetGpu], now: tuple[FleetGpu, ...]
) -> Iterator[tuple[FleetGpu, int | None]]:
    """Yield each GPU of *before* with its position in *now*; None where it is not there any more."""
    by_uuid = {gpu.uuid: at for at, gpu in enumerate(now) if gpu.uuid}
    by_index = {(gpu.index, gpu.model): at for at, gpu in enumerate(now) if gpu.mig is None}
    for gpu in before:
        if gpu.mig is None:  # slices come and go as they are made
            if gpu.uuid and by_uuid:
                yield gpu, by_uuid.get(gpu.uuid)
            else:
                yield gpu, by_index.get((gpu.index, gpu.model))


def _worse(then: FleetGpu, now: FleetGpu) -> Iterator[tuple[str, float | bool, float | bool]]:
    for fact in FALLING:
        old, new = getattr(then, fact), getattr(now, fact)
        if old is not None and new is not None and new < old:
            yield fact, old, new
    for fact in RISING:
        old, new = getattr(then, fact), getattr(now, fact)
        if old is not None and new is not None and new > old:
            yield fact, old, new
    if then.xids is not None and now.xids is not None and len(now.xids) > len(then.xids):
        yield "xids", len(then.xids), len(now.xids)
    if then.ecc_enabled and now.ecc_enabled is False:
        yield "ecc_enabled", True, False
    if _is_hotter(then, now):
        yield "temperature_celsius", then.temperature_celsius or 0, now.temperature_celsius or 0


def _is_hotter(then: FleetGpu, now: FleetGpu) -> bool:
    if then.temperature_celsius is None or now.temperature_celsius is None:
        return False
    if now.temperature_celsius < then.temperature_celsius + HOTTER:
        return False
    known = then.power_watts is not None and now.power_watts is not None
    return known and (now.power_watts or 0) <= (then.power_watts or 0) * (1 + MORE_POWER)

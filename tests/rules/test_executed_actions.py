"""Actions that name a number, carried out: each must lead where its sentence says.

One row per rule: descriptions on which it fires, and what its action must do to them. Actions are
read back from their text, as a user reads them.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from gpuadvise.advisor.description.devices import from_catalogue
from gpuadvise.advisor.description.reader import described
from gpuadvise.advisor.facts.access import pattern_of
from gpuadvise.advisor.memory.banks import bank_conflicts
from gpuadvise.advisor.memory.coalescing import coalesce
from gpuadvise.advisor.occupancy.bounds import launch_bounds
from gpuadvise.advisor.occupancy.grid import waves
from gpuadvise.advisor.occupancy.model import occupancy
from gpuadvise.advisor.occupancy.next_steps import with_shared_memory
from gpuadvise.advisor.quantity import show_share
from gpuadvise.advisor.transfers.copies import copy_seconds
from gpuadvise.rules.engine import judge
from gpuadvise.rules.guide import RULES
from gpuadvise.rules.model import Advice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gpuadvise.advisor.facts.bag import Facts
    from gpuadvise.advisor.occupancy.answer import Occupancy

BY_ID = {rule.id: rule for rule in RULES}
GPUS = ("h200", "rtx4090", "a100-sxm4-80", "v100-sxm2-32gb")


def number(text: str) -> int:
    return int(text.replace(",", ""))


def at(facts: Facts, **changes: Any) -> Occupancy:
    """Return the model's answer to the launch of *facts* with *changes*."""
    assert facts.device is not None
    assert facts.launch is not None
    if "threads" in changes:
        changes["block_dim"] = None
    return occupancy(facts.device.limits, replace(facts.launch, **changes))


def bounded(facts: Facts, threads: str, blocks: str) -> int:
    """Return the registers that the compiler may use under __launch_bounds__(threads, blocks)."""
    assert facts.device is not None
    bounds = launch_bounds(facts.device.limits, number(threads), number(blocks))
    assert bounds.ignored is None
    assert bounds.registers is not None
    return bounds.registers


def steps(action: str, facts: Facts) -> int:
    """Carry out each step of a list that names the occupancy it leads to; return how many."""
    done = 0
    assert facts.launch_bounds is None or "-maxrregcount" not in action
    for step in action.split(" Or: "):
        share = re.search(r": ([\d.]+ %) occupancy\.", step)
        if share is None:
            continue
        if match := re.search(r"Launch (\d+) threads per block", step):
            then = at(facts, threads=number(match[1]))
        elif match := re.search(r"Use at most ([\d,]+) bytes of shared memory", step):
            assert facts.launch is not None
            less = with_shared_memory(facts.launch, number(match[1]))
            then = at(facts, static_shared=less.static_shared, dynamic_shared=less.dynamic_shared)
        elif match := re.search(r"MemoryCarveout, (\d+)\)", step):
            then = at(facts, carveout=number(match[1]))
        elif match := re.search(
            r"__launch_bounds__\((\d+), (\d+)\)(?: or -maxrregcount=(\d+))?", step
        ):
            registers = bounded(facts, match[1], match[2])
            then = at(facts, registers=number(match[3]) if match[3] else registers)
            assert registers >= (then.launch.registers or 0)
        else:
            raise AssertionError(step)
        if "together with" not in step:
            assert show_share(then.occupancy) == share[1], step
            assert facts.occupancy is not None
            assert then.warps_per_sm > facts.occupancy.warps_per_sm
        done += 1
    return done


def whole_warps(action: str, facts: Facts) -> int:
    match = re.search(r"Launch (\d+) or (\d+) threads", action)
    if match is None:
        assert "blocks of 128 threads" in action or "block of 128 threads" in action
        return 1
    for threads in map(number, match.groups()):
        assert threads % 32 == 0
        assert at(facts, threads=threads).launchable
    return 1


def block_and_share(action: str, facts: Facts) -> int:
    match = re.search(r"Launch (\d+) threads per block: (\d+) blocks per SM at ([\d.]+ %)", action)
    if match is None:
        return 0
    then = at(facts, threads=number(match[1]))
    assert then.blocks_per_sm == number(match[2])
    assert show_share(then.occupancy) == match[3]
    return 1


def sizes_and_shares(action: str, facts: Facts) -> int:
    pairs = re.findall(r"(\d+) \(([\d.]+ %)\)", action)
    for threads, share in pairs:
        assert show_share(at(facts, threads=number(threads)).occupancy) == share
    return len(pairs)


def more_registers(action: str, facts: Facts) -> int:
    match = re.search(
        r"up to (\d+) registers: (?:declare|write) __launch_bounds__\((\d+), (\d+)\)", action
    )
    if match is None:
        assert "all 255 registers" in action or "Shorten the life" in action
        return 0
    registers = number(match[1])
    assert bounded(facts, match[2], match[3]) >= registers > (facts.launch.registers or 0)  # type: ignore[union-attr]
    assert registers <= 255
    assert at(facts, registers=registers).blocks_per_sm == number(match[3])
    assert (facts.launch_bounds is not None) == ("-maxrregcount" not in action)
    return 1


def fewer_registers(action: str, facts: Facts) -> int:
    bounds = re.search(r"__launch_bounds__\((\d+), (\d+)\)", action)
    assert bounds is not None
    registers = bounded(facts, bounds[1], bounds[2])
    if facts.launch_bounds is None:
        cap = re.search(r"-maxrregcount=(\d+)", action)
        assert cap is not None
        registers = min(registers, number(cap[1]))
    else:
        assert "-maxrregcount" not in action
    then = at(facts, registers=registers)
    assert facts.occupancy is not None
    assert then.limits["registers"] > facts.occupancy.blocks_per_sm  # type: ignore[operator, index]
    assert facts.occupancy.occupancy < 0.5
    if "The other way" in action:
        more_registers(action, facts)
    return 1


def smaller_tile(action: str, facts: Facts) -> int:
    match = re.search(r"Cut ([\d,]+) bytes? per block", action)
    assert match is not None
    assert facts.launch is not None
    less = with_shared_memory(facts.launch, facts.launch.shared_memory - number(match[1]))
    then = at(facts, static_shared=less.static_shared, dynamic_shared=less.dynamic_shared)
    assert facts.occupancy is not None
    assert then.limits["shared_memory"] > facts.occupancy.blocks_per_sm  # type: ignore[operator, index]
    return 1


def larger_carveout(action: str, facts: Facts) -> int:
    match = re.search(r"MemoryCarveout, (\d+)\)", action)
    assert match is not None
    now, then = facts.occupancy, at(facts, carveout=number(match[1]))
    assert now is not None
    assert then.limits["shared_memory"] > now.blocks_per_sm  # type: ignore[operator, index]
    assert then.blocks_per_sm > now.blocks_per_sm or (" give" in action and "way too" in action)
    return 1


def full_wave(action: str, facts: Facts) -> int:
    match = re.search(r"at least ([\d,]+) blocks", action)
    if match is None:
        return 0
    filled = waves(facts.occupancy, facts.sm_count, number(match[1]))  # type: ignore[arg-type]
    assert filled is not None
    assert filled.waves == 1
    return 1


def whole_waves(action: str, facts: Facts) -> int:
    match = re.search(r"gives ([\d,]+) or ([\d,]+) blocks.* launch ([\d,]+) blocks", action)
    assert match is not None
    for blocks in map(number, match.groups()):
        filled = waves(facts.occupancy, facts.sm_count, blocks)  # type: ignore[arg-type]
        assert filled is not None
        assert filled.waves == int(filled.waves)
    return 1


def possible(action: str, facts: Facts) -> int:
    if match := re.search(r"Launch blocks of (\d+) threads", action):
        assert at(facts, threads=number(match[1])).launchable
    elif match := re.search(r"at most (\d+) registers per thread", action):
        assert facts.launch_bounds is None
        assert at(facts, registers=number(match[1])).launchable
    elif match := re.search(
        r"__launch_bounds__\((\d+)\), which keeps the kernel to (\d+) registers", action
    ):
        assert bounded(facts, match[1], "1") == number(match[2])
        assert at(facts, registers=number(match[2])).launchable
    else:
        return 0
    return 1


def kept_bounds(action: str, facts: Facts) -> int:
    match = re.search(r"Write __launch_bounds__\((\d+), (\d+)\)", action)
    assert match is not None
    return int(bounded(facts, match[1], match[2]) > 0)


def covered(action: str, facts: Facts) -> int:
    match = re.search(r"= ([\d,]+) blocks", action)
    assert match is not None
    threads, elements = facts.launch.threads, facts.elements or 0  # type: ignore[union-attr]
    assert (number(match[1]) - 1) * threads < elements <= number(match[1]) * threads
    return 1


def no_conflict(action: str, facts: Facts) -> int:
    match = re.search(r"a stride of (\d+) instead of \d+ has no conflict", action)
    if match is None:
        assert "exchanging bits" in action
        return 0
    (access,) = facts.shared_accesses or ()
    then = replace(access, stride=number(match[1]))
    assert bank_conflicts(pattern_of(then), facts.device.capability).degree == 1  # type: ignore[union-attr]
    return 1


def coalesced(action: str, facts: Facts) -> int:
    match = re.search(r"Let neighbouring lanes take neighbouring elements: ([\d.]+ %)", action)
    if match is None:
        return 0
    (access,) = facts.global_accesses or ()
    then = pattern_of(replace(access, stride=1, offset_bytes=0, indices=None))
    cost = coalesce(then, facts.device.capability)  # type: ignore[union-attr]
    assert show_share(cost.cached_efficiency) == match[1]
    return 1


def padded(action: str, facts: Facts) -> int:
    match = re.search(r"Pad each row to ([\d,]+) bytes", action)
    assert match is not None
    (access,) = facts.row_accesses or ()
    assert number(match[1]) % 32 == 0
    assert 0 < number(match[1]) - (access.row_bytes or 0) < 32
    return 1


def packed(action: str, facts: Facts) -> int:
    (copy,) = facts.transfers or ()
    assert facts.link is not None
    whole = copy_seconds(copy.bytes * copy.count, facts.link, copy.direction)
    apart = copy.count * copy_seconds(copy.bytes, facts.link, copy.direction)
    assert whole < apart
    assert "copy once" in action
    return 1


def launches(**more: Any) -> Iterator[dict[str, Any]]:
    sizes = product(GPUS, (32, 40, 64, 72, 100, 128, 168), (33, 64, 128, 256, 512, 1024))
    for gpu, registers, block in sizes:
        for shared in (0, 12_000, 40_000):
            launch = {"gpu": gpu, "regs": registers, "block": block, "dynamic_smem": shared}
            yield launch | more


def strides(space: str) -> Iterator[dict[str, Any]]:
    for gpu, word, stride in product(GPUS, (4, 8), (2, 3, 4, 8, 16, 32, 33)):
        access = {"name": "a", "space": space, "word": word, "stride": stride}
        yield {"gpu": gpu, "accesses": [access]}


def with_spills() -> Iterator[dict[str, Any]]:
    for spill, bounds in product((8, 128, 1000), (None, [512, 2])):
        for launch in launches(compiled={"spill_stores": spill, "spill_loads": spill, "stack": 8}):
            if bounds is None:
                yield launch
            elif launch["block"] <= 512:
                yield launch | {"launch_bounds": bounds}


EXECUTED: dict[str, tuple[Callable[[], Iterable[dict[str, Any]]], Callable[[str, Facts], int]]] = {
    "low-occupancy": (lambda: [*launches(), *launches(launch_bounds=[1024, 1])], steps),
    "partial-warp": (launches, whole_warps),
    "lone-resident-block": (lambda: launches(syncs=True), block_and_share),
    "unusual-block-size": (launches, sizes_and_shares),
    "register-limited-occupancy": (
        lambda: [*launches(), *launches(launch_bounds=[1024, 1])], fewer_registers,
    ),
    "register-spills": (with_spills, more_registers),
    "shared-memory-limited-occupancy": (launches, smaller_tile),
    "shared-memory-carveout": (
        lambda: (kernel for share in (10, 30, 50) for kernel in launches(carveout=share)
                 if kernel["dynamic_smem"] == 12_000), larger_carveout,
    ),
    "underfilled-device": (lambda: launches(grid=40), full_wave),
    "tail-effect": (lambda: launches(grid=1800), whole_waves),
    "impossible-launch": (
        lambda: [*launches(), *({"gpu": gpu, "regs": 255, "block": 1024} for gpu in GPUS),
                 *launches(launch_bounds=[1024])], possible,
    ),
    "overstated-launch-bounds": (
        lambda: ({"gpu": gpu, "launch_bounds": [threads, blocks]}
                 for gpu, threads, blocks in product(GPUS, (128, 256, 1024), (2, 9, 17, 33))),
        kept_bounds,
    ),
    "uncovered-elements": (
        lambda: ({"block": block, "grid": 10, "elements": count}
                 for block, count in product((100, 256), (5_000, 100_001))), covered,
    ),
    "bank-conflicts": (lambda: strides("shared"), no_conflict),
    "uncoalesced-access": (lambda: strides("global"), coalesced),
    "unpadded-rows": (
        lambda: ({"accesses": [{"name": "r", "word": 4, "row_bytes": size}]}
                 for size in (4004, 100, 36, 4090)), padded,
    ),
    "small-transfers": (
        lambda: ({"gpu": gpu, "transfers": [{"direction": "h2d", "bytes": size, "count": 100}]}
                 for gpu, size in product(GPUS, (64, 4096, 30_000))), packed,
    ),
}  # fmt: skip


@pytest.mark.parametrize("rule", EXECUTED)
def test_actions_lead_where_they_say(rule: str) -> None:
    kernels, execute = EXECUTED[rule]
    done = 0
    for kernel in kernels():
        facts = described(kernel, from_catalogue).facts
        for outcome in judge(BY_ID[rule], facts):
            if isinstance(outcome, Advice):
                done += execute(outcome.action, facts)
    assert done >= 4


def test_registers_end_at_255() -> None:
    kernel = {
        "gpu": "h200",
        "regs": 255,
        "block": 128,
        "compiled": {"spill_stores": 8, "spill_loads": 8},
    }
    (outcome,) = judge(BY_ID["register-spills"], described(kernel, from_catalogue).facts)
    assert isinstance(outcome, Advice)
    assert "all 255 registers" in outcome.action


@pytest.mark.parametrize(("registers", "advised"), [(65, True), (64, False)])
def test_register_advice_is_absent_from_half_occupancy_on(registers: int, advised: bool) -> None:
    facts = described({"gpu": "h200", "regs": registers, "block": 256}, from_catalogue).facts
    (outcome,) = judge(BY_ID["register-limited-occupancy"], facts)
    assert isinstance(outcome, Advice) is advised

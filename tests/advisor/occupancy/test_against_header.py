"""The model against NVIDIA's own ``cuda_occupancy.h``, over every capability the header knows."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from gpuadvise.advisor.capability import Capability
from gpuadvise.advisor.catalogue.capabilities import limits_of
from gpuadvise.advisor.limits import Limits
from gpuadvise.advisor.occupancy.block_sizes import suggest_block
from gpuadvise.advisor.occupancy.budget import dynamic_shared_budget
from gpuadvise.advisor.occupancy.fault import Cause
from gpuadvise.advisor.occupancy.launch import CachePreference, GlobalCaching, Launch
from gpuadvise.advisor.occupancy.model import occupancy

if TYPE_CHECKING:
    from conftest import Oracle, Reply

    from gpuadvise.advisor.occupancy.answer import Occupancy

Question = tuple[Capability, Limits, Launch]

BLOCK_SIZE, DYNAMIC_SHARED = 1, 2  # queries of oracle.c
PER_CAPABILITY = 9_000
THREADS = [1, 25, 31, 32, 33, 63, 64, 65, 96, 128, 224, 256, 310, 512, 768, 928, 1023, 1024, 1025]
SHARED = [0, 1, 255, 256, 1023, 1024, 6144, 6272, 16384, 16385, 48128, 48129, 49152, 49153]


def random_launch(draw: random.Random, limits: Limits) -> Launch:
    """Return a launch of every kind: half of each figure from the edges, half from anywhere."""
    most = limits.shared_memory_per_block_optin
    edges = [*SHARED, most - 1, most, most + 1]
    optin = draw.random() < 0.7
    dynamic = draw.choice((draw.choice(edges), draw.randrange(most + 2048), 0))
    return Launch(
        threads=draw.choice((draw.choice(THREADS), draw.randrange(1, 1100))),
        registers=draw.choice((None, *[draw.randint(1, limits.max_registers_per_thread)] * 9)),
        static_shared=draw.choice((0, draw.choice(SHARED[:13]), draw.randrange(49153)))
        if limits.shared_memory_per_block >= 49152
        else 0,
        dynamic_shared=dynamic,
        optin=optin,
        max_dynamic_shared=draw.choice((None, None, dynamic, most, dynamic // 2, most + 1024))
        if optin
        else None,
        carveout=draw.choice((None, None, 0, 25, 50, 100, draw.randint(0, 100))),
        cache=draw.choice(list(CachePreference)),
        barriers=draw.choice((0, 1, 1, 2, 3, 8, 16)),
        caching=draw.choice(list(GlobalCaching)),
    )


def questions(oracle: Oracle, count: int, seed: int) -> list[Question]:
    draw = random.Random(seed)
    known = [(cc, limits_of(cc)[0]) for cc in oracle.capabilities()]
    return [(cc, limits, random_launch(draw, limits)) for cc, limits in known for _ in range(count)]


def of_this_header(oracle: Oracle, cc: Capability, limits: Limits) -> Limits:
    """Return *limits* as the header's version has them.

    The headers of CUDA 12.9 to 13.2 count 64 barriers on cc 10.3; 13.4 corrects that to 32.
    """
    if str(cc) == "10.3" and oracle.version < (13, 4):
        return replace(limits, barriers_per_sm=64)
    return limits


def differences(
    oracle: Oracle, asked: list[Question], replies: list[Reply]
) -> list[tuple[Question, Occupancy, Reply]]:
    found = []
    for question, reply in zip(asked, replies, strict=True):
        cc, limits, launch = question
        ours = occupancy(of_this_header(oracle, cc, limits), launch)
        same = (
            reply.status == 0
            and ours.blocks_per_sm == reply.blocks
            and ours.block_limits == reply.limits
            and (ours.registers_per_block or 0) == reply.registers_per_block
            and ours.shared_memory_per_block == reply.shared_memory_per_block
        )
        if not same:
            found.append((question, ours, reply))
    return found


def test_blocks_limits_and_allocations_equal_the_headers(oracles: list[Oracle]) -> None:
    for oracle in oracles:
        asked = questions(oracle, PER_CAPABILITY, seed=1)
        assert len(asked) >= 150_000
        assert differences(oracle, asked, oracle.ask(asked)) == []
    assert len(oracles[-1].capabilities()) * PER_CAPABILITY >= 200_000


def test_the_newest_header_knows_every_capability_from_3_0(oracles: list[Oracle]) -> None:
    known = {str(cc) for cc in oracles[-1].capabilities()}
    assert known == {
        *("3.0", "3.2", "3.5", "3.7", "5.0", "5.2", "5.3", "6.0", "6.1", "6.2", "7.0", "7.2"),
        *("7.5", "8.0", "8.6", "8.7", "8.8", "8.9", "9.0", "10.0", "10.1", "10.3", "11.0"),
        *("12.0", "12.1"),
    }


def test_suggested_block_sizes_equal_the_runtime_helpers(oracles: list[Oracle]) -> None:
    oracle = oracles[-1]
    asked = questions(oracle, 150, seed=2)
    for (_, limits, launch), reply in zip(asked, oracle.ask(asked, BLOCK_SIZE), strict=True):
        suggestion = suggest_block(limits, launch)
        ours = suggestion.helper.launch.threads if suggestion else 0
        assert (reply.status, ours) == (0, reply.value)


def test_dynamic_memory_that_keeps_blocks_equals_the_headers(oracles: list[Oracle]) -> None:
    """Where the closed form of the header errs, its own count of blocks proves our answer.

    It forgets that cc 3.x falls back to the large setting when a block outgrows the small one.
    """
    oracle, wanted = oracles[-1], 2
    asked = [
        (cc, limits, replace(launch, dynamic_shared=0, max_dynamic_shared=most, optin=True))
        for cc, limits, launch in questions(oracle, 250, seed=3)
        for most in (limits.shared_memory_per_block_optin,)
    ]
    asked = [each for each in asked if occupancy(each[1], each[2]).blocks_per_sm >= wanted]
    assert len(asked) > 2_000
    odd = []
    replies = oracle.ask(asked, DYNAMIC_SHARED, wanted)
    for (cc, limits, launch), reply in zip(asked, replies, strict=True):
        ours = dynamic_shared_budget(limits, launch, wanted)
        assert reply.status == 0
        if ours != reply.value:
            odd.append((cc, limits, replace(launch, dynamic_shared=ours)))
    assert {(cc.major, launch.cache) for cc, _, launch in odd} == {(3, CachePreference.L1)}
    assert all(reply.blocks >= wanted for reply in oracle.ask(odd))


def test_largest_dynamic_memory_cannot_grow(oracles: list[Oracle]) -> None:
    oracle = oracles[-1]
    more = []
    for cc, limits, launch in questions(oracle, 100, seed=4):
        launch = replace(launch, max_dynamic_shared=None)
        most = dynamic_shared_budget(limits, launch, 3)
        if most is not None:
            more += [
                (cc, limits, replace(launch, dynamic_shared=most + extra))
                for extra in (1, 128, 256, 4096, 16384)
            ]
    assert len(more) > 1_000
    assert all(reply.blocks < 3 for reply in oracle.ask(more))


@pytest.mark.parametrize(
    ("cc", "registers"), [("3.0", 64), ("3.0", 255), ("9.0", 256), ("12.0", 256)]
)
def test_the_header_accepts_registers_that_no_compiler_gives(
    oracles: list[Oracle], cc: str, registers: int
) -> None:
    capability = Capability(*map(int, cc.split(".")))
    limits = limits_of(capability)[0]
    launch = Launch(threads=32, registers=registers)
    raised = replace(limits, max_registers_per_thread=256)
    (reply,) = oracles[-1].ask([(capability, limits, launch)])
    assert reply.blocks == occupancy(raised, launch).blocks_per_sm > 0
    fault = occupancy(limits, launch).fault
    assert fault is not None
    assert fault.cause is Cause.REGISTERS_PER_THREAD


def test_the_header_accepts_static_memory_that_the_compiler_refuses(oracles: list[Oracle]) -> None:
    capability = Capability(9, 0)
    limits = limits_of(capability)[0]
    launch = Launch(threads=32, static_shared=49_153)
    (reply,) = oracles[-1].ask([(capability, limits, launch)])
    assert reply.blocks == 4
    fault = occupancy(limits, launch).fault
    assert fault is not None
    assert fault.cause is Cause.STATIC_SHARED_MEMORY

"""NVIDIA's occupancy header, compiled from every CUDA runtime wheel that is installed."""

from __future__ import annotations

import struct
import subprocess
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from nvidia_wheels import missing

from gpuadvise.advisor.capability import Capability
from gpuadvise.advisor.catalogue.capabilities import known_capabilities, limits_of
from gpuadvise.advisor.occupancy.launch import CachePreference, GlobalCaching, Launch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.limits import Limits

SOURCE = Path(__file__).with_name("oracle.c")
QUESTION, REPLY = struct.Struct("22i"), struct.Struct("10i")
NO_LIMIT = 2**31 - 1
BLOCKS = 0  # the queries of oracle.c are 0, 1 and 2


@dataclass(frozen=True)
class Reply:
    """What the header answers; None where it has no limit."""

    status: int
    blocks: int
    limits: tuple[int | None, ...]
    registers_per_block: int
    shared_memory_per_block: int
    value: int


@dataclass(frozen=True)
class Oracle:
    """One header, compiled; *version* is that of its wheel."""

    version: tuple[int, ...]
    program: Path

    def ask(
        self,
        questions: Sequence[tuple[Capability, Limits, Launch]],
        query: int = BLOCKS,
        wanted: int = 1,
    ) -> list[Reply]:
        asked = b"".join(
            QUESTION.pack(query, cc.major, cc.minor, *_question(limits, launch), wanted)
            for cc, limits, launch in questions
        )
        done = subprocess.run([self.program], input=asked, capture_output=True, check=True)
        return [_reply(fields) for fields in REPLY.iter_unpack(done.stdout)]

    def capabilities(self) -> list[Capability]:
        """Return the capabilities of the catalogue that this header knows."""
        every = [*known_capabilities(), Capability(10, 1)]
        asked = [(cc, limits_of(cc)[0], Launch(threads=32)) for cc in every]
        replies = self.ask(asked)
        return [cc for cc, reply in zip(every, replies, strict=True) if reply.status == 0]


def _question(limits: Limits, launch: Launch) -> tuple[int, ...]:
    most = launch.max_dynamic_shared
    return (
        limits.max_threads_per_block,
        limits.max_threads_per_sm,
        limits.registers_per_block,
        limits.registers_per_sm,
        limits.shared_memory_per_block,
        limits.shared_memory_per_sm,
        limits.shared_memory_per_block_optin,
        limits.shared_memory_reserved_per_block,
        launch.threads,
        launch.registers or 0,
        launch.static_shared,
        launch.dynamic_shared,
        launch.optin,
        # Where nothing is said we answer as if the attribute were set to what is needed.
        launch.dynamic_shared if most is None else most,
        -1 if launch.carveout is None else launch.carveout,
        list(CachePreference).index(launch.cache),
        launch.barriers,
        list(GlobalCaching).index(launch.caching),
    )


def _reply(fields: tuple[int, ...]) -> Reply:
    status, blocks, *limits, registers, shared, value = fields
    return Reply(
        status=status,
        blocks=blocks,
        limits=tuple(None if limit == NO_LIMIT else limit for limit in limits),
        registers_per_block=registers,
        shared_memory_per_block=shared,
        value=value,
    )


@pytest.fixture(scope="session")
def oracles(tmp_path_factory: pytest.TempPathFactory) -> list[Oracle]:
    built = []
    for wheel in distributions():
        if not wheel.name.startswith("nvidia-cuda-runtime"):
            continue
        for file in wheel.files or ():
            if file.name == "cuda_occupancy.h":
                program = tmp_path_factory.mktemp(wheel.name) / "oracle"
                include = Path(str(wheel.locate_file(file))).parent
                subprocess.run(["cc", "-O2", "-I", include, SOURCE, "-o", program], check=True)
                version = tuple(map(int, wheel.version.split(".")))
                built.append(Oracle(version, program))
    if not built:
        missing("cuda_occupancy.h")
    return sorted(built, key=lambda oracle: oracle.version)

"""The answer of ``gpuadvise gpus``: its fields, and what each of them says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from gpuadvise.api.answers.common import DeviceRecord
from gpuadvise.api.answers.fields import (
    BYTES,
    BYTES_PER_SECOND,
    HERTZ,
    AnswerDeclaration,
    Count,
    Keywords,
    Record,
    record,
)


@record
class CatalogueRecord(DeviceRecord):
    """Catalogue record, in the answer of ``gpus``."""

    reasons: Mapping[str, str]
    """Why what is unknown is unknown."""
    catalogue_id: Annotated[str, Keywords(pattern="^[a-z0-9]+(-[a-z0-9]+)*$")]
    """Name in the catalogue; --gpu takes it."""
    product_class: Literal["data-centre", "workstation", "geforce", "titan", "embedded", "desktop"]
    """data-centre, workstation, desktop, laptop, embedded."""
    architecture: str
    """Architecture: Hopper, Ada."""
    sm_clock_hz: Annotated[float, HERTZ] | None
    """SM clock."""
    memory_bytes: Annotated[Count, BYTES] | None
    """Device memory, bytes."""
    memory_bandwidth: Annotated[float, BYTES_PER_SECOND] | None
    """Theoretical bandwidth of device memory, bytes/s."""
    published_bandwidth: Annotated[float, BYTES_PER_SECOND] | None
    """Bandwidth that the maker publishes, bytes/s."""
    l2_bytes: Annotated[Count, BYTES] | None
    """L2 cache, bytes."""
    async_engines: Count | None
    """Copy engines that work beside kernels (asyncEngineCount)."""
    registers_per_sm: Count
    """Registers of an SM."""
    shared_memory_per_sm: Annotated[Count, BYTES]
    """Shared memory of an SM, bytes."""
    shared_memory_per_block_optin: Annotated[Count, BYTES]
    """Most shared memory of a block that opts in, bytes."""
    max_threads_per_sm: Count
    """Most threads resident on an SM."""
    max_blocks_per_sm: Count
    """Most blocks resident on an SM."""
    peaks: Mapping[str, float]
    """Peaks by number type and unit, operations/s."""
    notes: tuple[str, ...]
    """Remarks."""
    origin: Literal["catalogue"]
    """Where the facts come from: catalogue, capability, live, snapshot."""
    extrapolated: Literal[False]
    """Whether limits are those of the nearest known capability."""
    aliases: tuple[str, ...]
    """Short names that --gpu takes."""
    driver_names: tuple[str, ...]
    """Names that drivers give it."""


@record
class GpusResult(Record):
    """What ``gpus`` answers."""

    KEYWORDS: ClassVar = {"additionalProperties": False}
    devices: Annotated[tuple[CatalogueRecord, ...], Keywords(minItems=1)]
    """One record per GPU."""


@record
class GpusInput(Record):
    """What ``gpus`` was asked."""

    KEYWORDS: ClassVar = {"additionalProperties": False}
    query: tuple[str, ...]
    cc: str | None = None


DECLARATION = AnswerDeclaration(
    command="gpus",
    title="JSON answer of gpuadvise gpus",
    description="The catalogue's GPUs that the query describes, each with every field of gpuadvise device --gpu. Base units: bytes, hertz, watts, bytes per second, FLOP/s. null is not known; reasons says why.",
    input=GpusInput,
    results=(GpusResult,),
    device="none",
)

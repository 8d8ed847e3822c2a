"""What is known of compute capabilities and GPUs without asking a machine."""

from gpuadvise.advisor.catalogue.capabilities import (
    known_capabilities,
    limits_of,
    nearest_documented,
    throughput_of,
)
from gpuadvise.advisor.catalogue.entries import (
    CatalogueEntry,
    by_capability,
    entries,
    slice_of,
    with_capability,
)
from gpuadvise.advisor.catalogue.lookup import (
    DEFAULT_GPU,
    candidates,
    described_by,
    find,
    identify,
    named_gpus,
    refusal,
    search,
)
from gpuadvise.advisor.catalogue.names import NamedGpu, without_uuids

__all__ = [
    "DEFAULT_GPU",
    "CatalogueEntry",
    "NamedGpu",
    "by_capability",
    "candidates",
    "described_by",
    "entries",
    "find",
    "identify",
    "known_capabilities",
    "limits_of",
    "named_gpus",
    "nearest_documented",
    "refusal",
    "search",
    "slice_of",
    "throughput_of",
    "with_capability",
    "without_uuids",
]

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
    find,
    identify,
    nearest,
    search,
)

__all__ = [
    "DEFAULT_GPU",
    "CatalogueEntry",
    "by_capability",
    "candidates",
    "entries",
    "find",
    "identify",
    "known_capabilities",
    "limits_of",
    "nearest",
    "nearest_documented",
    "search",
    "slice_of",
    "throughput_of",
    "with_capability",
]

"""What is known of compute capabilities and GPUs without asking a machine."""

from gpuadvise.advisor.catalogue.capabilities import (
    known_capabilities,
    limits_of,
    nearest_documented,
    throughput_of,
)

__all__ = ["known_capabilities", "limits_of", "nearest_documented", "throughput_of"]

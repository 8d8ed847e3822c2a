"""``gpuadvise bandwidth``: theoretical and effective bandwidth."""

"""``gpuadvise access``: how the accesses of a warp coalesce."""

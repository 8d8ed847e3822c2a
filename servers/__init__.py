"""Programs that ask gpuadvise again and again: editors and agents."""

"""``gpuadvise fleet``: which of many machines is unwell, or differs from its equals."""

"""``gpuadvise overlap``: how much overlapping copies with kernels saves."""

"""``gpuadvise doctor``: what this machine's GPUs, driver and settings suffer from."""

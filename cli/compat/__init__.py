"""``gpuadvise compat``: does the device code in a file run on a GPU."""

"""``gpuadvise lint``: faults that source files show."""

"""``gpuadvise banks``: bank conflicts in shared memory."""

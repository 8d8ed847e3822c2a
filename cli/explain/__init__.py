"""``gpuadvise explain``: the words of the field."""

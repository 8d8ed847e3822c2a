"""``gpuadvise latency``: what must be in flight to hide latency."""

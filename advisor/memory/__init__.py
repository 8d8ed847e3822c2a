"""Device and shared memory: bandwidth, coalescing, bank conflicts, number types."""

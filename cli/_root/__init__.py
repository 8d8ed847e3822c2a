"""gpuadvise: what limits a CUDA kernel, what to change first, and what it can win."""

__version__ = "0.1.0"

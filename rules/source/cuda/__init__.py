"""Rules on CUDA sources, one file each."""

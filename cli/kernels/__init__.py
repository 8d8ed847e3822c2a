"""Kernels out of files, as ``gpuadvise kernels`` tells them."""

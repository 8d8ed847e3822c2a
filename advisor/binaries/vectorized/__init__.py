"""Kernels of many images at once, as numpy arrays: for large files."""

"""Kernels of many images at once, by arrays: for large files, where numpy is installed."""

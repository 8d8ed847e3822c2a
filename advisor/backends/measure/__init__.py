"""Measurements on a live GPU: the only part that creates a context and runs kernels."""

"""Kernels and device code out of files: cubins, fatbins, libraries, archives, listings, logs."""

"""Kernels described in words: ``kernel.toml``, JSON and NDJSON become facts."""

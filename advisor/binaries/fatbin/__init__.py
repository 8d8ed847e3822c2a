"""Fatbins: where they lie in a file, their entries, and payloads decompressed."""

"""LZ4, Zstandard and gzip: what is packed with them, by the packages there are."""

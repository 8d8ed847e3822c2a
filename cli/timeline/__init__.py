"""The answer of ``gpuadvise timeline``: its question, its fields, its words."""

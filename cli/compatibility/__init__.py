"""The answer of ``gpuadvise compat``: its question, its fields, its words."""

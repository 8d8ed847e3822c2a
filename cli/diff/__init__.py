"""The answer of ``gpuadvise diff``: its question, its fields, its words."""

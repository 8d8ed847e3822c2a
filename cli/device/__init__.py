"""The words and tables of ``gpuadvise device``."""

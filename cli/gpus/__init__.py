"""The words and tables of ``gpuadvise gpus``."""

"""The command ``gpuadvise run``: it records a program, and answers as ``timeline`` does."""

"""The command ``gpuadvise learn``: the tutorials of the documentation, step by step."""

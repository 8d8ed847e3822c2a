"""The command ``gpuadvise tui``: the occupancy calculator in a terminal."""

"""The parts of ``gpuadvise occupancy``: questions in, rows and blocks out."""

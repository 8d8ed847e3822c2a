"""The parts of ``gpuadvise overlap``: its result, blocks, time line and code."""

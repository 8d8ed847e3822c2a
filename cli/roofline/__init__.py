"""The parts of ``gpuadvise roofline``: kernels in, results, text and charts out."""

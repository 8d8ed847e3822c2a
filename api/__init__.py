"""What ``import gpuadvise`` offers: the commands' answers as values of Python."""

"""``gpuadvise whatif``: one kernel compiled with several register caps."""

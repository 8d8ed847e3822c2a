"""``gpuadvise skill``: the page for agents that have a shell."""

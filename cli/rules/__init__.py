"""``gpuadvise rules``: the list of rules, or one explained."""

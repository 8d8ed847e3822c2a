"""Rules on the machine and its GPUs."""

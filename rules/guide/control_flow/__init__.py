"""Rules on branches and loops."""

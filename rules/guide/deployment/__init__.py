"""Rules on binaries, drivers and the environment."""

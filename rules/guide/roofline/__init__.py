"""Rules on what work and time alone say."""

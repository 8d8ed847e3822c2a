"""Rules on Python sources, one file each."""

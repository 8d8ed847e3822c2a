"""Rules on arithmetic and its units."""

"""Rules on the program as a whole."""

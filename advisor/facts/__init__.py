"""What is known about a kernel and its surroundings: the values that rules judge."""

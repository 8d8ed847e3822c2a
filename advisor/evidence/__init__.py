"""Evidence of several kinds about one kernel: what a file holds, and how files are joined."""

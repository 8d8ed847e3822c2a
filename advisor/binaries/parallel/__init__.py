"""Large files read by worker processes, with images decompressed ahead in threads."""

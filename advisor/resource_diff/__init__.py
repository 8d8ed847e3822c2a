"""What changed for each kernel between two builds: resources, and whether occupancy follows."""

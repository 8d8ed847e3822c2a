"""Rules on launches, occupancy and latency."""

"""Rules on copies between host and device."""

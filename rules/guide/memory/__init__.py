"""Rules on accesses to memory on the device."""

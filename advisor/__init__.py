"""Facts and arithmetic: devices, occupancy, memory, transfers, binaries."""

"""Every compute capability and product the tool knows without a GPU."""

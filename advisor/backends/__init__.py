"""The only part of the advisor that touches drivers and machines."""

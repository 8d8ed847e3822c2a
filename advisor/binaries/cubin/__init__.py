"""Cubins: device code as ELF images, read one at a time."""

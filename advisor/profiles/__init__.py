"""Profiles by other tools, read as facts."""

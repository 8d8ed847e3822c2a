"""Rules on what is measured, and how."""

"""JSON Schemas of every JSON output, shipped as data."""

"""One module per recommendation; RULES lists them in report order."""

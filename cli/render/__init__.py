"""One module per output format; each turns values into text."""

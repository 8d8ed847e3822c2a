"""The gain from which on a bound says nothing that a reader can use."""

from __future__ import annotations

# More than any GPU has SMs, which a grid of one block can win: the units are all but idle, and say nothing.
BEYOND_USE = 250

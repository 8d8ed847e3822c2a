"""Memory that one image after the other is unpacked into: fresh pages cost a third of the work."""

from __future__ import annotations

from mmap import mmap

from gpuadvise.advisor.errors import Unavailable

# Sizes are rounded up to this, so that what held one batch holds the next; what nobody touches
# takes no memory.
_ROUNDED = 1 << 26


class Buffers:
    """Hands out memory and takes it back."""

    def __init__(self) -> None:
        self._free: list[mmap] = []

    def take(self, size: int) -> mmap:
        """Return *size* bytes or more, with anything in them; raises Unavailable without any."""
        self._free.sort(key=len)
        for number, buffer in enumerate(self._free):
            if len(buffer) >= size:
                return self._free.pop(number)
        if self._free:
            self._free.pop()  # the largest gives way, so that there are never more than in use
        try:
            return mmap(-1, max(1, -(-size // _ROUNDED)) * _ROUNDED)
        except OSError:
            raise Unavailable(f"No memory is left to unpack {size:,} bytes.") from None

    def give(self, buffer: mmap) -> None:
        """Take *buffer* back, in which nobody looks any more."""
        self._free.append(buffer)

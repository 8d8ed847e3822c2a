"""A vector addition in Triton: the block size is what the recording changes."""

import triton
import triton.language as tl


@triton.jit
def add(a, b, out, BLOCK: tl.constexpr):
    """Add BLOCK elements of *a* and *b*."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(a + at) + tl.load(b + at))

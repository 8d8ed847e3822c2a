"""Entries without code: what a device link leaves behind, told by unpacking what is tiny."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries.elf import has_code
from gpuadvise.advisor.binaries.model import Compression, Content
from gpuadvise.advisor.binaries.span import MemorySpan
from gpuadvise.advisor.binaries.unpack import unpacked

if TYPE_CHECKING:
    from gpuadvise.advisor.binaries.model import Entry

# Images without code are 872 bytes (old ABI) or about 1,900 (new ABI), PTX without is 56.
_MOST_STUB = {Content.SASS: 2500, Content.PTX: 256}
MOST_STUB = max(_MOST_STUB.values())
# Packing makes what is tiny at most this much longer.
_SLACK = 64
# What makes PTX more than a header.
_DEFINING = (b".entry", b".func", b".global", b".const")


def may_be_stub(entry: Entry) -> bool:
    """Return whether *entry* is small enough for one."""
    size = entry.unpacked_size or 0
    if size > MOST_STUB:
        return False  # without looking for its kind: nearly all are larger
    most = _MOST_STUB.get(entry.content, -1)
    return size <= most and entry.size <= most + _SLACK


def is_empty(image: bytes, content: Content) -> bool:
    """Return whether there is no code in *image*; raises Damaged when that cannot be told."""
    if content is Content.SASS:
        return not has_code(MemorySpan(image))
    return not any(word in image for word in _DEFINING)


# A device link leaves the same few stubs behind in thousands of modules.
@lru_cache(maxsize=256)
def unpacks_to_nothing(
    payload: bytes, content: Content, compression: Compression, size: int
) -> bool:
    """Return whether *payload* unpacks to no code; raises as ``unpacked`` and ``is_empty`` do."""
    return is_empty(unpacked(payload, compression, size), content)

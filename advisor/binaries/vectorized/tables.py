"""The section tables of many images as one array, and the bytes of sections side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from gpuadvise.advisor.binaries import elf
from gpuadvise.advisor.binaries.span import Damaged, MemorySpan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

Array: TypeAlias = "NDArray[Any]"

_SECTION = np.dtype(
    {
        "names": ["name", "type", "flags", "offset", "size", "link", "info"],
        "formats": ["<u4", "<u4", "<u8", "<u8", "<u8", "<u4", "<u4"],
        "offsets": [0, 4, 8, 24, 32, 40, 44],
        "itemsize": 64,
    }
)
# What is joined begins at a multiple of this and is followed by as many zeros at least, so that
# looking a few bytes past an end finds none of the next.
_APART = 16
_ZEROS = bytes(2 * _APART)
# Sections without bytes in the file may claim any size; these fit a signed number.
_LARGEST = 1 << 62
# Work that an image is worth, in its bytes. Without any slack: a batch has thousands of images.
_MAX_RATIO = 2


@dataclass(slots=True)
class Tables:
    """The sections of all *images*, one after the other.

    *image* tells whose each one is, *first* and *count* where those of an image are. An image
    that is *refused* has something that only the reader of single images may judge.
    """

    images: list[memoryview]
    headers: list[elf.Header | None]
    sections: Array
    sizes: Array  # of the images
    image: Array
    first: Array
    count: Array
    refused: Array
    left: Array  # bytes that may still be read, by image

    def refuse(self, images: Array) -> None:
        """Leave *images* to the reader of single ones."""
        self.refused[images] = True

    def alive(self, rows: Array) -> Array:
        """Return those of the section *rows* whose image is not refused."""
        return rows[~self.refused[self.image[rows]]]

    def readable(self, rows: Array) -> Array:
        """Return which section *rows* are bytes of their file; refuses the images of all others."""
        sections = self.sections[rows]
        whole = self.sizes[self.image[rows]]
        fits = (sections["offset"] <= whole) & (sections["size"] <= whole - sections["offset"])
        fits &= sections["type"] != elf.SECTION_NOBITS
        self.refuse(self.image[rows[~fits]])
        self.left -= np.bincount(
            self.image[rows[fits]], sections["size"][fits], len(self.images)
        ).astype(np.int64)
        self.refuse(self.left < 0)
        return ~self.refused[self.image[rows]]

    def joined(self, rows: Array) -> tuple[bytes, Array]:
        """Return the bytes of *readable* section rows, and where in them each starts.

        All from the first to the last of an image come along, for compilers put what is alike
        side by side. Zeros follow those of each image, whose first byte lies on a multiple of 16;
        of no rows there are zeros alone.
        """
        if not len(rows):
            return _ZEROS, rows
        image = self.image[rows]
        start = self.sections["offset"][rows].astype(np.int64)
        end = start + self.sections["size"][rows].astype(np.int64)
        begins = np.ones(len(image), bool)
        begins[1:] = image[1:] != image[:-1]
        firsts, group = np.flatnonzero(begins), np.cumsum(begins) - 1
        low, high = np.minimum.reduceat(start, firsts), np.maximum.reduceat(end, firsts)
        padded = ((high - low) // _APART + 2) * _APART
        parts: list[memoryview | bytes] = []
        columns = (image[firsts], low, high, padded)
        for image_number, begin, stop, width in zip(
            *(column.tolist() for column in columns), strict=True
        ):
            parts += (self.images[image_number][begin:stop], _ZEROS[: width - stop + begin])
        return b"".join(parts), (np.cumsum(padded) - padded - low)[group] + start


def windows(data: bytes | memoryview, at: Array, width: int) -> Array:
    """Return the *width* bytes from each place *at* in *data* on, a row for each."""
    runs = np.ndarray((max(0, len(data) - width + 1),), f"V{width}", data, strides=(1,))
    return runs[at].view(np.uint8).reshape(-1, width)


def read_tables(images: Sequence[memoryview]) -> Tables:
    """Return the section tables of *images*."""
    headers = [_header(image) for image in images]
    tables = [_table(image, header) for image, header in zip(images, headers, strict=True)]
    count = np.array([len(table) // _SECTION.itemsize for table in tables], np.int64)
    sections = np.frombuffer(b"".join(tables), _SECTION)
    image = np.repeat(np.arange(len(images)), count)
    sizes = np.array([len(view) for view in images], np.uint64)
    refused = count == 0
    refused[image[sections["size"] > _LARGEST]] = True
    return Tables(
        images=list(images),
        headers=headers,
        sections=sections,
        sizes=sizes,
        image=image,
        first=np.cumsum(count) - count,
        count=count,
        refused=refused,
        # Less than what the other reader allows, so that whatever is too much comes to it. Real
        # sections lie side by side, and are read once or twice.
        left=np.array([_MAX_RATIO * len(view) for view in images], np.int64),
    )


def _header(image: memoryview) -> elf.Header | None:
    try:
        return elf.read_header(MemorySpan(image))
    except Damaged:
        return None


def _table(image: memoryview, header: elf.Header | None) -> bytes | memoryview:
    """Return the section table of an ordinary image, nothing of any other."""
    if header is None or header.section_size != _SECTION.itemsize or not header.sections_at:
        return b""
    end = header.sections_at + header.section_count * _SECTION.itemsize
    if end > len(image) or not 0 < header.names_index < header.section_count:
        return b""
    return image[header.sections_at : end]

"""Nsight Compute reports from files: pages as CSV, and the report itself, told by content.

Either may be packed as a whole: from version 2026.3 on the profiler writes ``.ncu-repz``, which is
a report within one Zstandard frame.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.backends.user_files import kept_pipes, opened
from gpuadvise.advisor.compression.packed_file import UnpackingBounds, packing_of, unpacked
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.profiles.signatures import HINT, is_ncu_report
from gpuadvise.advisor.prose import inert

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from gpuadvise.advisor.binaries.model import Damage, Kernel
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile

_SNIFFED = 16
# Reports of the library's kernels pack up to 133 to 1, launches of one kernel over and over better. What
# comes through a pipe may be as large.
BOUNDS = UnpackingBounds(freely=256 << 20, times=1_000, most=8 << 30)
_PAGE_SNIFFED = 1 << 16


def read_profiles(
    path: str, damage: list[Damage] | None = None
) -> Iterator[tuple[KernelProfile, Kernel | None]]:
    """Yield the profiled launches of the file *path* (``-``: stdin).

    Beside a launch stands its kernel where the report holds the code that ran. What of a page
    could not be read is added to *damage*. Raises BadInput.
    """
    damage = [] if damage is None else damage
    name = "stdin" if path == "-" else inert(path)
    with kept_pipes((path,)), opened(path) as stored:
        file: BinaryIO = stored
        start = file.read(_SNIFFED)
        if not start:
            raise BadInput(f"{name}: the file is empty.", hint=HINT)
        file.seek(0)
        if packing := packing_of(start):
            file = unpacked(file, packing, name, BOUNDS)
            start = file.read(_SNIFFED)
            file.seek(0)
        if is_ncu_report(start):
            from gpuadvise.advisor.profiles.ncu_report_kernels import report_kernels

            yield from report_kernels(file, name)
        else:
            yield from _page(file, name, damage)


def _page(file: BinaryIO, name: str, damage: list[Damage]) -> Iterator[tuple[KernelProfile, None]]:
    from gpuadvise.advisor.binaries.model import Damage, Place
    from gpuadvise.advisor.binaries.text.lines import read_pieces
    from gpuadvise.advisor.profiles.metrics import page_profile
    from gpuadvise.advisor.profiles.ncu_csv import LONGEST_LINE, read_launches
    from gpuadvise.advisor.profiles.ncu_text import details_of, is_text_page

    lines: Iterator[str] = (text for text, _ in read_pieces(file, LONGEST_LINE))
    head = file.read(_PAGE_SNIFFED).decode("utf-8", "replace")
    file.seek(0)
    if is_text_page(head):
        lines = details_of(lines)
    for record in read_launches(
        lines, name, lambda message: damage.append(Damage(place=Place(name), message=message))
    ):
        yield page_profile(record), None

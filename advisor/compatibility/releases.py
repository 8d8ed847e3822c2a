"""CUDA releases: the PTX version each brought, and the driver branch each came with.

Sources: PTX ISA, "Release History" (version per CUDA release; 7.8, 8.4, 8.8 and 9.0 to 9.5 seen
in ptxas itself); CUDA Toolkit release notes, tables 2 and 3 (driver per toolkit, and the range
of drivers for minor-version compatibility). CUDA 12.7 was a driver release without a toolkit.
"""

from __future__ import annotations

from typing import NamedTuple

Version = tuple[int, int]


class Release(NamedTuple):
    """One CUDA release; *branch* is the first driver branch that supports it in full."""

    cuda: Version
    ptx: Version
    branch: int | None  # None: not published when this table was written


def _release(cuda: Version, ptx: Version, branch: int | None) -> Release:
    return Release(cuda=cuda, ptx=ptx, branch=branch)


RELEASES = (
    _release((7, 0), (4, 2), 346),
    _release((7, 5), (4, 3), 352),
    _release((8, 0), (5, 0), 367),
    _release((9, 0), (6, 0), 384),
    _release((9, 1), (6, 1), 387),
    _release((9, 2), (6, 2), 396),
    _release((10, 0), (6, 3), 410),
    _release((10, 1), (6, 4), 418),
    _release((10, 2), (6, 5), 440),
    _release((11, 0), (7, 0), 450),
    _release((11, 1), (7, 1), 455),
    _release((11, 2), (7, 2), 460),
    _release((11, 3), (7, 3), 465),
    _release((11, 4), (7, 4), 470),
    _release((11, 5), (7, 5), 495),
    _release((11, 6), (7, 6), 510),
    _release((11, 7), (7, 7), 515),
    _release((11, 8), (7, 8), 520),
    _release((12, 0), (8, 0), 525),
    _release((12, 1), (8, 1), 530),
    _release((12, 2), (8, 2), 535),
    _release((12, 3), (8, 3), 545),
    _release((12, 4), (8, 4), 550),
    _release((12, 5), (8, 5), 555),
    _release((12, 6), (8, 5), 560),
    _release((12, 7), (8, 6), 565),
    _release((12, 8), (8, 7), 570),
    _release((12, 9), (8, 8), 575),
    _release((13, 0), (9, 0), 580),
    _release((13, 1), (9, 1), 590),
    _release((13, 2), (9, 2), 595),
    _release((13, 3), (9, 3), 610),
    _release((13, 4), (9, 4), 615),
    _release((13, 5), (9, 5), None),
)
NEWEST = RELEASES[-1]
# What a PTX version beyond the table needs at least.
AFTER_NEWEST = (NEWEST.cuda[0], NEWEST.cuda[1] + 1)

# First CUDA release that knows a capability, and so its first driver. Source: release notes,
# read back from the compilers' own lists of targets for 11.8 and later.
FIRST_CUDA: dict[Version, Version] = {
    (5, 0): (6, 0),
    (5, 2): (6, 5),
    (5, 3): (7, 0),
    (6, 0): (8, 0),
    (6, 1): (8, 0),
    (6, 2): (8, 0),
    (7, 0): (9, 0),
    (7, 2): (9, 2),
    (7, 5): (10, 0),
    (8, 0): (11, 0),
    (8, 6): (11, 1),
    (8, 7): (11, 4),
    (8, 8): (13, 0),
    (8, 9): (11, 8),
    (9, 0): (11, 8),
    (10, 0): (12, 8),
    (10, 1): (12, 8),
    (10, 3): (12, 9),
    (10, 7): (13, 4),
    (11, 0): (13, 0),
    (12, 0): (12, 8),
    (12, 1): (12, 9),
}

# What ended with a generation: (first capability that goes on, last toolkit whose compiler
# targets the older ones, CUDA version of their last driver). Release notes, "Deprecated or
# dropped features"; R340, R390, R470 and R580 were the last branches.
_ENDS: tuple[tuple[Version, Version, Version], ...] = (
    ((2, 0), (6, 5), (6, 5)),
    ((3, 0), (8, 0), (9, 1)),
    ((3, 5), (10, 2), (11, 4)),
    ((5, 0), (11, 8), (11, 4)),
    ((7, 5), (12, 9), (13, 0)),
)
# 10.1 became 11.0 with CUDA 13.0: its old number went with 12.9.
_RENUMBERED = {(10, 1): (12, 9)}


def last_toolkit(number: Version) -> Version | None:
    """Return the last CUDA toolkit that compiles for capability *number*; None: still does."""
    ended = next((toolkit for first, toolkit, _ in _ENDS if number < first), None)
    return ended or _RENUMBERED.get(number)


def last_driver(number: Version) -> Version | None:
    """Return the CUDA version of the last driver for *number*; None: still supported."""
    return next((driver for first, _, driver in _ENDS if number < first), None)


def cuda_for_ptx(version: Version) -> Version | None:
    """Return the first CUDA release that reads PTX *version*; None when it is too new to know."""
    return next((r.cuda for r in RELEASES if r.ptx >= version), None)


def branch_for_cuda(version: Version) -> int | None:
    """Return the first driver branch that supports CUDA *version* in full, if known."""
    return next((r.branch for r in RELEASES if r.cuda >= version), None)


def show(version: Version) -> str:
    """Return *version* as ``12.4``."""
    return f"{version[0]}.{version[1]}"


def show_driver(version: Version) -> str:
    """Return the driver that CUDA *version* needs, as ``CUDA 12.4 (driver 550 or later)``."""
    branch = branch_for_cuda(version)
    return f"CUDA {show(version)}" + (f" (driver {branch} or later)" if branch else "")

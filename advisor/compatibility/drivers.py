"""The driver that code is to run on, and what it can take."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.compatibility.releases import (
    FIRST_CUDA,
    NEWEST,
    RELEASES,
    Version,
    last_driver,
    show,
    show_driver,
)
from gpuadvise.advisor.compatibility.targets import number
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import quoted

if TYPE_CHECKING:
    from gpuadvise.advisor.capability import Capability

_FORM = r"[rR]?(\d{1,3})(?:\.(\d{1,3}))?(?:\.\d{1,3})?(?:-open)?"
# CUDA versions stay far below this, driver branches far above.
_FIRST_BRANCH = 100


class Driver(NamedTuple):
    """A driver by the newest CUDA version it supports; *version* is its own number if known."""

    cuda: Version
    version: str | None = None

    def __str__(self) -> str:
        """Return both its numbers, as far as they are known."""
        own = f"driver {self.version}, " if self.version else ""
        return f"{own}CUDA {show(self.cuda)}"


def parse_driver(text: str) -> Driver:
    """Return the driver that ``12.4`` (CUDA) or ``550.54.14`` (driver version) names.

    Raises BadInput for anything else, and for drivers before CUDA 7.0.
    """
    match = re.fullmatch(_FORM, text.strip(), flags=re.ASCII)
    if not match:
        raise BadInput(
            f"{quoted(text)} is not a driver version.",
            hint="Write the CUDA version that nvidia-smi shows, 12.4, or the driver's, 550.54.14.",
        )
    major, minor = int(match[1]), int(match[2] or 0)
    if major < _FIRST_BRANCH:
        return Driver(cuda=(major, minor))
    return Driver(cuda=_cuda_of_branch(major, text), version=text.strip().lstrip("rR"))


def _cuda_of_branch(branch: int, text: str) -> Version:
    known = [r.cuda for r in RELEASES if r.branch is not None and r.branch <= branch]
    if branch > max(r.branch or 0 for r in RELEASES):
        return NEWEST.cuda  # one that was not out when the table was written
    if not known:
        raise BadInput(
            f"{quoted(text)} is a driver from before CUDA {show(RELEASES[0].cuda)}.",
            hint="Such drivers are too old to judge.",
        )
    return known[-1]


def why_unsupported(gpu: Capability, driver: Driver) -> str | None:
    """Return why *driver* cannot work with *gpu* at all; None when it can."""
    first = FIRST_CUDA.get(number(gpu))
    if first and driver.cuda < first:
        return f"compute capability {gpu} needs a driver for {show_driver(first)}; this is {driver}"
    last = last_driver(number(gpu))
    if last and driver.cuda > last:
        return f"drivers after CUDA {show(last)} no longer support {gpu}; this is {driver}"
    return None

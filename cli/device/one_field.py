"""``gpuadvise device --get FIELD``, which scripts ask: answered without the option parser.

The parser takes longer to load than NVML takes to answer. What is not plain here, the command
answers: another spelling, a field that another source tells better, several kinds of GPU.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gpuadvise.advisor.backends.driver_presence import driver_present

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FIELDS = ("name", "uuid", "index", "minor", "driver_version")


def is_plain(args: Sequence[str]) -> bool:
    """Return whether *args* ask for one field that tells GPUs apart, and for nothing else."""
    return list(args[:-1]) == ["device", "--get"] and args[-1] in FIELDS


def answered(args: Sequence[str], environ: Mapping[str, str] = os.environ) -> str | None:
    """Return what ``device --get FIELD`` prints, None where the command has to find out."""
    if not is_plain(args) or not driver_present():
        return None
    from gpuadvise.advisor.backends.live import identities
    from gpuadvise.advisor.backends.visible_devices import order_is_known, visible

    report = identities()
    seen = visible(report.gpus, environ)
    if not seen or not order_is_known(report.gpus, environ):
        return None
    first = report.gpus[seen[0]]
    value = getattr(report if args[-1] == "driver_version" else first, args[-1])
    plain = first.mig is None and value is not None and str(value).isprintable()
    return f"{value}\n" if plain else None

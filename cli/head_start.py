"""Drivers asked while the command line is still being read.

NVML and CUDA take tens to hundreds of milliseconds to start, the modules of a command as long.
On a machine with two processors both can happen at once.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

# With one of these the answer is not about this machine, or there is none.
_ELSEWHERE = ("--gpu", "--cc", "--from", "--help", "-h")
# Fields of `device` for which NVML is the first source; those of `telemetry` come from it alone.
_NVML_FIELDS = frozenset(
    ("name", "uuid", "pci_bus_id", "index", "minor", "catalogue_id", "compute_capability",
     "product_class", "architecture", "chip", "sm_clock_max_hz", "power_limit_watts",
     "pcie_generation", "pcie_lanes", "driver_version", "problems", "telemetry")
)  # fmt: skip


def nvml_knows(fields: Collection[str]) -> bool:
    """Return whether NVML alone answers each of *fields*, and there are any."""
    return bool(fields) and all(field.partition(".")[0] in _NVML_FIELDS for field in fields)


def of_telemetry(fields: Collection[str]) -> bool:
    """Return whether one of *fields* is what a GPU does now: --telemetry need not be said then."""
    return any(field.partition(".")[0] == "telemetry" for field in fields)


def start_drivers(args: Sequence[str]) -> None:
    """Ask the drivers what the command line *args* will want to know, as far as that is plain."""
    command = args[0] if args else ""
    if command not in ("device", "doctor") or any(arg.startswith(_ELSEWHERE) for arg in args):
        return
    from gpuadvise.advisor.backends.probe import Probe, ask_ahead
    from gpuadvise.cli.device.one_field import is_plain

    if is_plain(args):
        ask_ahead((Probe.NVML_IDENTITY,))
        return
    fields = _fields(args)
    live = command == "doctor" or "--telemetry" in args or of_telemetry(fields)
    nvml = Probe.NVML_LIVE if live else Probe.NVML
    ask_ahead((nvml,) if nvml_knows(fields) else (Probe.DRIVER, nvml))


def _fields(args: Sequence[str]) -> list[str]:
    """Return what ``--get`` names in *args*."""
    named = [value for name, value in pairwise(args) if name == "--get"]
    joined = [arg.removeprefix("--get=") for arg in args if arg.startswith("--get=")]
    return [*named, *joined]

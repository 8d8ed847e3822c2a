"""What a machine runs besides its GPUs: system, toolkits, libraries, packages, variables."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Software:
    """The software of one machine; no field holds a path, a host name or a user name.

    *toolkits* are CUDA releases (``13.0``), *libraries* the versions of NVIDIA's shared libraries
    by name (``cudart``), *packages* Python distributions by name. *variables* are the settings that
    change what CUDA programs do: their values as set, or only that they are set where the
    value is a path or names devices by UUID. *jit_cache_bytes* is what the driver's cache of
    compiled PTX holds.
    """

    system: str | None = None  # "Debian GNU/Linux 12 (bookworm)"
    kernel: str | None = None
    machine: str | None = None  # the processor's instruction set
    python: str | None = None
    container: str | None = None  # what kind, None where none is seen
    virtual: bool | None = None  # whether a hypervisor is seen; None: not known
    wsl: bool = False
    toolkits: tuple[str, ...] = ()
    libraries: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    packages: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    variables: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    jit_cache_bytes: int | None = None
    notes: tuple[str, ...] = ()

"""Xid errors: what the codes mean that NVIDIA's kernel driver writes into the kernel's log.

Meanings and what NVIDIA does first about each are those of its Xid catalogue
(docs.nvidia.com/deploy/xid-errors), for Ampere and newer; older GPUs use the same codes.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class XidKind(StrEnum):
    """What an Xid is an error of."""

    MEMORY = "memory"
    REPAIR = "repair"  # of the memory, which the next reset completes
    LOST = "lost"  # the GPU no longer answers on its bus
    STOPPED = "stopped"  # engine or firmware: nothing but a reset helps
    POWER = "power"
    NVLINK = "nvlink"
    PROGRAM = "program"
    HARMLESS = "harmless"  # NVIDIA: ignore, or only said beside another
    UNKNOWN = "unknown"


_HARMLESS = (
    14, 37, 38, 44, 66, 67, 92, 93, 106, 107, 108, 121, 137, 141, 152, 153, 154, 157, 160, 161,
)  # fmt: skip
_MEANINGS: Mapping[XidKind, Mapping[int, str]] = {
    XidKind.MEMORY: {
        48: "a memory error that could not be corrected",
        64: "a faulty memory row or page could not be noted for replacement",
        94: "a memory error that ended one program only",
        95: "a memory error that may have reached every program",
        140: "a memory error that could not be corrected",
    },
    XidKind.REPAIR: {63: "a faulty memory row or page was noted for replacement"},
    XidKind.LOST: {79: "the GPU has fallen off the bus"},
    XidKind.STOPPED: {
        46: "the GPU stopped processing",
        62: "a micro-controller of the GPU halted",
        109: "a context switch timed out",
        110: "a security fault",
        119: "the GPU's system processor (GSP) did not answer",
        120: "an error of the GPU's system processor (GSP)",
        143: "the GPU could not be initialised",
        158: "the GPU timed out for good",
    },
    XidKind.POWER: {54: "auxiliary power is missing, so the clocks are low"},
    XidKind.NVLINK: {
        74: "an NVLink error",
        136: "an NVLink could not be trained",
        **dict.fromkeys((*range(144, 151), 155), "an NVLink error"),
    },
    XidKind.PROGRAM: {
        8: "a program's work timed out",
        11: "a program's commands were invalid",
        13: "a program's kernel failed, as by an access out of bounds",
        25: "a program's commands were invalid",
        31: "a program touched memory that is not its own",
        43: "a program's work was stopped after its own fault",
        45: "a program's work was cleared away, as after an error or when it was ended",
        69: "a program's commands were invalid",
    },
    XidKind.HARMLESS: dict.fromkeys(_HARMLESS, "a note of the driver"),
}
_KINDS = {code: kind for kind, codes in _MEANINGS.items() for code in codes}


def kind_of(code: int) -> XidKind:
    """Return what the Xid *code* is an error of."""
    return _KINDS.get(code, XidKind.UNKNOWN)


def meaning_of(code: int) -> str:
    """Return what the Xid *code* means, as a part of a sentence."""
    return _MEANINGS.get(kind_of(code), {}).get(code, "an error of another kind")


def of_kind(codes: tuple[int, ...] | None, kind: XidKind) -> tuple[int, ...]:
    """Return those of *codes* that are errors of *kind*, in their order."""
    return tuple(code for code in codes or () if kind_of(code) is kind)


def counted(codes: tuple[int, ...]) -> dict[int, int]:
    """Return how often each of *codes* occurs, first seen first."""
    return {code: codes.count(code) for code in dict.fromkeys(codes)}

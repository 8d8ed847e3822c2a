"""The fields of a Kernel that the lines of a build log fill."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from gpuadvise.advisor.binaries.model import Exactness

if TYPE_CHECKING:
    from gpuadvise.advisor.binaries.log_line import Frame, Use


class FrameFields(TypedDict, total=False):
    """What a frame line says."""

    frame: int
    spill_stores: int
    spill_loads: int
    spills_are: Exactness


class UseFields(TypedDict, total=False):
    """What a use line says."""

    linked: bool | None
    registers: int
    barriers: int | None
    static_smem: int | None
    reserved_smem: int | None
    stack: int | None
    stack_unbounded: bool | None
    constant_banks: tuple[tuple[int, int], ...] | None


def frame_fields(frame: Frame | None) -> FrameFields:
    """Return the fields of *frame*; none when its line is missing or cannot be told apart."""
    if frame is None:
        return {}
    return {
        "frame": frame.frame,
        "spill_stores": frame.stores,
        "spill_loads": frame.loads,
        "spills_are": Exactness.EXACT,
    }


def use_fields(use: Use, frame: Frame | None, unbounded: bool) -> UseFields:
    """Return the fields of *use*, read beside the function's *frame*.

    From 12.6 on (where barriers are told) a frame without a stack means a later link, for
    which shared memory is not told either.
    """
    unlinked = use.barriers is not None and use.stack is None and bool(frame and frame.frame)
    return {
        "linked": False if unlinked else None,
        "registers": use.registers,
        "barriers": use.barriers,
        "static_smem": use.smem if use.smem or unlinked else 0,
        "reserved_smem": use.reserved_smem,
        "stack": None if unbounded else use.stack,
        "stack_unbounded": unbounded or None,
        "constant_banks": use.constant_banks or None,
    }

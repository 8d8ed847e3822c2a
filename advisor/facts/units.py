"""The units of a GPU that a kernel can keep busy, by the names that a report and our answers give them."""

from __future__ import annotations

from enum import StrEnum


class Unit(StrEnum):
    """A part of the memory system, the issue slots, or a pipe of the SM.

    A profiler of tomorrow may name other pipes: these stay texts, and equal none of the members.
    """

    DRAM = "dram"
    L2 = "l2"
    L1_SHARED = "l1/shared"
    ISSUE = "issue"
    MEMORY = "memory"  # one of the memory system that a page does not name
    COMPUTE = "compute"  # a pipe that a page does not name
    LSU = "lsu"
    ADU = "adu"
    TEX = "tex"
    TMA = "tma"
    TENSOR = "tensor"
    ALU = "alu"
    FMA = "fma"
    FMA_HEAVY = "fma_heavy"
    FMA_LITE = "fma_lite"
    FP16 = "fp16"
    FP64 = "fp64"
    XU = "xu"
    UNIFORM = "uniform"
    CBU = "cbu"


# What fewer instructions leave less to do, whatever they are.
ISSUED = (Unit.ISSUE, Unit.ALU, Unit.FMA, Unit.CBU)

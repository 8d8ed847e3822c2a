"""How many instructions of a kernel there are, and how many in double precision.

From sm_70 on an instruction is 16 bytes and names its operation in the low 9 bits (the next three
say where operands come from). Seen with nvdisasm on sm_75 to sm_120: DMUL 0x28, DADD 0x29,
DSETP 0x2a, DFMA 0x2b, DMMA 0x3f, and NOP 0x118, which fills the end of the code.
"""

from __future__ import annotations

from gpuadvise.advisor.binaries.columns import overlaid, table

_WIDE_SM = 70
_DOUBLE, _NOTHING = 0x50, 0xA0
_LOW = table(
    lambda byte: {**dict.fromkeys((0x28, 0x29, 0x2A, 0x2B, 0x3F), 0x10), 0x18: 0x20}.get(byte, 0)
)
_HIGH = table(lambda byte: 0x80 if byte & 1 else 0x40)


def count(code: bytes, sm: int) -> tuple[int, int] | None:
    """Return instructions, and those in double precision; None before sm_70."""
    if sm < _WIDE_SM:
        return None
    kinds = overlaid([code[0::16].translate(_LOW), code[1::16].translate(_HIGH)])
    return len(kinds) - kinds.count(_NOTHING), kinds.count(_DOUBLE)

"""Rules that join what the source shows with what the compiler made of it."""

from __future__ import annotations

from gpuadvise.advisor.catalogue.lookup import find
from gpuadvise.advisor.facts.code import Observation
from gpuadvise.rules.guide import implicit_double, register_spills, scarce_fp64

LITERAL = Observation(fault="implicit-double", file="k.cu", line=5, column=9, seen="0.1")


def test_scarce_fp64_names_the_literals_that_bring_it_in() -> None:
    device = find("rtx4090")
    advice = scarce_fp64.check(device, 1 / 64, 0.2, observations=(LITERAL,) * 6)
    assert "by accident: 0.1 in line 5" in advice.message
    assert "2 more" in advice.message
    plain = scarce_fp64.check(device, 1 / 64, 0.2)
    assert "accident" not in plain.message


def test_implicit_double_is_silent_where_the_code_has_none() -> None:
    assert implicit_double.check((LITERAL,))
    assert implicit_double.check((LITERAL,), fp64_share=0.01)
    assert not implicit_double.check((LITERAL,), fp64_share=0.0)


def test_a_stack_frame_names_the_arrays_of_the_source() -> None:
    arrays = ("taps[64] (line 3)", "row[8] (line 4)")
    known = register_spills.check(spill_bytes=0, stack_bytes=256, local_arrays=arrays)
    assert "The source declares taps[64] (line 3) and row[8] (line 4)." in known.message
    unknown = register_spills.check(stack_bytes=256, local_arrays=arrays)
    assert "taps[64]" in unknown.message
    assert "declares" not in register_spills.check(spill_bytes=0, stack_bytes=256).message

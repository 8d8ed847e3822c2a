"""Which register caps are worth running."""

from __future__ import annotations

from gpuadvise.advisor.catalogue.lookup import find
from gpuadvise.advisor.occupancy.launch import Launch
from gpuadvise.advisor.occupancy.model import occupancy
from gpuadvise.advisor.register_caps import CappedKernel, judged, pick


def candidate(cap: int | None, registers: int, code: bytes, spilled: int = 0) -> CappedKernel:
    launch = Launch(threads=256, registers=registers)
    return CappedKernel(
        threads=256,
        cap=cap,
        registers=registers,
        local_bytes=0,
        spill_stores=spilled,
        spill_loads=0,
        static_shared=0,
        code=code,
        occupancy=occupancy(find("h200").limits, launch),
    )


def test_a_cap_that_the_compilers_choice_keeps_to_is_not_worth_measuring() -> None:
    own, capped = candidate(None, 14, b"own"), candidate(32, 14, b"in another order")
    left = judged([own, capped])
    assert left[1].dropped == "the compiler's choice fits in it"
    chosen = pick(left)
    assert chosen is not None
    assert (chosen.candidate.cap, chosen.others) == (None, ())


def test_a_cap_stays_that_gives_registers_or_takes_spills() -> None:
    own = candidate(None, 32, b"own", spilled=8)
    more, fewer_spills = candidate(64, 40, b"more", spilled=8), candidate(64, 32, b"less")
    assert [each.dropped for each in judged([own, more])] == [None, None]
    assert [each.dropped for each in judged([own, fewer_spills])] == [None, None]
    as_before = candidate(64, 32, b"other", spilled=8)
    assert judged([own, as_before])[1].dropped is not None

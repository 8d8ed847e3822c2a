"""Rules that join what the source shows with what the compiler made of it."""

from __future__ import annotations

from dataclasses import replace

from gpuadvise.advisor.catalogue.lookup import find
from gpuadvise.advisor.facts.bag import Facts
from gpuadvise.advisor.facts.code import Observation
from gpuadvise.advisor.facts.derive import completed
from gpuadvise.advisor.facts.timing import HostMemory, Transfer, Work
from gpuadvise.advisor.transfers.copies import Direction
from gpuadvise.rules.engine import run
from gpuadvise.rules.guide import RULES
from gpuadvise.rules.guide.instructions import implicit_double, scarce_fp64
from gpuadvise.rules.guide.memory import local_arrays, register_spills
from gpuadvise.rules.model import Priority

ARRAYS = ("local-arrays", "indexed-local-arrays")
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
    known = local_arrays.check(spill_bytes=0, stack_bytes=256, local_arrays=arrays)
    assert "The source declares taps[64] (line 3) and row[8] (line 4)." in known.message
    unknown = register_spills.check(stack_bytes=256, local_arrays=arrays)
    assert "taps[64]" in unknown.message
    assert "declares" not in local_arrays.check(spill_bytes=0, stack_bytes=256).message


def test_an_array_in_local_memory_is_one_finding_at_its_line() -> None:
    array = Observation(
        fault="indexed-local-arrays", file="k.cu", line=3, column=11, seen="float taps[256]"
    )
    other = replace(array, line=4, seen="int visited[128]")
    framed = Facts(spill_bytes=0, stack_bytes=1536)
    alone = run(RULES, replace(framed, observations=(array,)))
    (finding,) = (f for f in alone.findings if f.rule.id in ARRAYS)
    assert finding.rule.id == "local-arrays"
    assert "float taps[256]" in finding.message
    assert finding.advice.action.startswith("Keep it in shared memory")
    assert finding.advice.location is not None
    assert (finding.advice.location.file, finding.advice.location.line) == ("k.cu", 3)
    sources = {item.source: item.value for item in finding.advice.evidence}
    assert sources == {"compiler": 1536, "k.cu:3": "float taps[256]"}
    both = run(RULES, replace(framed, observations=(array, other)))
    assert [f.rule.id for f in both.findings if f.rule.id in ARRAYS] == ["local-arrays"]


def test_an_array_that_only_the_source_or_only_the_compiler_shows_is_said_by_its_own_rule() -> None:
    array = Observation(
        fault="indexed-local-arrays", file="k.cu", line=3, column=11, seen="float taps[256]"
    )
    for known, rule in (
        (Facts(observations=(array,)), "indexed-local-arrays"),
        (Facts(observations=(array,), spill_bytes=0, stack_bytes=0), "indexed-local-arrays"),
        (Facts(spill_bytes=0, stack_bytes=1536), "local-arrays"),
    ):
        assert [f.rule.id for f in run(RULES, known).findings if f.rule.id in ARRAYS] == [rule]


def test_a_rule_on_other_facts_advises_where_the_source_shows_its_fault() -> None:
    seen = Observation(
        fault="partial-warp", file="k.cu", line=5, column=3, seen="k<<<n, 100>>>(a)", kernel="main"
    )
    report = run(RULES, Facts(observations=(seen,)))
    (finding,) = (f for f in report.findings if f.rule.id == "partial-warp")
    assert finding.advice.location is not None
    assert (finding.advice.location.file, finding.advice.location.line) == ("k.cu", 5)
    assert "k<<<n, 100>>>(a)" in finding.advice.message
    assert "partial-warp" not in {rule.id for rule in report.skipped}


def test_a_launch_that_fails_says_nothing_of_another_place() -> None:
    fails = Observation(
        fault="impossible-launch", file="k.cu", line=9, column=3, seen="k<<<n, 2048>>>(a)"
    )
    idle = replace(fails, fault="partial-warp", line=5, seen="k<<<n, 100>>>(a)")
    branch = replace(fails, fault="divergent-branches", line=2, seen="if (threadIdx.x % 2)")
    report = run(RULES, Facts(observations=(fails, idle, branch)))
    rules = [f.rule.id for f in report.findings if f.priority is not Priority.LOW]
    assert rules == ["impossible-launch", "divergent-branches", "partial-warp"]


def test_a_cause_that_is_known_is_not_looked_for() -> None:
    device = find("rtx4090")
    slow = Work(flops=1e12, bytes=1e8, dtype="fp32", seconds=0.06)
    unknown = run(RULES, completed(Facts(device=device, work=slow)))
    assert "far-from-roof" in {f.rule.id for f in unknown.findings}
    doubles = completed(Facts(device=device, work=slow, fp64_share=0.25))
    rules = {f.rule.id for f in run(RULES, doubles).findings}
    assert "scarce-fp64" in rules
    assert "far-from-roof" not in rules


def test_the_time_of_repeated_copies_is_that_of_each() -> None:
    copy = Transfer(
        direction=Direction.H2D, bytes=1 << 30, memory=HostMemory.PAGEABLE, seconds=0.11, count=10
    )
    facts = completed(Facts(device=find("h200"), transfers=(copy,)))
    said = next(f for f in run(RULES, facts).findings if f.rule.id == "pageable-transfers")
    assert "10 times from pageable memory take 110 ms each, 9.76 GB/s" in said.advice.message
    once = completed(Facts(device=find("h200"), transfers=(replace(copy, count=1),)))
    said = next(f for f in run(RULES, once).findings if f.rule.id == "pageable-transfers")
    assert "from pageable memory take 110 ms, 9.76 GB/s" in said.advice.message

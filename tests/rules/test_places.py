"""One fault seen in the source and measured is one finding, with the gain of one and the line of the other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpuadvise.advisor.catalogue.lookup import find
from gpuadvise.advisor.facts.bag import Facts
from gpuadvise.advisor.facts.code import Observation
from gpuadvise.advisor.facts.counted_lines import CountedLine, LineCount
from gpuadvise.advisor.facts.derive import completed
from gpuadvise.advisor.facts.kernel_profile import KernelProfile, SharedRequests
from gpuadvise.advisor.facts.limiter import TooLittleWork
from gpuadvise.advisor.occupancy.launch import Launch
from gpuadvise.rules.advice import Advice, Evidence, Gain, GainKind, Location
from gpuadvise.rules.engine import run
from gpuadvise.rules.guide import RULES
from gpuadvise.rules.model import Priority
from gpuadvise.rules.places import measured_and_placed
from gpuadvise.rules.report import RuleLine

H200 = find("h200")
CONFLICTS = KernelProfile(
    kernel="turn(float *)",
    seconds=1e-3,
    memory_busy=0.8,
    l1_busy=0.8,
    lsu_wavefronts_busy=0.8,
    shared_wavefronts=16.0e6,
    shared_wavefronts_ideal=1.0e6,
    shared_loads=SharedRequests(requests=1e6, wavefronts=16e6, conflicts=15e6),
)


def seen(line: int, action: str = "Declare tile[32][33].") -> Observation:
    return Observation(
        fault="bank-conflicts",
        file="turn.cu",
        line=line,
        column=5,
        seen="tile[x][y]",
        kernel="turn",
        message="Lanes share a bank.",
        action=action,
    )


def findings(profile: KernelProfile, *observations: Observation):
    facts = completed(
        Facts(kernel="turn", device=H200, profile=profile, observations=observations or None)
    )
    return [each for each in run(RULES, facts).findings if each.rule.id == "bank-conflicts"]


def test_the_profile_gives_the_gain_and_the_source_the_line() -> None:
    [alone] = findings(CONFLICTS)
    [joined] = findings(CONFLICTS, seen(7))
    assert joined.advice.gain == alone.advice.gain
    assert joined.priority is alone.priority
    assert joined.advice.location is not None
    assert (joined.advice.location.file, joined.advice.location.line) == ("turn.cu", 7)
    assert joined.advice.action == "Declare tile[32][33]."
    assert alone.advice.message in joined.message
    assert 'In the source: "tile[x][y]".' in joined.message
    assert joined.message.count(joined.rule.why) == 1


def test_what_the_measured_advice_quotes_is_not_quoted_again() -> None:
    named = RuleLine(
        rule=next(rule for rule in RULES if rule.id == "bank-conflicts"),
        outcome=Advice(message='Lanes share "tile[x][y]".', action="Pad.", evidence=()),
    )
    [alone] = findings(CONFLICTS, seen(7))
    at = RuleLine(
        rule=named.rule,
        outcome=replace(
            alone.advice,
            evidence=(Evidence(label="source", value="tile[x][y]", unit="", source="given"),),
        ),
    )
    facts = Facts(kernel="turn", device=H200, profile=CONFLICTS)
    [joined] = measured_and_placed([named, at], [], facts)
    assert isinstance(joined.outcome, Advice)
    assert joined.outcome.message == 'Lanes share "tile[x][y]".'


def test_several_places_are_named() -> None:
    [joined] = findings(CONFLICTS, *(seen(line, f"Repair {line}.") for line in (7, 9, 11, 13, 15)))
    assert "The same stands in lines 9, 11, 13 and 1 more." in joined.message
    assert joined.advice.action == "Repair 7. Repair 9."
    [two] = findings(CONFLICTS, seen(7), seen(9))
    assert "The same stands in line 9." in two.message


COUNTED = {
    LineCount.PASSES: (
        CountedLine(file="turn.cu", line=9, share=0.75),
        CountedLine(file="turn.cu", line=7, share=0.25),
    ),
    LineCount.WAITS: (CountedLine(file="turn.cu", line=1, share=0.9),),
}


def test_the_profile_names_the_lines_that_it_counted() -> None:
    [finding] = findings(replace(CONFLICTS, lines=COUNTED))
    assert finding.advice.location is not None
    assert (finding.advice.location.file, finding.advice.location.line) == ("turn.cu", 9)
    assert (
        "turn.cu:9, 75 %; turn.cu:7, 25 % of the passes beyond those that are needed."
        in finding.message
    )
    [alone] = findings(CONFLICTS)
    assert (finding.priority, finding.advice.gain) == (alone.priority, alone.advice.gain)


def test_the_line_that_was_counted_leads_those_of_the_source() -> None:
    [finding] = findings(
        replace(CONFLICTS, lines=COUNTED), seen(7, "Repair 7."), seen(9, "Repair 9.")
    )
    assert finding.advice.location is not None
    assert (finding.advice.location.line, finding.advice.location.column) == (9, 5)
    assert finding.advice.action == "Repair 9. Repair 7."


def test_what_the_profile_clears_is_a_low_finding() -> None:
    clean = replace(
        CONFLICTS,
        shared_wavefronts=1.0e6,
        shared_loads=SharedRequests(requests=1e6, wavefronts=1e6, conflicts=0.0),
    )
    [finding] = findings(clean, seen(7))
    assert finding.priority is Priority.LOW
    assert finding.message.endswith(
        "As it runs now, the profiled launch loses little or nothing by it."
    )


@pytest.mark.parametrize(
    ("executed", "priority", "words"),
    [
        ({("turn.cu", 7): 0.002, ("turn.cu", 8): 0.001}, Priority.LOW, "executed 0.3 % of its instructions there."),
        ({("turn.cu", 7): 0.02, ("turn.cu", 9): 0.02}, Priority.MEDIUM, "A division by a square root."),
        ({("turn.cu", 3): 0.002}, Priority.MEDIUM, "A division by a square root."),
        ({}, Priority.MEDIUM, "A division by a square root."),
    ],
)  # fmt: skip
def test_instructions_that_are_hardly_executed_are_a_low_finding(
    executed: dict[tuple[str, int], float], priority: Priority, words: str
) -> None:
    root = replace(
        seen(7, "Write rsqrtf(v)."),
        file="src/turn.cu",
        fault="general-math-functions",
        message="A division by a square root.",
    )
    profile = replace(CONFLICTS, executed=executed)
    facts = Facts(kernel="turn", device=H200, profile=profile, observations=(root,))
    lines = run(RULES, completed(facts)).findings
    [finding] = [each for each in lines if each.rule.id == "general-math-functions"]
    assert finding.priority is priority
    assert words in finding.message


BRANCHING = KernelProfile(
    kernel="turn(float *)", seconds=1e-3, elapsed_cycles=1.7e6, issue_busy=0.85, sm_busy=0.85
)


@pytest.mark.parametrize(
    ("lanes", "priority", "words"),
    [
        (31.9, Priority.LOW, "As it runs now, the profiled launch loses little or nothing by it."),
        (12.0, Priority.HIGH, "Lanes take different paths."),
    ],
)
def test_a_branch_that_costs_no_lanes_is_a_low_finding(
    lanes: float, priority: Priority, words: str
) -> None:
    branch = replace(seen(7), fault="divergent-branches", message="Lanes take different paths.")
    facts = completed(
        Facts(
            kernel="turn",
            device=H200,
            grid=(4096, 1, 1),
            launch=Launch(threads=256, registers=32),
            active_threads=lanes,
            profile=BRANCHING,
            observations=(branch,),
        )
    )
    [finding] = [e for e in run(RULES, facts).findings if e.rule.id == "divergent-branches"]
    assert finding.priority is priority
    assert words in finding.message or priority is Priority.HIGH


def test_a_grid_too_small_for_the_gpu_does_not_clear_a_source() -> None:
    facts = Facts(kernel="turn", device=H200, observations=(seen(7),))
    lines = [line for line in run(RULES, facts).lines if line.rule.id == "bank-conflicts"]
    small = replace(
        facts, profile=CONFLICTS, limiter=TooLittleWork(blocks=8, sm_count=132, share=0.06)
    )
    [line] = measured_and_placed(lines, {lines[0].rule}, small)
    assert isinstance(line.outcome, Advice)
    assert line.outcome.priority is Priority.MEDIUM
    assert line.outcome.message.endswith("whose grid is too small, does not show what that costs.")


def test_without_a_profile_the_source_speaks_for_itself() -> None:
    facts = Facts(kernel="turn", device=H200, observations=(seen(7), seen(9)))
    found = [each for each in run(RULES, facts).findings if each.rule.id == "bank-conflicts"]
    assert [each.message for each in found] == ['"tile[x][y]": Lanes share a bank.'] * 2


@pytest.mark.parametrize("message", [None, "The reason is given here."])
def test_no_reason_is_given_twice(message: str | None) -> None:
    for rule in RULES:
        observation = Observation(fault=rule.id, file="a.cu", line=3, seen="x", message=message)
        for finding in run((rule,), Facts(device=H200, observations=(observation,))).findings:
            assert finding.message.count(rule.why) <= 1, finding.message


def test_a_fault_that_two_rules_know_is_one_finding() -> None:
    """What a source shows of an array is a rule of its own, with the line; a profile counts its accesses."""
    array = replace(seen(9, "Keep it in shared memory."), fault="indexed-local-arrays")
    rules = [rule for rule in RULES if rule.id in ("local-arrays", "indexed-local-arrays")]
    measured = RuleLine(
        rule=rules[0] if rules[0].id == "local-arrays" else rules[1],
        outcome=Advice(
            message="5 % of the instructions go to local memory.",
            action="Unroll the loops.",
            evidence=(),
            gain=Gain(kind=GainKind.KERNEL_TIME, upper_bound=6.0, how="x"),
            location=Location(kernel="turn"),
        ),
    )
    facts = Facts(kernel="turn", device=H200, observations=(array,))
    placed = list(run(rules, facts).lines)
    assert [line.rule.id for line in placed if isinstance(line.outcome, Advice)] == [
        "indexed-local-arrays"
    ]
    only = [line for line in placed if isinstance(line.outcome, Advice)]
    [joined] = measured_and_placed([measured, *only], (), facts)
    assert joined.rule.id == "local-arrays"
    assert isinstance(joined.outcome, Advice)
    assert joined.outcome.location is not None
    assert joined.outcome.location.line == 9
    assert joined.outcome.action == "Keep it in shared memory."
    assert joined.outcome.gain is not None
    [alone] = measured_and_placed(only, (), facts)
    assert alone.rule.id == "indexed-local-arrays"


def test_a_grid_too_small_keeps_what_the_source_shows_of_other_limits() -> None:
    literal = replace(seen(16, "Write 1e-9f."), fault="implicit-double")
    facts = completed(Facts(kernel="turn", device=H200, profile=CONFLICTS, observations=(literal,)))
    small = replace(facts, limiter=TooLittleWork(blocks=8, sm_count=132, share=0.06))
    [kept] = [each for each in run(RULES, small).findings if each.rule.id == "implicit-double"]
    assert kept.priority is Priority.LOW  # as without a profile

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.facts.application import Scaling
from gpuadvise.advisor.facts.bag import Facts
from gpuadvise.cli.findings import finding_object, order_note
from gpuadvise.rules.coverage import not_evaluated_objects
from gpuadvise.rules.engine import judge, run
from gpuadvise.rules.model import (
    PASSED,
    Advice,
    Category,
    Confidence,
    Conflict,
    Evidence,
    Examples,
    Family,
    Gain,
    Kind,
    Location,
    Passed,
    Priority,
    Rule,
    Skipped,
    Topic,
    Verdict,
)
from gpuadvise.rules.relations import RelationError, related
from gpuadvise.rules.report import finding_id
from gpuadvise.rules.select import rule_named, selected
from gpuadvise.rules.sources import guide

KNOWN = Facts(kernel="blur", scaling=Scaling(parallel=0.5, processors=4))


def advice(bound: float | None = None, **more: object) -> Advice:
    gain = Gain(kind="run time", upper_bound=bound, how="1 / (1 - P)") if bound else None
    evidence = (Evidence(label="parallel", value=0.5, unit="", source="you"),)
    return Advice(message="Seen.", action="Do.", evidence=evidence, gain=gain, **more)  # type: ignore[arg-type]


def rule(
    name: str,
    verdict: object,
    priority: Priority = Priority.MEDIUM,
    topic: Topic = Topic.MEMORY,
    **more: Any,
) -> Rule:
    def check(scaling: Scaling, elements: int | None = None) -> Verdict:
        if isinstance(verdict, Exception):
            raise verdict
        return verdict  # type: ignore[return-value]

    return Rule(
        id=name,
        title="Title",
        topic=topic,
        priority=priority,
        kinds=(Kind.APPLICATION,),
        why="Because.",
        when="always",
        citations=guide("4.1.3", "3.1.3"),
        check=check,
        examples=Examples(fires={}, quiet={}),
        **more,
    )


def test_needed_facts_are_the_parameters_without_default() -> None:
    assert rule("a", PASSED).needs == ("scaling",)
    assert rule("a", PASSED).parameters == ("scaling", "elements")


def test_a_missing_fact_is_named_with_how_to_supply_it() -> None:
    report = run([rule("a", advice())], Facts())
    assert not report.findings
    [entry] = not_evaluated_objects(report)
    assert entry == {
        "rule": "a",
        "missing": ["scaling"],
        "how": "Give the fractions: --parallel 0.9 --processors 132.",
    }


def test_a_broken_rule_is_seen_and_the_others_run() -> None:
    report = run([rule("broken", ZeroDivisionError("by zero")), rule("fine", advice())], KNOWN)
    assert [(r.id, error) for r, error in report.failures] == [
        ("broken", "ZeroDivisionError: by zero")
    ]
    assert [finding.rule.id for finding in report.findings] == ["fine"]


def test_findings_come_by_what_the_run_can_win_then_the_guides_class() -> None:
    rules = [
        rule("low", advice(9), Priority.LOW),
        rule("none", advice()),
        rule("small", advice(1.1)),
        rule("none-either", advice()),
        rule("large", advice(4)),
        rule("high", advice(), Priority.HIGH),
    ]
    report = run(rules, KNOWN)
    found = [finding.rule.id for finding in report.findings]
    # Without a bound the guide's class stands for one: 2 for high, 1.25 for medium.
    assert found == ["large", "high", "none", "none-either", "small", "low"]


def test_what_is_wrong_comes_before_what_is_slow_and_notes_come_last() -> None:
    rules = [
        rule("note", advice(), Priority.HIGH, process=True),
        rule("slow", advice(9), Priority.HIGH),
        rule("wrong", advice(), broken=True),
    ]
    found = run(rules, KNOWN).findings
    assert [finding.rule.id for finding in found] == ["wrong", "slow", "note"]
    assert found[2].priority is Priority.LOW


@pytest.mark.parametrize(("bound", "priority"), [(1.09, Priority.LOW), (1.11, Priority.MEDIUM)])
def test_a_small_bound_is_not_loud(bound: float, priority: Priority) -> None:
    [finding] = run([rule("a", advice(bound), family=Family.COALESCING)], KNOWN).findings
    assert finding.priority is priority


def test_findings_of_one_fact_are_one_finding() -> None:
    rules = related(
        [
            rule("steps", advice(), folds_into="middle"),
            rule("middle", PASSED, folds_into="head"),
            rule("head", advice()),
            rule("apart", advice()),
        ]
    )
    folded, apart = run(rules, KNOWN).findings
    assert folded.rule.id == "head"
    assert folded.advice.also == ("steps",)
    assert apart.rule.id == "apart"


def test_a_loud_finding_leads_those_of_the_same_fact() -> None:
    quiet, loud = advice(priority=Priority.LOW), advice(priority=Priority.HIGH)
    rules = related([rule("head", quiet), rule("steps", loud, folds_into="head")])
    [finding] = run(rules, KNOWN).findings
    assert finding.rule.id == "steps"
    assert finding.advice.also == ("head",)


def test_a_loud_finding_silences_what_it_explains() -> None:
    rules = related([rule("cause", advice()), rule("wait", advice(), silenced_by=("cause",))])
    assert [finding.rule.id for finding in run(rules, KNOWN).findings] == ["cause"]
    soft = rule("cause", advice(priority=Priority.LOW))
    assert len(run(related([soft, rules[1]]), KNOWN).findings) == 2


def test_a_rule_does_not_silence_itself_by_the_name_it_had() -> None:
    """It came of the rule that explains what it sees, and so has its name, too."""
    part = rule("part", advice(), formerly="cause", silenced_by=("cause",))
    rules = related([rule("cause", PASSED), part, rule("other", advice())])
    assert [finding.rule.id for finding in run(rules, KNOWN).findings] == ["part", "other"]
    loud = related([rule("cause", advice()), part])
    assert [finding.rule.id for finding in run(loud, KNOWN).findings] == ["cause"]


def test_what_a_rule_is_silenced_by_covers_what_came_of_that_rule() -> None:
    part = rule("part", advice(), formerly="cause")
    rules = related([rule("cause", PASSED), part, rule("wait", advice(), silenced_by=("cause",))])
    assert [finding.rule.id for finding in run(rules, KNOWN).findings] == ["part"]


CONFLICT = Conflict(rule="fewer", decide="Try fewer first.", implied="general")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("folds_into", "steeps"),
        ("silenced_by", ("head", "steeps")),
        ("conflicts_with", (Conflict(rule="steeps", decide="Either."),)),
        ("conflicts_with", (Conflict(rule="steps", decide="Either.", implied="steeps"),)),
    ],
)
def test_a_misspelt_rule_is_named_with_the_one_that_names_it(field: str, value: object) -> None:
    rules = [rule("steps", PASSED), rule("head", PASSED), rule("other", PASSED, **{field: value})]
    with pytest.raises(RelationError) as caught:
        related(rules)
    assert str(caught.value) == (
        f"other: {field} names steeps, and there is no such rule. Did you mean steps?"
    )


def test_a_rule_that_folds_into_itself_and_two_of_one_name_are_refused() -> None:
    with pytest.raises(RelationError, match=r"a: folds_into leads back to a\."):
        related([rule("a", PASSED, folds_into="b"), rule("b", PASSED, folds_into="a")])
    with pytest.raises(RelationError, match="a: there are two rules of this id"):
        related([rule("a", PASSED), rule("a", PASSED)])


def test_a_rule_may_give_several_findings_or_none() -> None:
    several = rule("a", (advice(location=Location(line=1)), advice(location=Location(line=2))))
    lines = [f.advice.location.line for f in run([several], KNOWN).findings if f.advice.location]
    assert lines == [1, 2]
    assert isinstance(run([rule("a", ())], KNOWN).lines[0].outcome, Passed)


def test_high_before_low_is_said_only_when_both_are_there() -> None:
    high, low = rule("h", advice(), Priority.HIGH), rule("l", advice(), Priority.LOW)
    assert order_note(run([high], KNOWN).findings) is None
    assert order_note(run([low], KNOWN).findings) is None
    assert order_note(run([low, high], KNOWN).findings) == (
        "Settle the 1 high-priority finding first, "
        "and measure again before you turn to the low-priority ones."
    )


def test_the_note_keeps_to_the_order_where_high_ones_are_not_first() -> None:
    rules = [
        rule("h", advice(), Priority.HIGH),
        rule("large", advice(9)),
        rule("l", advice(), Priority.LOW),
    ]
    findings = run(rules, KNOWN).findings
    assert [finding.rule.id for finding in findings] == ["large", "h", "l"]
    assert order_note(findings) == (
        "Take them in this order, and measure again before you turn to the low-priority ones."
    )


def test_conflicting_advice_is_one_finding() -> None:
    rules = [
        rule("general", advice()),
        rule("fewer", advice()),
        rule("more", advice(), conflicts_with=(CONFLICT,)),
    ]
    [finding] = run(related(rules), KNOWN).findings
    assert finding.rule.id == "more"
    assert finding.advice.message == "Seen. At the same time (fewer): Seen."
    assert finding.advice.action == "Do. Or: Do. Try fewer first."
    assert len(finding.advice.evidence) == 1


def test_one_side_of_a_conflict_alone_stays_as_it_is() -> None:
    [finding] = run([rule("more", advice(), conflicts_with=(CONFLICT,))], KNOWN).findings
    assert finding.advice == advice(location=Location(kernel="blur"))


def test_placed_advice_differs_in_its_place_alone() -> None:
    whole = advice(
        2,
        priority=Priority.LOW,
        confidence=Confidence.LIKELY,
        relief={"dram": 0.1},
        left={"dram": "half"},
        also=("low-occupancy",),
        broken=True,
        separate=True,
        reasoned=True,
    )
    assert all(getattr(whole, field.name) for field in fields(Advice) if field.name != "location")
    place = Location(kernel="blur")
    assert whole.but(location=place) == replace(whole, location=place)


def test_the_json_form_is_the_contract() -> None:
    placed = rule("a", advice(2, location=Location(kernel="blur")))
    [finding] = run([placed], KNOWN).findings
    assert finding_object(finding) == {
        "id": finding_id("a", None, "blur"),
        "rule": "a",
        "topic": "memory",
        "category": "performance",
        "priority": "medium",
        "guide_priority": "medium",
        "confidence": "possible",
        "title": "Title",
        "message": "Seen. Because.",
        "action": "Do.",
        "evidence": [{"label": "parallel", "value": 0.5, "unit": "", "source": "you"}],
        "gain": {
            "kind": "run time",
            "upper_bound": 2,
            "how": "1 / (1 - P)",
            "of": "run",
            "expected": None,
            "low": None,
            "high": None,
            "upper_bound_of_run": 2,
            "expected_of_run": None,
            "low_of_run": None,
            "high_of_run": None,
        },
        "location": {"file": None, "line": None, "column": None, "kernel": "blur"},
        "citation": {
            "document": "CUDA C++ Best Practices Guide 13",
            "section": "4.1.3",
            "url": "https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/",
        },
        "also": [],
        "launches": 1,
        "worse_than": None,
        "shape": None,
    }
    [bare] = run([rule("b", advice())], Facts(scaling=KNOWN.scaling)).findings
    assert finding_object(bare)["gain"] is None
    assert finding_object(bare)["location"] is None


@pytest.mark.parametrize(
    ("more", "category"),
    [
        ({}, "performance"),
        ({"correctness": True}, "correctness"),
        ({"broken": True}, "correctness"),
        ({"process": True}, "process"),
    ],
)
def test_a_finding_has_the_category_of_its_rule(more: dict[str, Any], category: str) -> None:
    chosen = rule("a", advice(), **more)
    [finding] = run([chosen], KNOWN).findings
    assert finding.category == chosen.category == category
    assert selected([chosen, rule("b", PASSED)], [category])[0] is chosen
    assert chosen not in selected([chosen, rule("b", PASSED)], [], [category])


def test_what_makes_the_program_fail_is_about_correctness() -> None:
    [finding] = run([rule("a", advice(broken=True))], KNOWN).findings
    assert finding.category is Category.CORRECTNESS
    assert finding.rule.category is Category.PERFORMANCE
    assert finding.confidence is Confidence.CERTAIN


def seen(source: str) -> tuple[Evidence, ...]:
    return (Evidence(label="x", value=1, unit="", source=source),)


@pytest.mark.parametrize(
    ("of_advice", "of_rule", "confidence"),
    [
        ({}, {}, "possible"),
        ({"evidence": seen("profile")}, {}, "likely"),
        ({"evidence": seen("timeline")}, {}, "likely"),
        ({"evidence": seen("NVML")}, {}, "certain"),
        ({"location": Location(file="a.cu", line=3)}, {}, "likely"),
        ({"evidence": seen("profile"), "priority": Priority.LOW}, {}, "possible"),
        ({"evidence": seen("profile")}, {"confidence": Confidence.CERTAIN}, "certain"),
        (
            {"confidence": Confidence.POSSIBLE},
            {"confidence": Confidence.CERTAIN},
            "possible",
        ),
    ],
)
def test_confidence_follows_from_what_a_finding_rests_on(
    of_advice: dict[str, Any], of_rule: dict[str, Any], confidence: str
) -> None:
    [finding] = run([rule("a", replace(advice(), **of_advice), **of_rule)], KNOWN).findings
    assert finding.confidence == confidence


def test_a_finding_without_a_place_is_placed_at_the_kernel() -> None:
    [finding] = run([rule("a", advice())], KNOWN).findings
    assert finding.advice.location == Location(kernel="blur")


RULES = [
    rule("a", PASSED),
    rule("b", PASSED, Priority.HIGH),
    rule("c", PASSED, topic=Topic.EXECUTION),
]


@pytest.mark.parametrize(
    ("family", "kernel", "action"),
    [
        (Family.COALESCING, "blur", "Do."),
        (None, "cupy_sum", "Do."),
        (Family.PRODUCTS, "cupy_sum", "Do."),
        (
            Family.COALESCING,
            "cupy_sum",
            "This is a kernel of CuPy, so change what it is called with: layout and type of its arrays; "
            "cupy.fuse joins operations on elements. In code of your own: Do.",
        ),
    ],
)
def test_who_calls_a_librarys_kernel_is_told_what_to_change(
    family: Family | None, kernel: str, action: str
) -> None:
    facts = replace(KNOWN, kernel=kernel)
    report = run([rule("a", advice(2.0), family=family)], facts)
    assert [finding.advice.action for finding in report.findings] == [action]


@pytest.mark.parametrize(
    ("select", "ignore", "left"),
    [
        ((), (), ["a", "b", "c"]),
        (("a", "c"), (), ["a", "c"]),
        (("memory",), (), ["a", "b"]),
        (("memory",), ("high",), ["a"]),
        ((), ("a",), ["b", "c"]),
        (("low",), (), []),
        (("deployment",), ("low",), []),
    ],
)
def test_selection(select: tuple[str, ...], ignore: tuple[str, ...], left: list[str]) -> None:
    assert [r.id for r in selected(RULES, select, ignore)] == left


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("memroy", "Did you mean memory"),
        ("xxxxxxxxxx", "Topics are application, measurement"),
        ("x" * 10_000_000, "Topics are"),
    ],
)
def test_an_unknown_selection_is_refused(name: str, hint: str) -> None:
    with pytest.raises(BadInput) as caught:
        selected(RULES, [name])
    assert caught.value.message.startswith("--select: ")
    assert "is not a rule, a topic, a category or a priority" in caught.value.message
    assert hint in (caught.value.hint or "")
    assert len(caught.value.message) < 200


def test_a_former_id_picks_what_came_of_the_rule() -> None:
    whole, part = rule("whole", PASSED), rule("part", PASSED, formerly="whole")
    other = rule("other", PASSED, formerly="gone")
    assert selected([whole, part, other], ["whole"]) == (whole, part)
    assert selected([whole, part, other], [], ["whole"]) == (other,)
    assert selected([whole, part, other], ["part"]) == (part,)
    assert rule_named([whole, part, other], "whole") is whole
    assert rule_named([whole, part, other], "gone") is other


def test_a_rule_is_found_by_its_id() -> None:
    rules = [rule("low-occupancy", PASSED)]
    assert rule_named(rules, "low-occupancy") is rules[0]
    with pytest.raises(BadInput) as caught:
        rule_named(rules, "low-ocupancy")
    assert caught.value.hint == "Did you mean low-occupancy?"
    with pytest.raises(BadInput) as caught:
        rule_named(rules, "zzz")
    assert caught.value.hint == (
        "`gpuadvise rules` lists them, with --select those of a topic or priority."
    )


def test_skipping_lists_every_missing_fact() -> None:
    chosen = rule("a", PASSED)
    report = run([chosen], Facts())
    assert report.lines == ()
    assert report.skipped == (chosen,)
    [(skipped, [missing])] = report.not_evaluated
    assert (skipped, missing.fact) == (chosen, "scaling")
    assert judge(chosen, Facts()) == (Skipped(missing=(missing,)),)
    assert judge(chosen, KNOWN) == (PASSED,)

"""What is likely lies in its range, and the range below the bound."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.cli.rules.text import exponents_object, exponents_sentence
from gpuadvise.rules.expectation import (
    EXPONENTS,
    OTHER_RULES,
    Expectation,
    expectation,
    expected_gain,
    exponents_of,
    in_run,
)
from gpuadvise.rules.guide import RULES
from gpuadvise.rules.model import Gain, GainKind

BOUNDS = st.floats(1, 1e6)
SHARES = st.floats(0, 1)
RULE_IDS = st.sampled_from([*EXPONENTS, "a-rule-of-the-users-own"])


def of_kernel(bound: float) -> Gain:
    return Gain(kind=GainKind.KERNEL_TIME, upper_bound=bound, how="")


def is_ordered(likely: Expectation, bound: float) -> bool:
    slack = 1 + 1e-9
    return (
        likely.low * slack >= 1
        and likely.low <= likely.expected * slack
        and likely.expected <= likely.high * slack
        and likely.high <= bound * slack
    )


def test_the_numbers_are_of_rules_and_in_order() -> None:
    assert EXPONENTS.keys() <= {rule.id for rule in RULES}
    for numbers in (*EXPONENTS.values(), OTHER_RULES):
        assert 0 < numbers.low <= numbers.median <= numbers.high <= 1


@given(RULE_IDS, BOUNDS)
def test_what_is_likely_lies_between_one_and_the_bound(rule: str, bound: float) -> None:
    likely = expected_gain((rule,), of_kernel(bound), counted=True)
    assert likely is not None
    assert is_ordered(likely, bound)


@given(RULE_IDS, BOUNDS, BOUNDS)
def test_more_can_be_expected_of_a_larger_bound(rule: str, one: float, other: float) -> None:
    less, more = (expectation(exponents_of(rule), bound) for bound in sorted((one, other)))
    assert less.low <= more.low
    assert less.expected <= more.expected
    assert less.high <= more.high


@given(RULE_IDS, BOUNDS, SHARES)
def test_of_a_run_it_is_less_and_below_the_bound_of_the_run(
    rule: str, bound: float, share: float
) -> None:
    likely = expectation(exponents_of(rule), bound)
    of_run = likely.of_run(share)
    assert is_ordered(of_run, in_run(bound, share))
    assert of_run.expected <= likely.expected * (1 + 1e-9)


@given(RULE_IDS, BOUNDS)
def test_a_kernel_that_takes_no_time_wins_nothing_and_one_that_takes_all_wins_all(
    rule: str, bound: float
) -> None:
    likely = expectation(exponents_of(rule), bound)
    assert likely.of_run(0) == Expectation(expected=1, low=1, high=1)
    assert likely.of_run(1).expected == pytest.approx(likely.expected)


@given(RULE_IDS, BOUNDS, st.floats(0.01, 1))
def test_a_gain_of_a_traced_run_is_that_of_its_kernel_by_its_share(
    rule: str, bound: float, share: float
) -> None:
    kernel = of_kernel(bound)
    run = replace(
        kernel,
        kind=GainKind.RUN_TIME,
        upper_bound=in_run(bound, share),
        of_kernel=bound,
        share=share,
    )
    assert expected_gain((rule,), run, counted=True) == expectation(
        exponents_of(rule), bound
    ).of_run(share)
    assert expected_gain((rule,), run, counted=False) is None


@pytest.mark.parametrize(
    ("gain", "counted"),
    [
        (None, True),
        (of_kernel(4), False),
        (Gain(kind=GainKind.COPY_TIME, upper_bound=4, how=""), True),
        (Gain(kind=GainKind.RUN_TIME, upper_bound=4, how=""), True),
    ],
)
def test_nothing_is_expected_where_nothing_tells(gain: Gain | None, counted: bool) -> None:
    assert expected_gain(("uncoalesced-access",), gain, counted=counted) is None


def test_a_rule_says_which_numbers_decide() -> None:
    numbers = exponents_object("bank-conflicts")
    assert numbers["median"] == EXPONENTS["bank-conflicts"].median
    repairs, programs = numbers["repairs"], numbers["programs"]
    assert f"{repairs} repairs of {programs} programs" in exponents_sentence("bank-conflicts")
    assert "none of this one was measured" in exponents_sentence("debug-build")

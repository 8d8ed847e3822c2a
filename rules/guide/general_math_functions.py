"""A general function where a special one exists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.source.exponents import exponent_of, power_of
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic, Verdict
from gpuadvise.rules.observed import advised
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpuadvise.advisor.facts.code import Observation
    from gpuadvise.advisor.powers import Power


def check(observations: tuple[Observation, ...]) -> Verdict:
    """Advise at each place that the source reader marked."""
    return advised(observations, RULE.id, _words)


def _words(seen: Observation) -> tuple[str, str]:
    return "a general function for a special case.", f"Write {_replacement(seen.detail)}."


def _replacement(detail: Mapping[str, str]) -> str:
    """Return what to write; of a power, the guide's formula and its errors."""
    single = detail.get("type") != "double"
    exponent = exponent_of(detail.get("exponent", ""), single=single)
    power = power_of(exponent) if exponent is not None else None
    if power is None:
        return detail.get("replacement", "the specialised function")
    formula = power.single if single else power.formula
    return f"{formula} for the power {power.exponent}{_errors(power, single=single)}"


def _errors(power: Power, *, single: bool) -> str:
    if power.ulps is None:
        return ""
    if not single:
        return f" (x >= 0; error up to {power.ulps} ulp)"
    exact, fast = power.ulps_single, power.ulps_single_fast
    return f" (x >= 0; error up to {exact} ulp, {fast} with fast division and square root)"


RULE = Rule(
    id="general-math-functions",
    title="Call the specialised function",
    topic=Topic.INSTRUCTIONS,
    priority=Priority.MEDIUM,
    kinds=(Kind.SOURCE,),
    recommendation=True,
    why="A function made for the case is both faster and more accurate.",
    when="Device code calls pow with a small constant exponent, exp2 or exp10 through pow, sin and cos of one argument, trigonometry of a multiple of pi, or 1 / sqrt.",
    citations=(
        *guide("12.1.9", "11.1.5"),
        *guide("12.1.6", "11.1.2"),
        *guide("12.1.8", "11.1.4"),
    ),
    check=check,
    examples=Examples(
        fires={
            "observations": [
                {
                    "fault": "general-math-functions",
                    "file": "blur.cu",
                    "line": 12,
                    "column": 9,
                    "seen": "powf(x, 2.0f)",
                    "detail": {"exponent": "2.0f", "type": "float"},
                }
            ]
        },
        quiet={
            "observations": [
                {"fault": "another-fault", "file": "blur.cu", "line": 12, "column": 9, "seen": "x"}
            ]
        },
    ),
)

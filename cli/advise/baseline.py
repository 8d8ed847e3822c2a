"""The findings of a saved answer of ``advise``, which ``--baseline`` leaves out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import quoted
from gpuadvise.cli.saved_answer import number_in, saved_answer
from gpuadvise.rules.judge import BaselineFinding

if TYPE_CHECKING:
    from gpuadvise.rules.judge import Key

# No program runs a million times as fast; more is a number that nobody wrote.
_MOST_GAIN = 1e30


def baseline(path: str) -> dict[Key, BaselineFinding]:
    """Return the findings of the saved answer *path*; raises BadInput naming the option."""
    answer = saved_answer(path, command="advise", option="--baseline")
    name = f"--baseline: {quoted(path)}"
    findings_by_key: dict[Key, BaselineFinding] = {}
    try:
        for at, finding in enumerate(answer["findings"]):
            seen = findings_by_key.setdefault(_saved_key(finding), BaselineFinding())
            seen.count += 1
            seen.messages.add(str(finding["message"]))
            if gain := finding.get("gain"):
                place = f"{name}: findings.{at}.gain"
                bound = number_in(gain, "upper_bound", most=_MOST_GAIN, place=place)
                seen.bound = max(seen.bound, bound or 0.0)
    except (KeyError, TypeError, AttributeError):
        raise BadInput(f"{name} is not an answer of `gpuadvise advise --format json`.") from None
    return findings_by_key


def _saved_key(finding: dict[str, Any]) -> Key:
    place = finding["location"] or {}
    report = (finding.get("shape") or {}).get("file")
    file = place.get("file")
    return str(finding["rule"]), place.get("kernel"), None if file == report else file

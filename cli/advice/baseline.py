"""What an older answer already said, so that only what is new is shown."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gpuadvise.rules.report import Finding

# An answer of ten thousand kernels with a dozen findings each.
_LARGEST_BASELINE = 256 * 2**20
Key: TypeAlias = tuple[str, str | None, str | None]  # rule, kernel, file


@dataclass(slots=True)
class Seen:
    """What a baseline says of one key: lines move and numbers change, so it is counted as well."""

    count: int = 0
    messages: set[str] = field(default_factory=set)


_UNSEEN = Seen()


def new_among(findings: Sequence[Finding], known: Mapping[Key, Seen]) -> tuple[Finding, ...]:
    """Return those of one kernel's *findings* that *known* does not have.

    A rule that fires more often in one place than it did says something new; of its findings
    those in the baseline's very words are the old ones.
    """
    counts = Counter(map(_key, findings))
    seen = {key: known.get(key, _UNSEEN) for key in counts}
    surplus = {key: count - seen[key].count for key, count in counts.items()}
    new = []
    for finding in findings:
        key = _key(finding)
        if surplus[key] > 0 and finding.message not in seen[key].messages:
            surplus[key] -= 1
            new.append(finding)
    return tuple(new)


def _key(finding: Finding) -> Key:
    place = finding.advice.location
    return finding.rule.id, place.kernel if place else None, place.file if place else None


def baseline(path: str) -> dict[Key, Seen]:
    """Return the findings of the saved answer *path*; raises BadInput naming the option."""
    try:
        with open(path, "rb") as file:
            answer = json.loads(file.read(_LARGEST_BASELINE))
        found: dict[Key, Seen] = {}
        for finding in answer["findings"]:
            seen = found.setdefault(_saved_key(finding), Seen())
            seen.count += 1
            seen.messages.add(str(finding["message"]))
        return found
    except OSError as error:
        raise BadInput(f"--baseline: {quoted(path)}: {error.strerror}.") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise BadInput(
            f"--baseline: {quoted(path)} is no answer of `gpuadvise advise --format json`."
        ) from None


def _saved_key(finding: dict[str, Any]) -> Key:
    place = finding["location"] or {}
    return str(finding["rule"]), place.get("kernel"), place.get("file")

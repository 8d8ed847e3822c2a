"""GitLab's Code Quality report: findings for the widget and the diff of a merge request."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.prose import inert
from gpuadvise.cli.render.json import harmless_json
from gpuadvise.cli.render.sarif import fingerprints

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SEVERITIES = {"high": "major", "medium": "minor", "low": "info"}
# GitLab wants a path for every entry: findings about options stand at the root of the repository.
_NO_FILE = "."


def render(findings: Sequence[Mapping[str, Any]], source: str | None) -> str:
    """Return *findings* as the JSON list that ``artifacts:reports:codequality`` takes.

    *source* is the file of findings that name none. Format:
    https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
    """
    digests = fingerprints(findings, source)
    entries = [
        _entry(finding, digest, source) for finding, digest in zip(findings, digests, strict=True)
    ]
    return harmless_json(json.dumps(entries, indent=2, allow_nan=False)) + "\n"


def _entry(finding: Mapping[str, Any], fingerprint: str, source: str | None) -> dict[str, Any]:
    place = finding["location"] or {}
    kernel = f"{place['kernel']}: " if place.get("kernel") else ""
    path = (place.get("file") or source or _NO_FILE).replace("\\", "/").removeprefix("./")
    return {
        "description": inert(f"{kernel}{finding['message']} {finding['action']}"),
        "check_name": finding["rule"],
        "fingerprint": fingerprint,
        "severity": SEVERITIES[finding["priority"]],
        "location": {"path": path or _NO_FILE, "lines": {"begin": place.get("line") or 1}},
    }

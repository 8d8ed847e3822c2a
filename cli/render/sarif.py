"""SARIF 2.1.0: findings for code-scanning services."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpuadvise import __version__
from gpuadvise.advisor.json_records import named_fields
from gpuadvise.advisor.prose import inert
from gpuadvise.cli.render.json import harmless_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gpuadvise.advisor.source.diagnostic import SourceRange
    from gpuadvise.rules.model import Rule

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_FINGERPRINT = "gpuadviseFinding/v1"
LEVELS = {"high": "error", "medium": "warning", "low": "note"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceDetail:
    """What a finding in a source has beside its JSON form.

    *where* is the whole stretch, *edits* the stretches to replace and the text that each becomes;
    a comment in the source has *accepted* it.
    """

    where: SourceRange
    edits: Sequence[tuple[SourceRange, str]] = ()
    accepted: bool = False


def render(
    rules: Sequence[Rule],
    findings: Sequence[Mapping[str, Any]],
    source: str | None,
    details: Sequence[SourceDetail] = (),
) -> str:
    """Return *findings* as one SARIF run; *source* is the file of findings that name none.

    *details*, where there are any, are those of *findings* in their order.
    """
    used = {str(finding["rule"]) for finding in findings}
    kept = [rule for rule in rules if rule.id in used]
    index = {rule.id: number for number, rule in enumerate(kept)}
    driver = {
        "name": "gpuadvise",
        "semanticVersion": __version__,
        "rules": [_rule(rule) for rule in kept],
    }
    results = [
        _result(finding, index[str(finding["rule"])], source, fingerprint)
        for finding, fingerprint in zip(findings, fingerprints(findings, source), strict=True)
    ]
    for result, detail in zip(results, details, strict=False):
        _add(result, detail)
    log = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
        ],
    }
    return harmless_json(json.dumps(log, indent=2, allow_nan=False)) + "\n"


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "shortDescription": {"text": f"{rule.title}."},
        "fullDescription": {"text": rule.why},
        "help": {"text": f"Reported when: {rule.when}"},
        "helpUri": rule.citations[0].url,
        "defaultConfiguration": {"level": LEVELS[rule.priority]},
        "properties": {"tags": [str(rule.topic)]},
    }


def _without_links(text: str) -> str:
    """Return *text* with nothing that a reader of SARIF takes for a link: ``[text](target)``."""
    return re.sub(r"\[(?=[^\[\]]*\]\()", r"\\[", inert(text))


def _result(
    finding: Mapping[str, Any], index: int, source: str | None, fingerprint: str
) -> dict[str, Any]:
    location = _location(finding["location"] or {}, source)
    gain = finding.get("gain")
    return {
        "ruleId": finding["rule"],
        "ruleIndex": index,
        "level": LEVELS[finding["priority"]],
        "message": {"text": _without_links(f"{finding['message']} {finding['action']}")},
        "locations": [location],
        "partialFingerprints": {_FINGERPRINT: fingerprint},
        **({"properties": {"gain": gain}} if gain else {}),
    }


def _add(result: dict[str, Any], detail: SourceDetail) -> None:
    """Add to *result* where it ends, the fix as data, and whether somebody has accepted it."""
    place = result["locations"][0]["physicalLocation"]
    place["region"] = _whole_region(detail.where)
    if detail.edits:
        replacements = [
            {"deletedRegion": _whole_region(where), "insertedContent": {"text": text}}
            for where, text in detail.edits
        ]
        change = {"artifactLocation": place["artifactLocation"], "replacements": replacements}
        result["fixes"] = [{"artifactChanges": [change]}]
    if detail.accepted:
        result["suppressions"] = [{"kind": "inSource"}]


def _whole_region(where: SourceRange) -> dict[str, int]:
    return named_fields(
        where, "startLine=line startColumn=column endLine=end_line endColumn=end_column"
    )


def fingerprints(findings: Sequence[Mapping[str, Any]], source: str | None) -> list[str]:
    """Return what stays of each finding when lines move and numbers change, as 32 hex digits.

    Made of rule, file, kernel, and which of the findings of these three. The next report of a
    kernel has another name, so that of a profile the file does not count.
    """
    from hashlib import sha256  # loads OpenSSL

    seen: Counter[str] = Counter()
    digests = []
    for finding in findings:
        place = finding["location"] or {}
        report = (finding.get("shape") or {}).get("file")
        file = "" if report and place.get("file") == report else place.get("file") or source or ""
        key = "\0".join((finding["rule"], file_uri(file), place.get("kernel") or ""))
        seen[key] += 1
        digests.append(sha256(f"{key}\0{seen[key]}".encode(errors="replace")).hexdigest()[:32])
    return digests


def _location(place: Mapping[str, Any], source: str | None) -> dict[str, Any]:
    location: dict[str, Any] = {}
    file = place.get("file") or source
    if file:
        location["physicalLocation"] = {"artifactLocation": {"uri": file_uri(file)}} | _region(
            place
        )
    if place.get("kernel"):
        name = place["kernel"]
        location["logicalLocations"] = [{"fullyQualifiedName": name, "kind": "function"}]
    return location


def _region(place: Mapping[str, Any]) -> dict[str, Any]:
    if not place.get("line"):
        return {}
    column = {"startColumn": place["column"]} if place.get("column") else {}
    return {"region": {"startLine": place["line"], **column}}


def file_uri(path: str) -> str:
    """Return *path* as a relative reference of RFC 3986."""
    from urllib.parse import quote

    return quote(path.replace("\\", "/").removeprefix("./"), errors="replace")

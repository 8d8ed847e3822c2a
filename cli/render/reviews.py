"""Findings as code reviews read them: SARIF, annotations of GitHub and GitLab's report.

Each writer is loaded when an answer is asked for in its form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gpuadvise.rules.model import Rule


def documents(
    findings: Callable[[], Sequence[dict[str, Any]]],
    rules: Sequence[Rule] = (),
    source: str | None = None,
) -> dict[str, Callable[[], str]]:
    """Return by format what writes *findings*, which *rules* found; *source* is the file of those without a place."""

    def as_sarif() -> str:
        from gpuadvise.cli.render import sarif

        return sarif.render(rules, findings(), source)

    def as_github() -> str:
        from gpuadvise.cli.render import github

        return github.render(findings(), source)

    def as_gitlab() -> str:
        from gpuadvise.cli.render import gitlab

        return gitlab.render(findings(), source)

    return {"sarif": as_sarif, "github": as_github, "gitlab": as_gitlab}

"""A build that no checker has looked at."""

from __future__ import annotations

from gpuadvise.rules.advice import PASSED, Advice, Verdict
from gpuadvise.rules.evidence import given
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import cited, guide


def check(sanitized: bool) -> Verdict:
    """Advise when the sanitizer has not been run."""
    if sanitized:
        return PASSED
    return Advice(
        message="No run under compute-sanitizer is known of this program.",
        action=(
            "Run `compute-sanitizer --error-exitcode 1 ./app` in CI, and once each with --tool "
            "racecheck, initcheck and synccheck."
        ),
        evidence=(given("sanitizer runs", 0, "runs"),),
    )


RULE = Rule(
    id="unsanitized-build",
    title="Run a checker",
    topic=Topic.DEPLOYMENT,
    priority=Priority.LOW,
    process=True,
    kinds=(Kind.APPLICATION,),
    why="Writes out of bounds and races often leave the results right, until the next GPU.",
    when="The user says that no sanitizer was run, or asks for reminders with --all.",
    citations=(
        *guide("7.2"),
        cited(
            "Compute Sanitizer",
            "Command Line Options",
            "https://docs.nvidia.com/compute-sanitizer/",
        ),
    ),
    check=check,
    examples=Examples(fires={"sanitized": False}, quiet={"sanitized": True}),
)

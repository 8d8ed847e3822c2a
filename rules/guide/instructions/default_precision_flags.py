"""A build that never decided how precise it must be."""

from __future__ import annotations

from gpuadvise.advisor.prose import plural
from gpuadvise.rules.advice import PASSED, Advice, Verdict
from gpuadvise.rules.evidence import given
from gpuadvise.rules.guide.measurement.debug_build import DEBUG_FLAGS
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

FLAGS = ("-ftz", "-prec-div", "-prec-sqrt", "-use_fast_math", "--use_fast_math")
# Builds that nobody measures: their precision is no loss yet.
_UNMEASURED = (*DEBUG_FLAGS, "-O0")


def check(compile_flags: tuple[str, ...]) -> Verdict:
    """Advise when none of the precision flags is set in a build that is not for debugging."""
    if any(flag.split("=")[0].removeprefix("-") in _bare() for flag in compile_flags):
        return PASSED
    if any(flag in _UNMEASURED for flag in compile_flags):
        return PASSED
    return Advice(
        message=(
            f"Of {plural(len(compile_flags), 'compiler flag')} none sets the precision:"
            " division, square root and denormal numbers keep IEEE precision."
        ),
        action=(
            "Where that precision is not needed try -ftz=true (tiny numbers become 0), "
            "-prec-div=false and -prec-sqrt=false (errors of 1 to 2 units in the last place), or "
            "-use_fast_math for all of them and the intrinsics; compare results and times."
        ),
        evidence=(given("compiler flags", " ".join(compile_flags) or "(none)"),),
    )


def _bare() -> set[str]:
    return {flag.removeprefix("-") for flag in FLAGS}


RULE = Rule(
    id="default-precision-flags",
    title="Choose the precision of the build",
    topic=Topic.INSTRUCTIONS,
    priority=Priority.LOW,
    kinds=(Kind.SOURCE,),
    why="IEEE division and square root take several instructions and a slow path.",
    when=(
        "Compiler flags are known, and neither -ftz, -prec-div, -prec-sqrt and -use_fast_math nor those of a "
        "debug build (-G, -O0) are among them."
    ),
    citations=guide("12.1.10", "11.1.6"),
    check=check,
    examples=Examples(
        fires={"compile_flags": "-O3 -lineinfo"}, quiet={"compile_flags": "-O3 -ftz=true"}
    ),
)

"""What a source file shows, as the observations that the rules of ``advise`` take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.code import Observation
from gpuadvise.advisor.source.lint import CUDA_RULES, lint_cuda
from gpuadvise.advisor.source.notebook import SUFFIX, read_notebook
from gpuadvise.advisor.source.python.lint import PYTHON_OPT_IN, PYTHON_RULES, lint_python

if TYPE_CHECKING:
    from gpuadvise.advisor.source.diagnostic import Diagnostic

# Names of files that are source code.
SUFFIXES = (".cu", ".cuh", ".py", ".ipynb")
# The rules that some source file may break, and those that run only when they are named.
CHECKED = frozenset(PYTHON_RULES).union(*(rule.rules for rule in CUDA_RULES))
OPT_IN = PYTHON_OPT_IN.union(*(rule.rules for rule in CUDA_RULES if rule.opt_in))


def observations_of(data: bytes, file: str) -> tuple[Observation, ...]:
    """Return one observation per fault of the source *data*; Python in scripts and notebooks.

    Raises BadInput when *data* is no source text, or larger than lint reads.
    """
    if file.endswith(SUFFIX):
        data = read_notebook(data, file).code
    lint = lint_python if file.endswith((".py", SUFFIX)) else lint_cuda
    return tuple(observation_of(seen) for seen in lint(data, file).diagnostics)


def observation_of(seen: Diagnostic) -> Observation:
    """Return *seen* as the rules of advise take it."""
    return Observation(
        fault=seen.rule,
        file=seen.file,
        line=seen.where.line,
        column=seen.where.column,
        seen=seen.seen,
        kernel=seen.kernel,
        detail=seen.detail,
        message=seen.message,
        action=seen.action,
    )

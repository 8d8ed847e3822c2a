"""Every source rule over one Python file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.source.lint import LintedFile, linted
from gpuadvise.advisor.source.python import launch_faults, torch_faults
from gpuadvise.advisor.source.python.module import PythonModule, read_python
from gpuadvise.advisor.source.text import source_text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from typing import TypeAlias

    from gpuadvise.advisor.source.diagnostic import Diagnostic

    PythonCheck: TypeAlias = Callable[[PythonModule], Iterator[Diagnostic]]

# A file that names none of these says nothing about a GPU.
_LIBRARIES = (b"torch", b"cupy", b"numba", b"triton")

PYTHON_RULES: dict[str, PythonCheck] = {
    "unpinned-loaders": torch_faults.unpinned_loaders,
    "blocking-moves": torch_faults.blocking_moves,
    "synchronizing-reads": torch_faults.synchronizing_reads,
    "full-precision-matmuls": torch_faults.full_precision_matmuls,
    "host-built-tensors": torch_faults.host_built_tensors,
    "synchronizations-in-loops": torch_faults.synchronizations_in_loops,
    "unsynchronized-timing": torch_faults.unsynchronized_timing,
    "partial-warp": launch_faults.partial_warps,
}
# Rules that run only when they are named: a helper of another file may wait for the GPU.
PYTHON_OPT_IN = frozenset(("unsynchronized-timing",))


def lint_python(
    data: bytes, file: str, *, select: Collection[str] = (), ignore: Collection[str] = ()
) -> LintedFile:
    """Return the faults of a Python file; it is parsed, never imported or run.

    Raises BadInput when *data* is no Python, or larger than lint reads.
    """
    text = source_text(data.removeprefix(b"\xef\xbb\xbf"), file)
    wanted = select or PYTHON_RULES.keys() - PYTHON_OPT_IN
    selected = frozenset(PYTHON_RULES).intersection(wanted).difference(ignore)
    if not any(name in text.content for name in _LIBRARIES):
        return linted(text, (), selected)
    module = read_python(text)
    diagnostics = [
        d for rule in PYTHON_RULES if rule in selected for d in PYTHON_RULES[rule](module)
    ]
    unique = {(d.rule, d.where.start): d for d in diagnostics}
    return linted(text, unique.values(), selected)

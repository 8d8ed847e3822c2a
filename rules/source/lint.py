"""Every source rule over one file, of CUDA or of Python."""

from __future__ import annotations

import gc
import re
from bisect import bisect_left
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.build import UNKNOWN_BUILD, Build
from gpuadvise.advisor.source.cuda_file import CudaFile, read_cuda
from gpuadvise.advisor.source.kernel_purpose import (
    is_compared_with,
    is_of_output,
    is_of_samples,
)
from gpuadvise.advisor.source.launches import Launches
from gpuadvise.advisor.source.linted_file import LintedFile
from gpuadvise.advisor.source.notebook import SUFFIX, read_notebook
from gpuadvise.advisor.source.observations import CPP_SUFFIXES, holds_device_code, is_test_name
from gpuadvise.advisor.source.rule_context import OF_SPEED, RuleContext
from gpuadvise.advisor.source.suppressions import suppressed, suppressions_in
from gpuadvise.advisor.source.surroundings import ALONE, Surroundings, unused_functions
from gpuadvise.advisor.source.text import SourceText, source_text, too_costly
from gpuadvise.rules.source import CUDA_RULES, OPT_IN, PYTHON_RULES, cuda_check, python_check

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.project import ModuleUse
    from gpuadvise.advisor.source.scopes import SourceFunction

# What only HIP writes, and what a file names that means CUDA as well or instead.
_HIP = re.compile(rb"^[ \t]*#[ \t]*include[ \t]*[<\"]hip/|\bhip[A-Z]\w+\(", re.MULTILINE)
_CUDA = re.compile(rb"\bcuda[A-Z_]\w+|[<\"/]cuda|cooperative_groups|nvcuda")
# What only a file of tests writes: how fast its kernels are matters little. Faults that break kernels stay.
_TESTS = re.compile(
    rb"^[ \t]*(?:#[ \t]*include[ \t]*[<\"](?:gtest/|catch2/|doctest|boost/test)"
    rb"|(?:TYPED_)?TEST(?:_F|_P|_CASE)?[ \t]*\(|BOOST_AUTO_TEST_CASE)",
    re.MULTILINE,
)
# One of these stands in all of that.
_TEST_WORDS = (b"gtest/", b"catch2/", b"doctest", b"boost/test", b"TEST")
_SETS_UP = re.compile(
    r"(?:(?:^|_)init|Init)(?:ial(?:i[sz]e)?)?(?![a-z])|(?:^|_)set_?up(?![a-z])|SetUp(?![a-z])"
)
_BREAKING = frozenset(
    ("divergent-barriers", "exceeded-launch-bounds", "implicit-warp-synchrony", "impossible-launch", "missing-barriers")
)  # fmt: skip
_OF_MEASURING = frozenset(("unsynchronized-timing",))
# A Python file that names none of these says nothing about a GPU.
_LIBRARIES = (b"torch", b"cupy", b"numba", b"triton", b"import jax", b"from jax")


def lint_cuda(
    data: bytes,
    file: str,
    *,
    select: Collection[str] = (),
    ignore: Collection[str] = (),
    build: Build = UNKNOWN_BUILD,
    surroundings: Surroundings = ALONE,
) -> LintedFile:
    """Return the faults of a CUDA source file that is compiled as *build* says, beside what *surroundings* tell of it.

    Raises BadInput when *data* is no text, or larger than lint reads.
    """
    text = source_text(data, file)
    if b"hip" in text.content and _HIP.search(text.content) and not _CUDA.search(text.content):
        return LintedFile(file=file, diagnostics=(), hip=True)
    with _no_collection():
        return _linted_cuda(text, _chosen(CUDA_RULES, select, ignore), build, surroundings)


def lint_python(
    data: bytes,
    file: str,
    *,
    select: Collection[str] = (),
    ignore: Collection[str] = (),
    use: ModuleUse | None = None,
) -> LintedFile:
    """Return the faults of a Python file, of which others of its project say *use*; it is parsed, never imported or run.

    Raises BadInput when *data* is no Python, or larger than lint reads.
    """
    text = source_text(data.removeprefix(b"\xef\xbb\xbf"), file)
    selected = _chosen(PYTHON_RULES, select, ignore)
    if not names_gpu_library(text.content):
        return replace(_linted(text, (), selected), no_gpu_code=True)
    from gpuadvise.advisor.source.python.call_sites import lines_beside
    from gpuadvise.advisor.source.python.module import read_python

    with _no_collection():
        module = read_python(text, use)
        found = (d for rule in sorted(selected) for d in python_check(rule).faults(module))
        try:
            diagnostics = {(d.rule, d.where.start): d for d in found}
            diagnostics = _without_checks(diagnostics, lines_beside(module))
        except RecursionError:  # branches behind hundreds of branches
            raise too_costly(file) from None
        finally:
            module.release()
        del found, module
        return _linted(text, diagnostics.values(), selected)


def _without_checks(
    diagnostics: dict[tuple[str, int], Diagnostic], checks: list[tuple[int, int]]
) -> dict[tuple[str, int], Diagnostic]:
    """Return *diagnostics* less those within *checks*: how fast these are matters little, how they measure does."""
    return {
        key: d
        for key, d in diagnostics.items()
        if d.rule in _OF_MEASURING or not any(a <= d.where.line <= z for a, z in checks)
    }


def names_gpu_library(data: bytes) -> bool:
    """Return whether the Python file of *data* says anything about a GPU."""
    return any(name in data for name in _LIBRARIES)


def lint_file(data: bytes, file: str, build: Build = UNKNOWN_BUILD) -> LintedFile:
    """Return the faults of a source that its name tells: CUDA, a Python script or a notebook.

    Loops without a pragma are among those of CUDA: what was compiled proves or clears them. Raises
    BadInput when *data* is no source text, or larger than lint reads.
    """
    if file.endswith(SUFFIX):
        return lint_python(read_notebook(data, file).code, file)
    if file.endswith(".py"):
        return lint_python(data, file)
    return lint_cuda(data, file, select=CUDA_RULES, build=build)


def _chosen(
    rules: Iterable[str], select: Collection[str], ignore: Collection[str]
) -> frozenset[str]:
    """Return the ids to check: *select*, or all that are not opt-in, less those to *ignore*."""
    chosen = (rule for rule in rules if (rule in select if select else rule not in OPT_IN))
    return frozenset(chosen).difference(ignore)


def _linted_cuda(
    text: SourceText, selected: frozenset[str], build: Build, surroundings: Surroundings
) -> LintedFile:
    facts = read_cuda(text, build, surroundings.declared)
    facts.of_torch, facts.effects = surroundings.of_torch, surroundings.effects
    unused = unused_functions(facts, surroundings)
    diagnostics = {(d.rule, d.where.start): d for d in _diagnostics(facts, selected, unused)}
    facts.tree.release()
    if surroundings.in_folder and _is_host_code(text):
        # Beside the kernels C++ is read for what it makes them wait for; its calls are those of any library.
        diagnostics = {k: d for k, d in diagnostics.items() if d.rule != "unchecked-errors"}
    words = any(word in text.content for word in _TEST_WORDS)
    if (words and _TESTS.search(text.content)) or is_test_name(text.file):
        diagnostics = {
            key: d if d.rule in _BREAKING else replace(d, minor=True)
            for key, d in diagnostics.items()
            if d.rule in _BREAKING or not surroundings.in_folder
        }
    file = _linted(
        text,
        diagnostics.values(),
        selected,
        unparsed=tuple(_unread(facts)),
        dropped=facts.preprocessed.dropped,
    )
    no_code = not facts.functions and not file.unparsed
    return replace(file, not_understood=_hides_kernels(facts), no_gpu_code=no_code)


_KERNEL = b"__global__"
_LAUNCH = b"<<<"


def _is_host_code(text: SourceText) -> bool:
    """Whether a file is C++ that neither holds device code nor launches any itself."""
    of_cpp = text.file.lower().endswith(CPP_SUFFIXES)
    return of_cpp and _LAUNCH not in text.content and not holds_device_code(text.content)


def _hides_kernels(facts: CudaFile) -> bool:
    """Whether the parser lost its way where kernels stand: most files have some syntax unknown to it."""
    code = facts.preprocessed.text
    if not facts.functions and facts.tree.unparsed:
        return _KERNEL in code
    return any(_KERNEL in code[start:end] for start, end in _unread(facts))


def _unread(facts: CudaFile) -> Iterator[tuple[int, int]]:
    """Yield the stretches of unknown syntax, without the functions in them that were read all the same."""
    code = facts.preprocessed.text
    read = sorted((f.node.start, f.node.end) for f in facts.functions)
    starts = [start for start, _ in read]
    for start, end in facts.tree.unparsed:
        at = start
        for function_start, function_end in read[
            bisect_left(starts, start) : bisect_left(starts, end)
        ]:
            if at < function_start and not code[at:function_start].isspace():
                yield at, function_start
            at = max(at, function_end)
        if (at < end and not code[at:end].isspace()) or start == end:
            yield at, max(at, end)


def _linted(
    text: SourceText,
    diagnostics: Iterable[Diagnostic],
    selected: frozenset[str],
    *,
    unparsed: tuple[tuple[int, int], ...] = (),
    dropped: tuple[tuple[int, int], ...] = (),
) -> LintedFile:
    """Return *diagnostics* in order, less what comments accept."""
    ordered = sorted(diagnostics, key=lambda d: (d.where.start, d.rule))
    judged = suppressed(ordered, suppressions_in(text), selected)
    return LintedFile(
        file=text.file,
        diagnostics=judged.diagnostics,
        accepted=judged.accepted,
        unused=judged.unused,
        unparsed=tuple(text.where(*stretch) for stretch in unparsed),
        dropped=tuple(text.where(*stretch) for stretch in dropped),
    )


def _diagnostics(
    facts: CudaFile, selected: frozenset[str], unused: frozenset[str]
) -> Iterator[Diagnostic]:
    loaded = [cuda_check(rule) for rule in sorted(selected)]
    checks = {
        place: [check.faults for check in loaded if check.on_device in (None, place)]
        for place in (True, False)
    }
    found = [cuda_check(rule) for rule in sorted(selected & _BREAKING)]
    breaking = {
        place: [check.faults for check in found if check.on_device in (None, place)]
        for place in (True, False)
    }
    launches = Launches(facts)
    opened: list[SourceFunction] = []
    copied = is_of_samples(facts.text.file)
    for function in facts.functions:
        context = RuleContext(facts, function, launches)
        # One block is the last step of several, or too small for its code to matter much; what sets up runs once.
        alone = _is_of_little_weight(function, launches, facts.text.file)
        sets_up = context.is_of_set_up
        idle = function.name.rpartition("::")[2] in unused
        for faults in (breaking if copied or idle else checks)[function.on_device]:
            for d in faults(context):
                if sets_up and d.rule in OF_SPEED:
                    continue
                yield replace(d, minor=True) if idle or (alone and d.rule not in _BREAKING) else d
        opened.append(function)
        if facts.tree.is_full:
            launches.forget(opened)
            facts.close(opened)
            opened.clear()


def _is_of_little_weight(function: SourceFunction, launches: Launches, file: str) -> bool:
    """Whether it matters little how fast *function* is, as names and launches say."""
    names = function.name, file.replace("\\", "/").rpartition("/")[2].rpartition(".")[0]
    if any(map(is_compared_with, names)):
        return True
    if not function.on_device:
        return any(map(is_of_output, names))
    return launches.is_of_one_block(function.name) or _SETS_UP.search(function.name) is not None


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep the garbage collector from walking a growing tree again and again."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()

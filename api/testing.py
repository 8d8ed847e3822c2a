"""Assertions about kernels for test suites: what a build, a launch or a recording must not lose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from gpuadvise.advisor.errors import GpuAdviseError
from gpuadvise.advisor.prose import and_list, plural, quoted
from gpuadvise.advisor.quantity import show_bytes, show_share
from gpuadvise.advisor.values import share
from gpuadvise.api import calls

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpuadvise.api.answers.fields import Priority
    from gpuadvise.api.answers.kernels import KernelRecord
    from gpuadvise.api.calls import Path
    from gpuadvise.api.evidence import Evidence

T = TypeVar("T")
__all__ = ["assert_no_findings", "assert_no_spills", "assert_occupancy"]

_MOST_NAMED = 10
_URGENCY = ("high", "medium", "low")


def assert_occupancy(
    least: float | str,
    *files: Path,
    filter: str | None = None,
    gpu: str | None = None,
    **launch: Any,
) -> None:
    """Fail where occupancy is below *least*, 0 to 1 or ``"50%"``: of the kernels in *files*, or of a launch.

    Without files *launch* is what `occupancy` takes: ``regs=64, block=256``. With files it may give
    ``block`` and ``dynamic_smem`` of every launch, as `kernels` does. A kernel whose occupancy is not
    known fails: a check that judged nothing must not look like one that passed.
    """
    __tracebackhide__ = True
    wanted: float = _judged(share, least)
    if not files:
        answer = _judged(calls.occupancy, gpu=gpu, **launch)
        if answer.result.occupancy < wanted:
            raise AssertionError(
                f"{show_share(answer.result.occupancy)} occupancy is below {show_share(wanted)}.\n{answer}"
            )
        return
    low = [
        f"{_called(kernel)}: {_share(kernel.occupancy)}"
        for kernel in _kernels(files, filter, gpu, launch)
        if kernel.occupancy is None or kernel.occupancy < wanted
    ]
    _fail(low, f"with an occupancy below {show_share(wanted)}")


def assert_no_spills(*files: Path, filter: str | None = None, gpu: str | None = None) -> None:
    """Fail where a kernel of *files* spills registers, or does not tell whether it does."""
    __tracebackhide__ = True
    spilling = [
        f"{_called(kernel)}: {_spilled(kernel)}"
        for kernel in _kernels(files, filter, gpu, {})
        if kernel.spill_stores is None or kernel.spill_stores or kernel.spill_loads
    ]
    _fail(spilling, "that spill, or do not tell")


def assert_no_findings(
    *evidence: Path | Evidence,
    at_least: Priority = "low",
    gpu: str | None = None,
    **options: Any,
) -> None:
    """Fail where `advise` has a finding of priority *at_least* or above on *evidence*.

    *options* are those of `advise`: a launch, ``select``, ``ignore``. Advice on how to work is no
    fault of the code, and does not fail.
    """
    __tracebackhide__ = True
    if at_least not in _URGENCY:
        raise ValueError(f"at_least: {quoted(at_least)} is not {and_list(_URGENCY, 'or')}.")
    answer = _judged(calls.advise, *evidence, gpu=gpu, **options)
    failing = _URGENCY[: _URGENCY.index(at_least) + 1]
    findings = [
        finding
        for finding in answer.findings
        if finding.priority in failing and finding.category != "process"
    ]
    lines = [
        f"{finding.priority} {finding.rule}"
        + (f" ({finding.location.kernel})" if finding.location and finding.location.kernel else "")
        + f": {finding.message} {finding.action}"
        for finding in findings
    ]
    if not lines and not answer.complete:
        raise AssertionError("Not all of it could be read: " + " ".join(answer.notes))
    if lines:
        raise AssertionError(
            _listed(f"{plural(len(lines), 'finding')} at {at_least} or above", lines)
        )


def _kernels(
    files: tuple[Path, ...], filter: str | None, gpu: str | None, launch: dict[str, Any]
) -> list[KernelRecord]:
    """Return the kernels of *files*; fails where something could not be read, or there is none."""
    __tracebackhide__ = True
    answer = _judged(calls.kernels, *files, filter=filter, gpu=gpu, **launch)
    if not answer.complete:
        raise AssertionError("Not all of it could be read: " + " ".join(answer.notes))
    kernels = [kernel for kernel in answer.result.kernels or () if kernel.entry]
    if not kernels:
        raise AssertionError("There is no kernel to judge: " + str(answer))
    return kernels


def _judged(function: Callable[..., T], *given: Any, **named: Any) -> T:
    """Return what *function* answers; fails in a sentence, without its frames, where it cannot."""
    __tracebackhide__ = True
    try:
        return function(*given, **named)
    except GpuAdviseError as error:
        said = f"It could not be judged: {error.message} {error.hint or ''}".strip()
    raise AssertionError(said)


def _fail(kernels: list[str], what: str) -> None:
    __tracebackhide__ = True
    if kernels:
        raise AssertionError(_listed(f"{plural(len(kernels), 'kernel')} {what}", kernels))


def _listed(head: str, lines: list[str]) -> str:
    left = len(lines) - _MOST_NAMED
    more = [f"  {left:,} more"] if left > 0 else []
    return "\n".join([f"{head}:", *(f"  {line}" for line in lines[:_MOST_NAMED]), *more])


def _called(kernel: KernelRecord) -> str:
    return f"{kernel.demangled or kernel.name} ({kernel.arch or '?'})"


def _share(occupancy: float | None) -> str:
    return "not known" if occupancy is None else show_share(occupancy)


def _spilled(kernel: KernelRecord) -> str:
    if kernel.spill_stores is None:
        return "not known"
    loads = 0 if kernel.spill_loads is None else kernel.spill_loads
    return f"{show_bytes(kernel.spill_stores)} of stores, {show_bytes(loads)} of loads per thread"

"""Findings as rows while kernels come one by one, judged by several processes where that pays."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import cycle
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.description.files import BadLine
from gpuadvise.advisor.errors import BadInput, Unavailable
from gpuadvise.cli.advise.answer import exit_code, finding_row
from gpuadvise.cli.advise.gather import GatheredEvidence
from gpuadvise.cli.emit import note, stream
from gpuadvise.cli.exits import Exit
from gpuadvise.cli.render import rows
from gpuadvise.cli.schemas import columns_of
from gpuadvise.rules.guide import RULES
from gpuadvise.rules.judge import Judge, can_meet, ranked, threshold_unreachable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from multiprocessing.connection import Connection

    from gpuadvise.advisor.backends.description_file import FileState
    from gpuadvise.advisor.description.reader import Described
    from gpuadvise.rules.fail_on import FailOn


# What an exit code says, from harmless to serious.
_SEVERITY = (Exit.RAN, Exit.THRESHOLD, Exit.UNAVAILABLE, Exit.BAD_INPUT)


class JudgedKernel(NamedTuple):
    """What a stream says of one kernel. *can_meet*: a rule as urgent as the limit was evaluated."""

    code: Exit
    notes: Sequence[str]
    text: str = ""  # a line for each finding
    can_meet: bool = False


@dataclass(kw_only=True)
class _Tally:
    """What is left of the kernels that went by: the exit code, and whether a limit was held."""

    judged: bool = False
    worst: Exit = Exit.RAN
    held: bool = False

    def add(self, kernel: JudgedKernel) -> None:
        self.judged = True
        self.worst = max(self.worst, kernel.code, key=_SEVERITY.index)
        self.held = self.held or kernel.can_meet


def streamed(evidence: GatheredEvidence, judge: Judge, limit: FailOn | None, form: str) -> Exit:
    """Print one row per finding; return the most serious exit code of any kernel."""
    tally = _Tally()
    head = rows.header(columns_of("advise"), form)
    with _judged_kernels(evidence, RowJudge(judge, limit, form)) as kernels:
        stream(_texts(kernels, head, tally))
    note(*evidence.notes)
    if evidence.passed_over and not tally.judged:
        raise evidence.unmatched()
    if limit is not None and not tally.held and tally.worst is not Exit.BAD_INPUT:
        raise threshold_unreachable(limit)
    return tally.worst


def _texts(kernels: Iterable[JudgedKernel], head: str, tally: _Tally) -> Iterator[str]:
    """Yield the lines of *kernels*, *head* before the first or alone; say their notes as they come."""
    for kernel in kernels:
        tally.add(kernel)
        note(*kernel.notes)
        if kernel.text:
            yield head + kernel.text
            head = ""
    yield head


class RowJudge(NamedTuple):
    """How each kernel of a stream is judged and written."""

    judge: Judge
    limit: FailOn | None
    form: str

    def judged(self, kernel: Described | BadLine) -> JudgedKernel:
        """Return what the rules say about *kernel*, or why they cannot."""
        try:
            if isinstance(kernel, BadLine):
                raise kernel.error
            report = self.judge.report(kernel)
        except BadInput as error:  # the line's, or the kernel's own selection
            sentence = " ".join(filter(None, (error.message, error.hint)))
            return JudgedKernel(Exit.BAD_INPUT, notes=(sentence,))
        findings = self.judge.new_findings(report)
        if report.share is not None:
            findings = tuple(ranked([(report, findings)]))
        failures = dict.fromkeys((rule.id, error) for rule, error in report.failures)
        return JudgedKernel(
            code=exit_code(failures, findings, self.limit),
            notes=[f"The rule {rule} broke: {error}" for rule, error in failures],
            text=rows.lines(map(finding_row, findings), self.form),
            can_meet=self.limit is not None and can_meet(report, self.limit),
        )


# Bytes of a file, some 3,000 kernels: starting processes takes as long as judging half of them.
WORTH_PROCESSES = 1 << 19
# More take the machine from others, and printing keeps up with a dozen.
_MOST_PROCESSES = 4


@contextmanager
def _judged_kernels(
    evidence: GatheredEvidence, row_judge: RowJudge
) -> Iterator[Iterable[JudgedKernel]]:
    """Yield the kernels of *evidence*, judged: by several processes where a large file is all there is."""
    if tasks := _tasks(evidence, row_judge):
        from gpuadvise.advisor.backends.worker_processes import workers

        with workers(judge_batches, tasks) as connections:
            if connections:
                yield _received(connections, evidence)
                return
    yield map(row_judge.judged, evidence.kernels())


class JudgingTask(NamedTuple):
    """Every batch of lines of a file whose number leaves *remainder* when divided by *processes*."""

    evidence: GatheredEvidence
    row_judge: RowJudge
    file: FileState
    processes: int
    remainder: int


def _tasks(evidence: GatheredEvidence, row_judge: RowJudge) -> list[JudgingTask]:
    """Return what each of several processes has to do; [] where one is as good.

    What is said of the first kernel alone, and rules of the user's own, are for one process.
    """
    alone = GatheredEvidence({}, evidence.files[:1], gpu=evidence.gpu, cc=evidence.cc)
    if replace(evidence, reading=alone.reading) != alone or row_judge.judge.all_rules != RULES:
        return []
    from gpuadvise.advisor.backends.description_file import ndjson_file
    from gpuadvise.advisor.backends.worker_processes import usable_cores

    processes = min(_MOST_PROCESSES, usable_cores())
    file = ndjson_file(evidence.files[0])
    if processes == 1 or file is None or file.size < WORTH_PROCESSES:
        return []
    return [
        JudgingTask(alone, row_judge, file, processes, remainder) for remainder in range(processes)
    ]


class JudgedBatch(NamedTuple):
    """What a process says of a batch, or at its end; *fault* comes after all *kernels*."""

    kernels: list[JudgedKernel]
    notes: list[str]  # of the evidence
    last: bool = False
    fault: Exception | None = None


def judge_batches(send: Callable[[JudgedBatch], None], task: JudgingTask) -> None:
    """Send what the rules say about each batch of *task*, in order, then what ended the reading."""
    from gpuadvise.advisor.backends.description_file import line_batches

    evidence, row_judge, file, processes, remainder = task
    kernels: list[JudgedKernel] = []
    fault = None
    try:
        for number, lines in enumerate(line_batches(file)):
            if number % processes == remainder:
                kernels.extend(map(row_judge.judged, evidence.kernels_of(lines)))
                send(JudgedBatch(kernels, [*evidence.notes]))
                kernels = []
                evidence.notes.clear()
    except Exception as error:  # the first process raises it in its place
        fault = error
    send(JudgedBatch(kernels, evidence.notes, last=True, fault=fault))


def _received(
    connections: Sequence[Connection], evidence: GatheredEvidence
) -> Iterator[JudgedKernel]:
    """Yield the kernels that the processes judged, in the order of the file; raises what went wrong there."""
    for connection in cycle(connections):
        try:
            batch: JudgedBatch = connection.recv()
        except (EOFError, OSError):
            raise Unavailable(
                "A process that judged kernels died.",
                hint="Memory may be short. Given on stdin (advise -), kernels are judged by one process.",
            ) from None
        yield from batch.kernels
        evidence.reading.note(*batch.notes)
        if batch.fault is not None:
            raise batch.fault
        if batch.last:
            return

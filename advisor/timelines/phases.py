"""The phases of a run: forward, backward and optimizer of training, prefill and decode of inference.

PyTorch's traces tell the optimizer by its annotation and the backward pass by its thread; of a
language model the rows of its products tell whether a prompt or the next tokens were computed.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.timelines.launch_log import KernelRow, LaunchLog

# A prompt has so many times the rows of a single token of each request, and tokens follow it.
_PROMPT, _TOKENS = 4, 4
_MOST_CHANGES = 100_000
_MOST_PRODUCTS = 200_000


# When a product began, the rows of its batch, and its weight.
Product = tuple[int, int, int]


class Phase(StrEnum):
    """What a part of a step is for."""

    DATA = "data"
    FORWARD = "forward"
    BACKWARD = "backward"
    OPTIMIZER = "optimizer"
    COMMUNICATION = "communication"
    PREFILL = "prefill"
    DECODE = "decode"


@dataclass(slots=True, kw_only=True)
class PhasePart:
    """One phase from its first kernel to its last: nanoseconds of the recording's clock."""

    phase: Phase
    start_ns: int
    end_ns: int
    kernels: int
    kernel_ns: int  # those that ran side by side counted each


@dataclass(frozen=True, slots=True, kw_only=True)
class Inference:
    """Passes of a language model: nanoseconds from the first kernel of each phase to its last.

    ``prompt_tokens`` are those of all prompts, ``batch`` the requests whose next tokens one pass
    computes: of graphs nothing tells these.
    """

    prefill_passes: int
    prompt_tokens: int | None
    prefill_ns: int
    decode_passes: int
    batch: int | None
    decode_ns: int

    @property
    def tokens_per_second(self) -> float | None:
        """Tokens of all requests that decoding made in a second."""
        if self.batch is None or not self.decode_ns:
            return None
        return self.batch * self.decode_passes / self.decode_ns * 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphReplays:
    """All replays of graphs with so many kernels: nanoseconds."""

    kernels: int  # in each
    replays: int
    kernel_ns: int
    length_ns: int  # from the start of each first kernel to the end of the last
    call_ns: int  # of the host in the calls that launched them


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizerWork:
    """All steps of a program's optimizers: nanoseconds from the first kernel of each to its last."""

    steps: int
    kernels: int
    length_ns: int


def optimizer_work(parts: Sequence[PhasePart], start_ns: int) -> OptimizerWork | None:
    """Return what optimizers did in *parts* from *start_ns* on; None where they are not told apart.

    A closure that an optimizer calls computes the loss inside of its step: the backward pass then
    follows without a forward pass between.
    """
    pairs = pairwise(part.phase for part in parts)
    if any(pair == (Phase.OPTIMIZER, Phase.BACKWARD) for pair in pairs):
        return None
    ours = [part for part in parts if part.phase is Phase.OPTIMIZER and part.start_ns >= start_ns]
    if not ours:
        return None
    return OptimizerWork(
        steps=len(ours),
        kernels=sum(part.kernels for part in ours),
        length_ns=sum(part.end_ns - part.start_ns for part in ours),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchedWork:
    """What the launches of one GPU tell: its graphs, its phases in order, and what it inferred."""

    graphs: tuple[GraphReplays, ...] = ()
    parts: tuple[PhasePart, ...] = ()
    inference: Inference | None = None


def launched_work(log: LaunchLog, gpu: int, *, alone: bool, attends: bool) -> LaunchedWork:
    """Return what the launches of *gpu* tell; phases where it worked *alone*, of inference where it *attends*."""
    if not log.tells:
        return LaunchedWork()
    calls = {
        number: (start, end)
        for block in log.launches()
        for number, start, end, _, graph in block
        if graph
    }
    graphs = _replays(log, gpu, calls)
    if not alone:
        return LaunchedWork(graphs=graphs)
    if log.optimizers:
        parts = _parts(log, gpu, _changes(log, _training_marks(log), training=True))
        told = any(part.phase is Phase.BACKWARD for part in parts)
        return LaunchedWork(graphs=graphs, parts=tuple(parts) if told else ())
    products = _products(log) if attends else []
    model = _model_of(products)
    marks = _product_marks(products, model) if model else _graph_marks(products, calls)
    parts = _parts(log, gpu, _changes(log, marks, training=False))
    inference = _inference(parts, products, model, len(calls))
    return LaunchedWork(graphs=graphs, parts=tuple(parts) if inference else (), inference=inference)


# From a time, or from the number of a launch, on.
_Marks = list[tuple[int, Phase]]


def _replays(
    log: LaunchLog, gpu: int, calls: dict[int, tuple[int, int]]
) -> tuple[GraphReplays, ...]:
    """Return the replays of graphs, whose launches are *calls*, by their number of kernels."""
    if not calls:
        return ()
    replays: dict[int, list[int]] = {}  # kernels, their time, first start, last end
    for block in log.kernels(gpu):
        for number, _, start, end in block:
            if number in calls:
                one = replays.setdefault(number, [0, 0, start, end])
                one[0] += 1
                one[1] += end - start
                one[2], one[3] = min(one[2], start), max(one[3], end)
    by_size: dict[int, list[int]] = {}
    for number, (kernels, kernel_ns, start, end) in replays.items():
        called, returned = calls[number]
        sums = by_size.setdefault(kernels, [0, 0, 0, 0])
        for at, part in enumerate((1, kernel_ns, end - start, returned - called)):
            sums[at] += part
    found = [
        GraphReplays(
            kernels=kernels,
            replays=count,
            kernel_ns=kernel_ns,
            length_ns=length_ns,
            call_ns=call_ns,
        )
        for kernels, (count, kernel_ns, length_ns, call_ns) in by_size.items()
    ]
    return tuple(sorted(found, key=lambda one: -one.length_ns))


def _changes(log: LaunchLog, marks: _Marks, *, training: bool) -> _Marks:
    """Return from which launch on, by number, which phase lasts; *marks* say it by time of the host.

    In training what another thread launches is the backward pass. Nothing for too many.
    """
    if not marks:
        return []
    times = [time for time, _ in marks]
    changes: _Marks = []
    for block in log.launches():
        by_thread = groupby(block, key=itemgetter(3)) if training else [(log.main_thread, block)]
        for thread, rows in by_thread:
            launches = list(rows)
            if training and thread != log.main_thread:
                changes.append((launches[0][0], Phase.BACKWARD))
                continue
            starts = [row[1] for row in launches]
            first = bisect_right(times, starts[0]) - 1
            last = bisect_right(times, starts[-1])
            if first >= 0:
                changes.append((launches[0][0], marks[first][1]))
            changes += [
                (launches[bisect_left(starts, times[at])][0], marks[at][1])
                for at in range(first + 1, last)
            ]
        if len(changes) > _MOST_CHANGES:
            return []
    return changes


def _parts(log: LaunchLog, gpu: int, changes: _Marks) -> list[PhasePart]:
    """Return the phases one after the other: the kernels of launches between *changes*."""
    parts: list[PhasePart] = []
    numbers = [number for number, _ in changes]
    for block in log.kernels(gpu) if changes else ():
        launched = [row[0] for row in block]
        cuts = [
            *(
                bisect_left(launched, numbers[at])
                for at in range(
                    bisect_right(numbers, launched[0]), bisect_right(numbers, launched[-1])
                )
            ),
            len(block),
        ]
        begin = 0
        for cut in cuts:
            at = bisect_right(numbers, launched[begin]) - 1 if cut > begin else -1
            if at >= 0:
                _add(parts, changes[at][1], block[begin:cut])
            begin = cut
        if len(parts) > _MOST_CHANGES:
            return []
    return parts


def _add(parts: list[PhasePart], phase: Phase, kernels: Sequence[KernelRow]) -> None:
    starts, ends = [row[2] for row in kernels], [row[3] for row in kernels]
    if not parts or parts[-1].phase is not phase:
        parts.append(
            PhasePart(phase=phase, start_ns=starts[0], end_ns=ends[0], kernels=0, kernel_ns=0)
        )
    part = parts[-1]
    part.start_ns, part.end_ns = min(part.start_ns, *starts), max(part.end_ns, *ends)
    part.kernels += len(kernels)
    part.kernel_ns += sum(ends) - sum(starts)


def _training_marks(log: LaunchLog) -> _Marks:
    """Return when the optimizer works and when it does not."""
    first = min(start for start, _ in log.optimizers)
    marks = [(min(0, first), Phase.FORWARD)]
    for start, end in sorted(log.optimizers):
        marks += [(start, Phase.OPTIMIZER), (end + 1, Phase.FORWARD)]
    return sorted(marks, key=itemgetter(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Model:
    """A language model, by its products: rows of a pass for single tokens, and weights that prompts had too."""

    batch: int
    weights: frozenset[int]


def _products(log: LaunchLog) -> list[Product]:
    return list(log.products) if len(log.products) <= _MOST_PRODUCTS else []


def _model_of(products: Sequence[Product]) -> _Model | None:
    """Return the model that products tell: tokens follow a prompt, some for each."""
    counts: dict[int, Counter[int]] = {}
    for _, rows, weight in products:
        counts.setdefault(weight, Counter())[rows] += 1
    both = {weight: rows for weight, rows in counts.items() if len(rows) > 1}
    total: Counter[int] = sum(both.values(), Counter())
    if not total:
        return None
    batch = total.most_common(1)[0][0]
    weights = frozenset(weight for weight, rows in both.items() if _follow(rows, batch))
    return _Model(batch=batch, weights=weights) if weights else None


def _product_marks(products: Sequence[Product], model: _Model) -> _Marks:
    """Return when the products of a prompt begin, and those of single tokens."""
    return [
        (start, Phase.DECODE if rows == model.batch else Phase.PREFILL)
        for start, rows, weight in products
        if weight in model.weights
    ]


def _graph_marks(products: Sequence[Product], calls: dict[int, tuple[int, int]]) -> _Marks:
    """Return the same where single tokens are graphs, and prompts are none."""
    if not products:
        return []
    marks = [(start, Phase.PREFILL) for start, _, _ in products]
    marks += [(start, Phase.DECODE) for start, _ in calls.values()]
    return sorted(marks, key=itemgetter(0))


def _inference(
    parts: Sequence[PhasePart], products: Sequence[Product], model: _Model | None, replays: int
) -> Inference | None:
    """Return what was inferred in *parts*: a prompt for each of prefill, and some tokens behind it."""
    prompts = [part for part in parts if part.phase is Phase.PREFILL]
    if not prompts or (model is None and replays < _TOKENS * len(prompts)):
        return None
    tokens, passes = None, replays
    if model is not None:
        of_all = Counter(weight for _, _, weight in products if weight in model.weights)
        rarest = min(of_all, key=of_all.__getitem__)
        rows = [count for _, count, weight in products if weight == rarest]
        of_prompts = [count for count in rows if count > model.batch]
        layers = max(1.0, len(of_prompts) / len(prompts))
        tokens = round(sum(of_prompts) / layers)
        passes = round((len(rows) - len(of_prompts)) / layers)
    return Inference(
        prefill_passes=len(prompts),
        prompt_tokens=tokens,
        prefill_ns=_length_ns(parts, Phase.PREFILL),
        decode_passes=passes,
        batch=None if model is None else model.batch,
        decode_ns=_length_ns(parts, Phase.DECODE),
    )


def _length_ns(parts: Sequence[PhasePart], phase: Phase) -> int:
    return sum(part.end_ns - part.start_ns for part in parts if part.phase is phase)


def _follow(rows: Counter[int], batch: int) -> bool:
    """Return whether a weight was multiplied by prompts, and by *batch* rows several times for each."""
    prompts = rows.total() - rows[batch]
    long = all(count == batch or count >= _PROMPT * batch for count in rows)
    return long and rows[batch] >= _TOKENS * prompts

"""Events in another stream than the work that they time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.source.runtime_calls import WAITING, streamed_work
from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node


_ACTION = "Record both events in the stream of the work."


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Events in a stream other than that of the work between them."""
    if context.function.place is not ExecutionSpace.HOST:
        return
    if not context.function.says(b"cudaEventElapsedTime"):
        return
    records: dict[str, list[tuple[Node, str]]] = {}
    for call in context.calls("cudaEventRecord"):
        arguments = context.file.arguments(call)
        if arguments:
            stream = context.at(arguments[1]) if len(arguments) > 1 else "0"
            records.setdefault(context.at(arguments[0]), []).append((call, stream))
    work = streamed_work(context)
    for elapsed in context.calls("cudaEventElapsedTime"):
        events = context.file.arguments(elapsed)[1:]
        if len(events) != 2:
            continue
        pair = [records.get(context.at(event), []) for event in events]
        if any(len(r) != 1 for r in pair):
            continue
        (first, begun), (second, ended) = pair[0][0], pair[1][0]
        between = [s for node, s in work if first.end <= node.start < second.start]
        if not between or _waits_between(context, first, second):
            continue
        if all(
            _are_unordered(context, s, begun) and _are_unordered(context, s, ended) for s in between
        ):
            yield context.diagnostic(
                "misplaced-events", second, f"The event is recorded in stream {ended}, but the work that it times runs in {between[-1]}.",
                _ACTION,
            )  # fmt: skip


def _are_unordered(context: RuleContext, work: str | None, event: str) -> bool:
    """Whether two streams are surely different and do not wait for each other."""
    if work is None or "[" in work or "[" in event:
        return False
    if event in ("0", "NULL", "nullptr"):
        return b"cudaStreamNonBlocking" in context.file.text.content
    return work != event


def _waits_between(context: RuleContext, first: Node, second: Node) -> bool:
    names = ("cudaStreamWaitEvent", *WAITING)
    return any(first.end <= c.start < second.start for c in context.calls(*names))


CHECK = CudaCheck(
    faults=faults,
    said_once=None,
    on_device=False,
    code=BeforeAfter(
        "host",
        """\
void measure() {
    cudaEventRecord(start, copies);            // in another stream than the work
    kernel<<<grid, block, 0, stream>>>(data);
    cudaEventRecord(stop, copies);
    cudaEventElapsedTime(&milliseconds, start, stop);
}""",
        """\
void measure() {
    cudaEventRecord(start, stream);
    kernel<<<grid, block, 0, stream>>>(data);
    cudaEventRecord(stop, stream);
    cudaEventElapsedTime(&milliseconds, start, stop);
}""",
    ),
)


RULE = source_rule(
    id="misplaced-events",
    title="Record events in the stream they time",
    topic=Topic.MEASUREMENT,
    priority=Priority.MEDIUM,
    correctness=True,
    why="An event marks a point of its own stream and says nothing about another.",
    when="Two events that are subtracted stand in another stream than the work between them.",
    citations=guide("9.1", "8.1.2"),
    seen="cudaEventRecord(stop, other)",
    action=_ACTION,
)

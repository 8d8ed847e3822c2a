"""Work in the default stream among work in other streams, or in those of PyTorch."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.runtime_calls import loops_over_streams
from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck, Extent
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext


_EXTENSION = re.compile(rb"^[ \t]*#[ \t]*include[ \t]*[<\"](?:torch/|ATen/|c10/)", re.MULTILINE)
_EXTENDED = (b"torch/", b"ATen/", b"c10/")
_ACTION = "Put it into one of the streams, or make those with cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking)."

_HERE = "Launch with <<<grid, block, 0, at::cuda::getCurrentCUDAStream()>>>"
_FROM_CALLER = "Let the caller hand in at::cuda::getCurrentCUDAStream(), and launch in that stream"


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Find launches and asynchronous copies in the default stream among work in several streams."""
    if context.function.place is not ExecutionSpace.HOST:
        return
    if not (context.function.may_launch or context.function.says(b"Async")):
        return
    for loop, work in loops_over_streams(context):
        for node, stream in work:
            if stream is None and context.loop_around(node) is loop:
                yield context.diagnostic(
                    "default-stream-work", node,
                    "Work in the default stream among other streams: it waits for all of them, and they wait for it.",
                    _ACTION,
                )  # fmt: skip
    yield from _beside_framework(context)


def _beside_framework(context: RuleContext) -> Iterator[Diagnostic]:
    """Find the first launch of a function of a PyTorch extension that takes the default stream, not PyTorch's own."""
    includes = any(map(context.file.says, _EXTENDED)) and context.file.matches(_EXTENSION)
    if not (includes or context.file.of_torch):
        return
    launches = [launch for launch in context.launches.of(context.function) if not launch.stream]
    if launches:
        more = f" (and {len(launches) - 1} more here)" if len(launches) > 1 else ""
        yield context.diagnostic(
            "default-stream-work", launches[0].node,
            f"This extension of PyTorch launches in the default stream{more}, whatever stream the tensors are computed in.",
            f"{_HERE if includes else _FROM_CALLER}: in another stream, or in a captured graph, this one is out of order with what made "
            "its inputs.",
            minor=True,
        )  # fmt: skip


CHECK = CudaCheck(
    faults=faults,
    said_once=Extent.FILE,
    on_device=False,
    code=BeforeAfter(
        "host",
        """\
void run() {
    for (int i = 0; i < 4; ++i) {
        kernel<<<grid, block, 0, stream[i]>>>(part[i]);
        reduce<<<1, 256>>>(part[i], sums + i); // the default stream: the others wait
    }
}""",
        """\
void run() {
    for (int i = 0; i < 4; ++i) {
        kernel<<<grid, block, 0, stream[i]>>>(part[i]);
        reduce<<<1, 256, 0, stream[i]>>>(part[i], sums + i);
    }
}""",
    ),
)


RULE = source_rule(
    id="default-stream-work",
    title="Keep the default stream out of concurrent work",
    topic=Topic.TRANSFERS,
    priority=Priority.MEDIUM,
    why="The default stream waits for all blocking streams, and they wait for it.",
    when="A loop over several streams also launches or copies in the default stream, or an extension of PyTorch launches in it.",
    citations=guide("10.1.2", "9.1.2"),
    seen="reduce<<<grid, block>>>(sums)",
    action=_ACTION,
)

"""Runtime calls and launches whose errors nobody sees."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.runtime_calls import (
    asks_for_error_after,
    asks_for_errors,
    checked_wait_after,
    reaches_main,
    speaks_of_checks_after,
)
from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck, Extent
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.launches import SourceLaunch
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node

# Runtime calls whose failure changes what follows; not those at the end of a life.
_RUNTIME = re.compile(
    r"cuda(?:Malloc\w*|Memcpy\w*|Memset\w*|MemPrefetch\w*|HostAlloc|HostRegister|Launch\w+"
    r"|(?:Device|Thread|Stream|Event)Synchronize|StreamCreate\w*|StreamWaitEvent|EventCreate\w*"
    r"|EventRecord\w*|EventElapsedTime|SetDevice|FuncSet\w+|Graph(?:Create|Instantiate|Launch|Add\w+)"
    r"|StreamBeginCapture|StreamEndCapture|IpcOpen\w+|DeviceEnablePeerAccess)$"
)
_RUNTIME_WORDS = re.compile(_RUNTIME.pattern.removesuffix("$").encode())
# What stands before a call whose result goes somewhere.
_INSIDE = b"(,=!&|<>"
# Waits and the choice of a device, of whose errors later calls tell as well, and timers.
_OF_NO_RESULT = re.compile(
    r"cuda(?:SetDevice|\w+Synchronize|Event(?:Create|Record|ElapsedTime)\w*)$"
)
_TRYING = re.compile(r"(?:test|demo|example|bench)", re.IGNORECASE)
_LINES_OF_A_DEMONSTRATION = number(
    60, "lines of a whole program that shows one thing, at most", "", "our judgement"
)
_AROUND = ("lambda_expression", "call_expression")


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Runtime calls and launches of a host function whose errors nobody sees; one per function."""
    if context.function.place is not ExecutionSpace.HOST:
        return
    calls = context.calls() if _may_drop(context) else ()
    dropped = [call for call in calls if _is_dropped(context, call)]
    if dropped:
        names = list(dict.fromkeys(context.file.callee(c) for c in dropped))
        further = f" and {len(dropped) - 1} more in this function" if len(dropped) > 1 else ""
        yield context.diagnostic(
            "unchecked-errors", dropped[0], f"An error of this call{further} goes unnoticed ({', '.join(names[:4])}).",
            "Compare the result with cudaSuccess; when it differs, print cudaGetErrorString(result) and stop.",
            calls=str(len(dropped)), minor=_is_of_little_weight(context, names) or _checks_others(context, dropped[0]),
        )  # fmt: skip
    launches = [
        launch
        for launch in context.launches.of(context.function)
        if not context.file.is_empty_kernel(launch.kernel)
    ]
    if launches and not _launch_checked(context, launches):
        more = f" and {len(launches) - 1} more in this function" if len(launches) > 1 else ""
        wait = checked_wait_after(context, launches[-1].node)
        yield context.diagnostic(
            "unchecked-errors", launches[0].node,
            f"No error check follows this launch{more}: a launch that fails does nothing and says nothing."
            if wait is None else
            f"What {wait} returns after this launch{more} tells of kernels that fail while they run, not of a launch that never starts.",
            "Check the result of cudaGetLastError() after the launch; in debug builds also that of cudaDeviceSynchronize().",
            calls=str(len(launches)), minor=wait is not None or _is_of_little_weight(context, ()),
        )  # fmt: skip
    elif launches and _is_first_of_unchecked_file(context, launches):
        yield context.diagnostic(
            "unchecked-errors", launches[0].node,
            "Nothing in this file asks whether a launch failed, and one that fails does nothing and says nothing.",
            "Check the result of cudaGetLastError() after the launch, unless every caller does.",
            calls=str(len(launches)), minor=True,
        )  # fmt: skip


def _is_of_little_weight(context: RuleContext, names: Sequence[str]) -> bool:
    """Whether the function tries the GPU out, or drops results of waits and timers alone, whose errors later calls return."""
    name, lines = context.function.name, len(context.file.text.starts)
    if _TRYING.search(name) or (name == "main" and lines <= _LINES_OF_A_DEMONSTRATION):
        return True
    return bool(names) and all(_OF_NO_RESULT.match(name) for name in names)


def _is_first_of_unchecked_file(context: RuleContext, launches: list[SourceLaunch]) -> bool:
    """Whether this function is the first that launches, in a file that looks at no error of any kind."""
    first = next(f for f in context.file.functions if context.launches.of(f))
    if first is not context.function or asks_for_errors(context):
        return False
    launch, captures = launches[0].node, context.file.says(b"cudaStreamBeginCapture")
    if captures or speaks_of_checks_after(context, launch) or _checks_others(context, launch):
        return False
    # A macro around it may ask.
    return next((a.kind for a in launch.ancestors() if a.kind in _AROUND), "") != "call_expression"


def _may_drop(context: RuleContext) -> bool:
    """Whether a call of the runtime in the text of the function may be a statement of its own."""
    function, text = context.function, context.file.text.content
    for match in _RUNTIME_WORDS.finditer(text, function.body.start, function.body.end):
        before = text[text.rfind(b"\n", 0, match.start()) + 1 : match.start()].rstrip()
        if before[-1:] not in _INSIDE or not before:
            return True
    return False


def _is_dropped(context: RuleContext, call: Node) -> bool:
    if call.parent is None or call.parent.kind != "expression_statement" or not call.children:
        return False
    file, name = context.file, context.file.callee(call)
    if call.children[0].kind != "identifier" or not _RUNTIME.match(name):
        return False
    if name in file.names.returns or name in file.preprocessed.function_macros:
        return False
    if name == "cudaSetDevice" and context.constant(context.file.arguments(call)[-1]) == 0:
        # The first device is the current one anyway.
        return False
    # The runtime remembers an error until somebody asks for the last one.
    return not (
        asks_for_error_after(context, context.function, call) or _is_explained(context, call)
    )


def _is_explained(context: RuleContext, call: Node) -> bool:
    """Whether the line above *call* is a comment that speaks of errors."""
    above = context.file.text.line_text(max(1, context.file.text.line(call.start) - 1)).strip()
    return above.startswith((b"//", b"*", b"/*")) and b"rror" in above


def _launch_checked(context: RuleContext, launches: list[SourceLaunch]) -> bool:
    """Whether somebody asks for the error, or may do so outside this file."""
    first = launches[0].node
    if context.calls("cudaStreamBeginCapture"):
        # A stream that is captured reports its errors when the capture ends.
        return True
    if any(above.kind in _AROUND for above in first.ancestors()):
        return True
    if asks_for_error_after(context, context.function, first) or speaks_of_checks_after(
        context, first
    ):
        return True
    return not (reaches_main(context, context.function, 0) or _checks_others(context, first))


def _checks_others(context: RuleContext, launch: Node) -> bool:
    """Whether the function looks at the results of runtime calls after the launch."""
    return any(
        call.start > launch.end and call.parent is not None and call.parent.kind == "argument_list"
        for call in context.calls()
        if _RUNTIME.match(context.file.callee(call))
    )


CHECK = CudaCheck(
    faults=faults,
    said_once=Extent.FILE,
    on_device=False,
    code=BeforeAfter(
        "host",
        """\
void run() {
    cudaMalloc(&data, bytes);
    kernel<<<grid, block>>>(data);
}""",
        """\
#define CHECK(call) if (cudaError_t error = (call)) fail(#call, cudaGetErrorString(error))
void run() {
    CHECK(cudaMalloc(&data, bytes));
    kernel<<<grid, block>>>(data);
    CHECK(cudaGetLastError());
}""",
    ),
)


RULE = source_rule(
    id="unchecked-errors",
    title="Check every call and every launch",
    topic=Topic.DEPLOYMENT,
    priority=Priority.HIGH,
    correctness=True,
    why="A failed call goes unnoticed, and the error surfaces later in code that is innocent.",
    when="The result of a runtime call is dropped, or no cudaGetLastError() follows a launch.",
    citations=guide("17.2", "15.2"),
    seen="kernel<<<grid, block>>>(a)",
)

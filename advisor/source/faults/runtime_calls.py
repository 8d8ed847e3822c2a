"""Host code: unchecked calls, timers, streams, allocations."""

from __future__ import annotations

import re
from operator import attrgetter
from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import and_list
from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.advisor.source.tree import LOOPS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.launches import SourceLaunch
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.scopes import SourceFunction
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
_CHECK = re.compile(
    r"check|error|err\b|CUDA_|_SAFE|safe|CALL|verify|assert|ok\b|GPU_TRY|TRY", re.IGNORECASE
)
# In lower case, as projects spell them differently.
_LAST_ERROR = re.compile(
    rb"getlasterror|peekatlasterror|getlastcudaerror|kernel_launch_check|check_last|cuda_check\(\)"
    rb"|last_error|cudacheckerror"
)
_WAITING = frozenset(
    [
        "cudaDeviceSynchronize",
        "cudaThreadSynchronize",
        "cudaStreamSynchronize",
        "cudaEventSynchronize",
        "cudaMemcpy",
        "cudaMemcpyFromSymbol",
        "cudaMemcpyToSymbol",
        "cudaMemcpy2D",
        "cudaMemcpy3D",
        "cudaMemset",
        "cudaFree",
        "cuCtxSynchronize",
        "cuStreamSynchronize",
        "cudaDeviceReset",
        "cudaStreamQuery",
        "cudaEventQuery",
    ]
)
_APART = (b"cudaStreamNonBlocking", b"per-thread", b"PER_THREAD")
# Managed memory that the program places itself, or that host and device use at the same time.
_PLACED = re.compile(
    rb"cudaMem(?:PrefetchAsync|Advise)|cudaMemPrefetchBatchAsync|cudaStreamAttachMemAsync"
    rb"|atomic\w+_system|thread_scope_system|__threadfence_system"
)
_DEEPEST_CALLS = 4
_MOST_CALLERS = 50
_CLOCKS = frozenset(
    [
        "clock",
        "gettimeofday",
        "omp_get_wtime",
        "clock_gettime",
        "QueryPerformanceCounter",
        "now",
        "MPI_Wtime",
        "sdkStartTimer",
        "sdkStopTimer",
        "timespec_get",
        "get_time",
        "getTime",
        "get_wall_time",
    ]
)
# Words of a launch.
_WORK = (b"<<<", b"cudaLaunchKernel", b"cudaGraphLaunch")
_ALLOCATIONS = (
    "cudaMalloc",
    "cudaMallocManaged",
    "cudaMallocHost",
    "cudaHostAlloc",
    "cudaMallocPitch",
)
_HOST_ALLOCATIONS = frozenset(("malloc", "calloc", "aligned_alloc", "fopen", "fread"))
_CLOCK_LIKE = re.compile(r"clock|::now$|gettimeofday|EventRecord|wtime")
_FREES = {"cudaMallocHost": "cudaFreeHost", "cudaHostAlloc": "cudaFreeHost"}
_STREAM_POSITION = {"cudaMemcpyAsync": 4, "cudaMemsetAsync": 3, "cudaMemcpy2DAsync": 7}


def unchecked_errors(context: RuleContext) -> Iterator[Diagnostic]:
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
            calls=str(len(dropped)),
        )  # fmt: skip
    launches = [
        launch
        for launch in context.launches.of(context.function)
        if not context.file.is_empty_kernel(launch.kernel)
    ]
    if launches and not _launch_checked(context, launches):
        more = f" and {len(launches) - 1} more in this function" if len(launches) > 1 else ""
        yield context.diagnostic(
            "unchecked-errors", launches[0].node, f"No error check follows this launch{more}: a launch that fails does nothing and says nothing.",
            "Check the result of cudaGetLastError() after the launch; in debug builds also that of cudaDeviceSynchronize().",
            calls=str(len(launches)),
        )  # fmt: skip


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
    if call.children[0].kind != "identifier":
        return False
    name = context.file.callee(call)
    if not name.startswith("cuda") or not _RUNTIME.match(name):
        return False
    if name in context.file.names.returns:
        return False
    if name in context.file.preprocessed.function_macros:
        return False
    if name == "cudaSetDevice" and context.constant(context.file.arguments(call)[-1]) == 0:
        # The first device is the current one anyway.
        return False
    # The runtime remembers an error until somebody asks for the last one.
    return not (_asked_after(context, context.function, call) or _is_explained(context, call))


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
    if any(above.kind in ("lambda_expression", "call_expression") for above in first.ancestors()):
        return True
    if _asked_after(context, context.function, first) or _waits_checked(context, first):
        return True
    return not (_reaches_main(context, context.function, 0) or _checks_others(context, first))


def _checks_others(context: RuleContext, launch: Node) -> bool:
    """Whether the function looks at the results of runtime calls after the launch."""
    return any(
        call.start > launch.end and call.parent is not None and call.parent.kind == "argument_list"
        for call in context.calls()
        if _RUNTIME.match(context.file.callee(call))
    )


def _reaches_main(context: RuleContext, function: SourceFunction, depth: int) -> bool:
    """Whether *function* is main, or is called from it with no look at the error on the way."""
    if function.name == "main":
        return True
    if depth > _DEEPEST_CALLS:
        return False
    for caller, call in context.file.callers(function.name)[:_MOST_CALLERS]:
        if caller is function:
            continue
        if _asked_after(context, caller, call):
            return False
        if _reaches_main(context, caller, depth + 1):
            return True
    return False


def _asked_after(context: RuleContext, function: SourceFunction, node: Node) -> bool:
    """Whether *function* asks for the last error after *node*."""
    if function.last_check is None:
        text = context.file.text.content[function.node.start : function.node.end].lower()
        checks = [match.start() for match in _LAST_ERROR.finditer(text)]
        function.last_check = function.node.start + checks[-1] if checks else 0
    return node.end <= function.last_check


def _waits_checked(context: RuleContext, launch: Node) -> bool:
    """Whether a macro or function of unknown meaning that speaks of checks follows."""
    for call in context.calls():
        if call.start < launch.end or call.children[0].kind == "field_expression":
            continue
        name = context.file.callee(call)
        if name.startswith(("cuda", "std")) or not _CHECK.search(name):
            continue
        if not any(context.at(a).startswith("cuda") for a in context.file.arguments(call)):
            return True
    return False


def unsynchronized_timers(context: RuleContext) -> Iterator[Diagnostic]:
    """CPU timers that are read after a launch without waiting for it."""
    if context.function.place is not ExecutionSpace.HOST:
        return
    if not any(context.function.says(word) for word in _WORK):
        return
    if not context.calls(*_CLOCKS):
        return
    if context.calls("cudaEventElapsedTime"):
        # Events time the work; what the CPU timer measures is the calls.
        return
    started = False
    pending: Node | None = None
    for kind, node in _timeline(context):
        if kind == "clock":
            starts = "tart" in context.file.callee(node)
            if pending is not None and started and not starts:
                yield context.diagnostic(
                    "unsynchronized-timers", node,
                    f"The timer is read without waiting for the work of line {context.file.text.line(pending.start)}: "
                    "launches and asynchronous copies return at once.",
                    "Call cudaDeviceSynchronize() before the timer is started and before it is read, or time with "
                    "cudaEventRecord() and cudaEventElapsedTime().",
                )  # fmt: skip
            started, pending = True, None
        elif kind == "work":
            pending = node
        else:
            pending = None


def _timeline(context: RuleContext) -> list[tuple[str, Node]]:
    """Return clocks, asynchronous work and waits of a function, in the order of the text."""
    events: list[tuple[str, Node]] = []
    local = {f.name for f in context.file.functions}
    for call in context.calls():
        name = context.file.callee(call)
        if context.file.is_empty_kernel(name):
            # Nothing to wait for: the cost of the launch is what is measured.
            continue
        if any(c.kind == "kernel_call_syntax" for c in call.children) or name in (
            "cudaLaunchKernel",
            "cudaLaunchKernelEx",
            "cudaGraphLaunch",
        ):
            events.append(("work", call))
        elif name in _CLOCKS and name not in local:
            events.append(("clock", call))
        elif name in _WAITING or ("ync" in name and "Async" not in name):
            events.append(("wait", call))
        elif not name.startswith(("cuda", "__", "printf", "std")) and name not in (
            "dim3",
            "printf",
            "sizeof",
        ):
            # Another function, or a macro, may wait.
            events.append(("unknown", call))
    events.sort(key=lambda event: event[1].end)
    return events


def misplaced_events(context: RuleContext) -> Iterator[Diagnostic]:
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
    work = _streamed_work(context)
    for elapsed in context.calls("cudaEventElapsedTime"):
        arguments = context.file.arguments(elapsed)
        if len(arguments) != 3:
            continue
        pair = [records.get(context.at(a), []) for a in arguments[1:]]
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
                "Record both events in the stream of the work.",
            )  # fmt: skip


def _are_unordered(context: RuleContext, work: str | None, event: str) -> bool:
    """Whether two streams are surely different and do not wait for each other."""
    if work is None or "[" in work or "[" in event:
        return False
    if event in ("0", "NULL", "nullptr"):
        return b"cudaStreamNonBlocking" in context.file.text.content
    return work != event


def _waits_between(context: RuleContext, first: Node, second: Node) -> bool:
    names = ("cudaStreamWaitEvent", *_WAITING)
    return any(first.end <= c.start < second.start for c in context.calls(*names))


def _streamed_work(context: RuleContext) -> list[tuple[Node, str | None]]:
    """Return launches and asynchronous copies with their streams, in the order of the text."""
    work: list[tuple[Node, str | None]] = [
        (launch.node, launch.stream) for launch in context.launches.of(context.function)
    ]
    for name, position in _STREAM_POSITION.items():
        for call in context.calls(name):
            arguments = context.file.arguments(call)
            stream = context.at(arguments[position]) if len(arguments) > position else "0"
            work.append((call, None if stream in ("0", "NULL", "nullptr") else stream))
    return sorted(work, key=lambda item: item[0].start)


def default_stream_work(context: RuleContext) -> Iterator[Diagnostic]:
    """Find launches, and blocking copies, in the default stream among work in several streams."""
    if context.function.place is not ExecutionSpace.HOST:
        return
    if not (context.function.says(b"<<<") or context.function.says(b"Async")):
        return
    work = _streamed_work(context)
    for loop in context.function.nodes(*LOOPS):
        inside = [(n, s) for n, s in work if loop.holds(n)]
        streams = {s for _, s in inside if s is not None}
        if not any(_is_one_of_several(s) for s in streams) and len(streams) < 2:
            continue
        text = context.file.text.content
        if any(mark in text for mark in _APART):
            continue
        for node, stream in inside:
            if stream is None and context.loop_around(node) is loop:
                yield context.diagnostic(
                    "default-stream-work", node,
                    "Work in the default stream among other streams: it waits for all of them, and they wait for it.",
                    "Put it into one of the streams, or make those with cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking).",
                )  # fmt: skip
        for call in context.calls("cudaMemcpy", "cudaMemset"):
            if context.loop_around(call) is loop:
                yield context.diagnostic(
                    "blocking-copies", call,
                    "A blocking copy among work in several streams: the host waits, and so do the streams.",
                    "Call cudaMemcpyAsync() with the stream, from pinned memory.",
                )  # fmt: skip


def _is_one_of_several(stream: str) -> bool:
    """Whether *stream* is an element that an index chooses, and not the same one every time."""
    _, bracket, index = stream.partition("[")
    return bool(bracket) and not index.rstrip("]) ").isdigit()


def repeated_allocations(context: RuleContext) -> Iterator[Diagnostic]:
    """Device memory that a loop allocates and frees again in every iteration."""
    if context.function.place is not ExecutionSpace.HOST:
        return
    if not (context.function.says(b"cudaMalloc") or context.function.says(b"cudaHostAlloc")):
        return
    frees: dict[tuple[str, str], list[Node]] = {}
    for call in context.calls("cudaFree", "cudaFreeHost"):
        if arguments := context.file.arguments(call):
            key = context.file.callee(call), _pointer_name(context, arguments[0])
            frees.setdefault(key, []).append(call)
    surveys: dict[int, bool] = {}
    allocated: dict[int, tuple[Node, list[str]]] = {}
    for call in sorted(context.calls(*_ALLOCATIONS), key=attrgetter("index")):
        loop = context.loop_around(call)
        if loop is None or _runs_once(context, loop) or not context.file.arguments(call):
            continue
        if loop.index not in surveys:
            surveys[loop.index] = _is_survey(context, loop)
        if surveys[loop.index]:
            continue
        name = _pointer_name(context, context.file.arguments(call)[0])
        free = _FREES.get(context.file.callee(call), "cudaFree")
        if any(map(loop.holds, frees.get((free, name), ()))):
            known = allocated.setdefault(loop.index, (call, []))
            known[1].append(name)
    for call, pointers in allocated.values():
        names = and_list([*dict.fromkeys(pointers)])
        yield context.diagnostic(
            "repeated-allocations", call, f"Each iteration of the loop allocates and frees {names}; cudaFree waits for the device.",
            "Allocate once before the loop and reuse the buffer; where sizes vary, call cudaMallocAsync() and "
            "cudaFreeAsync() with a pool whose release threshold is raised.",
        )  # fmt: skip


def _runs_once(context: RuleContext, loop: Node) -> bool:
    """Whether *loop* is ``do { } while (0)``, which is there for its break."""
    condition = loop.part("condition")
    return (
        loop.kind == "do_statement"
        and condition is not None
        and "".join(context.at(condition).split()) in ("(0)", "(false)")
    )


def _is_survey(context: RuleContext, loop: Node) -> bool:
    """Whether each iteration of *loop* is a run of its own: it repeats launches, or fills host memory.

    An allocation is little beside either; programs that try one size after the other do so.
    """
    inner = [n for kind in LOOPS for n in context.file.tree.inside(loop, kind) if n is not loop]
    launches = context.file.tree.inside(loop, "kernel_call_syntax")
    if any(n.holds(launch) for n in inner for launch in launches):
        return True
    calls = context.file.tree.inside(loop, "call_expression")
    return any(
        context.file.callee(c) in _HOST_ALLOCATIONS or _CLOCK_LIKE.search(context.at(c.children[0]))
        for c in calls
        if c.children
    ) or bool(context.file.tree.inside(loop, "new_expression"))


def _pointer_name(context: RuleContext, node: Node) -> str:
    while node.kind in ("cast_expression", "pointer_expression", "parenthesized_expression") or (
        node.kind == "call_expression" and context.file.arguments(node)
    ):
        node = (
            context.file.arguments(node)[-1]
            if node.kind == "call_expression"
            else node.children[-1]
        )
    return context.at(node)


def unprefetched_managed_memory(context: RuleContext) -> Iterator[Diagnostic]:
    """Find managed memory that a kernel gets with neither prefetch nor advice in the file."""
    if context.function.place is not ExecutionSpace.HOST:
        return
    if not context.function.says(b"cudaMallocManaged"):
        return
    launches = context.launches.of(context.function)
    allocations = context.calls("cudaMallocManaged")
    if not launches or not allocations:
        return
    text = context.file.text.content
    if _PLACED.search(text):
        return
    passed = {context.at(a) for launch in launches for a in launch.arguments}
    filled = {
        _pointer_name(context, context.file.arguments(call)[0])
        for call in context.calls("cudaMemcpy", "cudaMemset")
        if context.file.arguments(call)
    }
    for call in allocations:
        arguments = context.file.arguments(call)
        name = _pointer_name(context, arguments[0]) if arguments else ""
        if name in passed and name not in filled:
            yield context.diagnostic(
                "unprefetched-managed-memory", call,
                "A kernel uses this managed memory without a prefetch: the first access to each page waits until the page has moved.",
                "Call cudaMemPrefetchAsync() to the device before the launch, and to the host after it; for data that is only "
                "read, cudaMemAdvise() with cudaMemAdviseSetReadMostly.",
            )  # fmt: skip
            return

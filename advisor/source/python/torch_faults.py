"""Faults in how PyTorch code feeds a GPU, waits for it and measures it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.diagnostic import TextEdit
from gpuadvise.advisor.source.python.training import (
    FACTORIES,
    argument,
    conditional_in,
    has_unknown_arguments,
    is_cuda_device,
    is_cuda_move,
    training_loops,
    uses_gpu,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule

_LOADERS = ("torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader")
_CLOCKS = frozenset(("time.time", "time.perf_counter", "time.monotonic", "timeit.default_timer"))
_WAITS = frozenset(("item", "cpu", "numpy", "tolist", "synchronize", "elapsed_time"))
_PRECISION = ("set_float32_matmul_precision", "allow_tf32", "fp32_precision")
# Words of a file that measures time somewhere; a wait may belong to that.
_TIMERS = (
    b"perf_counter",
    b"time.time()",
    b"time()",
    b"timer",
    b"elapsed",
    b"profiler",
    b"benchmark",
)
_READS = frozenset(("item", "cpu", "tolist"))
_OTHER_VENDORS = (b"torch_xla", b"torch_npu", b"habana", b"intel_extension", b'"xpu', b'"npu', b'"hpu', b"_mlu",
                  b"'xpu", b"'npu", b"'hpu", b"torch.xpu", b"torch.hpu")  # fmt: skip
_MATMULS = ("torch.nn.Linear", "torch.matmul", "torch.mm", "torch.bmm", "torch.nn.Transformer",
            "torch.nn.TransformerEncoderLayer", "torch.nn.MultiheadAttention")  # fmt: skip


def unpinned_loaders(module: PythonModule) -> Iterator[Diagnostic]:
    """Loaders without pinned memory in a file that moves their batches to a GPU."""
    if not uses_gpu(module):
        return
    for call in module.calls:
        if module.name_of(call.func) not in _LOADERS or has_unknown_arguments(call):
            continue
        pinned = argument(call, "pin_memory")
        if pinned is not None and not (isinstance(pinned, ast.Constant) and pinned.value is False):
            continue
        if (not call.args and not call.keywords) or not _feeds_gpu(module, call):
            continue
        yield module.diagnostic(
            "unpinned-loaders", call,
            "The loader hands out batches in pageable memory: copies to the GPU are slower and cannot overlap.",
            "Write DataLoader(..., pin_memory=True), and move batches with non_blocking=True.",
        )  # fmt: skip


def _feeds_gpu(module: PythonModule, loader: ast.Call) -> bool:
    """Whether a loop over the loader moves what it gets to a GPU."""
    above = module.parents.get(loader)
    names = set()
    if isinstance(above, ast.Assign):
        names = {t.id for t in above.targets if isinstance(t, ast.Name)}
        names |= {t.attr for t in above.targets if isinstance(t, ast.Attribute)}
    for node in module.nodes:
        if not isinstance(node, (ast.For, ast.AsyncFor)):
            continue
        heads = list(ast.walk(node.iter))
        named = any(
            (isinstance(n, ast.Name) and n.id in names)
            or (isinstance(n, ast.Attribute) and n.attr in names)
            for n in heads
        )
        if (named or loader in heads) and _moves_target(module, node):
            return True
    return False


def _moves_target(module: PythonModule, loop: ast.For | ast.AsyncFor) -> bool:
    targets = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
    for call in (n for statement in loop.body for n in ast.walk(statement)):
        if isinstance(call, ast.Call) and is_cuda_move(module, call):
            moved = {n.id for n in ast.walk(call.func) if isinstance(n, ast.Name)}
            if moved & targets:
                return True
    return False


def blocking_moves(module: PythonModule) -> Iterator[Diagnostic]:
    """Batches of a loader that are moved without ``non_blocking=True``; one per loop."""
    for loop in (n for n in module.nodes if isinstance(n, (ast.For, ast.AsyncFor))):
        if not _over_loader(module, loop):
            continue
        moves = [call for call in _moves_of_batch(module, loop) if _may_block(call)]
        if moves:
            yield module.diagnostic(
                "blocking-moves", moves[0],
                "The host waits until this batch is on the GPU.",
                "Write .to(device, non_blocking=True), with pin_memory=True in the loader: the copy overlaps with what was "
                "queued before.",
                tuple(edit for call in moves for edit in _keyword(module, call, "non_blocking=True")),
            )  # fmt: skip


def _moves_of_batch(module: PythonModule, loop: ast.For | ast.AsyncFor) -> Iterator[ast.Call]:
    """Yield the calls that move something the loader handed out to a GPU."""
    targets = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
    for call in (n for statement in loop.body for n in ast.walk(statement)):
        if isinstance(call, ast.Call) and is_cuda_move(module, call):
            base = call.func.value if isinstance(call.func, ast.Attribute) else call.func
            while isinstance(base, (ast.Subscript, ast.Attribute)):
                base = base.value
            if isinstance(base, ast.Name) and base.id in targets:
                yield call


def _may_block(call: ast.Call) -> bool:
    """Whether *call* surely leaves ``non_blocking`` at its default."""
    said = argument(call, "non_blocking") is not None or has_unknown_arguments(call)
    return not said and len(call.args) <= 1


def _over_loader(module: PythonModule, loop: ast.For | ast.AsyncFor) -> bool:
    """Whether *loop* runs over a DataLoader that this file makes."""
    for node in ast.walk(loop.iter):
        if isinstance(node, ast.Call) and module.name_of(node.func) in _LOADERS:
            return True
        if isinstance(node, ast.Name):
            for value in module.assigned.get(node.id, ()):
                if isinstance(value, ast.Call) and module.name_of(value.func) in _LOADERS:
                    return True
    return False


def _keyword(module: PythonModule, call: ast.Call, words: str) -> tuple[TextEdit, ...]:
    """Return the edit that adds a keyword argument to *call*."""
    last = [*call.args, *(k.value for k in call.keywords)]
    if last:
        after = max(last, key=lambda n: (n.end_lineno or 0, n.end_col_offset or 0))
        at = module.offset(after.end_lineno or 0, after.end_col_offset or 0)
        end = module.offset(call.end_lineno or 0, call.end_col_offset or 0) - 1
        if module.text[at:end].replace(")", "").strip() == "":
            # Brackets around the argument belong to it.
            at += len(module.text.content[at:end].rstrip())
        return (TextEdit(start=at, end=at, text=f", {words}"),)
    at = module.offset(call.end_lineno or 0, (call.end_col_offset or 0) - 1)
    return (TextEdit(start=at, end=at, text=words),)


def synchronizing_reads(module: PythonModule) -> Iterator[Diagnostic]:
    """``loss.item()``, ``.cpu()`` and ``print(loss)`` in every step of a training loop."""
    if not uses_gpu(module) or _for_another_vendor(module):
        return
    for loop in training_loops(module):
        names = loop.losses
        for node in (n for statement in loop.node.body for n in ast.walk(statement)):
            if not isinstance(node, ast.Call) or module.loop_around(node) is not loop.node:
                continue
            if conditional_in(module, node, loop.node) or not _reads_tensor(node, names):
                continue
            yield module.diagnostic(
                "synchronizing-reads", node,
                "In every step the host waits for the GPU to read one value.",
                "Keep the running sum as a tensor (total += loss.detach()) and read it once per epoch, or every n steps.",
            )  # fmt: skip
            break


def _for_another_vendor(module: PythonModule) -> bool:
    """Whether the file is written for a processor that is not a GPU of NVIDIA as well."""
    return any(mark in module.text.content for mark in _OTHER_VENDORS)


def _reads_tensor(call: ast.Call, names: set[str]) -> bool:
    if isinstance(call.func, ast.Attribute) and call.func.attr in _READS:
        base = call.func.value
        while isinstance(base, ast.Call) and isinstance(base.func, ast.Attribute):
            base = base.func.value
        return isinstance(base, ast.Name) and base.id in names
    if isinstance(call.func, ast.Name) and call.func.id in ("print", "float"):
        return any(isinstance(a, ast.Name) and a.id in names for a in call.args)
    return False


def full_precision_matmuls(module: PythonModule) -> Iterator[Diagnostic]:
    """Find a program that trains in FP32 and never chooses the precision of its matrix products."""
    words = module.text.content
    if any(
        mark.encode() in words
        for mark in (*_PRECISION, "autocast", "bfloat16", "float16", ".half()")
    ):
        return
    if (
        b"deterministic" in words
        or b"precision=" in words
        or not _is_program(module)
        or not uses_gpu(module)
    ):
        return
    loops = training_loops(module)
    uses = [c for c in module.calls if module.name_of(c.func) in _MATMULS]
    if loops and uses:
        yield module.diagnostic(
            "full-precision-matmuls", uses[0],
            "Matrix products run in FP32 without tensor cores, which is the default.",
            'Call torch.set_float32_matmul_precision("high") at the start: TF32 keeps 10 bits of the mantissa, so compare results; '
            "GPUs from compute capability 8.0 have it.",
        )  # fmt: skip


def _is_program(module: PythonModule) -> bool:
    return any(
        isinstance(node, ast.Compare)
        and isinstance(node.left, ast.Name)
        and node.left.id == "__name__"
        for node in module.nodes
    ) or any(module.function_of(loop.node) is module.tree for loop in training_loops(module))


def host_built_tensors(module: PythonModule) -> Iterator[Diagnostic]:
    """Tensors that a loop makes in host memory only to move them; they could be made on the GPU."""
    for call in module.calls:
        if not is_cuda_move(module, call) or module.loop_around(call) is None:
            continue
        made = call.func.value if isinstance(call.func, ast.Attribute) else call.func
        if not isinstance(made, ast.Call) or module.name_of(made.func) not in FACTORIES:
            continue
        if argument(made, "device") is not None or has_unknown_arguments(made):
            continue
        if any(isinstance(above, ast.ExceptHandler) for above in module.ancestors(call)):
            continue
        name = module.name_of(made.func)
        if name in ("torch.from_numpy", "torch.as_tensor"):
            continue
        yield module.diagnostic(
            "host-built-tensors", call,
            "Each iteration builds a tensor in host memory and copies it to the GPU.",
            f"Write {name}(..., device=...): the GPU makes it itself.",
        )  # fmt: skip


def synchronizations_in_loops(module: PythonModule) -> Iterator[Diagnostic]:
    """``torch.cuda.synchronize()`` in every iteration, other than to measure time."""
    for call in module.calls:
        if module.name_of(call.func) != "torch.cuda.synchronize":
            continue
        loop = module.loop_around(call)
        if loop is None or conditional_in(module, call, loop) or _is_measuring(module, call):
            continue
        yield module.diagnostic(
            "synchronizations-in-loops", call,
            "The host waits for the GPU in every iteration, and the GPU then waits for the host.",
            "Leave it out: work in one stream runs in order, and reading a value waits by itself.",
        )  # fmt: skip


def _is_measuring(module: PythonModule, call: ast.Call) -> bool:
    """Whether the function around *call* reads clocks or events, or its name says so."""
    function = module.function_of(call)
    name = getattr(function, "name", "").lower()
    if any(word in name for word in ("bench", "time", "profile", "test", "warm", "measure")):
        return True
    for neighbour in module.calls:
        called = module.name_of(neighbour.func)
        measures = called in _CLOCKS or "Event" in called or "profil" in called.lower()
        if measures and module.function_of(neighbour) is function:
            return True
    # A timer in a helper of this file may be what the loop waits for.
    words = module.text.content.lower()
    return any(mark in words for mark in _TIMERS) or any(
        word in module.text.file.lower() for word in ("bench", "test")
    )


def unsynchronized_timing(module: PythonModule) -> Iterator[Diagnostic]:
    """Two readings of a clock with GPU work between them and nothing that waits for it."""
    if not uses_gpu(module):
        return
    for body in _bodies(module):
        start: ast.stmt | None = None
        names: set[str] = set()
        pending: ast.AST | None = None
        for statement in body:
            clock = _clock_in(module, statement)
            if (
                clock is not None
                and start is not None
                and pending is not None
                and _subtracts(statement, names)
            ):
                yield module.diagnostic(
                    "unsynchronized-timing", clock,
                    f"The clock is read without waiting for the work of line {getattr(pending, 'lineno', 0)}: calls return before the GPU is done.",
                    "Call torch.cuda.synchronize() before each reading, or time with torch.cuda.Event(enable_timing=True).",
                )  # fmt: skip
                start, pending = None, None
            elif clock is not None and isinstance(statement, ast.Assign):
                start, pending = statement, None
                names = {t.id for t in statement.targets if isinstance(t, ast.Name)}
            elif _waits(module, statement):
                start = pending = None
            elif start is not None and (work := _gpu_work(module, statement)) is not None:
                pending = work


def _bodies(module: PythonModule) -> Iterator[list[ast.stmt]]:
    for node in module.nodes:
        for name in ("body", "orelse"):
            body = getattr(node, name, None)
            if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
                yield body


def _clock_in(module: PythonModule, statement: ast.stmt) -> ast.Call | None:
    if isinstance(statement, (ast.For, ast.While, ast.If, ast.With, ast.FunctionDef, ast.Try)):
        return None
    return next(
        (
            n
            for n in ast.walk(statement)
            if isinstance(n, ast.Call) and module.name_of(n.func) in _CLOCKS
        ),
        None,
    )


def _subtracts(statement: ast.stmt, names: set[str]) -> bool:
    return any(
        isinstance(n, ast.BinOp)
        and isinstance(n.op, ast.Sub)
        and isinstance(n.right, ast.Name)
        and n.right.id in names
        for n in ast.walk(statement)
    )


def _waits(module: PythonModule, statement: ast.stmt) -> bool:
    """Whether something in *statement* waits for the GPU, or may: any call that is not known."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Call):
            name = module.name_of(node.func)
            last = node.func.attr if isinstance(node.func, ast.Attribute) else name
            if (
                last in _WAITS
                or name in ("print", "float", "int")
                or "sync" in last.lower()
                or "barrier" in last
            ):
                return True
            if isinstance(node.func, ast.Name) and node.func.id in module.functions:
                return True
    return False


def _gpu_work(module: PythonModule, statement: ast.stmt) -> ast.AST | None:
    """Return a call that surely queues GPU work: of a model or tensor that the file moved."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Call):
            name = module.name_of(node.func)
            if name in ("torch.matmul", "torch.mm", "torch.bmm"):
                return node if _on_gpu(module, node.args[:1]) else None
            if isinstance(node.func, ast.Attribute) and node.func.attr == "backward":
                return node
            if isinstance(node.func, ast.Name) and _on_gpu(module, [node.func]):
                return node
        if isinstance(node, ast.BinOp):
            product = isinstance(node.op, ast.MatMult)
            if product and _on_gpu(module, [node.left]):
                return node
    return None


def _on_gpu(module: PythonModule, nodes: list[ast.expr]) -> bool:
    for node in nodes:
        if not isinstance(node, ast.Name):
            continue
        for value in module.assigned.get(node.id, ()):
            if isinstance(value, ast.Call):
                if is_cuda_move(module, value):
                    return True
                device = argument(value, "device")
                if device is not None and is_cuda_device(module, device):
                    return True
    return False

"""Kernels: their launch bounds, the way they read memory, intrinsics of old."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import and_list, plural
from gpuadvise.advisor.source.diagnostic import TextEdit
from gpuadvise.advisor.source.launches import block_sides
from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.advisor.source.tree import LOOPS, bare
from gpuadvise.advisor.source.variance import Variance

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.scopes import Variable
    from gpuadvise.advisor.source.tree import Node

_LEGACY = {
    "__shfl": "__shfl_sync", "__shfl_up": "__shfl_up_sync", "__shfl_down": "__shfl_down_sync",
    "__shfl_xor": "__shfl_xor_sync", "__any": "__any_sync", "__all": "__all_sync",
    "__ballot": "__ballot_sync",
}  # fmt: skip
_LEGACY_WORDS = re.compile(rb"__(?:shfl|any|all|ballot)")
_FULL = "0xffffffff"
# The most threads per SM of any GPU so far, and the most of a block.
_SM_THREADS, _BLOCK_THREADS, _WARP = 2048, 1024, 32
_WHOLE = ("init_declarator", "assignment_expression")
_HALF = {"half": "__half2", "bf16": "__nv_bfloat162"}
_HALF_CALLS = frozenset(("__hadd", "__hsub", "__hmul", "__hfma", "__hdiv"))
_NARROW_BYTES = {"char": 1, "uchar": 1, "bool": 1, "short": 2, "ushort": 2}
_DECLARATION = 80  # characters of what may follow the bracket of a structure
_MEMBER_BYTES = {
    "char": 1,
    "uchar": 1,
    "short": 2,
    "ushort": 2,
    "half": 2,
    "int": 4,
    "uint": 4,
    "float": 4,
}


def legacy_warp_intrinsics(context: RuleContext) -> Iterator[Diagnostic]:
    """Shuffles and votes without a mask, which compute capability 7.0 dropped."""
    if not context.function.on_device or not context.function.matches(_LEGACY_WORDS):
        return
    for call in context.calls(*_LEGACY):
        name = context.file.callee(call)
        arguments = context.file.arguments(call)
        if name in context.file.names.returns or name in context.file.preprocessed.function_macros:
            continue
        if context.under_version_guard(call) or not arguments:
            continue
        edits: tuple[TextEdit, ...] = ()
        if _converged(context, call):
            edits = (
                TextEdit(
                    start=call.children[0].start, end=call.children[0].end, text=_LEGACY[name]
                ),
                TextEdit(start=arguments[0].start, end=arguments[0].start, text=f"{_FULL}, "),
            )
        yield context.diagnostic(
            "legacy-warp-intrinsics", call, f"{name} has no mask: it does not compile for compute capability 7.0 and later.",
            f"Write {_LEGACY[name]}(mask, ...) with the lanes that take part, {_FULL} where all do.",
            edits=edits, replacement=_LEGACY[name],
        )  # fmt: skip


def _converged(context: RuleContext, call: Node) -> bool:
    """Whether all lanes of a warp surely reach *call* together."""
    if context.function.place is not ExecutionSpace.KERNEL:
        return False
    if any(n.start < call.start for n in context.function.nodes("return_statement")):
        return False
    for above in call.ancestors():
        if above is context.function.body:
            return True
        if above.kind in (*LOOPS, "if_statement", "switch_statement", "conditional_expression"):
            condition = above.part("condition") or (above.children[0] if above.children else None)
            if condition is None or context.variances.of(condition) > Variance.WARP:
                return False
    return True


def exceeded_launch_bounds(context: RuleContext) -> Iterator[Diagnostic]:
    """Find launches with more threads than the kernel's own bounds, or than any GPU, allow."""
    bounds = context.file.launch_bounds
    for launch in context.launches.of(context.function):
        most = bounds.get(launch.kernel)
        if launch.threads is None:
            continue
        if most is not None and launch.threads > most:
            yield context.diagnostic(
                "exceeded-launch-bounds", launch.node,
                f"{launch.threads} threads per block, but {launch.kernel} is declared __launch_bounds__({most}): the launch fails.",
                f"Launch at most {most} threads, or declare __launch_bounds__({launch.threads}).",
                threads=str(launch.threads), bound=str(most),
            )  # fmt: skip
        elif launch.threads > _BLOCK_THREADS:
            yield context.diagnostic(
                "impossible-launch", launch.node, f"{launch.threads} threads per block; no GPU takes more than {_BLOCK_THREADS}.",
                f"Launch at most {_BLOCK_THREADS} threads per block.",
                threads=str(launch.threads),
            )  # fmt: skip


def overstated_launch_bounds(context: RuleContext) -> Iterator[Diagnostic]:
    """Launch bounds that ask for more threads per SM than any GPU holds."""
    bounds = context.function.launch_bounds
    if bounds is None or len(bounds.children) < 2:
        return
    threads, blocks = (context.constant(child) for child in bounds.children[:2])
    if threads and blocks and threads * blocks > _SM_THREADS:
        yield context.diagnostic(
            "overstated-launch-bounds", bounds,
            f"{blocks} blocks of {threads} threads are {threads * blocks} per SM; no SM holds more than {_SM_THREADS}, so the compiler ignores the minimum.",
            f"Write __launch_bounds__({threads}, {max(1, _SM_THREADS // threads)}).",
        )  # fmt: skip


def partial_warp(context: RuleContext) -> Iterator[Diagnostic]:
    """Blocks that are no whole number of warps."""
    for launch in context.launches.of(context.function):
        threads = launch.threads
        if threads is None or threads % _WARP == 0 or threads > _BLOCK_THREADS:
            continue
        if threads == 1 or threads < _WARP:
            continue
        sides = block_sides(context.file, context.function, launch.block) or ()
        yield context.diagnostic(
            "partial-warp", launch.node, f"Blocks of {_block_words(sides)} threads leave {plural(-threads % _WARP, 'lane')} of the last warp idle.",
            f"Launch {-(-threads // _WARP) * _WARP} or {threads // _WARP * _WARP} threads per block.",
            threads=str(threads),
        )  # fmt: skip


def _block_words(sides: tuple[int, ...]) -> str:
    return " x ".join(str(side) for side in sides)


def unrestricted_pointers(context: RuleContext) -> Iterator[Diagnostic]:
    """Pointers that a kernel only reads, without const and __restrict__; one per kernel."""
    if context.function.place is not ExecutionSpace.KERNEL:
        return
    pointers = [p for p in context.function.parameters if p.type.endswith("*") and p.type != "?*"]
    if len(pointers) < 2 or any(p.restrict for p in pointers):
        return
    written, unknown = _written_pointers(context)
    names = {p.name for p in pointers}
    if unknown or not (written & names) or _launched_with_aliases(context):
        return
    read = [
        p for p in pointers if p.name not in written and _is_read_after_store(context, p, names)
    ]
    if not read or any(p.type.count("*") > 1 for p in pointers):
        return
    listed = and_list([p.name for p in read])
    yield context.diagnostic(
        "unrestricted-pointers", read[0].node, f"The kernel only reads through {listed}, but the compiler must assume that a store through another pointer changes what {'it points' if len(read) == 1 else 'they point'} to.",
        f"If the arrays never overlap, declare {'it' if len(read) == 1 else 'them'} const ... *__restrict__, and the "
        "pointers that are written *__restrict__.",
        parameters=listed,
    )  # fmt: skip


def _is_read_after_store(context: RuleContext, parameter: Variable, names: set[str]) -> bool:
    """Whether a load through *parameter* may follow a store, in the text or in a loop."""
    returns = {
        r.parent.index: r
        for r in context.function.nodes("return_statement")
        if r.parent is not None
    }
    stores = [
        n
        for n in context.function.nodes("assignment_expression")
        if n.children
        and n.children[0].kind == "subscript_expression"
        and context.root_name(n.children[0]) in names
        and not _ends_the_kernel(n, returns)
    ]
    for load in context.function.nodes("subscript_expression"):
        if context.at(load.children[0]) != parameter.name:
            continue
        loop = context.loop_around(load)
        if any(_may_follow(load, s) or (loop is not None and loop.holds(s)) for s in stores):
            return True
    return False


def _may_follow(load: Node, store: Node) -> bool:
    """Whether *load* stands after *store*, and not in the other branch of a condition."""
    if load.start < store.end:
        return False
    for above in load.ancestors():
        if above.holds(store):
            alternative = above.part("alternative") if above.kind == "if_statement" else None
            return alternative is None or not alternative.holds(load)
    return True


def _ends_the_kernel(store: Node, returns: dict[int, Node]) -> bool:
    """Whether a return follows *store* at once, so that no load does.

    *returns* holds the last one of each block, by the place of the block.
    """
    for above in store.ancestors():
        if above.kind in LOOPS or above.kind == "function_definition":
            return False
        last = returns.get(above.index)
        if last is not None and last.start >= store.end:
            return True
    return False


def _written_pointers(context: RuleContext) -> tuple[set[str], bool]:
    """Return the pointers that are stored through, and whether others leave the function."""
    written: set[str] = set()
    for node in context.function.nodes("assignment_expression", "update_expression"):
        target = node.children[0] if node.children else node
        if target.kind in ("subscript_expression", "field_expression", "pointer_expression"):
            written.add(context.root_name(target))
    names = {p.name for p in context.function.parameters if p.type.endswith("*")}
    for node in context.function.nodes("identifier"):
        if context.at(node) not in names or node.parent is None:
            continue
        above = node.parent
        if above.kind in ("subscript_expression", "field_expression") and above.children[0] is node:
            continue
        if above.kind == "pointer_expression" and context.file.operator(above) == "*":
            continue
        return written, True
    return written, any(
        context.file.operator(n) == "&" for n in context.function.nodes("pointer_expression")
    )


def _launched_with_aliases(context: RuleContext) -> bool:
    """Whether a launch in the file hands one array to two pointers."""
    return context.function.name in context.launches.aliased


def scalar_half_arithmetic(context: RuleContext) -> Iterator[Diagnostic]:
    """Elementwise half arithmetic, one element per thread; one per kernel."""
    if context.function.place is not ExecutionSpace.KERNEL:
        return
    if not (context.file.says(b"half") or context.file.says(b"bfloat16")):
        return
    for node in context.function.nodes("assignment_expression"):
        if len(node.children) != 2 or node.children[0].kind != "subscript_expression":
            continue
        kind = context.type_of(node.children[0])
        if kind not in _HALF or not _is_thread_index(context, node.children[0]):
            continue
        value = bare(node.children[1])
        arithmetic = value.kind == "binary_expression" and context.file.operator(value) in (
            "+",
            "-",
            "*",
        )
        if value.kind == "call_expression":
            arithmetic = context.file.callee(value) in _HALF_CALLS
        loads = [n for n in context.file.tree.below(value) if n.kind == "subscript_expression"]
        if (
            arithmetic
            and loads
            and all(context.type_of(n) == kind and _is_thread_index(context, n) for n in loads)
        ):
            yield context.diagnostic(
                "scalar-half-arithmetic", node, "16-bit arithmetic on one element at a time uses half of each instruction.",
                f"Let each thread take two neighbours as {_HALF[kind]}: __hadd2, __hmul2 and __hfma2 work on both at once, "
                "and loads and stores move 4 bytes.",
            )  # fmt: skip
            return


def narrow_loads(context: RuleContext) -> Iterator[Diagnostic]:
    """Kernels in which each thread moves one element of one or two bytes; one per kernel."""
    if context.function.place is not ExecutionSpace.KERNEL:
        return
    bases = {p.type.rstrip("*") for p in context.function.parameters}
    if bases.isdisjoint(_NARROW_BYTES) and bases.isdisjoint(context.file.names.structs):
        return
    for node in context.function.nodes("assignment_expression"):
        if len(node.children) != 2 or node.children[0].kind != "subscript_expression":
            continue
        target = node.children[0]
        kind = context.type_of(target)
        size = _NARROW_BYTES.get(kind)
        if size is None or context.file.operator(node) != "=" or not _is_parameter(context, target):
            continue
        loads = [
            n
            for n in context.file.tree.below(node.children[1])
            if n.kind == "subscript_expression" and _NARROW_BYTES.get(context.type_of(n)) == size
        ]
        if (
            _is_thread_index(context, target)
            and loads
            and all(_is_thread_index(context, n) and _is_parameter(context, n) for n in loads)
        ):
            yield context.diagnostic(
                "narrow-elements", node, f"Each thread moves {size} byte{'s' * (size > 1)} of contiguous data; a load can carry 16.",
                f"Let each thread take {4 // size} or {16 // size} neighbours through a vector type such as "
                f"{'uchar4' if size == 1 else 'ushort2'} or int4.",
            )  # fmt: skip
            return


def _is_parameter(context: RuleContext, subscript: Node) -> bool:
    name = context.root_name(subscript)
    return any(p.name == name for p in context.function.parameters)


def _is_thread_index(context: RuleContext, subscript: Node) -> bool:
    """Whether the index is the thread's own number, counted with no factor."""
    if len(subscript.children) != 2 or not subscript.children[1].children:
        return False
    index = bare(subscript.children[1].children[0])
    if index.kind == "identifier":
        variable = context.file.variable(context.at(index), index, context.function)
        if variable is None or variable.value is None:
            return False
        index = bare(variable.value)
    words = "".join(context.at(index).split())
    return (
        bool(
            re.fullmatch(
                r"\(?(?:\(?int\)?)?\(?(?:threadIdx\.x\+)?blockIdx\.x\*blockDim\.x(?:\+threadIdx\.x)?\)?"
                r"|threadIdx\.x\+blockDim\.x\*blockIdx\.x|blockDim\.x\*blockIdx\.x\+threadIdx\.x",
                words,
            )
        )
        and "threadIdx" in words
    )


def synchronous_staging(context: RuleContext) -> Iterator[Diagnostic]:
    """Tiles that go from global to shared memory through registers, in a loop; one per kernel."""
    if context.function.place is not ExecutionSpace.KERNEL:
        return
    if not (context.function.says(b"__shared__") and context.function.says(b"sync")):
        return
    shared = {v.name for vs in context.function.variables.values() for v in vs if v.shared}
    pointers = {
        p.name
        for p in context.function.parameters
        if p.type.rstrip("*") in ("float", "int", "uint", "double")
    }
    if not shared or not pointers:
        return
    for node in context.function.nodes("assignment_expression"):
        if len(node.children) != 2 or context.file.operator(node) != "=":
            continue
        target, value = node.children
        if target.kind != "subscript_expression" or value.kind != "subscript_expression":
            continue
        if context.root_name(target) not in shared or context.root_name(value) not in pointers:
            continue
        loop = context.loop_around(node)
        if loop is None or not any(loop.holds(c) for c in context.calls("__syncthreads", "sync")):
            continue
        yield context.diagnostic(
            "synchronous-staging", node, "A tile goes from global to shared memory through registers.",
            "On compute capability 8.0 and later copy it with cuda::memcpy_async or __pipeline_memcpy_async: no register holds "
            "it, and the copy of the next tile runs while this one is used.",
        )  # fmt: skip
        return


def unaligned_words(context: RuleContext) -> Iterator[Diagnostic]:
    """Structures of 8 or 16 bytes that a kernel loads whole without promised alignment."""
    if context.function.place is not ExecutionSpace.KERNEL:
        return
    for parameter in context.function.parameters:
        name = parameter.type[:-1]
        fields = context.file.names.structs.get(name)
        if (
            not parameter.type.endswith("*")
            or not fields
            or name not in context.file.names.struct_nodes
        ):
            continue
        sizes = [_MEMBER_BYTES.get(kind, 0) for kind in fields.values()]
        total, struct = sum(sizes), context.file.names.struct_nodes[name]
        declared = _struct_words(context, struct)
        if 0 in sizes or total not in (8, 16) or max(sizes) == total or "align" in declared.lower():
            continue
        if len(set(sizes)) > 1 or not _loaded_whole(context, parameter.name):
            continue
        yield context.diagnostic(
            "unaligned-words", parameter.node, f"{name} has {total} bytes but promises an alignment of {max(sizes)}: a load of it is split.",
            f"Declare struct __align__({total}) {name}, so that one instruction moves it.",
        )  # fmt: skip


def _struct_words(context: RuleContext, struct: Node) -> str:
    """Return what a declaration of a structure says outside its brackets."""
    text = context.file.text
    before = text.line_text(text.line(struct.start)).decode("utf-8", "replace")
    after = text[struct.end : struct.end + _DECLARATION]
    return before.split("{")[0] + after.split(";")[0]


def _loaded_whole(context: RuleContext, name: str) -> bool:
    for node in context.function.nodes("subscript_expression"):
        above = node.parent
        if above is None or above.kind not in _WHOLE or context.at(node.children[0]) != name:
            continue
        if above.children[0].kind != "reference_declarator":
            return True
    return False

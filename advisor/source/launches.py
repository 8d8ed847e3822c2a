"""Launches ``kernel<<<grid, block, bytes, stream>>>(...)`` and what is known of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.tree import bare

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gpuadvise.advisor.source.cuda_file import CudaFile
    from gpuadvise.advisor.source.scopes import SourceFunction
    from gpuadvise.advisor.source.tree import Node

# What dim3 takes as its first side: dim3 block = rows;
_NUMBERS = ("identifier", "field_expression", "binary_expression", "call_expression")
# Functions that launch what they are given: kernel, grid, block, shared memory, stream, arguments.
_LAUNCHING = ("GpuLaunchKernel", "CudaLaunchKernel")
_CONFIGURATION = 5  # arguments before those of the kernel
_DEFAULT_STREAMS = frozenset(("0", "NULL", "nullptr", "cudaStreamDefault", "cudaStreamLegacy"))


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLaunch:
    """One launch: *threads* per block where the file says them; *stream* None for the default."""

    kernel: str
    node: Node
    grid: Node
    block: Node
    shared_bytes: Node | None
    stream: str | None
    threads: int | None
    arguments: tuple[Node, ...]


class Launches:
    """The launches of one file, function by function; each is read once."""

    def __init__(self, file: CudaFile) -> None:
        self._file = file
        self._known: dict[int, list[SourceLaunch]] = {}
        self._aliased: frozenset[str] | None = None
        self._widths: dict[str, list[int]] = {}
        self._values: dict[tuple[str, int], list[int]] = {}
        self._threads: dict[str, set[int | None]] = {}
        self._of_one_block: dict[str, bool] = {}
        self._is_read = False

    def of(self, function: SourceFunction) -> list[SourceLaunch]:
        """Return the launches in *function*, in order."""
        known = self._known.get(function.node.index)
        if known is None:
            known = self._known[function.node.index] = _launches(self._file, function)
        return known

    def forget(self, functions: Iterable[SourceFunction]) -> None:
        """Let go the launches in *functions*; they are read anew when somebody asks again."""
        for function in functions:
            self._known.pop(function.node.index, None)

    @property
    def aliased(self) -> frozenset[str]:
        """The kernels that a launch hands one array twice."""
        if self._aliased is None:
            launches = [launch for f in self._file.functions for launch in self.of(f)]
            self._aliased = frozenset(x.kernel for x in launches if self._repeats(x))
        return self._aliased

    def widths(self, kernel: str) -> list[int]:
        """Return the threads along x of the launches of *kernel* in this file, where it says them."""
        self._read_numbers()
        return self._widths.get(kernel, [])

    def is_sized_by_data(self, kernel: str) -> bool:
        """Whether launches of *kernel* in this file take its threads from variables alone: no more than the data need, perhaps."""
        self._read_numbers()
        return kernel in self._threads and kernel not in self._widths

    def is_of_one_block(self, kernel: str) -> bool:
        """Whether all launches of *kernel* in this file, of which there is one at least, have a grid of one block."""
        self._read_numbers()
        return self._of_one_block.get(kernel, False)

    def is_of_one_thread(self, kernel: str) -> bool:
        """Whether all launches of *kernel* in this file, of which there is one at least, are of a single thread."""
        return self.is_of_one_block(kernel) and self._threads[kernel] == {1}

    def values(self, kernel: str, place: int) -> list[int]:
        """Return the integers that launches of *kernel* in this file hand it as argument *place*, from 0."""
        self._read_numbers()
        return self._values.get((kernel, place), [])

    def _read_numbers(self) -> None:
        """Keep the numbers of all launches, not their nodes: those are let go with each function."""
        if self._is_read:
            return
        self._is_read = True
        for function in self._file.functions:
            for launch in self.of(function):
                if width := _block_width(self._file, function, launch.block):
                    self._widths.setdefault(launch.kernel, []).append(width)
                self._threads.setdefault(launch.kernel, set()).add(launch.threads)
                grid = block_sides(self._file, function, launch.grid)
                alone = grid is not None and set(grid) == {1}
                known = self._of_one_block.get(launch.kernel, True)
                self._of_one_block[launch.kernel] = known and alone
                for place, argument in enumerate(launch.arguments):
                    value = _number(self._file, function, argument)
                    if value is not None:
                        self._values.setdefault((launch.kernel, place), []).append(value)

    def _repeats(self, launch: SourceLaunch) -> bool:
        words = [self._file.at(a) for a in launch.arguments if a.kind != "number_literal"]
        return len(set(words)) < len(words)


def _launches(file: CudaFile, function: SourceFunction) -> list[SourceLaunch]:
    launches: list[SourceLaunch] = []
    if function.says(b"LaunchKernel("):
        launches += _launches_by_calls(file, function)
    if not function.may_launch:
        return launches
    for syntax in function.nodes("kernel_call_syntax"):
        call = syntax.parent
        if call is None or len(syntax.children) < 2 or not call.children:
            continue
        stream = file.at(syntax.children[3]) if len(syntax.children) > 3 else None
        launches.append(
            SourceLaunch(
                kernel=file.callee(call),
                node=call,
                grid=syntax.children[0],
                block=syntax.children[1],
                shared_bytes=syntax.children[2] if len(syntax.children) > 2 else None,
                stream=None if stream in _DEFAULT_STREAMS else stream,
                threads=threads_of(file, function, syntax.children[1]),
                arguments=tuple(file.arguments(call)),
            )
        )
    return launches


def _launches_by_calls(file: CudaFile, function: SourceFunction) -> Iterator[SourceLaunch]:
    """Yield the launches by functions such as TensorFlow's GpuLaunchKernel()."""
    for call in function.nodes("call_expression"):
        arguments = file.arguments(call)
        if file.callee(call) not in _LAUNCHING or len(arguments) < _CONFIGURATION:
            continue
        kernel, grid, block, shared, stream, *rest = arguments
        named = kernel.children[0] if kernel.kind == "template_function" else kernel
        words = file.at(stream)
        yield SourceLaunch(
            kernel=file.at(named),
            node=call,
            grid=grid,
            block=block,
            shared_bytes=shared,
            stream=None if words in _DEFAULT_STREAMS else words,
            threads=threads_of(file, function, block),
            arguments=tuple(rest),
        )


def threads_of(file: CudaFile, function: SourceFunction, block: Node) -> int | None:
    """Return the threads of a block size as it is written, None where the file does not say."""
    sides = block_sides(file, function, block)
    if sides is None:
        return None
    threads = 1
    for side in sides:
        threads *= side
    return threads


def block_sides(file: CudaFile, function: SourceFunction, block: Node) -> tuple[int, ...] | None:
    """Return the sides of a block that a number, a dim3, or a variable of either gives."""
    sides = tuple(_number(file, function, node) for node in side_nodes(file, function, block))
    known = tuple(side for side in sides if side is not None)
    return known if known and len(known) == len(sides) else None


def _block_width(file: CudaFile, function: SourceFunction, block: Node) -> int | None:
    """Return the threads along x of a block, whatever its other sides are."""
    sides = side_nodes(file, function, block)
    return _number(file, function, sides[0]) if sides else None


def side_nodes(file: CudaFile, function: SourceFunction, block: Node) -> list[Node]:
    """Return the sides of a block as they are written, empty where they do not stand in the function."""
    block = bare(block)
    if file.constant(block, function) is not None:
        return [block]
    if block.kind == "call_expression" and file.callee(block) == "dim3":
        return file.arguments(block)
    if block.kind == "initializer_list":
        return block.children
    if block.kind != "identifier":
        return []
    name = file.at(block)
    variable = file.variable(name, block, function)
    if (
        variable is None
        or variable.value is None
        or variable.parameter
        or _changed(file, function, name)
    ):
        return []
    inner = variable.value
    if inner.holds(block):
        return []
    if variable.type == "dim3" and inner.kind in ("argument_list", "initializer_list"):
        return inner.children
    if variable.type == "dim3" and inner.kind == "parameter_list":
        return [parameter.children[0] for parameter in inner.children]
    if inner.kind == "call_expression" and file.callee(inner) == "dim3":
        return file.arguments(inner)
    if variable.type == "dim3" and inner.kind in _NUMBERS:
        return [inner]
    is_number = inner.kind != "identifier" and file.constant(inner, function) is not None
    return [inner] if is_number else []


def _number(file: CudaFile, function: SourceFunction, node: Node) -> int | None:
    value = file.constant(node, function)
    if value is None and node.kind in ("identifier", "type_identifier"):
        variable = file.variable(file.at(node), node, function)
        if variable is None or variable.value is None or variable.parameter:
            return None
        if not _changed(file, function, variable.name) and not variable.value.holds(node):
            return file.constant(variable.value, function)
    return value


def _changed(file: CudaFile, function: SourceFunction, name: str) -> bool:
    """Whether *name*, or a field of it, is assigned or handed out by address."""
    if function.changed is None:
        function.changed = frozenset(_changes(file, function))
    return name in function.changed


def _changes(file: CudaFile, function: SourceFunction) -> Iterator[str]:
    for node in function.nodes("assignment_expression", "update_expression", "pointer_expression"):
        target = node.children[0] if node.children else node
        if node.kind == "pointer_expression" and file.operator(node) != "&":
            continue
        while target.children and target.kind in ("field_expression", "subscript_expression"):
            target = target.children[0]
        yield file.at(target)

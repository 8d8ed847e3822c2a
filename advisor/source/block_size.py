"""The block size of a kernel: what its file launches it with, and whether its code holds for others."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.launches import Launches
from gpuadvise.advisor.source.tree import bare

if TYPE_CHECKING:
    from gpuadvise.advisor.source.cuda_file import CudaFile
    from gpuadvise.advisor.source.scopes import SourceFunction, Variable
    from gpuadvise.advisor.source.tree import Node

_MOST_SIZES = 4
_LARGEST_BLOCK = 1024
_ASSERTED = re.compile(rb"\bassert\s*\([^;]*blockDim")
_ASKS_FOR_SIZE = re.compile(rb"blockDim|\.size\(\)|num_threads\(|group_dim\(|KERNEL_LOOP")
_PARTS = re.compile(r"/|%|>>|&")


def launched_sizes(file: CudaFile) -> dict[str, tuple[int, ...]]:
    """Return the threads per block of each kernel's launches in *file*, as far as it says them."""
    launches = Launches(file)
    sizes: dict[str, dict[int, None]] = {}
    for function in file.functions:
        for launch in launches.of(function):
            if launch.threads is not None and 1 <= launch.threads <= _LARGEST_BLOCK:
                sizes.setdefault(launch.kernel, {})[launch.threads] = None
    return {kernel: tuple(known)[:_MOST_SIZES] for kernel, known in sizes.items()}


def launching_words(file: CudaFile) -> dict[str, set[str]]:
    """Return the constants that the block sizes of each kernel's launches are made of."""
    launches = Launches(file)
    words: dict[str, set[str]] = {}
    for function in file.functions:
        for launch in launches.of(function):
            for node in file.tree.below(launch.block):
                if node.kind == "identifier" and file.is_constant(node, function):
                    words.setdefault(launch.kernel, set()).add(file.at(node))
    return words


def why_fixed(file: CudaFile, kernel: SourceFunction, launching: set[str]) -> str | None:
    """Return why *kernel* computes something else with another block size, None where nothing says so.

    *launching* are the constants that the file launches it with.
    """
    if kernel.matches(_ASSERTED):
        return "it asserts blockDim"
    if kernel.says(b"threadIdx") and not kernel.matches(_ASKS_FOR_SIZE):
        return "it numbers threads without blockDim"
    for word in sorted(launching):
        if kernel.matches(re.compile(rb"\b%b\b" % re.escape(word.encode()))):
            return f"{word}, with which it is launched, stands in it"
    for access in kernel.nodes("subscript_expression"):
        if tile := _tile_of_threads(file, kernel, access):
            sizes = "".join(f"[{file.at(side)}]" for side in tile.dimensions)
            return f"its threads fill {tile.name}{sizes}, an element each"
    return None


def _tile_of_threads(file: CudaFile, kernel: SourceFunction, access: Node) -> Variable | None:
    """Return the shared array of a fixed size in which *access* takes the element of the thread's number."""
    indices: list[Node] = []
    base = access
    while base.kind == "subscript_expression" and len(base.children) == 2:
        indices += base.children[1].children
        base = base.children[0]
    if base.kind != "identifier":
        return None
    tile = file.variable(file.at(base), base, kernel)
    if tile is None or not tile.shared or not tile.dimensions:
        return None
    if not any(_is_of_thread(file, kernel, index) for index in indices):
        return None
    sides = [file.constant(side, kernel) for side in tile.dimensions]
    fits_all = len(sides) == 1 and sides[0] is not None and sides[0] >= _LARGEST_BLOCK
    return None if fits_all else tile


def _is_of_thread(file: CudaFile, kernel: SourceFunction, index: Node) -> bool:
    """Whether *index* is made of the thread's number, and not of a part of it or of a loop's counter."""
    index = bare(index)
    if index.kind == "identifier":
        variable = file.variable(file.at(index), index, kernel)
        if variable is None or variable.value is None or variable.value.holds(index):
            return False
        if any(above.kind == "for_statement" for above in variable.value.ancestors()):
            return False
        index = bare(variable.value)
    words = file.at(index)
    return "threadIdx." in words and not _PARTS.search(words) and "[" not in words

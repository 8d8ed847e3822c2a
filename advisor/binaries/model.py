"""What the readers find in a file: kernels, container entries, damage."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gpuadvise.advisor.capability import Capability


class Source(StrEnum):
    """The kind of record a kernel's numbers were read from."""

    CUBIN = "cubin"
    PTX = "ptx"
    PTXAS_LOG = "ptxas-log"
    NVLINK_LOG = "nvlink-log"
    CUOBJDUMP = "cuobjdump"
    NCU = "ncu"


class Exactness(StrEnum):
    """How far a number that a file does not state outright can be trusted."""

    EXACT = "exact"
    UPPER_BOUND = "upper bound"
    INFERRED = "inferred"


class Content(StrEnum):
    """What one entry of a container holds."""

    SASS = "sass"
    PTX = "ptx"
    RELOCATABLE_PTX = "relocatable ptx"
    LTO = "lto"
    TILE = "tile ir"
    STUB = "stub"  # an image without any code, left behind by device linking
    INDEX = "index"
    UNKNOWN = "unknown"


class Compression(StrEnum):
    """How an entry is packed."""

    NONE = "none"
    LZ4 = "lz4"
    ZSTD = "zstd"
    UNKNOWN = "unknown"


class Place(NamedTuple):
    """Where something was found; *offset* in bytes from the start of the file or member.

    A tuple, as ``Entry`` is: libraries have ten thousands, and a dataclass takes four times as long.
    """

    path: str
    member: str | None = None  # in an archive or wheel; nested members joined by "!"
    section: str | None = None  # of the host file
    offset: int | None = None
    line: int | None = None  # of a text file, from 1

    def at(self, offset: int | None) -> Place:
        """Return the same place at another offset."""
        return Place(self.path, self.member, self.section, offset, self.line)


class TritonOptions(NamedTuple):
    """How Triton compiled a kernel, and hence launches it: one candidate of its autotuner."""

    num_warps: int  # of a block
    num_ctas: int  # blocks of a cluster
    num_stages: int | None = None
    maxnreg: int | None = None  # None: the compiler chose the registers


class InstructionMix(NamedTuple):
    """How many instructions of a kernel ask for what, as they stand in the code: loops count once.

    Loads and stores of global memory are pairs of bytes per thread and count. Divisions are those by
    a value that is not constant, of floats, doubles and integers.
    """

    global_loads: tuple[tuple[int, int], ...]
    global_stores: tuple[tuple[int, int], ...]
    local_loads: int
    local_stores: int
    atomics: int  # reductions included
    barriers: int
    divisions: int


class Kernel(NamedTuple):
    """Resources of one kernel or device function; ``None`` means the file does not say.

    Names are as in the file: mangled, not checked for control characters. Bytes of stack and
    spills are per thread, of shared memory per block. A tuple for the reason that ``Place`` is.
    """

    name: str
    source: Source
    place: Place
    capability: Capability | None = None
    entry: bool = True  # False: a device function, which has no occupancy of its own
    linked: bool | None = None  # False: relocatable, so callees are not counted yet
    registers: int | None = None
    register_cap: int | None = None  # None: no cap known; launch bounds or -maxrregcount set one
    reconfigures_registers: bool | None = None  # setmaxnreg: warps differ from *registers*
    static_smem: int | None = None  # the user's own bytes
    reserved_smem: int | None = None  # what the image adds for the driver; not in *static_smem*
    dynamic_smem: bool | None = None  # True: its module declares dynamic shared memory
    stack: int | None = None
    stack_unbounded: bool | None = None  # True: recursion or unknown callees, hence no *stack*
    frame: int | None = None  # the function's own stack frame: local arrays and spills
    spill_stores: int | None = None
    spill_loads: int | None = None
    spills_are: Exactness | None = None
    max_block: tuple[int, int, int] | None = None  # __launch_bounds__, first argument
    required_block: tuple[int, int, int] | None = None
    launched_block: tuple[int, int, int] | None = None  # of a profiled launch, or as Triton does
    launched_dynamic_smem: int | None = None  # of the same
    min_blocks: int | None = None  # blocks per SM that the code was compiled for
    min_blocks_are: Exactness | None = None
    cluster: tuple[int, int, int] | None = None
    max_cluster_rank: int | None = None
    barriers: int | None = None
    param_bytes: int | None = None
    constant_banks: tuple[tuple[int, int], ...] | None = None  # (bank, bytes)
    code_bytes: int | None = None
    instructions: int | None = None  # counted on request only, as the next
    fp64_instructions: int | None = None
    toolkit: str | None = None  # that made the image, such as "12.8"
    debug: bool | None = None
    triton: TritonOptions | None = None
    defined_at: tuple[str, int] | None = None  # file and first line, of -lineinfo; on request only
    mix: InstructionMix | None = None  # counted on request only

    @property
    def max_threads(self) -> int | None:
        """Most threads per block that the kernel was compiled for; None when not stated."""
        block = self.required_block or self.max_block
        return block[0] * block[1] * block[2] if block else None


# What Kernel._make does, without its Python frame.
as_kernel = partial(tuple.__new__, Kernel)


class Entry(NamedTuple):
    """One image or program of a container, known from its header alone."""

    content: Content
    place: Place
    capability: Capability | None  # the target; None: not for one target (index, damaged)
    size: int  # stored bytes
    compression: Compression = Compression.NONE
    unpacked_size: int | None = None
    ptx_version: tuple[int, int] | None = None
    new_abi: bool | None = None  # of an image: toolkits from 13.0, and 12.8 from cc 10.0 on
    identifier: str | None = None  # the source file, when recorded
    options: str | None = None  # compiler options, when recorded
    debug: bool = False
    link_input: bool = False  # kept for a later device link; never loaded as it is
    module: int | None = None  # offset of the region that holds it: the driver picks one per region
    toolkit: tuple[int, int] | None = None  # that made an image; looked for on request only
    kernels: frozenset[str] | None = None  # their names; looked for on request only


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """One part of a file that could not be read; the rest was."""

    place: Place
    message: str


Item = Kernel | Entry | Damage

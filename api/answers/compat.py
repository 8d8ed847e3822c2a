"""The answer of ``gpuadvise compat``: its fields, and what each of them says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from gpuadvise.api.answers.common import NotJudgedRecord
from gpuadvise.api.answers.fields import (
    BYTES,
    AnswerDeclaration,
    ComputeCapability,
    Count,
    Keywords,
    May,
    Record,
    record,
)


@record
class CompatDriver(Record):
    """The driver that was judged; null is any recent one."""

    cuda: str
    """CUDA version."""
    version: str | None
    """Version."""


@record
class CompatNeededDriver(Record):
    """The oldest driver for all that the GPU can use; null when it can use nothing."""

    cuda: str
    """CUDA version."""
    branch: Count | None
    """Driver branch: 550."""


@record
class CompatAlternative(Record):
    """Alternative, in the answer of ``compat``."""

    cuda: str
    """CUDA version."""
    files: tuple[str, ...]
    """Each file with its counts."""
    verdict: Literal["runs", "jit", "fails", "none"]
    """The answer in a word."""


@record
class CompatAnswer(Record):
    """Answer, in the answer of ``compat``."""

    KEYWORDS: ClassVar = {"required": ["needed_driver"]}
    file: str
    """The file it is in."""
    verdict: Literal["runs", "jit", "fails", "none"]
    """The answer in a word."""
    complete: bool
    """Whether every module has machine code for the GPU."""
    summary: str
    """The answer in a sentence."""
    modules: Annotated[
        Mapping[str, Count], Keywords(required=("total", "runs", "jit", "fails", "not_loadable"))
    ]
    """Modules with their verdicts."""
    kernels: (
        Annotated[Mapping[str, Count], Keywords(required=("total", "runs", "jit", "fails"))] | None
    )
    """One record per kernel."""
    better_elsewhere: bool
    """Something is missing for this GPU that some GPU of the catalogue finds."""
    alternatives: tuple[CompatAlternative, ...]
    """The same library for several versions of CUDA, of which a program takes one; empty where
    it is not that.
    """


@record
class CompatFile(Record):
    """File, in the answer of ``compat``."""

    file: str
    """The file it is in."""
    verdict: Literal["runs", "jit", "fails", "none"]
    """The answer in a word."""
    runs: Count
    """Images of the file that run as they are."""
    jit: Count
    """Images of the file that the driver compiles first."""
    fails: Count
    """Images of the file that do not run there."""


@record
class CompatEntry(Record):
    """Entry, in the answer of ``compat``."""

    file: str
    """The file it is in."""
    kind: str
    """What sort it is."""
    target: str | None
    """The target of the code: sm_90, compute_80."""
    ptx_version: str | None
    """Version of PTX."""
    first_toolkit: str | None
    """First CUDA toolkit that can make it.

    The oldest toolkit that can have made the image, where its header tells.
    """
    count: Count
    """How many there are alike."""
    bytes: Annotated[Count, BYTES]
    """Bytes of these images.

    As stored, all of them together.
    """
    link_input: bool
    """Whether it is input of a device link, not a program."""
    verdict: Literal["runs", "jit", "fails", "none"]
    """The answer in a word."""
    reason: str
    """Why, in a sentence."""
    toolkit: str | None
    """Toolkit that made it.

    The toolkit that made the image: each that is stored as it is, one of each target that is
    packed.
    """
    fits_gpu: bool
    """Whether the GPU could use it with some driver."""


@record
class CompatLibrary(Record):
    """Library, in the answer of ``compat``."""

    file: str
    """The file it is in."""
    needed: tuple[str, ...]
    """Libraries that the file asks for."""
    search: tuple[str, ...]
    """Where it looks for them.

    Folders from $ORIGIN or of the system by name; any other is only an absolute path or a relative
    path.
    """
    needed_driver: Mapping[str, object] | None
    """The oldest driver that loads it."""
    driver_is_enough: bool | None
    """Whether the driver brings all of them."""


@record
class CompatFix(Record):
    """Compiler options that add the missing machine code.

    Null when none is missing, or when every GPU lacks kernels that others have.
    """

    gencode: tuple[str, ...]
    """Options for nvcc."""
    cmake: str
    """The value of CMAKE_CUDA_ARCHITECTURES."""
    torch: str
    """The value of TORCH_CUDA_ARCH_LIST."""
    first_toolkit: str | None
    """First CUDA toolkit that can make it."""
    last_toolkit: str | None
    """Last CUDA toolkit that can make it."""


@record
class CompatResult(Record):
    """What ``compat`` answers."""

    verdict: Literal["runs", "jit", "fails", "none"]
    """runs, jit (compiled by the driver), fails or none."""
    complete: bool
    """Whether every module has machine code for the GPU.

    Every kernel has machine code for the GPU, by name; where no names were read, every module.
    """
    summary: str
    """The answer in a sentence."""
    not_judged: May[tuple[NotJudgedRecord, ...]] = None
    """What was asked for and neither passed nor failed: path and reason."""
    driver: CompatDriver | None
    """The driver that was named, or what the driver says."""
    needed_driver: CompatNeededDriver | None
    """The oldest driver that loads it.

    The oldest driver for all that the GPU can use; null when it can use nothing.
    """
    needed_driver_is: Literal["exact", "lower bound", None]
    """lower bound: some image leaves open which toolkit made it; null: none is known."""
    newest_driver: Annotated[Mapping[str, object], Keywords(required=("cuda", "branch"))] | None
    """The last driver branch that has this GPU.

    The last driver for the GPU; null while new ones support it.
    """
    modules: Annotated[
        Mapping[str, Count], Keywords(required=("total", "runs", "jit", "fails", "not_loadable"))
    ]
    """Modules with their verdicts."""
    kernels: (
        Annotated[Mapping[str, Count], Keywords(required=("total", "runs", "jit", "fails"))] | None
    )
    """One record per kernel."""
    answers: tuple[CompatAnswer, ...]
    """One answer per file.

    One for each file that was named.
    """
    files: tuple[CompatFile, ...]
    """Each file with its counts.

    Each file, or each member of an archive or wheel.
    """
    entries: tuple[CompatEntry, ...]
    """What the container holds."""
    libraries: tuple[CompatLibrary, ...]
    """CUDA libraries that were found.

    What each ELF file or member asks the loader for: names, paths that are searched, and the
    driver that the CUDA runtime among them needs.
    """
    fix: CompatFix | None
    """How to build it so that it runs.

    Compiler options that add the missing machine code; null when none is missing, or when every
    GPU lacks kernels that others have.
    """


@record
class CompatCounts(Record):
    """What becomes of the code modules of the files on one compute capability."""

    compute_capability: ComputeCapability
    """Compute capability: 9.0."""
    verdict: Literal["runs", "jit", "fails", "none"]
    """The answer in a word."""
    complete: bool
    """Whether every module has machine code for the GPU."""
    kernels: (
        Annotated[Mapping[str, Count], Keywords(required=("total", "runs", "jit", "fails"))] | None
    )
    """One record per kernel."""
    total: Count
    """Code modules."""
    runs: Count
    """Code modules with machine code for it."""
    jit: Count
    """Code modules that the driver compiles."""
    fails: Count
    """Code modules for others only."""
    not_loadable: Count
    """Code modules that no driver loads by themselves, as input of the linker."""
    reason: str | None
    """Why, in a sentence."""


@record
class CompatRow(CompatCounts):
    """What becomes of the files on the GPUs of one compute capability."""

    gpus: tuple[str, ...]
    """GPUs of that capability."""


@record
class CompatGpuRow(CompatCounts):
    """What becomes of the files on one GPU, in a line of CSV and NDJSON."""

    gpu: str
    """Name of the GPU."""
    gpus: None
    """Left empty."""


@record
class CompatMatrix(Record):
    """What becomes of the files on every GPU, in the answer of ``compat``."""

    verdict: Literal["runs", "jit", "fails", "none"]
    """runs, jit (compiled by the driver), fails or none.

    The best of all.
    """
    summary: str
    """The answer in a sentence."""
    not_judged: May[tuple[NotJudgedRecord, ...]] = None
    """What was asked for and neither passed nor failed: path and reason."""
    driver: CompatDriver | None
    """The driver that was named, or what the driver says."""
    matrix: tuple[CompatRow, ...]
    """One row per compute capability."""


DECLARATION = AnswerDeclaration(
    command="compat",
    title="gpuadvise compat --format json",
    results=(
        CompatResult,
        CompatMatrix,
    ),
    rows=(CompatEntry, CompatGpuRow),
)

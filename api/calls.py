"""The commands as functions: values of Python in, an `Answer` out, nothing printed.

Each takes what the option of the same name takes, and beside texts as ``"16x16"`` or ``"48K"`` plain
values: sizes in bytes, times in seconds, rates per second, shares from 0 to 1. `GpuAdviseError` says
what is wrong. Every function can run in several threads at a time.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from decimal import Decimal
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from gpuadvise.advisor.errors import BadInput, GpuAdviseError
from gpuadvise.api.answer import Answer, answer_of
from gpuadvise.api.answers.fields import Record

if TYPE_CHECKING:
    from gpuadvise.api.answers.advise import AdviseResult
    from gpuadvise.api.answers.compat import CompatMatrix, CompatResult
    from gpuadvise.api.answers.device import DeviceResult
    from gpuadvise.api.answers.diff import DiffResult
    from gpuadvise.api.answers.gpus import GpusResult
    from gpuadvise.api.answers.kernels import KernelsResult
    from gpuadvise.api.answers.ledger import LedgerResult
    from gpuadvise.api.answers.lint import LintResult
    from gpuadvise.api.answers.measure import MeasureResult
    from gpuadvise.api.answers.occupancy import OccupancyResult
    from gpuadvise.api.answers.overlap import OverlapResult
    from gpuadvise.api.answers.roofline import RooflineResult
    from gpuadvise.api.answers.timeline import TimelineResult
    from gpuadvise.api.evidence import Evidence
    from gpuadvise.cli.answer import Answer as CommandAnswer

R = TypeVar("R", bound=Record)
Path = str | os.PathLike[str]
Size = int | str
"""Bytes, or a text with a unit."""
Number = int | float | str
Dims = int | str | Sequence[int]
"""Along x, or along x, y and z."""


def occupancy(
    *,
    regs: int | str,
    block: Dims | None = None,
    smem: Size | None = None,
    dynamic_smem: Size | None = None,
    smem_per_thread: Size | None = None,
    barriers: int | str | None = None,
    cluster: Dims | None = None,
    nonportable_cluster: bool = False,
    grid: Dims | None = None,
    elements: int | str | None = None,
    carveout: Number | None = None,
    cache: str | None = None,
    launch_bounds: int | str | Sequence[int] | None = None,
    no_opt_in: bool = False,
    gpu: str | None = None,
    cc: str | None = None,
    device: int | str | None = None,
    from_file: Path | None = None,
) -> Answer[OccupancyResult]:
    """Return how many blocks of a launch one SM holds, what limits them, and what would raise it.

    Without *block* one is chosen. Raises `GpuAdviseError` for a value that no launch can have.
    """
    from gpuadvise.api.answers.occupancy import OccupancyResult

    return _ask(
        "occupancy",
        OccupancyResult,
        regs=regs, block=_dims(block), smem=smem, dynamic_smem=dynamic_smem,
        smem_per_thread=smem_per_thread, barriers=barriers, cluster=_dims(cluster),
        nonportable_cluster=nonportable_cluster, grid=_dims(grid), elements=elements,
        carveout=carveout, cache=cache, launch_bounds=_dims(launch_bounds, ","), no_opt_in=no_opt_in,
        **_named_gpu(gpu, cc, device, from_file),
    )  # fmt: skip


def gpu(
    name: str | None = None,
    *,
    cc: str | None = None,
    device: int | str | None = None,
    from_file: Path | None = None,
    telemetry: bool = False,
) -> Answer[DeviceResult]:
    """Return what a GPU is: of the catalogue by *name*, of a capability, live, or of a saved answer."""
    from gpuadvise.api.answers.device import DeviceResult

    named = _named_gpu(name, cc, device, from_file)
    return _ask("device", DeviceResult, **named, telemetry=telemetry)


def gpus(*query: str, cc: str | None = None) -> Answer[GpusResult]:
    """Return the GPUs of the catalogue that *query* describes; all of them without one."""
    from gpuadvise.api.answers.gpus import GpusResult

    return _ask("gpus", GpusResult, query=list(query), cc=cc)


def kernels(
    *files: Path,
    gpu: str | None = None,
    cc: str | None = None,
    device: int | str | None = None,
    from_file: Path | None = None,
    arch: str | Sequence[str] = (),
    filter: str | None = None,
    block: Dims | None = None,
    dynamic_smem: Size | None = None,
    list: bool = False,
    functions: bool = False,
    advise: bool = False,
    driver_check: bool = False,
    sort: str | None = None,
    group_by: Literal["file", "arch", "prefix"] | None = None,
    limit: int | None = None,
    jobs: int | None = None,
    compiler: Literal["nvrtc", "nvcc"] | None = None,
    include: Sequence[Path] = (),
    define: Sequence[str] = (),
) -> Answer[KernelsResult]:
    """Return resources and occupancy of every kernel in *files*; *list*: what containers hold."""
    from gpuadvise.api.answers.kernels import KernelsResult

    listed = "entries" if list else "groups" if group_by else "kernels"
    said = _said(
        "kernels",
        files=_paths(files), arch=_words(arch), name=filter, block=_dims(block),
        dynamic_smem=dynamic_smem, entries=list, functions=functions, advise=advise,
        driver_check=driver_check, sort=sort, group_by=group_by, limit=limit, jobs=jobs,
        compiler=compiler, include=[os.fspath(folder) for folder in include], define=[*define],
        format="json", get=[listed], **_named_gpu(gpu, cc, device, from_file),
    )  # fmt: skip
    rows = said.result[listed] if said.rows is None else said.rows
    return answer_of(said._replace(rows=rows), [KernelsResult])


@overload
def compat(
    *files: Path, gpu: str, driver: str | None = None, all_gpus: Literal[False] = False
) -> Answer[CompatResult]: ...
@overload
def compat(
    *files: Path, driver: str | None = None, all_gpus: Literal[True]
) -> Answer[CompatMatrix]: ...
@overload
def compat(
    *files: Path,
    gpu: str | None = None,
    cc: str | None = None,
    device: int | str | None = None,
    from_file: Path | None = None,
    driver: str | None = None,
    all_gpus: bool = False,
) -> Answer[CompatResult] | Answer[CompatMatrix]: ...
def compat(
    *files: Path,
    gpu: str | None = None,
    cc: str | None = None,
    device: int | str | None = None,
    from_file: Path | None = None,
    driver: str | None = None,
    all_gpus: bool = False,
) -> Answer[CompatResult] | Answer[CompatMatrix]:
    """Return whether the device code in *files* runs on a GPU, must be compiled, or fails.

    With *all_gpus*, and where no GPU is named and none is here, every GPU of the catalogue is judged.
    """
    from gpuadvise.api.answers.compat import CompatMatrix, CompatResult

    options = {"files": _paths(files), "driver": driver, "all_gpus": all_gpus}
    said = _said("compat", **options, **_named_gpu(gpu, cc, device, from_file))
    if "matrix" in said.result:
        return answer_of(said, [CompatMatrix])
    return answer_of(said, [CompatResult])


def diff(
    old: Path,
    new: Path,
    *,
    gpu: str | None = None,
    cc: str | None = None,
    device: int | str | None = None,
    from_file: Path | None = None,
    arch: str | Sequence[str] = (),
    filter: str | None = None,
    block: Dims | None = None,
    dynamic_smem: Size | None = None,
    unchanged: bool = False,
) -> Answer[DiffResult]:
    """Return what changed for each kernel from *old* to *new*: two builds, or two recorded runs."""
    from gpuadvise.api.answers.diff import DiffResult

    return _ask(
        "diff",
        DiffResult,
        old=os.fspath(old), new=os.fspath(new), arch=_words(arch), name=filter, block=_dims(block),
        dynamic_smem=dynamic_smem, unchanged=unchanged, **_named_gpu(gpu, cc, device, from_file),
    )  # fmt: skip


def lint(
    *files: Path, select: Sequence[str] = (), ignore: Sequence[str] = (), jobs: int = 1
) -> Answer[LintResult]:
    """Return the faults that sources of CUDA and Python show; *jobs* processes search folders."""
    from gpuadvise.api.answers.lint import LintResult

    return _ask(
        "lint",
        LintResult,
        files=_paths(files),
        select=",".join(select) or None,
        ignore=",".join(ignore) or None,
        jobs=jobs,
    )


def timeline(
    *files: Path,
    gpu: str | None = None,
    cc: str | None = None,
    device: int | str | None = None,
    from_file: Path | None = None,
    limit: int | None = None,
) -> Answer[TimelineResult]:
    """Return where the time of recorded runs went; *gpu* names what the recording does not."""
    from gpuadvise.api.answers.timeline import TimelineResult

    named = _named_gpu(gpu, cc, device, from_file)
    return _ask("timeline", TimelineResult, files=_paths(files), limit=limit, **named)


def overlap(
    *,
    h2d: Number | None = None,
    kernel: Number | None = None,
    d2h: Number | None = None,
    streams: int | None = None,
    chunks: int | None = None,
    max_streams: int | None = None,
    granularity: Size | None = None,
    pageable: bool = False,
    pcie: str | None = None,
    rate: Number | None = None,
    per_op: Number | None = None,
    copy_latency: Number | None = None,
    duplex: Number | None = None,
    engines: int | None = None,
    ideal: bool = False,
    calibration: Path | None = None,
    from_timeline: Path | None = None,
    gpu: str | None = None,
    cc: str | None = None,
    device: int | str | None = None,
    from_file: Path | None = None,
) -> Answer[OverlapResult]:
    """Return how much staging copies beside kernels saves, and the best number of streams.

    Whole numbers for *h2d* and *d2h* are bytes, others seconds.
    """
    from gpuadvise.api.answers.overlap import OverlapResult

    return _ask(
        "overlap",
        OverlapResult,
        h2d=_copy(h2d), kernel=_with_unit(kernel, "s"), d2h=_copy(d2h), streams=streams,
        chunks=chunks, most=max_streams, granularity=granularity, pageable=pageable, pcie=pcie,
        rate=_with_unit(rate, "B/s"), per_op=_with_unit(per_op, "s"),
        copy_latency=_with_unit(copy_latency, "s"), duplex=duplex, engines=engines, ideal=ideal,
        calibration=calibration, from_timeline=from_timeline,
        **_named_gpu(gpu, cc, device, from_file),
    )  # fmt: skip


def roofline(
    *,
    flops: Number | None = None,
    bytes: Number | None = None,
    time: Number | None = None,
    dtype: str | None = None,
    tensor: bool | None = None,
    peak: Number | None = None,
    bandwidth: Number | None = None,
    describe: Path | None = None,
    ncu: Path | None = None,
    calibration: Path | None = None,
    gpu: str | None = None,
    cc: str | None = None,
    device: int | str | None = None,
    from_file: Path | None = None,
) -> Answer[RooflineResult]:
    """Return what limits a kernel, memory or arithmetic, and how fast it may become."""
    from gpuadvise.api.answers.roofline import RooflineResult

    return _ask(
        "roofline",
        RooflineResult,
        flops=flops, moved=bytes, time=_with_unit(time, "s"), dtype=dtype, tensor=tensor,
        peak=_with_unit(peak, "FLOP/s"), bandwidth=_with_unit(bandwidth, "B/s"), describe=describe,
        ncu=ncu, calibration=calibration, **_named_gpu(gpu, cc, device, from_file),
    )  # fmt: skip


def measure(
    subject: Literal["copies", "access", "bandwidth", "overlap", "kernel-rate", "p2p"],
    *,
    quick: bool = False,
    word: int | None = None,
    save: bool = False,
    device: int | str | None = None,
) -> Answer[MeasureResult]:
    """Measure *subject* on a live GPU, and compare with what is expected."""
    from gpuadvise.api.answers.measure import MeasureResult

    return _ask(
        "measure", MeasureResult, subject=subject, quick=quick, word=word, save=save, device=device
    )


def advise(
    *evidence: Path | Evidence,
    gpu: str | None = None,
    cc: str | None = None,
    device: int | str | None = None,
    from_file: Path | None = None,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    filter: str | None = None,
    **launch: Any,
) -> Answer[AdviseResult]:
    """Return what to change first, what it can win, and who says so.

    *evidence* are files as ``gpuadvise advise`` takes them, or what `read` returned. *launch* are
    the options that describe a kernel, as ``regs=72, block=100, grid=96``; ``--all`` is ``all_findings``.
    """
    from gpuadvise.api.answers.advise import AdviseResult

    files: list[str] = []
    for each in evidence:
        files += [os.fspath(each)] if isinstance(each, str | os.PathLike) else each.paths
    options = {name: _described(name, value) for name, value in launch.items()}
    return _ask(
        "advise",
        AdviseResult,
        files=files or None, select=[*select] or None, ignore=[*ignore] or None, filter=filter,
        **options, **_named_gpu(gpu, cc, device, from_file),
    )  # fmt: skip


def ledger(
    *evidence: Path | Evidence,
    gpu: str | None = None,
    cc: str | None = None,
    device: int | str | None = None,
    from_file: Path | None = None,
    filter: str | None = None,
    limit: int | None = None,
) -> Answer[LedgerResult]:
    """Return a row for each kernel, what bounds it, and the at most three things to do first.

    *evidence* is what `advise` takes: reports, traces, pages as CSV; *limit* is the most rows.
    """
    from gpuadvise.api.answers.ledger import LedgerResult

    files: list[str] = []
    for each in evidence:
        files += [os.fspath(each)] if isinstance(each, str | os.PathLike) else each.paths
    return _ask(
        "advise",
        LedgerResult,
        files=files or None, filter=filter, limit=limit, format="ledger",
        **_named_gpu(gpu, cc, device, from_file),
    )  # fmt: skip


def read(*paths: Path, gpu: str | None = None) -> Evidence:
    """Return what files say together of kernels and runs; each is told by its content.

    *gpu* is the GPU that is asked about, where the files name none. `advise` judges it.
    """
    from gpuadvise.api.evidence import evidence_of

    return evidence_of(_paths(paths), gpu)


def _ask(command: str, result: type[R], **options: Any) -> Answer[R]:
    return answer_of(_said(command, **options), [result])


def _said(command: str, **options: Any) -> CommandAnswer:
    """Return what *command* answers to those of *options* that are given; raises GpuAdviseError."""
    from gpuadvise.cli.answer import Answer as CommandAnswer
    from gpuadvise.cli.parameters import call

    function = import_module(f"gpuadvise.cli.{command}.command").command
    given = {name: _text(value) for name, value in options.items() if value is not None}
    try:
        said = call(function, given)
    except GpuAdviseError as error:
        error.message = _OPTION.sub(_as_parameter, error.message)
        error.args = (error.message,)
        if error.hint and not _COMMAND_LINE.search(error.hint):
            error.hint = _GIVEN.sub(_as_argument, error.hint)
        raise
    except TypeError as error:
        unknown = re.search(r"unexpected keyword argument '(\w+)'", str(error))
        if unknown is None:
            raise
        raise TypeError(f"{command}() has no option {unknown[1]!r}") from None
    if not isinstance(said, CommandAnswer):
        raise GpuAdviseError(f"{command} was interrupted.")
    return said


_OPTION = re.compile(r"(?<!\S)--([a-z][a-z0-9-]*)")


# In a hint a value follows: a number, or a name of a few letters and digits.
_GIVEN = re.compile(
    r"(?<!\S)--([a-z][a-z0-9-]*)(?: ([0-9][0-9a-zA-Z%]*|[a-z]+[0-9]\w*|[A-Z]+)(?=[\s,.:;]|$))?"
)
_COMMAND_LINE = re.compile(r"gpuadvise [a-z]+[^.;]* --")


def _as_argument(option: re.Match[str]) -> str:
    """Return an option with its value as a call writes both: ``--regs 72`` is ``regs=72``."""
    name, value = _as_parameter(option), option[2]
    if value is None:
        return name
    plain = re.fullmatch(r"[0-9]+(e[0-9]+)?|[A-Z]+", value)
    return f"{name}={value}" if plain else f'{name}="{value}"'


def _as_parameter(option: re.Match[str]) -> str:
    """Return an option that an error names as Python writes it: ``--dynamic-smem`` is ``dynamic_smem``."""
    return option[1].replace("-", "_")


def _text(value: Any) -> Any:
    """Return *value* as the command line would have it; switches and lists as they are."""
    if isinstance(value, bool | list | str):
        return value
    if isinstance(value, float):
        return _decimal(value)
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def _decimal(value: float) -> str:
    """Return *value* with every digit that tells it from its neighbours, and without an exponent."""
    text = repr(value)
    return format(Decimal(text), "f") if "e" in text and "inf" not in text else text


def _dims(value: int | str | Sequence[int] | None, between: str = "x") -> str | None:
    if value is None or isinstance(value, str):
        return value
    return between.join(map(str, value)) if isinstance(value, Sequence) else str(value)


def _with_unit(value: Number | None, unit: str) -> str | None:
    return value if value is None or isinstance(value, str) else f"{_text(value)}{unit}"


def _copy(value: Number | None) -> str | None:
    """Return a copy as its option takes it: whole numbers are bytes, others seconds."""
    if isinstance(value, float):
        return _with_unit(value, "s")
    return _with_unit(value, "B")


_SECONDS = ("time", "total_time", "kernel_time", "host_time")
_RATES = ("reported_rate",)
_DIMS = ("block", "grid", "cluster")


def _described(name: str, value: Any) -> Any:
    """Return the option *name* of a kernel as the command line has it."""
    if name in ("h2d", "d2h"):
        return _copy(value)
    if name == "launch_bounds":
        return _dims(value, ",")
    if name in _DIMS:
        return _dims(value)
    if name in _RATES:
        return _with_unit(value, "B/s")
    return _with_unit(value, "s") if name in _SECONDS else value


def _paths(paths: Sequence[Path]) -> list[str]:
    if not paths:
        raise BadInput("No file is named.")
    return [os.fspath(path) for path in paths]


def _words(words: str | Sequence[str]) -> list[str]:
    return [words] if isinstance(words, str) else [*words]


def _named_gpu(
    gpu: str | None, cc: str | None, device: int | str | None, from_file: Path | None
) -> dict[str, Any]:
    from gpuadvise.advisor.catalogue.names import without_uuids

    name = None if gpu is None else without_uuids(gpu)
    return {"gpu": name, "cc": cc, "device": device, "snapshot": from_file}

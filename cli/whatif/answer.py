"""From a kernel of a source file to the table of its candidates and the one to begin with."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.backends.cappable_programs import (
    CappableProgram,
    CompiledKernel,
    read_program,
)
from gpuadvise.advisor.backends.user_files import unreadable
from gpuadvise.advisor.backends.worker_threads import WorkerThreads
from gpuadvise.advisor.binaries.cubin.code import code_of
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.json_records import named_fields
from gpuadvise.advisor.launch_arguments import LaunchArgument, launch_arguments
from gpuadvise.advisor.occupancy.launch import Launch
from gpuadvise.advisor.occupancy.model import occupancy
from gpuadvise.advisor.prose import and_list, inert, plural, quoted, quoted_path
from gpuadvise.advisor.quantity import show_seconds, show_share
from gpuadvise.advisor.register_caps import (
    SAME_CODE,
    CappedKernel,
    Picked,
    caps_to_try,
    fastest,
    judged,
    pick,
)
from gpuadvise.advisor.values import whole
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.blocks import Block, Cell, Column, Line, Table, Tone, header
from gpuadvise.cli.devices import cuda_ordinal, device_block, device_line, live_gpu
from gpuadvise.cli.options import GpuOptions, named

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gpuadvise.advisor.backends.compiler_options import CompilerOptions
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.gpu import Gpu
    from gpuadvise.advisor.measurement import Sample

# A grid beyond this compiles for minutes.
_MOST_SIZES = 64
_MOST_COMPILERS = 4
_USUAL = (128, 256, 512)


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfRequest:
    """The command line as values; *caps* None for those at which occupancy changes.

    *blocks* None for the size that the file launches beside the usual ones.
    """

    files: tuple[str, ...]
    kernel: str | None
    blocks: tuple[int, ...] | None
    caps: tuple[int, ...] | None
    dynamic_smem: int
    block_define: str | None
    device: GpuOptions
    build: CompilerOptions
    measure: bool = False
    arguments: tuple[str, ...] = ()
    elements: int | None = None

    def shown(self) -> dict[str, Any]:
        """Return what the answer repeats as its input."""
        return {
            "file": self.files[0],
            "kernel": self.kernel,
            "block": list(self.blocks or ()),
            "registers": "auto" if self.caps is None else list(self.caps),
            **named_fields(self, "dynamic_smem block_define measure arguments elements"),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Build:
    """One compilation: *cap* None for the compiler's own choice, *threads* where code needs it."""

    cap: int | None
    threads: int | None


def parse_sizes(option: str, text: str, *, low: int, high: int) -> tuple[int, ...]:
    """Return numbers separated by commas, each once; raises BadInput."""
    sizes = dict.fromkeys(named(option, whole(low, high), word) for word in text.split(","))
    if len(sizes) > _MOST_SIZES:
        raise BadInput(f"{option}: at most {_MOST_SIZES} values.")
    return tuple(sizes)


def answered(request: WhatIfRequest) -> Answer:
    """Compile, judge, and measure where asked; raises BadInput or Unavailable."""
    if len(request.files) != 1:
        raise BadInput(f"whatif compiles one file; {len(request.files)} are named.")
    _refuse_missing(request.files[0])
    gpu = _gpu_to_measure(request)
    device = gpu.device if gpu is not None else _device(request)
    program = read_program(request.files[0], request.kernel, request.build)
    expression = program.expression
    arguments = (
        launch_arguments(expression, program.parameters, request.arguments)
        if request.measure
        else ()
    )
    compiler = _Compiler(request, program, device)
    candidates = judged(compiler.candidates())
    picked = pick(candidates)
    measured = (
        None
        if gpu is None
        else _measured(compiler, candidates, arguments, request.elements or 0, gpu)
    )

    def blocks() -> Sequence[Block]:
        return _page(device, program, candidates, picked, measured)

    def record(candidate: CappedKernel) -> dict[str, Any]:
        return _record(candidate, device, measured)

    rows = [record(c) for c in candidates]
    return Answer(
        command="whatif",
        device=device_block(device),
        input=replace(request, blocks=compiler.blocks).shown(),
        result={
            "kernel": expression,
            "launched_blocks": list(program.launched),
            "fixed_block": program.fixed_block,
            "compiled": compiler.compiled,
            "candidates": rows,
            "pick": None if picked is None else {**record(picked.candidate), "why": picked.why},
            "worth_measuring": [record(c) for c in picked.others] if picked else [],
            "won": None if measured is None else record(measured.won),
        },
        rows=rows,
        blocks=blocks,
        notes=compiler.notes,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measured:
    """The seconds of the candidates that ran, by block and cap, and the one that *won*."""

    times: Mapping[tuple[int, int | None], Sample]
    won: CappedKernel

    def of(self, candidate: CappedKernel) -> Sample | None:
        return self.times.get((candidate.threads, candidate.cap))


def _gpu_to_measure(request: WhatIfRequest) -> Gpu | None:
    """Return the live GPU when measuring is asked for; raises BadInput for what that lacks."""
    if not request.measure:
        for option, given in (("--arg", request.arguments), ("--elements", request.elements)):
            if given:
                raise BadInput(
                    f"{option} is for --measure.", hint="Add --measure, or leave it out."
                )
        return None
    if request.elements is None:
        raise BadInput(
            "--measure needs --elements: how many threads run in all.",
            hint="The grid follows from it and each block size: --elements 16777216.",
        )
    named = request.device
    for option, name in (("--gpu", named.gpu), ("--arch", named.cc), ("--from", named.snapshot)):
        if name is not None:
            raise BadInput(f"{option} names no live GPU.", hint="Name it with --device 0.")
    return live_gpu(named.device)


def _measured(
    compiler: _Compiler, candidates: Sequence[CappedKernel], arguments: Sequence[LaunchArgument],
    elements: int, gpu: Gpu,
) -> _Measured | None:  # fmt: skip
    from gpuadvise.advisor.backends.measure.candidates import CandidateLaunch, launch_times
    from gpuadvise.advisor.backends.measure.session import Session

    left = [c for c in candidates if c.dropped is None]
    if not left:
        return None
    launches = []
    for candidate in left:
        made = compiler.made(candidate)
        launches.append(
            CandidateLaunch(
                image=made.image,
                name=made.kernel.name,
                threads=candidate.threads,
                blocks=-(-elements // candidate.threads),
                dynamic_smem=compiler.dynamic_smem,
            )
        )
    with Session(cuda_ordinal(gpu)) as session:
        samples = launch_times(session, launches, arguments)
    times = {(c.threads, c.cap): sample for c, sample in zip(left, samples, strict=True)}
    return _Measured(times=times, won=fastest(left, [s.median for s in samples]))


def _refuse_missing(path: str) -> None:
    """Raise BadInput where *path* leads nowhere, before anything else is asked of the user."""
    try:
        os.stat(path)
    except (OSError, ValueError) as error:
        raise unreadable(error, quoted_path(path)) from None


def _device(request: WhatIfRequest) -> Device:
    from gpuadvise.advisor.backends.choose import VARIABLE

    if not request.device.given and not os.environ.get(VARIABLE):
        raise BadInput(
            "A kernel is compiled for one GPU, and none is named.",
            hint=f"Name it: --arch sm_90, --gpu h100 or ${VARIABLE}.",
        )
    return request.device.choice().device


class _Compiler:
    """Compiles one kernel again and again; several at once."""

    def __init__(self, request: WhatIfRequest, program: CappableProgram, device: Device) -> None:
        self._request, self._program, self._device = request, program, device
        self.compiled = 0
        self.notes: list[str] = []
        self.dynamic_smem = request.dynamic_smem
        self._builds: dict[_Build, CompiledKernel] = {}
        self.blocks: tuple[int, ...] = request.blocks or _USUAL

    def _sizes(self, bound: int | None) -> tuple[int, ...]:
        """Return the block sizes to judge; *bound* is the most threads that the code allows.

        Raises BadInput where the code holds for one size, which nothing says.
        """
        request, program = self._request, self._program
        if request.block_define or (request.blocks and not program.fixed_block):
            return request.blocks or _USUAL
        own = program.launched or (() if bound is None else (bound,))
        if program.fixed_block is None:
            return tuple(dict.fromkeys((*own, *_USUAL)))
        sizes = request.blocks or own
        if not sizes:
            raise BadInput(
                f"The block size is part of {quoted(program.expression)} ({program.fixed_block}), and no launch in the file says it.",
                hint="Name it with --block; --block-define NAME compiles each size with -DNAME.",
            )
        said = "only caps are varied" if not request.blocks else "others compute something else"
        self.notes.append(f"The block size is part of this code ({program.fixed_block}): {said}.")
        return sizes

    def candidates(self) -> list[CappedKernel]:
        """Return every candidate; the compiler's own choice first, block by block."""
        request, limits = self._request, self._device.limits
        shapes: tuple[int | None, ...] = self.blocks if request.block_define else (None,)
        own = self._all([_Build(cap=None, threads=t) for t in shapes])
        self.blocks = self._sizes(next(iter(own.values())).kernel.max_threads)
        caps = request.caps
        if caps is None:
            steps = [
                caps_to_try(limits, self.blocks, made.kernel.registers or 0)
                for made in own.values()
            ]
            caps = tuple(sorted(set().union(*steps)))
        capped = self._all([_Build(cap=cap, threads=t) for t in shapes for cap in caps])
        kernels = self._builds = own | capped
        registers = {made.kernel.registers or 0 for made in kernels.values()}
        if len(registers) == 1 and any(cap < min(registers) for cap in caps):
            self.notes.append(
                "No cap changes the registers: bounds in a macro keep them as they are."
            )
        return [
            self._candidate(kernels[_Build(cap=cap, threads=threads if request.block_define else None)], threads, cap)
            for threads in self.blocks
            for cap in (None, *caps)
        ]  # fmt: skip

    def made(self, candidate: CappedKernel) -> CompiledKernel:
        """Return what was compiled for *candidate*."""
        threads = candidate.threads if self._request.block_define else None
        return self._builds[_Build(cap=candidate.cap, threads=threads)]

    def _all(self, builds: list[_Build]) -> dict[_Build, CompiledKernel]:
        self.compiled += len(builds)
        if len(builds) == 1:
            return {builds[0]: self._made(builds[0])}
        with WorkerThreads(min(_MOST_COMPILERS, os.cpu_count() or 1)) as pool:
            return dict(zip(builds, pool.map(self._made, builds), strict=True))

    def _made(self, build: _Build) -> CompiledKernel:
        macros = () if build.threads is None else (f"{self._request.block_define}={build.threads}",)
        made = self._program.compiled(self._device.capability, build.cap, macros)
        if not self.notes:
            self.notes += made.notes
        return made

    def _candidate(self, made: CompiledKernel, threads: int, cap: int | None) -> CappedKernel:
        kernel = made.kernel
        launch = Launch(
            threads=threads,
            registers=kernel.registers,
            static_shared=kernel.static_smem or 0,
            dynamic_shared=self._request.dynamic_smem,
            barriers=1 if kernel.barriers is None else kernel.barriers,
            max_threads=kernel.max_threads,
        )
        return CappedKernel(
            threads=threads,
            cap=cap,
            registers=kernel.registers or 0,
            local_bytes=kernel.stack or 0,
            spill_stores=kernel.spill_stores or 0,
            spill_loads=kernel.spill_loads or 0,
            static_shared=kernel.static_smem or 0,
            code=code_of(made.image, kernel.name) or b"",
            occupancy=occupancy(self._device.limits, launch),
        )


def _record(candidate: CappedKernel, device: Device, measured: _Measured | None) -> dict[str, Any]:
    sample = None if measured is None else measured.of(candidate)
    code = (
        "register_cap=cap registers local_bytes spill_stores spill_loads static_smem=static_shared"
    )
    resident = (
        "blocks_per_sm=occupancy.blocks_per_sm warps_per_sm=occupancy.warps_per_sm "
        "occupancy=occupancy.occupancy limiters=occupancy.limiters dropped"
    )
    return {
        "arch": device.capability.target,
        "block": candidate.threads,
        **named_fields(candidate, code),
        "code_bytes": len(candidate.code),
        **named_fields(candidate, resident),
        **named_fields(sample, "seconds=median seconds_low=low seconds_high=high"),
    }


_TIME = Column("time", right=True)
_COLUMNS = header(
    ">block", ">cap", ">regs", ">spilled", ">local", ">smem", ">blocks", ">occupancy",
    "limited by", "",
)  # fmt: skip


def _page(
    device: Device, program: CappableProgram, candidates: Sequence[CappedKernel], picked: Picked | None,
    measured: _Measured | None,
) -> list[Block]:  # fmt: skip
    """Return the candidate to begin with, and the table of all that are code of their own."""
    expression = program.expression
    shown = [c for c in candidates if not (c.dropped or "").startswith(SAME_CODE)]
    left = sum(c.dropped is None for c in candidates)
    title = f"{inert(expression)} on {device_line(device)}: {plural(len(candidates), 'candidate')}, {left} left."
    best = picked.candidate if picked else None
    table = Table(
        _COLUMNS if measured is None else (*_COLUMNS[:-1], _TIME, _COLUMNS[-1]),
        tuple(_row(c, c is best, measured, program.launched) for c in shown),
    )
    if picked is None:
        return [Line("No candidate can be launched.", Tone.BAD), Line(title), table]
    cap = "no cap" if picked.candidate.cap is None else f"a cap of {picked.candidate.cap}"
    first = f"Begin with {picked.candidate.threads} threads and {cap}. {picked.why}"
    blocks: list[Block] = [Line(first, Tone.STRONG)]
    if measured is not None:
        blocks.append(Line(_verdict(measured, picked), Tone.STRONG))
    blocks += [Line(title), table]
    if folded := len(candidates) - len(shown):
        caps = plural(folded, "cap gives", "caps give")
        blocks.append(Line(f"{caps} the same code as another row of the block size.", Tone.FAINT))
    if measured is None and picked.others:
        caps = and_list([str(c.cap or "none") for c in picked.others])
        blocks.append(
            Line(f"Worth measuring against it: caps of {caps} at the same block size.", Tone.FAINT)
        )
    return blocks


def _verdict(measured: _Measured, picked: Picked) -> str:
    """Return who won, and what beginning with the pick would have cost."""
    won, first = measured.of(measured.won), measured.of(picked.candidate)
    cap = "no cap" if measured.won.cap is None else f"a cap of {measured.won.cap}"
    text = f"Measured: {measured.won.threads} threads and {cap} won"
    if won is None or first is None:
        return f"{text}."
    text += f", {show_seconds(won.median)} a launch"
    if measured.won is picked.candidate:
        return f"{text}: the pick."
    return f"{text}; the pick takes {show_share(first.median / won.median)} of that."


def _row(
    candidate: CappedKernel, best: bool, measured: _Measured | None, launched: Sequence[int]
) -> tuple[Cell, ...]:
    resident, dropped = candidate.occupancy, candidate.dropped
    tone = Tone.STRONG if best else Tone.FAINT if dropped else Tone.PLAIN
    words = (
        f"{'> ' if best else ''}{candidate.threads}", "own" if candidate.cap is None else str(candidate.cap),
        str(candidate.registers), f"{candidate.spilled:,}", f"{candidate.local_bytes:,}",
        f"{candidate.static_shared:,}", str(resident.blocks_per_sm), show_share(resident.occupancy),
        and_list([limiter.value.replace("_", " ") for limiter in resident.limiters]),
    )  # fmt: skip
    sample = None if measured is None else measured.of(candidate)
    won = measured is not None and candidate is measured.won
    as_is = candidate.cap is None and candidate.threads in launched
    words_of = (("pick", best), ("won", won), ("as the file launches it", as_is))
    marks = [word for word, holds in words_of if holds]
    timed = () if measured is None else ("" if sample is None else show_seconds(sample.median),)
    return tuple(Cell(word, tone) for word in (*words, *timed, dropped or ", ".join(marks)))

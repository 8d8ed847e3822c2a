"""From a kernel of a source file to the table of its candidates and the one to begin with."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.backends.compiler_options import SUFFIXES
from gpuadvise.advisor.backends.cuda_sources import compile_source, read_cuda_source
from gpuadvise.advisor.binaries.cubin.code import code_of
from gpuadvise.advisor.binaries.model import Kernel
from gpuadvise.advisor.binaries.read import read_stream
from gpuadvise.advisor.errors import BadInput, Unavailable
from gpuadvise.advisor.occupancy.launch import Launch
from gpuadvise.advisor.occupancy.model import occupancy
from gpuadvise.advisor.prose import and_list, inert, plural, quoted, quoted_path
from gpuadvise.advisor.quantity import show_share
from gpuadvise.advisor.register_caps import CappedKernel, Picked, caps_to_try, judged, pick
from gpuadvise.advisor.values import whole
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.blocks import Block, Cell, Column, Line, Table, Tone
from gpuadvise.cli.devices import device_block, device_line
from gpuadvise.cli.emit import emit
from gpuadvise.cli.kernels.gather import missing_notes
from gpuadvise.cli.options import named

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gpuadvise.advisor.backends.compiler_options import CompilerOptions
    from gpuadvise.advisor.backends.cuda_sources import CudaSource
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.source.device_code import KernelSource
    from gpuadvise.cli.exits import Exit
    from gpuadvise.cli.formats import Output

# A grid beyond this compiles for minutes.
_MOST_SIZES = 64
_MOST_COMPILERS = 4
_MOST_NAMES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfRequest:
    """The command line as values; *caps* None for those at which occupancy changes."""

    files: tuple[str, ...]
    kernel: str | None
    blocks: tuple[int, ...]
    caps: tuple[int, ...] | None
    dynamic_smem: int
    block_define: str | None
    device: Mapping[str, str | None]
    build: CompilerOptions

    def shown(self) -> dict[str, Any]:
        """Return what the answer repeats as its input."""
        return {
            "file": self.files[0],
            "kernel": self.kernel,
            "block": list(self.blocks),
            "registers": "auto" if self.caps is None else list(self.caps),
            "dynamic_smem": self.dynamic_smem,
            "block_define": self.block_define,
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


def answered(request: WhatIfRequest, output: Output) -> Exit:
    """Compile, judge and print; raises BadInput or Unavailable."""
    source = _source(request)
    device = _device(request)
    kernel, expression = _named(source, request.kernel)
    compiler = _Compiler(request, source, kernel, expression, device)
    candidates = judged(compiler.candidates())
    picked = pick(candidates)

    def blocks() -> Sequence[Block]:
        return _page(device, expression, candidates, picked)

    rows = [_record(c, device) for c in candidates]
    answer = Answer(
        command="whatif",
        device=device_block(device),
        input=request.shown(),
        result={
            "kernel": expression,
            "compiled": compiler.compiled,
            "candidates": rows,
            "pick": None
            if picked is None
            else {**_record(picked.candidate, device), "why": picked.why},
            "worth_measuring": [_record(c, device) for c in picked.others] if picked else [],
        },
        rows=rows,
        blocks=blocks,
        notes=compiler.notes,
    )
    return emit(answer, output)


def _source(request: WhatIfRequest) -> CudaSource:
    if len(request.files) != 1 or not request.files[0].endswith(SUFFIXES):
        raise BadInput(
            f"whatif compiles one source file, and {quoted_path(request.files[-1])} is none.",
            hint="Compiled code keeps its registers, and PTX is compiled by drivers alone: give the .cu file.",
        )
    return read_cuda_source(request.files[0], request.build)


def _device(request: WhatIfRequest) -> Device:
    if all(value is None for value in request.device.values()):
        raise BadInput(
            "A kernel is compiled for a target.", hint="Name it: --arch sm_90, or --gpu h100."
        )
    from gpuadvise.advisor.backends.choose import choose

    given = request.device
    return choose(
        gpu=given["gpu"], cc=given["cc"], device=given["device"], from_file=given["from"]
    ).device


def _named(source: CudaSource, name: str | None) -> tuple[KernelSource, str]:
    """Return the kernel called *name*, and the expression that names the instance to make."""
    instances = source.instances()
    known = and_list([quoted(e) for _, e in instances[:_MOST_NAMES]]) or "none"
    if name is None:
        if len(instances) == 1:
            return instances[0]
        raise BadInput(f"--kernel: the file has {plural(len(instances), 'kernel')}: {known}.")
    base, bracket, arguments = name.partition("<")
    base = base.strip()
    kernels = [k for k in source.code.kernels if base in (k.name, k.expression)]
    if not kernels:
        raise BadInput(f"--kernel: the file has no kernel {quoted(name)}.", hint=f"It has {known}.")
    kernel = kernels[0]
    if bracket:
        return kernel, f"{kernel.expression}<{arguments}"
    if kernel.template and not kernel.instances:
        raise BadInput(
            f"--kernel: {quoted(name)} is a template, and no launch in the file names its arguments.",
            hint=f"Name an instance: --kernel '{kernel.name}<float>'.",
        )
    return kernel, kernel.expression + (kernel.instances[0] if kernel.template else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Compiled:
    kernel: Kernel
    code: bytes


class _Compiler:
    """Compiles one kernel again and again; several at once."""

    def __init__(
        self, request: WhatIfRequest, source: CudaSource, kernel: KernelSource, expression: str,
        device: Device,
    ) -> None:  # fmt: skip
        self._request, self._source, self._kernel = request, source, kernel
        self._expression, self._device = expression, device
        self.compiled = 0
        self.notes: list[str] = []

    def candidates(self) -> list[CappedKernel]:
        """Return every candidate; the compiler's own choice first, block by block."""
        request, limits = self._request, self._device.limits
        shapes: tuple[int | None, ...] = request.blocks if request.block_define else (None,)
        own = self._all([_Build(cap=None, threads=t) for t in shapes])
        caps = request.caps
        if caps is None:
            steps = [
                caps_to_try(limits, request.blocks, made.kernel.registers or 0)
                for made in own.values()
            ]
            caps = tuple(sorted(set().union(*steps)))
        capped = self._all([_Build(cap=cap, threads=t) for t in shapes for cap in caps])
        kernels = own | capped
        registers = {made.kernel.registers or 0 for made in kernels.values()}
        if len(registers) == 1 and any(cap < min(registers) for cap in caps):
            self.notes.append(
                "No cap changes the registers: bounds in a macro keep them as they are."
            )
        return [
            self._candidate(kernels[_Build(cap=cap, threads=threads if request.block_define else None)], threads, cap)
            for threads in request.blocks
            for cap in (None, *caps)
        ]  # fmt: skip

    def _all(self, builds: list[_Build]) -> dict[_Build, _Compiled]:
        self.compiled += len(builds)
        if len(builds) == 1:
            return {builds[0]: self._made(builds[0])}
        with ThreadPoolExecutor(min(_MOST_COMPILERS, os.cpu_count() or 1)) as pool:
            return dict(zip(builds, pool.map(self._made, builds), strict=True))

    def _made(self, build: _Build) -> _Compiled:
        text, more = self._source.code.text, []
        if build.threads is not None:
            more.append(f"-D{self._request.block_define}={build.threads}")
        if build.cap is not None and self._kernel.bounds is not None:
            # A limit of the whole program does nothing to a kernel with launch bounds.
            text = self._source.code.rewritten(self._kernel, f"__maxnreg__({build.cap})")
        elif build.cap is not None:
            more.append(f"--maxrregcount={build.cap}")
        image = compile_source(
            self._source, self._device.capability, text=text,
            expressions=(self._expression,), more=tuple(more),
        )  # fmt: skip
        if not self.notes:
            self.notes += missing_notes(self._source, image)
        name = image.lowered[self._expression]
        for item in read_stream(BytesIO(image.cubin), self._source.path):
            if isinstance(item, Kernel) and item.name == name:
                return _Compiled(kernel=item, code=code_of(image.cubin, name) or b"")
        raise Unavailable(f"The compiler made no kernel {quoted(self._expression)}.")

    def _candidate(self, made: _Compiled, threads: int, cap: int | None) -> CappedKernel:
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
            code=made.code,
            occupancy=occupancy(self._device.limits, launch),
        )


def _record(candidate: CappedKernel, device: Device) -> dict[str, Any]:
    found = candidate.occupancy
    return {
        "arch": device.capability.target,
        "block": candidate.threads,
        "register_cap": candidate.cap,
        "registers": candidate.registers,
        "local_bytes": candidate.local_bytes,
        "spill_stores": candidate.spill_stores,
        "spill_loads": candidate.spill_loads,
        "static_smem": candidate.static_shared,
        "code_bytes": len(candidate.code),
        "blocks_per_sm": found.blocks_per_sm,
        "warps_per_sm": found.warps_per_sm,
        "occupancy": found.occupancy,
        "limiters": [limiter.value for limiter in found.limiters],
        "dropped": candidate.dropped,
    }


_COLUMNS = (
    Column("block", right=True),
    Column("cap", right=True),
    Column("regs", right=True),
    Column("spilled", right=True),
    Column("local", right=True),
    Column("smem", right=True),
    Column("blocks", right=True),
    Column("occupancy", right=True),
    Column("limited by"),
    Column(""),
)


def _page(
    device: Device, expression: str, candidates: Sequence[CappedKernel], picked: Picked | None
) -> list[Block]:
    """Return the table of the candidates, and the one to begin with."""
    left = sum(c.dropped is None for c in candidates)
    title = f"{inert(expression)} on {device_line(device)}: {plural(len(candidates), 'candidate')}, {left} left."
    best = picked.candidate if picked else None
    blocks: list[Block] = [
        Line(title, Tone.STRONG),
        Table(columns=_COLUMNS, rows=tuple(_row(c, c is best) for c in candidates)),
    ]
    if picked is None:
        return [*blocks, Line("No candidate can be launched.", Tone.BAD)]
    cap = "no cap" if picked.candidate.cap is None else f"a cap of {picked.candidate.cap}"
    blocks.append(
        Line(f"Begin with {picked.candidate.threads} threads and {cap}. {picked.why}", Tone.STRONG)
    )
    if picked.others:
        caps = and_list([str(c.cap or "none") for c in picked.others])
        blocks.append(
            Line(f"Worth measuring against it: caps of {caps} at the same block size.", Tone.FAINT)
        )
    return blocks  # fmt: skip


def _row(candidate: CappedKernel, best: bool) -> tuple[Cell, ...]:
    found, out = candidate.occupancy, candidate.dropped
    tone = Tone.STRONG if best else Tone.FAINT if out else Tone.PLAIN
    words = (
        f"{'> ' if best else ''}{candidate.threads}", "own" if candidate.cap is None else str(candidate.cap),
        str(candidate.registers), f"{candidate.spilled:,}", f"{candidate.local_bytes:,}",
        f"{candidate.static_shared:,}", str(found.blocks_per_sm), show_share(found.occupancy),
        and_list([limiter.value.replace("_", " ") for limiter in found.limiters]),
        out or ("pick" if best else ""),
    )  # fmt: skip
    return tuple(Cell(word, tone) for word in words)

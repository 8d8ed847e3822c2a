"""What the user asked of ``gpuadvise kernels``, parsed and checked before any file is opened."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gpuadvise.advisor.backends.compiler_options import CompilerOptions
from gpuadvise.advisor.backends.remote_files import located
from gpuadvise.advisor.binaries.file_type import CODE_SUFFIXES
from gpuadvise.advisor.capability import Capability, parse_capability
from gpuadvise.advisor.errors import BadInput
from gpuadvise.cli.options import GpuOptions, named

if TYPE_CHECKING:
    import re

    from gpuadvise.advisor.backends.choose import Choice
    from gpuadvise.cli.formats import Output
    from gpuadvise.cli.kernels.gate import KernelGate

STDIN = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelsRequest:
    """The command line of ``gpuadvise kernels`` as values."""

    files: tuple[str, ...]
    device: GpuOptions
    targets: tuple[Capability, ...]
    pattern: re.Pattern[str] | None
    block: int | None  # threads
    dynamic_smem: int  # bytes
    entries_only: bool = False
    functions: bool = False
    advise: bool = False
    driver_check: bool = False
    jobs: int = 1
    sort: str | None = None
    group_by: str | None = None
    limit: int | None
    fail_under: float | None = None  # occupancy, 0 to 1
    fail_on_spills: bool = False
    max_regs: int | None = None
    baseline: str | None = None
    output: Output
    build: CompilerOptions = field(default_factory=CompilerOptions)

    def source_targets(self, gpu: Capability | None) -> tuple[Capability, ...]:
        """Return what source files are compiled for; raises BadInput when nobody says."""
        targets = self.targets or ((gpu,) if gpu is not None else ())
        if targets:
            return targets
        from gpuadvise.advisor.backends.choose import VARIABLE, choose

        if not os.environ.get(VARIABLE):
            raise BadInput(
                "A source file is compiled for one GPU, and none is named.",
                hint=f"Name it: --arch sm_90, --gpu h100 or ${VARIABLE}.",
            )
        return (choose().device.capability,)

    def gate(self) -> KernelGate:
        """Return the gate that was asked for; raises BadInput."""
        from gpuadvise.advisor.backends.settings_file import limits_are_set, read_settings
        from gpuadvise.cli.kernels.gate import KernelGate, read_baseline

        gate = KernelGate(
            least=self.fail_under,
            spills=self.fail_on_spills,
            most_registers=self.max_regs,
            inputs=self.files,
        )
        folder = Path()
        if not self.entries_only and limits_are_set(folder):
            settings = read_settings(folder)
            gate.limits, gate.exceptions = settings.limits, settings.exceptions
        if gate.set and self.entries_only:
            raise BadInput("--list unpacks nothing: it has no kernels for a gate to judge.")
        if self.baseline is not None:
            if not gate.set:
                raise BadInput(
                    "--baseline excuses nothing by itself.",
                    hint="Add --fail-under, --max-regs or --fail-on-spills.",
                )
            asked = {**self.device.asked(), "block": self.block, "dynamic_smem": self.dynamic_smem}
            gate.baseline = read_baseline(self.baseline, asked)
        return gate

    def choice(self) -> Choice | None:
        """Return the GPU the user named; None: each kernel is answered for its own target."""
        return self.device.choice() if self.device.given or self.driver_check else None


def parse_files(words: list[str]) -> tuple[str, ...]:
    """Return the files among *words*; raises BadInput when standard input is named twice."""
    files = words[: _first_option(words)]
    if files.count(STDIN) > 1:
        raise BadInput("Standard input can be read only once.")
    if not files:
        raise BadInput("No file is named before the options of the compiler.")
    return tuple(located(files, CODE_SUFFIXES))


def _first_option(words: list[str]) -> int:
    """Return where the options of the compiler begin, which follow ``--``."""
    return next((i for i, w in enumerate(words) if w.startswith("-") and w != STDIN), len(words))


def parse_build(
    compiler: str, folders: list[str], defines: list[str], words: list[str]
) -> CompilerOptions:
    """Return how source files are compiled; raises BadInput for an unknown compiler."""
    return CompilerOptions(
        compiler=compiler,
        folders=tuple(folders),
        defines=tuple(defines),
        others=tuple(words[_first_option(words) :]),
    )


def parse_targets(texts: list[str]) -> tuple[Capability, ...]:
    """Return the targets that ``--arch`` names, several of them separated by commas."""
    words = [word for text in texts for word in text.split(",")]
    return tuple(named("--arch", parse_capability, word) for word in words)

"""All evidence of one call: what the options say, beside what the files say."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.description.files import BadLine, from_numbered
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.evidence.files import EvidenceFiles
from gpuadvise.advisor.evidence.reading import Reading
from gpuadvise.advisor.facts.bag import Facts
from gpuadvise.advisor.facts.derive import completed
from gpuadvise.advisor.prose import and_list, quoted
from gpuadvise.cli.advise.request import from_flags
from gpuadvise.cli.options import flag

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator, Mapping

    from gpuadvise.advisor.backends.choose import Choice
    from gpuadvise.advisor.description.reader import Described
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.engines.engine import TaskEngine
    from gpuadvise.advisor.evidence.launches import ProfiledLaunch
    from gpuadvise.advisor.source.linted_file import LintedFile
    from gpuadvise.advisor.timelines.case import TimelineCase


_CUDA = "CUDA_"
_LOADER_FACTS = ("driver", "environment")  # they decide how the driver loads device code
# Names that a hint has room for.
_MOST_NAMES = 3
# Options about the work of one kernel.
_OF_ONE_KERNEL = ("read", "write", "time", "reported_rate", "flops", "bytes", "elements")
# Options that describe a launch, which a report knows better.
_LAUNCHED = (
    "regs", "block", "grid", "smem", "dynamic_smem", "max_dynamic_smem", "carveout", "barriers",
    "cluster", "nonportable_cluster",
)  # fmt: skip
# Flags that no build log and no binary knows, but the launch.
_HOW_LAUNCHED = frozenset({"block", "grid", "dynamic_smem"})


@dataclass(frozen=True)
class GatheredEvidence:
    """Where the evidence comes from; *flags* describe one kernel, *files* any number."""

    flags: Mapping[str, Any]
    files: tuple[str, ...] = ()
    profiles: tuple[str, ...] = ()
    gpu: str | None = None
    cc: str | None = None
    device: str | None = None
    snapshot: str | None = None
    environment: bool = False
    reminders: bool = False
    pattern: re.Pattern[str] | None = None  # only kernels whose names it is found in
    reading: Reading = field(default_factory=Reading)
    engine: TaskEngine | None = None  # who reads reports, code and traces; None: this process
    passed_over: list[str] = field(default_factory=list)  # names in which it is not found
    passed_seconds: list[float] = field(default_factory=list)  # of all their launches

    @cached_property
    def read(self) -> EvidenceFiles:
        """The files, as they are read."""
        return EvidenceFiles(
            paths=self.files,
            reports=self.profiles,
            device=self.chosen.device if self._names_gpu else None,
            default=lambda: self.chosen.device,
            launched=from_flags(self.flags, None).facts if self._launches_code else None,
            given=self._given_beside,
            timelines_in=self._timelines_in,
            lint=_linted,
            reading=self.reading,
            engine=self.engine,
        )

    def _timelines_in(self, paths: Iterable[str], device: Device | None) -> Iterator[TimelineCase]:
        from gpuadvise.cli.timeline.request import timelines_in

        if self.engine is None:
            return timelines_in(tuple(paths), device)
        from gpuadvise.advisor.timelines.rank_files import timelines_by

        return timelines_by(self.engine, tuple(paths), device, self.reading.leave_out)

    @property
    def notes(self) -> list[str]:
        """What the choice of device and the reading have to say."""
        return self.reading.notes

    def kernels(self) -> Iterator[Described | BadLine]:
        """Yield every described kernel, complete with what is known of its surroundings."""
        first = True
        for kernel in map(self.read.in_run, self._described()):
            if isinstance(kernel, BadLine):
                yield kernel
            elif self._wanted(kernel):
                self.reading.note(*kernel.notes)
                facts = self._surrounded(kernel.facts, remind=first)
                yield kernel if facts is kernel.facts else replace(kernel, facts=facts)
                first = False

    def _described(self) -> Iterator[Described | BadLine]:
        if not (self.flags or self.files or self.profiles):
            yield from_flags({}, self.chosen.device)
            return
        yield from self.read.recorded_runs()
        profiles, codes, _, _ = self.read.sorted
        if self.flags and not profiles and not (codes and self._launches_code):
            yield from_flags(self.flags, self.chosen.device)
        yield from self.read.joined()

    def _wanted(self, kernel: Described) -> bool:
        name = kernel.facts.kernel or ""
        if self._matches(name):
            return True
        self.passed_over.append(name)
        self.passed_seconds.append(kernel.seconds or 0.0)
        return False

    def unmatched(self) -> BadInput:
        """Return the error of a --filter that no kernel passes."""
        known = [name for name in dict.fromkeys(self.passed_over) if name]
        names = and_list([*map(quoted, known)], most=_MOST_NAMES)
        written = self.pattern.pattern if self.pattern else ""
        return BadInput(
            f"--filter: no kernel's name matches {quoted(written)}.",
            hint=f"There are {names}." if known else "No kernel here has a name.",
        )

    def _matches(self, name: str) -> bool:
        return self.pattern is None or self.pattern.search(name) is not None

    def kernels_of(self, lines: Iterable[tuple[int, str]]) -> Iterator[Described | BadLine]:
        """Yield the kernels that numbered *lines* of the only file describe, with nothing to join."""
        (path,) = self.files
        for kernel in from_numbered(lines, path, self.read.device_finder()):
            if not isinstance(kernel, BadLine):
                self.reading.note(*kernel.notes)
            yield kernel

    def run_verdicts(self) -> list[str]:
        """Return where the time of each recorded run went, in a line: the findings say what wins it back."""
        runs = self.read.runs
        if not runs:
            return []
        from gpuadvise.advisor.timelines.case import ranks_in, run_names
        from gpuadvise.cli.timeline.time_spent import time_spent

        several = len(runs) > 1
        balance = ranks_in(runs).balance() if several else None
        return [
            f"{name}: {time_spent(case, balance)}" if several else time_spent(case)
            for case, name in zip(runs, run_names(runs), strict=True)
        ]

    def _given_beside(self, launches: list[ProfiledLaunch]) -> Facts:
        """Return what the flags say beside a report of *launches*, which knows its launches better.

        Raises BadInput for a flag that the report contradicts, or that is about one kernel of several.
        """
        flags = dict(self.flags)
        if "name" in flags:
            raise BadInput(
                "--name: the report names its kernels.", hint="--filter NAME judges one of them."
            )
        wanted = [launch for launch in launches if self._matches(launch.profile.kernel)]
        of_one = [flag(name) for name in flags if name in _OF_ONE_KERNEL]
        if of_one and len(wanted) > 1:
            raise BadInput(
                f"{and_list(of_one)}: about one kernel, and the report has {len(wanted):,}.",
                hint="--filter NAME chooses one.",
            )
        if all(launch.profile.launch for launch in launches):
            unused = [flag(name) for name in list(flags) if name in _LAUNCHED and flags.pop(name)]
            if unused:
                verb = "is" if len(unused) == 1 else "are"
                self.reading.note(
                    f"{and_list(unused)} {verb} not used: the report says what was launched."
                )
        if not flags:
            return Facts()
        from gpuadvise.advisor.evidence.join import FOLLOWING

        facts = from_flags(flags, None).facts
        return replace(facts, **dict.fromkeys(FOLLOWING))

    @property
    def _names_gpu(self) -> bool:
        """Whether the options name a GPU, or ask for the one here."""
        return any((self.gpu, self.cc, self.device, self.snapshot))

    @property
    def _launches_code(self) -> bool:
        """Whether the flags say how kernels of code files are launched, and nothing else."""
        return "block" in self.flags and self.flags.keys() <= _HOW_LAUNCHED

    @cached_property
    def chosen(self) -> Choice:
        """The device that the options name, or the default one; a live one with its state."""
        from gpuadvise.advisor.backends.choose import Depth, choose

        named = self.device is not None or self.snapshot is not None
        choice = choose(
            gpu=self.gpu,
            cc=self.cc,
            device=self.device,
            from_file=self.snapshot,
            depth=Depth.TELEMETRY if named else Depth.IDENTITY,
        )
        self.reading.note(*choice.notes)
        return choice

    def _surrounded(self, facts: Facts, *, remind: bool) -> Facts:
        """Return *facts* with the state of the live or recorded GPU and of the environment.

        *remind*: include what is said once per program, not once per kernel. Device code alone
        is judged with the driver and the environment every time.
        """
        surroundings: dict[str, Any] = {}
        if self.device is not None or self.snapshot is not None:
            surroundings |= _state(self.chosen)
        if self.environment:
            surroundings["environment"] = {
                k: v for k, v in os.environ.items() if k.startswith(_CUDA)
            }
        if not remind:
            surroundings = {
                k: v for k, v in surroundings.items() if facts.code and k in _LOADER_FACTS
            }
        if self.reminders and remind:
            surroundings["sanitized"] = False
        missing = {key: value for key, value in surroundings.items() if getattr(facts, key) is None}
        return completed(replace(facts, **missing)) if missing else facts


def _linted(data: bytes, file: str) -> LintedFile:
    from gpuadvise.advisor.backends.build_files import build_of
    from gpuadvise.rules.source.lint import lint_file

    return lint_file(data, file, build_of(file))


def _state(choice: Choice) -> dict[str, Any]:
    from gpuadvise.advisor.facts.live_gpu import gpu_facts

    if choice.machine is None or choice.gpu is None:
        return {}
    devices = tuple(gpu.device for gpu in choice.machine.gpus)
    return {**gpu_facts(choice.gpu, choice.machine), "devices": devices}

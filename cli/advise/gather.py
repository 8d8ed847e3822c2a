"""All evidence of one call: flags, descriptions, profiles, and the GPU they are about."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.backends.user_files import is_kept, opened
from gpuadvise.advisor.description.files import BadLine, from_numbered
from gpuadvise.advisor.description.reader import Described
from gpuadvise.advisor.errors import BadInput, TooCostly
from gpuadvise.advisor.facts.bag import Facts
from gpuadvise.advisor.facts.derive import completed
from gpuadvise.advisor.prose import and_list, inert, quoted, quoted_path
from gpuadvise.cli.advise.request import from_flags
from gpuadvise.cli.devices import other_gpu_note
from gpuadvise.cli.options import flag

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator, Mapping

    from gpuadvise.advisor.backends.choose import Choice
    from gpuadvise.advisor.binaries.kernel_occupancy import Residency
    from gpuadvise.advisor.binaries.model import Damage, Entry, Item, Kernel
    from gpuadvise.advisor.binaries.options import ReadOptions
    from gpuadvise.advisor.description.reader import DeviceFinder
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.evidence.launches import ProfiledLaunch
    from gpuadvise.advisor.evidence.sources import SourceEvidence
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.source.text import SourceText
    from gpuadvise.cli.timeline.request import TimelineCase


_CUDA = "CUDA_"
_LOADER_FACTS = ("driver", "environment")  # they decide how the driver loads device code
CUDA_SOURCES = (".cu", ".cuh")
SCRIPTS = (".py", ".ipynb")
SOURCES = (*CUDA_SOURCES, *SCRIPTS)
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
    notes: list[str] = field(default_factory=list)  # what the choice of device has to say
    traced: set[str] = field(default_factory=set)  # files that are timelines
    damage: list[Damage] = field(default_factory=list)  # what of the files could not be read
    unread: list[Damage] = field(default_factory=list)  # what of recordings: only gates mind
    passed_over: list[str] = field(default_factory=list)  # names in which it is not found
    passed_seconds: list[float] = field(default_factory=list)  # of all their launches

    def kernels(self) -> Iterator[Described | BadLine]:
        """Yield every described kernel, complete with what is known of its surroundings."""
        first = True
        shares = self._traced_shares
        for kernel in self._described():
            if isinstance(kernel, BadLine):
                yield kernel
            elif self._wanted(kernel):
                self.add_notes(kernel.notes)
                if shares:
                    from gpuadvise.advisor.evidence.join import with_run_share

                    kernel = with_run_share(kernel, shares)
                facts = self._surrounded(kernel.facts, remind=first)
                yield kernel if facts is kernel.facts else replace(kernel, facts=facts)
                first = False

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
        shown = [quoted(name) for name in known[:_MOST_NAMES]]
        more = [f"{len(known) - len(shown):,} more"] if len(known) > len(shown) else []
        written = self.pattern.pattern if self.pattern else ""
        return BadInput(
            f"--filter: no kernel's name matches {quoted(written)}.",
            hint=f"There are {and_list(shown + more)}." if known else "No kernel here has a name.",
        )

    def _matches(self, name: str) -> bool:
        return self.pattern is None or self.pattern.search(name) is not None

    def kernels_of(self, lines: Iterable[tuple[int, str]]) -> Iterator[Described | BadLine]:
        """Yield the kernels that numbered *lines* of the only file describe, with nothing to join."""
        (path,) = self.files
        for kernel in from_numbered(lines, path, self._finder()):
            if not isinstance(kernel, BadLine):
                self.add_notes(kernel.notes)
            yield kernel

    def add_notes(self, notes: Iterable[str]) -> None:
        """Keep those of *notes* that are new."""
        self.notes.extend(note for note in notes if note not in self.notes)

    @cached_property
    def _timelines(self) -> tuple[TimelineCase, ...]:
        """The timelines among the files, told by their content."""
        if not self.files:
            return ()
        from gpuadvise.advisor.timelines.read import is_timeline

        paths = tuple(path for path in self.files if is_timeline(path))
        if not paths:
            return ()
        from gpuadvise.cli.timeline.request import timelines_in

        named = self._names_gpu
        cases = tuple(timelines_in(paths, self.chosen.device if named else None))
        self.traced.update(case.file for case in cases)
        self._keep_unread(cases)
        if any(case.timeline.device is None for case in cases):
            self.notes.append(
                "A timeline names no GPU, so occupancy is not known: give --gpu NAME."
            )
        return cases

    def _keep_unread(self, cases: Iterable[TimelineCase]) -> None:
        """Keep, and note, what of the recordings could not be read."""
        for file, note in dict.fromkeys((c.file, note) for c in cases for note in c.timeline.notes):
            from gpuadvise.advisor.binaries.model import Damage, Place

            self.unread.append(Damage(place=Place(path=inert(file)), message=note))
            self.add_notes([note])

    def run_verdicts(self) -> list[str]:
        """Return where the time of each recorded run went, in a line: the findings say what wins it back."""
        if not self._timelines:
            return []
        from gpuadvise.cli.timeline.request import run_names
        from gpuadvise.cli.timeline.text import time_spent

        names = run_names(self._timelines)
        several = len(self._timelines) > 1
        return [
            f"{name}: {time_spent(case)}" if several else time_spent(case)
            for case, name in zip(self._timelines, names, strict=True)
        ]

    def hot_kernels(self) -> tuple[str, ...]:
        """Return the kernels of recorded runs, those that take most time first."""
        kernels = (kernel for case in self._timelines for kernel in case.timeline.kernels)
        longest = sorted(kernels, key=lambda kernel: -kernel.total_ns)
        return tuple(dict.fromkeys(kernel.shape.name for kernel in longest))

    @cached_property
    def _traced_shares(self) -> dict[str, float]:
        """The share of the traced span that each kernel takes, the largest of several timelines."""
        if not self._timelines:
            return {}
        from gpuadvise.advisor.evidence.join import shares_of_run

        return shares_of_run(case.timeline for case in self._timelines)

    def _traced_runs(self) -> Iterator[Described]:
        """Yield each recorded run, and its kernels where no profile describes them better."""
        if not self._timelines:
            return
        from gpuadvise.advisor.timelines.evidence import facts_of_timeline
        from gpuadvise.cli.timeline.request import run_names
        from gpuadvise.rules.guide import SHAPE_RULES

        for case, run in zip(self._timelines, run_names(self._timelines), strict=True):
            for facts in facts_of_timeline(case.timeline):
                if facts.kernel is None:
                    yield Described(facts=replace(facts, kernel=run))
                elif not self.sorted_files[0]:
                    yield Described(facts=facts, select=SHAPE_RULES)

    def _described(self) -> Iterator[Described | BadLine]:
        if not (self.flags or self.files or self.profiles):
            yield from_flags({}, self.chosen.device)
            return
        yield from self._traced_runs()
        profiles, codes, descriptions = self.sorted_files
        if not profiles and self.flags and not (codes and self._launches_code):
            yield from_flags(self.flags, self.chosen.device)
        if profiles:
            yield from self._profiled(profiles, codes, descriptions)
            return
        sources = [path for path in descriptions if path.endswith(CUDA_SOURCES)]
        yield from self._code_and_sources(codes, sources)
        for path in descriptions:
            if path not in sources:
                yield from self._in_file(path)

    def _code_and_sources(self, codes: list[str], sources: list[str]) -> Iterator[Described]:
        """Yield the kernels of *codes*, or else those that *sources* compile to, with what these show."""
        if not sources:
            for kernel in self._compiled(codes):
                for facts in self._described_code(kernel):
                    yield Described(facts=facts)
            return
        from gpuadvise.advisor.evidence.join import joined_code
        from gpuadvise.cli.advise.compilation import compiled_kernels

        evidence = self._source_evidence(sources)
        device = self.chosen.device
        if codes:
            evidence.drop_unproved()
            kernels = self._compiled(codes)
        else:
            kernels = chain.from_iterable(
                compiled_kernels(path, device.capability, evidence, self.notes) for path in sources
            )
        yield from joined_code(kernels, evidence, self._described_code)
        if not codes:
            yield from evidence.launches_left(device)
        if left := evidence.left():
            yield Described(facts=Facts(device=device, observations=left))

    def _in_file(self, path: str, profiled: Device | None = None) -> Iterator[Described | BadLine]:
        """Yield what the description or the source file *path* says, on the *profiled* GPU if it names none."""
        if path.endswith(SOURCES):
            # No rule asks for the GPU of a script: of none that was not named anything is said.
            script = path.endswith(SCRIPTS) and not self._names_gpu
            try:
                yield source_facts(path, None if script else profiled or self.chosen.device)
            except TooCostly as error:
                self._leave_out(path, error.message)
            return
        from gpuadvise.advisor.backends.description_file import kernels_in

        yield from kernels_in(path, self._finder(profiled))

    def _finder(self, profiled: Device | None = None) -> DeviceFinder:
        """Return what finds the device that a description names, or else the *profiled* or chosen one."""
        from gpuadvise.advisor.description.devices import from_catalogue

        return lambda gpu, cc: from_catalogue(gpu, cc) or profiled or self.chosen.device

    @cached_property
    def sorted_files(self) -> tuple[list[str], list[str], list[str]]:
        """The files by what they hold: profiles, code, descriptions of kernels."""
        for path in self.profiles:
            with opened(path):  # a file that is not there is no damaged one
                pass
        if not self.files:
            return list(self.profiles), [], []
        from gpuadvise.advisor.evidence.kinds import EvidenceKind, evidence_kind, reports_in

        traced = self.traced if self._timelines else frozenset()
        left = [path for path in self.files if path not in traced]
        files = list(
            chain.from_iterable(reports_in(path, self.add_notes) or [path] for path in left)
        )
        if len(files) > 1:
            files = [path for path in files if not self._is_empty(path)] or files
        kinds = {path: evidence_kind(path) for path in files}
        profiles = [path for path, kind in kinds.items() if kind is EvidenceKind.PROFILE]
        codes = [path for path, kind in kinds.items() if kind is EvidenceKind.CODE]
        rest = [path for path, kind in kinds.items() if kind is EvidenceKind.DESCRIPTION]
        return [*self.profiles, *profiles], codes, rest

    @property
    def file_without_places(self) -> str | None:
        """The file of findings that name none; None where several could be.

        Kernels of reports know their file, and findings in sources their lines.
        """
        files = [
            path for path in (*self.files, *self.profiles) if not (path == "-" or is_kept(path))
        ]
        if len(files) == 1:
            return files[0]
        profiles, _, _ = self.sorted_files
        left = [path for path in files if path not in profiles and not path.endswith(SOURCES)]
        return left[0] if len(left) == 1 else None

    def _is_empty(self, path: str) -> bool:
        """Return whether *path* is an empty file, as an interrupted profiler leaves it, and keep it as damaged."""
        from gpuadvise.advisor.binaries.model import Damage, Place

        if not (is_kept(path) or os.path.isfile(path)):
            return False
        with opened(path) as file:
            empty = not file.read(1)
        if empty:
            self.damage.append(Damage(place=Place(path=inert(path)), message="The file is empty."))
        return empty

    @property
    def streams(self) -> bool:
        """Whether kernels come one by one from descriptions, with nothing to join."""
        profiles, codes, descriptions = self.sorted_files
        return bool(descriptions) and not (profiles or codes or self._timelines)

    def _profiled(
        self, profiles: list[str], codes: list[str], descriptions: list[str]
    ) -> Iterator[Described | BadLine]:
        """Yield the profiled kernels, each with what code and descriptions say of it."""
        from gpuadvise.advisor.evidence.join import BesideProfiles, joined_launches
        from gpuadvise.advisor.evidence.launches import profiled_launches

        sources = [path for path in descriptions if path.endswith(CUDA_SOURCES)]
        source = self._source_evidence(sources) if sources else None
        if source is not None:
            source.drop_unproved()
        compiled = tuple(self._compiled(codes))
        launches = profiled_launches(profiles, self.damage, self.add_notes)
        device = self._device_of(launches[0].profile) if launches else None
        files = (path for path in descriptions if path not in sources)
        beside = BesideProfiles(
            codes=compiled,
            source=source,
            descriptions=chain.from_iterable(self._in_file(path, device) for path in files),
            given=self._given_beside(launches),
        )
        for kernel in joined_launches(
            launches, beside, self._device_of, lambda note: self.add_notes([note])
        ):
            if isinstance(kernel, BadLine) or kernel.file is None or not is_kept(kernel.file):
                yield kernel
            else:
                yield replace(kernel, file=None)
        if source is not None and (left := source.left()):
            yield Described(facts=Facts(device=device or self.chosen.device, observations=left))

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
                self.add_notes(
                    [f"{and_list(unused)} {verb} not used: the report says what was launched."]
                )
        if not flags:
            return Facts()
        from gpuadvise.advisor.evidence.join import FOLLOWING

        facts = from_flags(flags, None).facts
        return replace(facts, **dict.fromkeys(FOLLOWING))

    def _compiled(self, codes: list[str]) -> Iterable[Kernel]:
        """Return the kernels of the files *codes*, those that several of them hold once."""
        if len(codes) < 2:
            return chain.from_iterable(map(self._kernels_in, codes))
        from gpuadvise.advisor.evidence.join import one_of_each

        return one_of_each(map(self._kernels_in, codes))

    def _kernels_in(self, path: str) -> Iterator[Kernel]:
        """Yield the kernels of the file *path*; one without any is said."""
        damaged, said, empty = len(self.damage), len(self.notes), True
        for kernel in self._kernels_of(path):
            empty = False
            yield kernel
        if empty and len(self.damage) == damaged and len(self.notes) == said:
            self.add_notes([f"{quoted_path(path)} holds no kernel: it says nothing here."])

    def _source_evidence(self, sources: list[str]) -> SourceEvidence:
        """Return what *sources* show of their kernels; raises BadInput where one is no text."""
        from gpuadvise.advisor.evidence.sources import SourceEvidence

        evidence = SourceEvidence()
        for path in sources:
            try:
                reason = evidence.add(source_text_of(path))
            except TooCostly as error:
                reason = error.message.removeprefix(f"{quoted_path(path)} ").capitalize()
            if reason:
                self._leave_out(path, reason)
        return evidence

    def _leave_out(self, path: str, reason: str) -> None:
        """Keep that the file *path* was not judged, or not all of it."""
        from gpuadvise.advisor.binaries.model import Damage, Place

        self.damage.append(Damage(place=Place(path=inert(path)), message=reason))

    def _device_of(self, profile: KernelProfile) -> Device:
        named = profile.device or (str(profile.capability) if profile.capability else None)
        device = self._device_named(named)
        note = other_gpu_note(profile.device, device)
        if note and note not in self.notes:
            self.notes.append(note)
        return device

    def _kernels_of(self, path: str) -> Iterator[Kernel]:
        """Yield the kernels of a binary or a build log."""
        from gpuadvise.advisor.binaries.model import Content, Damage, Kernel, Source
        from gpuadvise.advisor.binaries.options import ReadOptions
        from gpuadvise.advisor.compatibility.targets import sass_fits
        from gpuadvise.advisor.compatibility.verdict import loaded

        gpu = self.chosen.device.capability if self._names_gpu else None
        passed: set[str] = set()

        def select(entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
            """Return what the GPU that was named would load; without one, all images."""
            if gpu is None:
                return tuple(e for e in entries if e.content is Content.SASS) or entries
            chosen = loaded(entries, gpu)
            if not chosen:
                passed.update(e.capability.target for e in entries if e.capability)
            return chosen

        any_kernel = False
        for item in _items_of(path, ReadOptions(instructions=True, select=select)):
            if isinstance(item, Damage):
                self.damage.append(item)
            elif isinstance(item, Kernel) and item.entry:
                target = item.capability
                in_container = item.source in (Source.CUBIN, Source.PTX)
                if gpu and target and not in_container and not sass_fits(target, gpu):
                    passed.add(target.target)  # a log names a target for each kernel
                    continue
                any_kernel = True
                yield item
        if passed and not any_kernel:
            self.add_notes([
                f"{quoted_path(path)}: {self.chosen.device.name} would load none of its code, which is for "
                f"{and_list(sorted(passed))}; gpuadvise compat says why."
            ])  # fmt: skip

    def _described_code(self, kernel: Kernel) -> Iterator[Facts]:
        """Yield *kernel* for the GPU named or its own target, where one is known."""
        from gpuadvise.advisor.evidence.join import with_described
        from gpuadvise.cli.kernels.advice import kernel_facts

        device = self.chosen.device if self._names_gpu else None
        if not self._launches_code:
            facts = kernel_facts(kernel, device)
        elif (facts := kernel_facts(kernel, device, self._launched(kernel, device))) is not None:
            facts = with_described(facts, from_flags(self.flags, None).facts)
        if facts is not None:
            yield facts

    @property
    def _names_gpu(self) -> bool:
        """Whether the options name a GPU, or ask for the one here."""
        return any((self.gpu, self.cc, self.device, self.snapshot))

    @property
    def _launches_code(self) -> bool:
        """Whether the flags say how kernels of code files are launched, and nothing else."""
        return "block" in self.flags and self.flags.keys() <= _HOW_LAUNCHED

    def _launched(self, kernel: Kernel, device: Device | None) -> Residency:
        """Return the occupancy of *kernel* with the block that the flags give, as `kernels` does."""
        from gpuadvise.advisor.binaries.kernel_occupancy import Residencies

        launch = from_flags(self.flags, None).facts.launch
        assert launch is not None
        return Residencies(
            limits=device.limits if device else None,
            block=launch.threads,
            dynamic_smem=launch.dynamic_shared,
        ).of(kernel)

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
        self.notes.extend(choice.notes)
        return choice

    def _device_named(self, name: str | None) -> Device:
        """Return the device that the options name, else the profiled one, else the default."""
        if name is None or self._names_gpu:
            return self.chosen.device
        from gpuadvise.advisor.catalogue.lookup import find

        try:
            return find(name)
        except BadInput:
            return self.chosen.device

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


def _items_of(path: str, options: ReadOptions) -> Iterator[Item]:
    """Yield what is in the binary or build log *path*, also where it came through a pipe."""
    from gpuadvise.advisor.binaries.read import read, read_stream

    if not is_kept(path):
        yield from read(path, options)
        return
    with opened(path) as file:
        yield from read_stream(file, "stdin" if path == "-" else path, options)


def _state(choice: Choice) -> dict[str, Any]:
    from gpuadvise.advisor.facts.live_gpu import gpu_facts

    if choice.machine is None or choice.gpu is None:
        return {}
    devices = tuple(gpu.device for gpu in choice.machine.gpus)
    return {**gpu_facts(choice.gpu, choice.machine), "devices": devices}


def source_facts(path: str, device: Device | None) -> Described:
    """Return what the source file *path* shows."""
    from gpuadvise.advisor.source.observations import observations_of

    seen = observations_of(_content(path), path)
    return Described(facts=Facts(device=device, observations=seen))


def source_text_of(path: str) -> SourceText:
    """Return the text of the source file *path*; raises BadInput where it is none."""
    from gpuadvise.advisor.source.text import source_text

    return source_text(_content(path), path)


def _content(path: str) -> bytes:
    from gpuadvise.advisor.source.text import LARGEST

    with opened(path) as file:
        return file.read(LARGEST + 1)

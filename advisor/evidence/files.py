"""Evidence in files: each told by its content, read, and joined kernel by kernel.

`read_evidence` does it in one call. `EvidenceFiles` does it as it is asked, so that a million
described kernels go by one at a time.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.backends.user_files import is_file, is_kept, opened
from gpuadvise.advisor.description.files import BadLine
from gpuadvise.advisor.description.reader import Described
from gpuadvise.advisor.errors import BadInput, TooCostly
from gpuadvise.advisor.evidence.reading import Reading
from gpuadvise.advisor.facts.bag import Facts
from gpuadvise.advisor.prose import inert, quoted_path
from gpuadvise.advisor.source.observations import CUDA_SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from gpuadvise.advisor.binaries.kernel_occupancy import Residency
    from gpuadvise.advisor.binaries.model import Damage, Kernel
    from gpuadvise.advisor.description.reader import DeviceFinder
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.engines.engine import TaskEngine
    from gpuadvise.advisor.evidence.launches import FileLaunches, ProfiledLaunch
    from gpuadvise.advisor.evidence.sources import SourceEvidence
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.source.linted_file import LintedFile
    from gpuadvise.advisor.source.text import SourceText
    from gpuadvise.advisor.timelines.case import TimelineCase

    # From the bytes of a source and its name to what is wrong there.
    SourceLinter: TypeAlias = Callable[[bytes, str], LintedFile]

COMPILED = (".cu", ".cuh")
SCRIPTS = (".py", ".ipynb")
SOURCES = (*CUDA_SUFFIXES, *SCRIPTS)
_BATCH = 20  # reports that a worker reads together


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEvidence:
    """What files say together: each run, then each kernel once, with all that is known of it."""

    kernels: tuple[Described, ...]
    runs: tuple[TimelineCase, ...] = ()
    notes: tuple[str, ...] = ()  # what a person should know about how the files were read
    damage: tuple[Damage, ...] = ()  # what of the files could not be read


def unjudged(data: bytes, file: str) -> LintedFile:
    """Return the source *file* with no fault: nobody looked for any."""
    from gpuadvise.advisor.source.linted_file import LintedFile

    return LintedFile(file=file, diagnostics=())


def read_evidence(
    *paths: str | os.PathLike[str],
    device: Device | None = None,
    launched: Facts | None = None,
    lint: SourceLinter = unjudged,
) -> FileEvidence:
    """Return what the files *paths* say together of kernels and runs.

    Reports and pages of Nsight Compute, binaries, build logs, PTX, CUDA sources, scripts, notebooks,
    traces, SQLite exports of Nsight Systems and kernel descriptions are told by their content; of a
    folder its reports or its device code are read. *device* is the GPU that is asked about: reports
    and traces name one themselves, of code only what it would load is taken, and without one the
    GPU here, else the catalogue's default, stands for it. *launched* has the `launch` of kernels of
    which only code is there. *lint* judges sources, as `lint_file` of `gpuadvise.rules.source.lint` does;
    without one they show their launches and arrays alone. Raises BadInput for what cannot be opened or is no evidence.
    """
    files = EvidenceFiles(
        paths=tuple(os.fspath(path) for path in paths), device=device, launched=launched, lint=lint
    )
    kernels = []
    for kernel in files.kernels():
        if isinstance(kernel, BadLine):
            raise kernel.error
        files.reading.note(*kernel.notes)
        kernels.append(kernel)
    return FileEvidence(
        kernels=tuple(kernels),
        runs=files.runs,
        notes=tuple(files.reading.notes),
        damage=(*files.reading.damage, *files.reading.unread),
    )


def default_device() -> Device:
    """Return the GPU here, else the one that the environment names, else the catalogue's default."""
    from gpuadvise.advisor.backends.choose import choose

    return choose().device


def _timelines_in(paths: Iterable[str], device: Device | None) -> Iterator[TimelineCase]:
    from gpuadvise.advisor.timelines.case import timelines_in

    return chain.from_iterable(timelines_in(path, device) for path in paths)


class SortedFiles(NamedTuple):
    """Files by what they hold, timelines left out."""

    profiles: list[str]
    codes: list[str]
    sources: list[str]  # of CUDA
    descriptions: list[str]  # of kernels, and scripts


@dataclass(frozen=True, kw_only=True)
class EvidenceFiles:
    """Files of evidence, read when they are asked.

    *device* is None where nobody named a GPU: *default* is then asked at the first need of one.
    """

    paths: tuple[str, ...] = ()
    reports: tuple[
        str, ...
    ] = ()  # files that are reports or pages of Nsight Compute, whatever their names
    device: Device | None = None
    default: Callable[[], Device] = default_device
    launched: Facts | None = None  # how the kernels of code files are launched
    # What else is known of the launches of a report, which knows them better.
    given: Callable[[list[ProfiledLaunch]], Facts | None] = lambda launches: None
    timelines_in: Callable[[Iterable[str], Device | None], Iterable[TimelineCase]] = _timelines_in
    lint: SourceLinter = unjudged
    reading: Reading = field(default_factory=Reading)
    engine: TaskEngine | None = None  # reads reports and code; None: this process

    def kernels(self) -> Iterator[Described | BadLine]:
        """Yield every run, then every kernel, with all that the files know of it."""
        return map(self.in_run, chain(self.recorded_runs(), self.joined()))

    @cached_property
    def runs(self) -> tuple[TimelineCase, ...]:
        """The timelines among the files, told by their content."""
        if not self.paths:
            return ()
        from gpuadvise.advisor.timelines.signatures import is_packed_timeline, is_timeline

        for path in filter(is_packed_timeline, self.paths):
            from gpuadvise.advisor.timelines.read import refuse_packed

            refuse_packed(path)
        paths = tuple(path for path in self.paths if is_timeline(path))
        if not paths:
            return ()
        cases = tuple(self.timelines_in(paths, self.device))
        for case in cases:
            for note in case.timeline.notes:
                self.reading.leave_unread(case.file, note)
        if any(case.timeline.device is None for case in cases):
            self.reading.note(
                "A timeline names no GPU, so occupancy is not known: give --gpu NAME."
            )
        return cases

    def hot_kernels(self) -> tuple[str, ...]:
        """Return the kernels of recorded runs, those that take most time first."""
        kernels = (kernel for case in self.runs for kernel in case.timeline.kernels)
        longest = sorted(kernels, key=lambda kernel: -kernel.total_ns)
        return tuple(dict.fromkeys(kernel.shape.name for kernel in longest))

    @cached_property
    def _run_shares(self) -> Mapping[str, float]:
        """The share of the traced span that each kernel takes, the largest of several timelines."""
        if not self.runs:
            return {}
        from gpuadvise.advisor.evidence.run_shares import shares_of_run

        return shares_of_run(case.timeline for case in self.runs)

    def in_run(self, kernel: Described | BadLine) -> Described | BadLine:
        """Return *kernel* with its share of the recorded run, where there is one."""
        if isinstance(kernel, BadLine) or not self._run_shares:
            return kernel
        from gpuadvise.advisor.evidence.run_shares import with_run_share

        return with_run_share(kernel, self._run_shares)

    def recorded_runs(self) -> Iterator[Described]:
        """Yield each recorded run, and its kernels where no profile describes them better."""
        if not self.runs:
            return
        from gpuadvise.advisor.timelines.case import ranks_in, run_names
        from gpuadvise.advisor.timelines.evidence import (
            facts_of_ranks,
            facts_of_timeline,
            run_among_ranks,
        )

        ranks = ranks_in(self.runs)
        if (unlike := ranks.why_not_one_run) is not None:
            self.reading.note(unlike)
        if (balance := ranks.balance()) is not None:
            timelines = [case.timeline for case in self.runs]
            yield Described(facts=facts_of_ranks(balance, timelines))
        for case, run in zip(self.runs, run_names(self.runs), strict=True):
            for facts in facts_of_timeline(case.timeline):
                if facts.kernel is None:
                    known = facts.timeline
                    if balance is not None and known is not None:  # its ranks tell it better
                        known = run_among_ranks(known)
                    yield Described(facts=replace(facts, kernel=run, timeline=known))
                elif not self.sorted.profiles:
                    yield Described(facts=facts, traced=True)

    def joined(self) -> Iterator[Described | BadLine]:
        """Yield the kernels of all files but timelines, each once."""
        files = self.sorted
        if files.profiles:
            yield from self._profiled(files)
            return
        yield from self._code_and_sources(files.codes, files.sources)
        for path in files.descriptions:
            yield from self._in_file(path)

    @cached_property
    def sorted(self) -> SortedFiles:
        """The files by what they hold."""
        for path in self.reports:
            with opened(path):  # a file that is not there is no damaged one
                pass
        if not self.paths:
            return SortedFiles([*self.reports], [], [], [])
        traced = {case.file for case in self.runs}
        gone = {part.place.path for part in self.reading.damage}  # traces that an engine lost
        left = [path for path in self.paths if path not in traced and inert(path) not in gone]
        if not left:
            return SortedFiles([*self.reports], [], [], [])
        from gpuadvise.advisor.evidence.kinds import EvidenceKind, evidence_kind, reports_in

        files = list(
            chain.from_iterable(
                reports_in(path, lambda notes: self.reading.note(*notes)) or [path] for path in left
            )
        )
        if len(files) > 1:
            files = [path for path in files if not self._is_empty(path)] or files
        kinds = {path: evidence_kind(path) for path in files}
        by_kind = {kind: [path for path in kinds if kinds[path] is kind] for kind in EvidenceKind}
        described = by_kind[EvidenceKind.DESCRIPTION]
        return SortedFiles(
            profiles=[*self.reports, *by_kind[EvidenceKind.PROFILE]],
            codes=by_kind[EvidenceKind.CODE],
            sources=[path for path in described if path.lower().endswith(CUDA_SUFFIXES)],
            descriptions=[path for path in described if not path.lower().endswith(CUDA_SUFFIXES)],
        )

    @property
    def are_descriptions(self) -> bool:
        """Whether kernels come one by one from descriptions or sources, with nothing to join."""
        profiles, codes, sources, descriptions = self.sorted
        return bool(sources or descriptions) and not (profiles or codes or self.runs)

    @property
    def file_without_places(self) -> str | None:
        """The file of findings that name none; None where several could be.

        Kernels of reports know their file, and findings in sources their lines.
        """
        files = [
            path for path in (*self.paths, *self.reports) if not (path == "-" or is_kept(path))
        ]
        if len(files) == 1:
            return files[0]
        profiles = self.sorted.profiles
        left = [path for path in files if path not in profiles and not path.endswith(SOURCES)]
        return left[0] if len(left) == 1 else None

    def _is_empty(self, path: str) -> bool:
        """Return whether *path* is an empty file, as an interrupted profiler leaves it, and keep it as damaged."""
        if not (is_kept(path) or is_file(path)):
            return False
        with opened(path) as file:
            empty = not file.read(1)
        if empty:
            self.reading.leave_out(path, "The file is empty.")
        return empty

    def _any_device(self) -> Device:
        return self.device or self.default()

    def _code_and_sources(self, codes: list[str], sources: list[str]) -> Iterator[Described]:
        """Yield the kernels of *codes*, or else those that *sources* compile to, with what these show."""
        if not sources:
            for kernel in self._compiled(codes):
                for facts in self._facts_of_code(kernel):
                    yield Described(facts=facts)
            return
        from gpuadvise.advisor.evidence.compilation import compiled_kernels
        from gpuadvise.advisor.evidence.join import joined_code

        evidence = self._source_evidence(sources)
        device = self._any_device()
        if codes:
            evidence.drop_unproved()
            kernels = self._compiled(codes)
        else:
            kernels = chain.from_iterable(
                compiled_kernels(path, device.capability, evidence, self.reading)
                for path in sources
                if path.endswith(COMPILED)
            )
        yield from joined_code(kernels, evidence, self._facts_of_code)
        if not codes:
            yield from evidence.launches_left(device)
        if left := evidence.left():
            yield Described(facts=Facts(device=device, observations=left))

    def _profiled(self, files: SortedFiles) -> Iterator[Described | BadLine]:
        """Yield the profiled kernels, each with what code, sources and descriptions say of it."""
        from gpuadvise.advisor.evidence.join import BesideProfiles, joined_launches
        from gpuadvise.advisor.evidence.launches import launches_in, profiled_launches

        source = self._source_evidence(files.sources) if files.sources else None
        if source is not None:
            source.drop_unproved()
        compiled = tuple(self._compiled(files.codes))
        launches = profiled_launches(
            files.profiles,
            self.reading.damage,
            lambda notes: self.reading.note(*notes),
            launches_in if self.engine is None else self._launches_elsewhere,
        )
        device = self._device_of(launches[0].profile) if launches else None
        beside = BesideProfiles(
            codes=compiled,
            source=source,
            descriptions=chain.from_iterable(
                self._in_file(path, device) for path in files.descriptions
            ),
            given=self.given(launches),
        )
        for kernel in joined_launches(launches, beside, self._device_of, self.reading.note):
            if isinstance(kernel, BadLine) or kernel.file is None or not is_kept(kernel.file):
                yield kernel
            else:
                yield replace(kernel, file=None)
        if source is not None and (left := source.left()):
            yield Described(facts=Facts(device=device or self._any_device(), observations=left))

    def _in_file(self, path: str, profiled: Device | None = None) -> Iterable[Described | BadLine]:
        """Return what the description or the script *path* says, on the *profiled* GPU if it names none."""
        if path.endswith(SCRIPTS):
            try:  # no rule asks for the GPU of a script: of none that was not named anything is said
                return [source_facts(path, self.device, self.lint)]
            except TooCostly as error:
                self.reading.leave_out(path, error.message)
                return []
        from gpuadvise.advisor.backends.description_file import kernels_in

        return kernels_in(path, self.device_finder(profiled))

    def device_finder(self, profiled: Device | None = None) -> DeviceFinder:
        """Return what finds the device that a description names, or else the *profiled* or asked one."""
        from gpuadvise.advisor.description.devices import from_catalogue

        return lambda gpu, cc: from_catalogue(gpu, cc) or profiled or self._any_device()

    def _compiled(self, codes: list[str]) -> Iterable[Kernel]:
        """Return the kernels of the files *codes*, those that several of them hold once."""
        if not codes:
            return ()
        from gpuadvise.advisor.evidence.code import kernels_in_code
        from gpuadvise.advisor.evidence.join import one_of_each

        kernels: Iterable[Iterable[Kernel]]
        if self.engine is not None:
            kernels = self._codes_elsewhere(codes, self.engine)
        else:
            kernels = (kernels_in_code(path, self.device, self.reading) for path in codes)
        return one_of_each(kernels) if len(codes) > 1 else chain.from_iterable(kernels)

    def _codes_elsewhere(self, codes: list[str], engine: TaskEngine) -> Iterator[list[Kernel]]:
        """Yield the kernels of each of *codes*, read by *engine*; what it loses is left out."""
        from gpuadvise.advisor.engines.engine import Lost
        from gpuadvise.advisor.evidence.code import read_codes

        results = engine.map(partial(read_codes, self.device), codes, here=_is_here)
        for path, result in zip(codes, results, strict=True):
            if isinstance(result, Lost):
                self.reading.leave_out(path, result.reason)
                continue
            kernels, reading = result
            self.reading.add(reading)
            yield kernels

    def _launches_elsewhere(self, paths: Sequence[str]) -> Iterator[FileLaunches]:
        """Yield what each of the reports *paths* holds, read by the engine; what it loses is damage."""
        from gpuadvise.advisor.binaries.model import Damage, Place
        from gpuadvise.advisor.engines.engine import Lost
        from gpuadvise.advisor.evidence.launches import FileLaunches, launches_in

        assert self.engine is not None
        results = self.engine.map(launches_in, paths, batch=_BATCH, here=_is_here)
        for path, result in zip(paths, results, strict=True):
            if isinstance(result, Lost):
                message = f"{quoted_path(path)}: {result.reason}"
                damage = Damage(place=Place(path=inert(path)), message=result.reason)
                yield FileLaunches([], [damage], [BadInput(message)])
            else:
                yield result

    def _facts_of_code(self, kernel: Kernel) -> Iterator[Facts]:
        """Yield *kernel* on the GPU named or its own target, where one is known."""
        from gpuadvise.advisor.evidence.code import kernel_facts
        from gpuadvise.advisor.evidence.join import with_described

        if self.launched is None:
            facts = kernel_facts(kernel, self.device)
        else:
            residency = self._residency(kernel, self.launched)
            facts = kernel_facts(kernel, self.device, residency)
            facts = with_described(facts, self.launched) if facts is not None else None
        if facts is not None:
            yield facts
        elif kernel.registers is None:
            self.reading.note(
                f"{quoted_path(kernel.place.path)}: the registers of PTX are decided when it is compiled, so "
                "that its kernels cannot be judged. Give the machine code (ptxas -arch=sm_90 -o k.cubin k.ptx), "
                "the log of -Xptxas -v, or the source."
            )

    def _residency(self, kernel: Kernel, launched: Facts) -> Residency:
        """Return the occupancy of *kernel* as it is *launched*."""
        from gpuadvise.advisor.binaries.kernel_occupancy import Residencies

        launch = launched.launch
        assert launch is not None
        return Residencies(
            limits=self.device.limits if self.device else None,
            block=launch.threads,
            dynamic_smem=launch.dynamic_shared,
        ).of(kernel)

    def _source_evidence(self, sources: list[str]) -> SourceEvidence:
        """Return what *sources* show of their kernels; raises BadInput where one is no text."""
        from gpuadvise.advisor.evidence.sources import SourceEvidence

        evidence = SourceEvidence()
        for path in sources:
            try:
                text = source_text_of(path)
                reason = evidence.add(text, self.lint(text.content, path))
            except TooCostly as error:
                reason = error.message.removeprefix(f"{quoted_path(path)} ").capitalize()
            if reason:
                self.reading.leave_out(path, reason)
        return evidence

    def _device_of(self, profile: KernelProfile) -> Device:
        """Return the device that was asked about, else the profiled one, else the default."""
        from gpuadvise.advisor.catalogue.lookup import find
        from gpuadvise.advisor.evidence.launches import other_gpu_note

        named = profile.device or (str(profile.capability) if profile.capability else None)
        device = None
        if named is not None and self.device is None:
            try:
                device = find(named)
            except BadInput:
                device = None
        device = device or self._any_device()
        if note := other_gpu_note(profile.device, device):
            self.reading.note(note)
        return device


def _is_here(path: str) -> bool:
    """Return whether *path* is a pipe or what came through one, which nobody else can open."""
    return is_kept(path) or not (is_file(path) or os.path.isdir(path))


def source_facts(path: str, device: Device | None, lint: SourceLinter) -> Described:
    """Return what *lint* sees in the source file *path*."""
    from gpuadvise.advisor.source.observations import observation_of

    seen = tuple(observation_of(fault) for fault in lint(_content(path), path).diagnostics)
    return Described(facts=Facts(device=device, observations=seen))


def source_text_of(path: str) -> SourceText:
    """Return the text of the source file *path*; raises BadInput where it is none."""
    from gpuadvise.advisor.source.text import source_text

    return source_text(_content(path), path)


def _content(path: str) -> bytes:
    from gpuadvise.advisor.source.text import LARGEST

    with opened(path) as file:
        return file.read(LARGEST + 1)

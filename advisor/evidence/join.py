"""Evidence of several kinds about the kernels of one program, joined kernel by kernel.

A report knows what a launch took, the code what the compiler made, a source the line and the
repair, a description what only a person knows, a trace the share of the run. Who has read them
hands them over here, and gets one `Described` for each kernel; nothing is opened.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries.model import Kernel, Source
from gpuadvise.advisor.binaries.names import demangle
from gpuadvise.advisor.description.files import BadLine
from gpuadvise.advisor.description.reader import Described
from gpuadvise.advisor.evidence.kernel_name import KernelName, kernel_name
from gpuadvise.advisor.facts.bag import Facts
from gpuadvise.advisor.facts.derive import completed
from gpuadvise.advisor.facts.library_kernels import without_parameters
from gpuadvise.advisor.profiles.launch_facts import profiled_facts
from gpuadvise.advisor.profiles.report_launches import ReportLaunches
from gpuadvise.advisor.prose import and_list, inert, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.evidence.launches import ProfiledLaunch
    from gpuadvise.advisor.evidence.sources import SourceEvidence
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile

# What is worked out from other facts, and would be worked out from too few of them.
FOLLOWING = frozenset({"kernel", "limiter", "occupancy", "launched", "roofline"})
_LOGS = (Source.PTXAS_LOG, Source.NVLINK_LOG)


@dataclass(frozen=True, slots=True, kw_only=True)
class BesideProfiles:
    """What was read beside the launches of a report; *given* holds for each of them."""

    codes: Sequence[Kernel] = ()
    source: SourceEvidence | None = None
    descriptions: Iterable[Described | BadLine] = ()
    given: Facts | None = None


def joined_launches(
    launches: Sequence[ProfiledLaunch],
    beside: BesideProfiles,
    device_of: Callable[[KernelProfile], Device | None],
    say: Callable[[str], None],
) -> Iterator[Described | BadLine]:
    """Yield the profiled *launches*, each with all that is known of its kernel, then what is left.

    A described kernel that no report has is yielded as it is, and *say* is told so.
    """
    descriptions = _ByName()
    for item in beside.descriptions:
        if isinstance(item, BadLine) or not descriptions.add(item):
            yield item
    codes = _CodeByName(beside.codes)
    together = ReportLaunches()
    for launch in launches:
        together.add(launch.file, launch.profile, launch.numbers)
    for launch in launches:
        profile = launch.profile
        name = kernel_name(profile.kernel)
        code = launch.code or codes.of(profile, name)
        facts = profiled_facts(
            profile,
            code,
            device_of(profile),
            launch.launches,
            beside.given,
            handover=together.handover(launch.file, profile, launch.numbers),
            pass_chain=together.chain(launch.file, profile, launch.numbers),
            faster_launches=together.faster(launch.file, profile),
        )
        if beside.source is not None:
            facts = beside.source.joined(facts, name)
        described = descriptions.of(profile.kernel, name)
        if described is not None:
            described = replace(described, facts=with_described(facts, described.facts))
        yield replace(
            described or Described(facts=facts),
            file=launch.file,
            launch_ids=launch.numbers,
            seconds=launch.seconds,
        )
    for text, item in descriptions.unused():
        say(f"{quoted(text)} is described, and no report has a launch of it.")
        yield item
    if launches:
        _say_unlike([kernel_name(launch.profile.kernel) for launch in launches], beside, say)


# Names of kernels that a note has room for.
_MOST_NAMES = 3


def _say_unlike(
    launched: Sequence[KernelName], beside: BesideProfiles, say: Callable[[str], None]
) -> None:
    """Tell *say* of code and sources that may be another program's: none, or not all, of their kernels were profiled."""
    compiled = [kernel_name(demangle(code.name) or code.name) for code in beside.codes]
    if compiled and not any(one.may_be(name) for one in compiled for name in launched):
        say(
            f"No kernel of the code, as {quoted(compiled[0].base)}, is in the reports: "
            "it says nothing here, and may be of another program."
        )
    if beside.source is None or not beside.source.kernels:
        return
    unlike = beside.source.apart()
    apart = [each for each in unlike if each.observations]
    if len(unlike) == len(beside.source.kernels):
        first = quoted(beside.source.kernels[0].name)
        say(
            f"No kernel of the sources, as {first}, is in the reports: what is said of them rests on the source alone."
        )
    elif apart:
        names = [inert(each.name) for each in apart[:_MOST_NAMES]]
        more = [f"{len(apart) - _MOST_NAMES} more"] if len(apart) > _MOST_NAMES else []
        are = "is" if len(apart) == 1 else "are"
        say(
            f"{and_list([*names, *more])} {are} not in the reports: what is said of "
            f"{'it' if len(apart) == 1 else 'them'} rests on the source alone."
        )


def joined_code(
    kernels: Iterable[Kernel],
    source: SourceEvidence,
    facts_of: Callable[[Kernel], Iterable[Facts]],
) -> Iterator[Described]:
    """Yield *kernels* as *facts_of* describes them, each with what *source* shows and how it launches it."""
    for kernel in kernels:
        name = kernel_name(demangle(kernel.name) or kernel.name)
        for facts in facts_of(source.launched(kernel, name)):
            yield Described(facts=source.joined(facts, name))


def one_of_each(files: Iterable[Iterable[Kernel]]) -> list[Kernel]:
    """Return the kernels of several *files*: a binary and the log of its build speak of the same ones.

    Two are one kernel where they have name and target in common, lie in different files, and
    contradict each other in nothing; what only one of them states is then known of it.
    """
    known: dict[tuple[str, object], list[Kernel]] = {}
    for kernels in files:
        of_this_file: list[tuple[list[Kernel], Kernel]] = []
        for kernel in kernels:
            alike = known.setdefault((kernel.name, kernel.capability), [])
            at = next((i for i, other in enumerate(alike) if _agree(kernel, other)), None)
            if at is None:
                of_this_file.append((alike, kernel))
            else:
                alike[at] = _both(alike[at], kernel)
        for alike, kernel in of_this_file:
            alike.append(kernel)
    return [kernel for alike in known.values() for kernel in alike]


# What is about the record, or worded by its reader, and not about the kernel.
_OF_THE_RECORD = frozenset({"source", "place", "linked", "spills_are", "min_blocks_are", "toolkit"})
_COMPARED = tuple(name for name in Kernel._fields if name not in _OF_THE_RECORD)


def _agree(first: Kernel, second: Kernel) -> bool:
    """Return whether nothing that both state differs; at least the registers must be stated by both."""
    if first.registers is None or second.registers is None:
        return False
    pairs = ((getattr(first, name), getattr(second, name)) for name in _COMPARED)
    return all(one is None or other is None or one == other for one, other in pairs)


def _both(first: Kernel, second: Kernel) -> Kernel:
    """Return what *first* and *second* state together; the binary leads, and of spills the log."""
    lead, other = (second, first) if first.source in _LOGS else (first, second)
    missing = {
        name: getattr(other, name)
        for name in Kernel._fields
        if getattr(lead, name) is None and getattr(other, name) is not None
    }
    return lead._replace(**missing)


class _ByName:
    """Described kernels by their names."""

    def __init__(self) -> None:
        self._kernels: dict[str, Described] = {}
        self._used: set[str] = set()

    def add(self, kernel: Described) -> bool:
        """Keep *kernel*; False where it has no name, or one that another has."""
        name = without_parameters(kernel.facts.kernel or "")
        if not name or name in self._kernels:
            return False
        self._kernels[name] = kernel
        return True

    def of(self, kernel: str, name: KernelName) -> Described | None:
        """Return what is described under the very name of *kernel*, else under one that may be its."""
        for text in (without_parameters(kernel), *self._kernels):
            described = self._kernels.get(text)
            if described and kernel_name(described.facts.kernel or "").may_be(name):
                if text != without_parameters(kernel) and "<" in text:
                    continue  # another instance of the template
                self._used.add(text)
                return described
        return None

    def unused(self) -> Iterator[tuple[str, Described]]:
        """Yield the kernels that nobody asked for, with their names."""
        for name, kernel in self._kernels.items():
            if name not in self._used:
                yield name, kernel


class _CodeByName:
    """Compiled kernels by each name that a profile may have for them."""

    def __init__(self, codes: Iterable[Kernel]) -> None:
        self._by_text: dict[str, Kernel] = {}
        self._by_base: dict[str, list[tuple[KernelName, Kernel]]] = {}
        for code in codes:
            plain = demangle(code.name) or code.name
            name = kernel_name(plain)
            self._by_text[code.name] = code
            self._by_base.setdefault(name.base, []).append((name, code))

    def of(self, profile: KernelProfile, name: KernelName) -> Kernel | None:
        """Return the code of *profile*: by its mangled name, else where only one kernel can be it."""
        if profile.mangled in self._by_text:
            return self._by_text[profile.mangled]
        candidates = [
            code for known, code in self._by_base.get(name.base, ()) if known.may_be(name)
        ]
        whole = without_parameters(profile.kernel)
        same = [
            code
            for code in candidates
            if without_parameters(demangle(code.name) or code.name) == whole
        ]
        if same:
            return same[-1]
        return candidates[0] if len(candidates) == 1 else None


def with_described(facts: Facts, described: Facts) -> Facts:
    """Return *facts* with what a description of the same kernel says beside them."""
    missing = {
        field.name: getattr(described, field.name)
        for field in fields(Facts)
        if field.name not in FOLLOWING
        and getattr(facts, field.name) is None
        and getattr(described, field.name) is not None
    }
    return completed(replace(facts, **missing, limiter=None)) if missing else facts

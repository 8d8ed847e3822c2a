"""What a file of evidence is, told by its content, and launches of a run read from several files."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from gpuadvise.advisor.backends.user_files import opened
from gpuadvise.advisor.facts.kernel_profile import KernelProfile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gpuadvise.advisor.binaries.model import Damage, Kernel


class EvidenceKind(StrEnum):
    """What a file says something of."""

    PROFILE = "profile"
    CODE = "code"  # a binary, or what a compiler printed
    DESCRIPTION = "description"


_SNIFFED = 1 << 16
_DESCRIBED = (".toml", ".json", ".ndjson", ".jsonl")
_CSV = r'^"?ID"?,'
_CODE_TEXT = r"ptxas info|^\s{0,8}Resource usage:|^\s*\.version\s+\d"


def evidence_kind(path: str) -> EvidenceKind:
    """Return what the file or folder *path* holds (``-``: a description); raises BadInput."""
    if path == "-" or path.endswith(_DESCRIBED):
        return EvidenceKind.DESCRIPTION
    if os.path.isdir(path):
        return EvidenceKind.CODE
    from gpuadvise.advisor.binaries.file_type import FileType, file_type_of

    with opened(path) as file:
        head = file.read(_SNIFFED)
    match file_type_of(head):
        case FileType.REPORT:
            return EvidenceKind.PROFILE
        case FileType.TEXT:
            text = head.decode("utf-8", errors="replace")
            if re.search(_CSV, text, flags=re.MULTILINE):
                return EvidenceKind.PROFILE
            return (
                EvidenceKind.CODE
                if re.search(_CODE_TEXT, text, flags=re.MULTILINE)
                else EvidenceKind.DESCRIPTION
            )
        case _:
            return EvidenceKind.CODE


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfiledLaunch:
    """A launch, its code where a report holds it, and how many launches alike it stands for."""

    profile: KernelProfile
    code: Kernel | None = None
    launches: int = 1
    seconds: float | None = None  # of all of them


def profiled_launches(paths: Iterable[str], damage: list[Damage]) -> list[ProfiledLaunch]:
    """Return the launches of all reports: those of several pages of one run joined, alike ones once.

    What of a page could not be read is added to *damage*. Raises BadInput.
    """
    from gpuadvise.advisor.profiles.ncu_file import read_profiles

    runs: list[list[ProfiledLaunch]] = []
    for path in paths:
        read = [
            ProfiledLaunch(profile=profile, code=code)
            for profile, code in read_profiles(path, damage)
        ]
        same = next((run for run in runs if _shapes(run) == _shapes(read)), None)
        if same is None:
            runs.append(read)
        else:
            same[:] = [_joined(first, second) for first, second in zip(same, read, strict=True)]
    return list(_folded(launch for run in runs for launch in run))


def _shapes(run: list[ProfiledLaunch]) -> list[tuple[object, ...]]:
    return [
        (_short(launch.profile.kernel), launch.profile.grid, launch.profile.block) for launch in run
    ]


def _short(kernel: str) -> str:
    """Return a kernel's name without what pages write differently: parameters."""
    return kernel.partition("(")[0].strip()


def _joined(first: ProfiledLaunch, second: ProfiledLaunch) -> ProfiledLaunch:
    """Return what both pages say; the one that says more leads."""
    fuller, sparser = sorted((first.profile, second.profile), key=_known_fields, reverse=True)
    missing = {
        field.name: getattr(sparser, field.name)
        for field in fields(KernelProfile)
        if _empty(getattr(fuller, field.name)) and not _empty(getattr(sparser, field.name))
    }
    return ProfiledLaunch(profile=replace(fuller, **missing), code=first.code or second.code)


def _known_fields(profile: KernelProfile) -> int:
    return sum(not _empty(getattr(profile, field.name)) for field in fields(KernelProfile))


def _empty(value: object) -> bool:
    if value is None or value == () or value == {}:
        return True
    slots = getattr(type(value), "__slots__", ())
    return bool(slots) and all(getattr(value, name) is None for name in slots)


def _folded(launches: Iterable[ProfiledLaunch]) -> Iterator[ProfiledLaunch]:
    """Yield launches that differ in nothing but their time once: the median of them."""
    alike: dict[tuple[object, ...], list[ProfiledLaunch]] = {}
    for launch in launches:
        alike.setdefault(_identity(launch.profile), []).append(launch)
    for group in alike.values():
        ordered = sorted(group, key=lambda launch: launch.profile.seconds or 0.0)
        times = [seconds for launch in group if (seconds := launch.profile.seconds) is not None]
        middle = ordered[len(ordered) // 2]
        yield replace(
            middle,
            launches=len(group),
            seconds=sum(times) if len(times) == len(group) else None,
        )


def _identity(profile: KernelProfile) -> tuple[object, ...]:
    return (
        profile.mangled or profile.kernel,
        profile.device,
        profile.grid,
        profile.block,
        profile.registers,
        profile.dynamic_shared,
    )

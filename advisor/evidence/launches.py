"""Launches of a run, read from the report and the pages that hold them."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.facts.kernel_profile import KernelProfile
from gpuadvise.advisor.facts.library_kernels import base_name
from gpuadvise.advisor.prose import inert, quoted_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from gpuadvise.advisor.binaries.model import Damage, Kernel
    from gpuadvise.advisor.device import Device


def other_gpu_note(recorded: str | None, device: Device) -> str | None:
    """Return the note that a report was *recorded* on a GPU other than *device*; None unless sure."""
    from gpuadvise.advisor.catalogue.lookup import find

    try:
        names = find(recorded or "").name, find(device.name).name
    except BadInput:
        return None
    if names[0] == names[1]:
        return None
    return (
        f"The report was recorded on {names[0]} and is judged by the limits of {names[1]}: "
        "shares of its peaks mean little."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfiledLaunch:
    """A launch, its code where a report holds it, and how many launches alike it stands for."""

    profile: KernelProfile
    key: tuple[object, ...]  # its kernel and sizes, as every file of the run tells them
    file: str  # that of the run which holds most launches
    code: Kernel | None = None
    launches: int = 1
    numbers: tuple[int, ...] = ()  # of all of them, in the file
    seconds: float | None = None  # of all of them


class FileLaunches(NamedTuple):
    """What one report or page holds: its launches, what of it could not be read, and why not at all."""

    launches: list[ProfiledLaunch]
    damage: list[Damage]
    errors: list[BadInput]


def launches_in(paths: Iterable[str]) -> Iterator[FileLaunches]:
    """Yield what each of *paths* holds; where a file is damaged, the launches before that place."""
    for path in paths:
        damage: list[Damage] = []
        errors: list[BadInput] = []
        yield FileLaunches(_launches_in(path, damage, errors), damage, errors)


def profiled_launches(
    paths: Sequence[str],
    damage: list[Damage],
    say: Callable[[list[str]], None],
    read: Callable[[Sequence[str]], Iterable[FileLaunches]] = launches_in,
) -> list[ProfiledLaunch]:
    """Return the launches of all files: one that several of them hold once, alike ones of a run once.

    The report and the pages of one run hold the same launches, told by kernel, shape and time.
    What of a file could not be read is added to *damage*; *say* is told of launches that are
    counted once. *read* is what ``launches_in`` is. Raises BadInput where no launch is left.
    """
    runs: list[list[ProfiledLaunch]] = []
    errors: list[BadInput] = []
    for path, (launches, damaged, faults) in zip(paths, read(paths), strict=True):
        damage += damaged
        errors += faults
        for run in runs:
            if (both := _merged(run, launches)) is not None:
                if _form(run[0].profile) == _form(launches[0].profile):
                    here, there = quoted_path(path), quoted_path(run[0].file)
                    say([f"{here} holds launches of {there} again: they are counted once."])
                run[:] = both
                break
        else:
            runs.append(launches)
    if errors and not any(runs):
        raise errors[0]
    return list(chain.from_iterable(map(_folded, runs)))


def _launches_in(path: str, damage: list[Damage], errors: list[BadInput]) -> list[ProfiledLaunch]:
    """Return the launches of one report or page: where it is damaged, those before that place."""
    from gpuadvise.advisor.binaries.model import Damage, Place
    from gpuadvise.advisor.profiles.ncu_file import read_profiles

    launches: list[ProfiledLaunch] = []
    try:
        for profile, code in read_profiles(path, damage):
            key = (base_name(profile.kernel), profile.grid, profile.block)
            launches.append(ProfiledLaunch(profile=profile, key=key, code=code, file=path))
    except BadInput as error:
        errors.append(error)
        name = inert(path)
        message = error.message.removeprefix(f"{name}: ")
        damage.append(Damage(place=Place(path=name), message=message))
    if not launches and not any(part.place.path == inert(path) for part in damage):
        damage.append(Damage(place=Place(path=inert(path)), message="It holds no launch."))
    return launches


def _merged(
    run: list[ProfiledLaunch], launches: list[ProfiledLaunch]
) -> list[ProfiledLaunch] | None:
    """Return *run* with what *launches* say of it; None where they are launches of another run.

    Of one run both hold the same launches in the same order, or the one a part of the other's.
    """
    fewer, more = (launches, run) if len(launches) <= len(run) else (run, launches)
    keys = {launch.key for launch in more}
    if not fewer or any(launch.key not in keys for launch in fewer):
        return None
    timed = all(_is_timed(launch.profile) for launch in (*fewer, *more))
    if not timed and len(fewer) < len(more):
        return None
    both: list[ProfiledLaunch] = []
    left = iter(fewer)
    awaited = next(left, None)
    for launch in more:
        if awaited is not None and _is_same_launch(launch, awaited):
            both.append(_joined(launch, awaited))
            awaited = next(left, None)
        else:
            both.append(launch)
    return both if awaited is None else None


def _form(profile: KernelProfile) -> tuple[bool, bool]:
    """Return what tells a report and the two pages apart."""
    return profile.mangled is not None, profile.is_without_counts


def _is_timed(profile: KernelProfile) -> bool:
    return profile.elapsed_cycles is not None or profile.seconds is not None


# Of a printed time the last digits are missing: "1.02 ms".
_SAME_TIME = 0.006


def _is_same_launch(launch: ProfiledLaunch, awaited: ProfiledLaunch) -> bool:
    """Return whether two files speak of one launch: what both have of its time decides."""
    if launch.key != awaited.key:
        return False
    one, other = launch.profile, awaited.profile
    if one.elapsed_cycles is not None and other.elapsed_cycles is not None:
        return abs(one.elapsed_cycles - other.elapsed_cycles) <= 1
    if one.seconds is not None and other.seconds is not None:
        return abs(one.seconds - other.seconds) <= _SAME_TIME * max(one.seconds, other.seconds)
    return True


def _joined(first: ProfiledLaunch, second: ProfiledLaunch) -> ProfiledLaunch:
    """Return what both pages say, under the first one's file and number; the one that says more leads."""
    fuller, sparser = sorted((first.profile, second.profile), key=_known_fields, reverse=True)
    known = {
        field.name: getattr(sparser, field.name)
        for field in fields(KernelProfile)
        if _empty(getattr(fuller, field.name)) and not _empty(getattr(sparser, field.name))
    }
    known["number"] = first.profile.number
    known["missing"] = frozenset(
        name
        for name in fuller.missing | sparser.missing
        if name not in known and (name in fuller.missing or _empty(getattr(fuller, name)))
    )
    return replace(first, profile=replace(fuller, **known), code=first.code or second.code)


def _known_fields(profile: KernelProfile) -> int:
    return sum(not _empty(getattr(profile, field.name)) for field in fields(KernelProfile))


def _empty(value: object) -> bool:
    if value is None or value == () or value == {}:
        return True
    slots = getattr(type(value), "__slots__", ())
    return bool(slots) and all(getattr(value, name) is None for name in slots)


# Launches of one shape whose times differ more than this do different work: 30 sectors per request in
# 2120 us and 3.75 in 517 us were seen under one name. Below 2 us they differ by themselves.
_ALIKE, _JITTER = 1.5, 2e-6


def _folded(launches: Iterable[ProfiledLaunch]) -> Iterator[ProfiledLaunch]:
    """Yield launches that are alike, in shape and about in time, once: the median of them."""
    by_shape: dict[tuple[object, ...], list[ProfiledLaunch]] = {}
    for launch in launches:
        by_shape.setdefault(_identity(launch.profile), []).append(launch)
    for group in by_shape.values():
        for alike in _alike(group):
            ordered = sorted(alike, key=_seconds)
            times = [seconds for launch in alike if (seconds := launch.profile.seconds) is not None]
            numbers = (launch.profile.number for launch in alike)
            yield replace(
                ordered[len(ordered) // 2],
                launches=len(alike),
                numbers=tuple(number for number in numbers if number is not None),
                seconds=sum(times) if len(times) == len(alike) else None,
            )


def _seconds(launch: ProfiledLaunch) -> float:
    return launch.profile.seconds or 0.0


def _alike(group: list[ProfiledLaunch]) -> list[list[ProfiledLaunch]]:
    """Return *group* in parts of launches that take about as long, in the order of the file."""
    parts: list[list[ProfiledLaunch]] = []
    least = 0.0
    for launch in sorted(group, key=_seconds):
        if not parts or _seconds(launch) > max(_ALIKE * least, least + _JITTER):
            parts.append([])
            least = _seconds(launch)
        parts[-1].append(launch)
    order = {id(launch): at for at, launch in enumerate(group)}
    kept = [sorted(part, key=lambda launch: order[id(launch)]) for part in parts]
    return sorted(kept, key=lambda part: order[id(part[0])])


def _identity(profile: KernelProfile) -> tuple[object, ...]:
    return (
        profile.mangled or profile.kernel,
        profile.device,
        profile.grid,
        profile.block,
        profile.registers,
        profile.dynamic_shared,
    )

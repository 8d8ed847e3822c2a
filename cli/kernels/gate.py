"""The gates of ``kernels``: least occupancy and no spills, new ones only with a baseline."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.binaries.model import Kernel, Source
from gpuadvise.advisor.binaries.names import demangle, stable_name
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import and_list, inert, plural, quoted, quoted_path
from gpuadvise.advisor.quantity import show_share
from gpuadvise.cli.saved_answer import number_in, saved_answer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gpuadvise.advisor.binaries.kernel_order import ListedKernel
    from gpuadvise.advisor.kernel_limits import KernelLimit

_NAMED = 3
_LACKING = {
    "--fail-under": "no kernel's occupancy",
    "--fail-on-spills": "no kernel's spills",
    "--max-regs": "no kernel's registers",
    "limits": "no pattern matches a kernel, or nothing",
}
Key = tuple[str, str | None]  # name and target: a library moves between wheels


@dataclass(frozen=True, slots=True)
class BaselineKernel:
    """The worst that a baseline says of one kernel; None: it does not tell."""

    occupancy: float | None
    spilled: int | None


@dataclass(slots=True, kw_only=True)
class KernelGate:
    """What makes the exit code say no, and what it saw; *baseline* is a saved answer."""

    least: float | None = None  # occupancy, 0 to 1
    most_registers: int | None = None  # per thread
    limits: Sequence[KernelLimit] = ()  # of the settings, by patterns of names
    exceptions: Sequence[KernelLimit] = ()
    spills: bool = False
    baseline: Mapping[Key, BaselineKernel] = field(default_factory=dict)
    beyond: dict[str, list[str]] = field(default_factory=dict)  # kernels by the option they fail
    over: dict[str, list[str]] = field(default_factory=dict)  # kernels over limits of their own
    compared: Counter[str] = field(default_factory=Counter)  # kernels that tell what an option asks
    accepted: dict[str, str] = field(default_factory=dict)  # kernels by the reason in the settings
    without_registers: list[str] = field(default_factory=list)  # compiled code that says nothing
    excused: list[str] = field(default_factory=list)  # kernels that were as bad in the baseline
    inputs: Sequence[str] = ()  # files and folders as they were named
    judged: dict[str, bool] = field(default_factory=dict)  # of each input: whether any kernel was

    @property
    def set(self) -> bool:
        """Whether there is a threshold at all."""
        return bool(self._thresholds or self.limits)

    @property
    def _thresholds(self) -> dict[str, str]:
        """What kernels are that fail each option, in words."""
        words = {}
        if self.least is not None:
            words["--fail-under"] = f"below --fail-under {show_share(self.least)}"
        if self.spills:
            words["--fail-on-spills"] = "spilling (--fail-on-spills)"
        if self.most_registers is not None:
            words["--max-regs"] = f"above --max-regs {self.most_registers}"
        return words

    def see(self, listed: ListedKernel) -> None:
        """Judge one kernel; a baseline excuses what it says is as bad."""
        kernel, known = listed.kernel, self._in_baseline(listed.kernel)
        share = 0.0 if listed.residency.stuck else listed.residency.share
        if kernel.registers is None and kernel.entry and kernel.source is not Source.PTX:
            self.without_registers.append(kernel.name)  # an empty cell of a page

        def hold(option: str, what: str, *, over: bool, worse: bool = True) -> None:
            self.compared[option] += 1
            if over and not worse:
                self.excused.append(kernel.name)
            elif over and not self._excepted(listed, what, share):
                self.beyond.setdefault(option, []).append(kernel.name)

        if self.most_registers is not None and kernel.registers is not None:
            hold("--max-regs", "regs", over=kernel.registers > self.most_registers)
        if self.limits:
            self._hold_to_limits(listed, share)
        judged = (self.least is None or share is not None) and (
            not self.spills or kernel.spill_stores is not None
        )
        named = self._input_of(kernel.place.path)
        self.judged[named] = self.judged.get(named, False) or judged
        if self.least is not None and share is not None:
            before = known.occupancy if known else None
            worse = before is None or share < before
            hold("--fail-under", "occupancy", over=share < self.least, worse=worse)
        if self.spills and kernel.spill_stores is not None:
            worse = listed.spilled > ((known.spilled or 0) if known else 0)
            hold("--fail-on-spills", "spills", over=listed.spilled > 0, worse=worse)

    def _hold_to_limits(self, listed: ListedKernel, share: float | None) -> None:
        """Judge one kernel by the limits of the settings that are about it."""
        names = _names(listed)
        about = [limit for limit in self.limits if limit.matches(names)]
        self.compared["limits"] += bool(about)
        for limit in about:
            for what, is_over, said in _measured(limit, listed, share):
                if is_over is None:
                    self.over.setdefault(f"{what} not known", []).append(listed.kernel.name)
                elif is_over and not self._excepted(listed, what, share):
                    self.over.setdefault(said, []).append(listed.kernel.name)

    def _excepted(self, listed: ListedKernel, what: str, share: float | None) -> bool:
        """Return whether the settings accept *what* a kernel has, and keep the reason."""
        if not self.exceptions:
            return False
        names = _names(listed)
        for limit in self.exceptions:
            if limit.matches(names) and any(
                kind == what and is_over is False
                for kind, is_over, _ in _measured(limit, listed, share)
            ):
                self.accepted[listed.kernel.name] = limit.reason or ""
                return True
        return False

    def _input_of(self, path: str) -> str:
        """Return the file or folder that was named for *path* to be read."""
        if path in self.inputs:
            return path
        return next(
            (given for given in self.inputs if path.startswith(f"{given.rstrip('/')}/")), path
        )

    def _in_baseline(self, kernel: Kernel) -> BaselineKernel | None:
        if not self.baseline:
            return None
        target = kernel.capability.target if kernel.capability else None
        return self.baseline.get(_key(kernel.name, target))

    def notes(self) -> list[str]:
        """Return which kernels the baseline excuses, in a sentence if there are any."""
        names = list(dict.fromkeys(self.excused))
        said = []
        if names:
            count = plural(len(names), "kernel")
            said.append(f"{count} excused, no worse than in --baseline: {_some(names)}.")
        for reason in dict.fromkeys(self.accepted.values()):
            alike = [name for name, why in self.accepted.items() if why == reason]
            count = plural(len(alike), "kernel")
            said.append(f"{count} accepted by the settings ({inert(reason)}): {_some(alike)}.")
        if self.set and self.without_registers:
            count = plural(len(self.without_registers), "kernel")
            said.append(f"{count} not judged, registers unknown: {_some(self.without_registers)}.")
        return said

    def failures(self, nothing: str | None, unlisted: Sequence[str] = ()) -> list[str]:
        """Return why the exit code is 1, in sentences; none: the gate passes.

        *nothing* says why no kernel is listed, *unlisted* are files of which none is. Raises BadInput
        where nothing was compared, be it in one file or folder of several.
        """
        failures = list(self._failures())
        if not failures and self.set:
            self._refuse_uncompared(nothing)
            self._refuse_unjudged(unlisted)
        return failures

    def _failures(self) -> Iterator[str]:
        for option, said in self._thresholds.items():
            if names := self.beyond.get(option):
                yield f"{plural(len(names), 'kernel')} {said}: {_some(names)}."
        for said, names in self.over.items():
            yield f"{plural(len(names), 'kernel')} over the limits, {inert(said)}: {_some(names)}."

    def _refuse_uncompared(self, nothing: str | None) -> None:
        """Raise BadInput where no kernel had the figure that a threshold is about."""
        for option, lacking in _LACKING.items():
            wanted = self.limits if option == "limits" else option in self._thresholds
            if wanted and not self.compared[option]:
                why = (
                    nothing or f"{lacking} can be told from these files (PTX has no registers yet)."
                )
                raise BadInput(f"{option} has nothing to compare: {_clause(why)}")

    def _refuse_unjudged(self, unlisted: Sequence[str]) -> None:
        """Raise BadInput where nothing was compared in one file or folder of several."""
        unjudged = [*unlisted, *(path for path, judged in self.judged.items() if not judged)]
        if not unjudged:
            return
        names = and_list([quoted_path(path) for path in unjudged[:_NAMED]], "or")
        rest = f" and {len(unjudged) - _NAMED:,} more" if len(unjudged) > _NAMED else ""
        raise BadInput(
            f"The gate has nothing to compare in {names}{rest}: no kernel there is for the GPU or "
            "target, or tells what is judged (PTX has no registers yet).",
            hint="Leave out what the gate is not about.",
        )


def _measured(
    limit: KernelLimit, listed: ListedKernel, share: float | None
) -> Iterator[tuple[str, bool | None, str]]:
    """Yield what *limit* is about, whether a kernel is over it (None: not known), and in words."""
    kernel = listed.kernel
    spilled = None if kernel.spill_stores is None else listed.spilled
    if limit.regs is not None:
        over = None if kernel.registers is None else kernel.registers > limit.regs
        yield "regs", over, f"{limit.pattern}: at most {limit.regs} registers"
    if limit.spills is not None:
        over = None if spilled is None else spilled > limit.spills
        yield "spills", over, f"{limit.pattern}: at most {limit.spills} spilled bytes"
    if limit.occupancy is not None:
        over = None if share is None else share < limit.occupancy
        yield "occupancy", over, f"{limit.pattern}: at least {show_share(limit.occupancy)}"


def _clause(sentence: str) -> str:
    """Return *sentence* as it stands after a colon; the names of GPUs keep their capitals."""
    begins_plainly = sentence.startswith(("No ", "There "))
    return f"{sentence[0].lower()}{sentence[1:]}" if begins_plainly else sentence


def _names(listed: ListedKernel) -> tuple[str, ...]:
    """Return the names by which limits of the settings may mean a kernel."""
    from gpuadvise.advisor.kernel_limits import names_of

    return names_of(listed.kernel.name, demangle(listed.kernel.name))


def _some(names: list[str]) -> str:
    return and_list([inert(demangle(each) or each) for each in dict.fromkeys(names)], most=_NAMED)


def _key(name: str, target: str | None) -> Key:
    return stable_name(name), target


# What a saved answer was asked for, and what is compared only where it is the same.
_SAME = (("gpu", "--gpu"), ("cc", "--cc"), ("block", "--block"), ("dynamic_smem", "--dynamic-smem"))
_MOST_BYTES = 2**40


def read_baseline(path: str, asked: Mapping[str, Any]) -> dict[Key, BaselineKernel]:
    """Return what the saved answer *path* says of each kernel.

    *asked* is what this call asks for, by the names of the answer's input. Raises BadInput where
    the baseline was asked for another GPU or another launch, or is no such answer.
    """
    answer = saved_answer(path, command="kernels", option="--baseline")
    name = f"--baseline: {quoted(path)}"
    _refuse_other_question(name, answer.get("input"), asked)
    known: dict[Key, BaselineKernel] = {}
    try:
        for at, record in enumerate(answer["result"]["kernels"]):
            key = _key(str(record["name"]), record["arch"])
            known[key] = _worse(known.get(key), _of(record, f"{name}: result.kernels.{at}"))
    except (KeyError, TypeError, AttributeError):
        raise BadInput(
            f"{name} lists no kernels: it was saved with --list or --group-by, or changed."
        ) from None
    return known


def _refuse_other_question(name: str, saved: Any, asked: Mapping[str, Any]) -> None:
    if not isinstance(saved, dict):
        raise BadInput(f"{name} does not say what was asked for (input).")
    for key, option in _SAME:
        before, now = saved.get(key), asked.get(key)
        if before != now:
            was, is_now = (
                "without it" if value is None else f"with {inert(str(value)[:40])}"
                for value in (before, now)
            )
            raise BadInput(
                f"{name} was saved {was} for {option}, this call runs {is_now}: occupancies of "
                "the two cannot be compared.",
                hint="Give the same options, or save the baseline again.",
            )


def _of(record: Mapping[str, Any], place: str) -> BaselineKernel:
    occupancy = (
        0.0
        if record["launchable"] is False
        else number_in(record, "occupancy", most=1, place=place)
    )
    stores = number_in(record, "spill_stores", most=_MOST_BYTES, place=place)
    loads = number_in(record, "spill_loads", most=_MOST_BYTES, place=place)
    return BaselineKernel(
        None if occupancy is None else float(occupancy),
        None if stores is None else int(stores) + int(loads or 0),
    )


def _worse(first: BaselineKernel | None, second: BaselineKernel) -> BaselineKernel:
    if first is None:
        return second
    shares = [k.occupancy for k in (first, second) if k.occupancy is not None]
    spilled = [k.spilled for k in (first, second) if k.spilled is not None]
    return BaselineKernel(min(shares, default=None), max(spilled, default=None))

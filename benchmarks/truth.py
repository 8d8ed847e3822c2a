"""How true the advice is: the rules over recorded launches, held against what experts say of them.

`python benchmarks/truth.py [FOLDER] [--missed]`: FOLDER, by default tests/truth/recorded, holds per
group of launches both pages as CSV and the report, those of tests/truth/blind the pages alone. Labels
stand in `labels.toml` there, or beside the folder.
"""

from __future__ import annotations

import argparse
import lzma
import statistics
import tempfile
import tomllib
from collections import Counter
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.catalogue.lookup import find
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.profiles.launch_facts import profiled_facts
from gpuadvise.advisor.profiles.ncu_file import read_profiles
from gpuadvise.advisor.profiles.report_launches import ReportLaunches
from gpuadvise.rules.engine import run
from gpuadvise.rules.guide import RULES
from gpuadvise.rules.model import Priority

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.report_launches import Handover, PassChain
    from gpuadvise.rules.model import Rule
    from gpuadvise.rules.report import Report

FORMS = ("raw.csv", "details.csv", "ncu-rep")
RECORDED = Path(__file__).parent.parent / "tests" / "truth" / "recorded"
DEVICE = "h200"
# A measured number may differ by as much from run to run.
WOBBLE = 0.03
# What is in no profile, however complete: the text of the program.
SOURCE_ONLY = frozenset({"general-math-functions", "slow-math"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What an expert says of one launch; each of *loud* is a set of rules of which one must speak."""

    key: tuple[str, int]  # the recording, and the launch's number in it
    case: str
    variant: str
    speedup: float | None
    limiters: frozenset[str]
    loud: tuple[frozenset[str], ...]
    allowed: frozenset[str]
    excellent: bool


@dataclass(slots=True)
class Score:
    """Counts over one form."""

    right: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    limits_right: int = 0
    limits: int = 0
    noisy: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    @property
    def precision(self) -> float:
        """Loud findings that are right."""
        right, wrong = sum(self.right.values()), sum(self.wrong.values())
        return right / (right + wrong) if right + wrong else 1.0

    @property
    def recall(self) -> float:
        """Faults that are found."""
        hit, missed = sum(self.right.values()), sum(self.missed.values())
        return hit / (hit + missed) if hit + missed else 1.0


def labels(folder: Path = RECORDED) -> dict[tuple[str, int], Label]:
    """Return the labels of the recordings in *folder* by launch."""
    path = next(p for p in (folder / "labels.toml", folder.parent / "labels.toml") if p.exists())
    rows = tomllib.loads(path.read_text(encoding="utf-8"))["launch"]
    return {label.key: label for label in map(_label, rows)}


def _label(row: Mapping[str, Any]) -> Label:
    return Label(
        key=(row["group"], row["id"]),
        case=row["case"],
        variant=row.get("variant", ""),
        speedup=row.get("speedup"),
        limiters=frozenset(row["limiter"]),
        loud=tuple(
            frozenset([wanted] if isinstance(wanted, str) else wanted) for wanted in row["loud"]
        ),
        allowed=frozenset(row["allowed"]),
        excellent=bool(row["excellent"]),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One recorded launch, with how many alike its case has, and what others of its group hand over to it.

    Not which of them do the same faster: the repair of each fault stands beside it.
    """

    key: tuple[str, int]
    profile: KernelProfile
    code: Any
    alike: int
    handover: Handover | None = None
    pass_chain: PassChain | None = None


def launches(folder: Path, form: str) -> Iterator[Launch]:
    """Yield the launches of every recording in *folder* in *form*, unpacked where it is packed."""
    for path in sorted(folder.glob(f"*.{form}.xz")):
        group = path.name.removesuffix(f".{form}.xz")
        with tempfile.NamedTemporaryFile(suffix=f".{form}") as file:
            file.write(lzma.decompress(path.read_bytes()))
            file.flush()
            read = list(read_profiles(file.name))
        shapes = Counter((p.kernel, p.grid, p.block) for p, _ in read)
        together = ReportLaunches()
        for profile, _ in read:
            together.add(group, profile)
        for number, (profile, code) in enumerate(read):
            alike = shapes[profile.kernel, profile.grid, profile.block]
            yield Launch(
                key=(group, number),
                profile=profile,
                code=code,
                alike=alike,
                handover=together.handover(group, profile),
                pass_chain=together.chain(group, profile),
            )


def judged(launch: Launch) -> Report:
    """Return what the rules say of *launch*."""
    try:
        device = find(launch.profile.device or DEVICE)
    except BadInput:
        device = find(DEVICE)
    facts = profiled_facts(
        launch.profile,
        launch.code,
        device,
        launches=launch.alike,
        handover=launch.handover,
        pass_chain=launch.pass_chain,
    )
    return run(RULES, facts)


def loud_rules(report: Report) -> list[str]:
    """Return the rules of the medium and high findings of *report*, as labels name them."""
    return [labelled(f.rule) for f in report.findings if f.priority is not Priority.LOW]


def labelled(rule: Rule) -> str:
    """Return what labels call *rule*: those of a rule that became several name the former one."""
    return _LABELLED.get(rule.id) or rule.formerly or rule.id


# The readers' words for the faults.
_LABELLED = {"unfused-pass": "fused-passes", "costly-functions": "slow-math"}


def scored(recorded: Iterable[Launch], known: Mapping[tuple[str, int], Label]) -> Score:
    """Return how the rules do on the *recorded* launches that have a label."""
    score = Score()
    for launch in recorded:
        label = known.get(launch.key)
        if label is not None:
            _count(score, launch, label, judged(launch))
    return score


def _count(score: Score, launch: Launch, label: Label, report: Report) -> None:
    loud = loud_rules(report)
    where = (
        f"{launch.key[0]} {launch.key[1]} {label.case} {label.variant} {launch.profile.kernel[:60]}"
    )
    wanted = [fault for fault in label.loud if not fault <= SOURCE_ONLY]
    for fault in wanted:
        hit = next((rule for rule in loud if rule in fault), None)
        if hit:
            score.right[hit] += 1
        else:
            score.missed["/".join(sorted(fault))] += 1
            score.lines.append(f"missed {sorted(fault)}: {where}: {_limit(report)}, loud {loud}")
    for rule in loud:
        if not any(rule in fault for fault in label.loud) and rule not in label.allowed:
            score.wrong[rule] += 1
            score.lines.append(f"wrong {rule}: {where}: {_limit(report)}")
    if label.excellent and (set(loud) - label.allowed or len(report.findings) - len(loud) > 1):
        score.noisy.append(f"{where}: {[f.rule.id for f in report.findings]}")
    score.limits += 1
    name = _limit(report)
    score.limits_right += name in label.limiters
    if name not in label.limiters:
        score.lines.append(f"limit {name}, not {sorted(label.limiters)}: {where}")


def _limit(report: Report) -> str:
    return report.limiter.name if report.limiter else "unknown"


def bounds(
    recorded: Iterable[Launch], known: Mapping[tuple[str, int], Label]
) -> Iterator[tuple[str, str, float, float]]:
    """Yield case, rule, the rule's bound and the speed-up of the repair that was measured."""
    for launch in recorded:
        label = known.get(launch.key)
        if label is None or label.speedup is None or not label.loud:
            continue
        wanted = frozenset().union(*label.loud)
        for finding in judged(launch).findings:
            if labelled(finding.rule) in wanted and finding.advice.gain:
                yield label.case, finding.rule.id, finding.bound, label.speedup
                break


def shaken(profile: KernelProfile, factor: float) -> KernelProfile:
    """Return *profile* with every measured share and count changed by *factor*."""
    changed: dict[str, Any] = {}
    for item in fields(profile):
        value = getattr(profile, item.name)
        if item.name == "waves":
            continue  # follows from the launch, and is not measured
        if isinstance(value, float):
            changed[item.name] = min(1.0, value * factor) if value <= 1 else value * factor
        elif item.name in ("pipes", "stalls"):
            changed[item.name] = {key: min(1.0, share * factor) for key, share in value.items()}
    return replace(profile, **changed)


def unstable(recorded: Iterable[Launch]) -> Iterator[str]:
    """Yield the launches whose loud findings change with 3 % on every measured number."""
    for launch in recorded:
        base = loud_rules(judged(launch))
        for factor in (1 - WOBBLE, 1 + WOBBLE):
            moved = loud_rules(judged(replace(launch, profile=shaken(launch.profile, factor))))
            if sorted(moved) != sorted(base):
                yield f"{' '.join(map(str, launch.key))}: {base} -> {moved} at {factor:g}"


def main() -> None:
    """Print precision, recall and silence per form, bounds against twins, and stability."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=RECORDED)
    parser.add_argument("--missed", action="store_true", help="name each disagreement")
    parser.add_argument("--forms", default=",".join(FORMS))
    options = parser.parse_args()
    known = labels(options.folder)
    for form in options.forms.split(","):
        recorded = list(launches(options.folder, form))
        if not recorded:
            continue
        score = scored(recorded, known)
        print(
            f"{form}: {len(recorded)} launches, {score.limits} labelled; precision "
            f"{score.precision:.3f}, recall {score.recall:.3f}, limit right "
            f"{score.limits_right}/{score.limits}, excellent and not silent {len(score.noisy)}"
        )
        for rule in sorted({*score.right, *score.wrong, *score.missed}):
            print(
                f"  {rule}: {score.right[rule]} right, {score.wrong[rule]} wrong, "
                f"{score.missed[rule]} missed"
            )
        if options.missed:
            print("\n".join(f"    {line}" for line in (*score.lines, *score.noisy)))
        ratios = []
        for pair, rule, bound, speed_up in bounds(recorded, known):
            ratios.append(bound / speed_up)
            if options.missed or bound < speed_up:
                print(f"  bound {bound:.2f} of {rule}, measured {speed_up:.2f}: {pair}")
        if ratios:
            below = sum(ratio < 1 for ratio in ratios)
            print(
                f"  bounds: {below} of {len(ratios)} below, median {statistics.median(ratios):.2f}x"
            )
        moved = list(unstable(recorded))
        print(f"  unstable at {WOBBLE:.0%}: {len({line.split(':')[0] for line in moved})}")
        if options.missed:
            print("\n".join(f"    {line}" for line in moved))


if __name__ == "__main__":
    main()

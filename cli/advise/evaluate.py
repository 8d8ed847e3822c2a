"""One call of ``advise``: evidence in, rules over it, an answer or a stream of rows out."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gpuadvise.advisor.backends.settings_file import Settings, read_settings
from gpuadvise.advisor.backends.user_files import kept_pipes
from gpuadvise.advisor.description.files import BadLine
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import and_list, quoted, quoted_path
from gpuadvise.advisor.quantity import show_seconds
from gpuadvise.advisor.source.observations import is_test_name
from gpuadvise.cli.advise.answer import AdviceReports, answer
from gpuadvise.cli.advise.gather import GatheredEvidence
from gpuadvise.cli.advise.request import PLACES, given_flags, shown_value
from gpuadvise.cli.damage import damage_notes, unreadable
from gpuadvise.cli.engines import chosen_engine, with_lost
from gpuadvise.cli.exits import Exit, threshold
from gpuadvise.cli.formats import Format, Output
from gpuadvise.cli.not_judged import of_tests
from gpuadvise.cli.options import EngineOptions
from gpuadvise.cli.saved_answer import number_in, saved_answer
from gpuadvise.rules.extra import with_own
from gpuadvise.rules.guide import RULES
from gpuadvise.rules.judge import (
    BaselineFinding,
    Judge,
    check_threshold_reachable,
    ranked,
    said_once,
    shares,
)
from gpuadvise.rules.select import among, selected

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gpuadvise.advisor.facts.bag import Facts
    from gpuadvise.advisor.facts.kernel_profile import ProfilerRule
    from gpuadvise.cli.answer import Answer
    from gpuadvise.rules.fail_on import FailOn
    from gpuadvise.rules.judge import Key
    from gpuadvise.rules.ledger import LedgerFigures
    from gpuadvise.rules.model import Rule
    from gpuadvise.rules.report import Finding, Report


# Who reads changes nothing of what is said.
_OUTPUT = ("format", "get", "engine")
# Times are rounded, and profiled ones a little longer.
_ABOVE = 1.02
# Of the profiler's rules those that ask for a change; older versions name no kind.
_ASKING = ("OPT", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """The options that were given, by parameter name."""

    given: Mapping[str, Any]

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Call:
        """Return the call with those of *options* that were given; a switch is given when on."""
        off = (name for name, value in options.items() if value is False and name not in PLACES)
        absent = {*off, *(name for name, value in options.items() if value is None or value == [])}
        return cls(given={name: options[name] for name in options if name not in absent})

    def many(self, name: str) -> tuple[str, ...]:
        """Return every value of an option that may repeat."""
        return tuple(self.given.get(name) or ())

    def _words(self, name: str) -> tuple[str, ...]:
        """Return every value of an option that may repeat, or hold several with commas between."""
        words = (word.strip() for value in self.many(name) for word in value.split(","))
        return tuple(filter(None, words))

    @property
    def shown(self) -> dict[str, Any]:
        """What the answer repeats as its input."""
        return {
            name: shown_value(name, value)
            for name, value in self.given.items()
            if name not in _OUTPUT
        }

    def evidence(self) -> GatheredEvidence:
        """Return the evidence that the options name; raises BadInput when there is none."""
        given = self.given
        evidence = GatheredEvidence(
            flags=given_flags(given),
            pattern=given.get("filter"),
            files=self.many("files"),
            profiles=self.many("ncu"),
            gpu=given.get("gpu"),
            cc=given.get("cc"),
            device=given.get("device"),
            snapshot=given.get("snapshot"),
            environment=bool(given.get("environment")),
            reminders=bool(given.get("all_findings")),
            engine=chosen_engine(given.get("engine", EngineOptions())),
        )
        live = evidence.device is not None or evidence.snapshot is not None
        if not (
            evidence.flags or evidence.files or evidence.profiles or live or evidence.environment
        ):
            raise BadInput(
                "There is no evidence to advise on.",
                hint="Describe a launch: --regs 72 --block 128 --gpu h200, or give files: report.ncu-rep, "
                "trace.json, app.cu, train.py, libapp.so, build.log or kernel.toml.",
            )
        return evidence

    def judge(self, settings: Settings) -> Judge:
        """Return the rules to run: the user's own included, those not wanted left out."""
        saved, every = self.given.get("baseline"), with_own(RULES, self.many("rules"))
        return Judge(
            rules=self._rules(every, settings),
            all_rules=every,
            baseline=_baseline(saved) if saved else {},
        )

    def _rules(self, rules: tuple[Rule, ...], settings: Settings) -> tuple[Rule, ...]:
        """Return the rules that options and settings leave; --select stands instead of theirs."""
        select, place = self._words("select"), f"{settings.file}: "
        chosen = selected(rules, select, self._words("ignore"))
        theirs = selected(rules, () if select else settings.select, settings.ignore, place=place)
        left = among(chosen, theirs)
        if not left:
            raise BadInput(
                "No rule is left to run.",
                hint=f"--select, --ignore and {settings.file} together exclude them all.",
            )
        return left


def advise(call: Call, output: Output) -> Answer | Exit:
    """Return what the rules say of the evidence of *call*; once rows were printed, the exit code."""
    settings = read_settings(Path())
    given = call.given.get("fail_on")
    option = "--fail-on" if given else f"{settings.file}: fail_on"
    limit = threshold(option, given or settings.fail_on)
    _refuse_unheard(call, output)
    judge, evidence = call.judge(settings), call.evidence()
    with kept_pipes(_pipes(call)):
        rows = output.format in (Format.NDJSON, Format.CSV) and not output.fields
        if rows and call.given.get("limit") is None and evidence.read.are_descriptions:
            from gpuadvise.cli.advise.stream import streamed

            return streamed(evidence, judge, limit, output.format)
        said = _whole(
            call,
            evidence,
            judge,
            limit,
            as_ledger=output.format == LEDGER,
            draws=output.format == Format.HTML,
        )
        return with_lost(said, evidence.engine)


# A row for each kernel, for agents: cli/advise/ledger.py.
LEDGER = "ledger"


def _pipes(call: Call) -> list[str]:
    """Return the files of *call* to keep where they are pipes; JSON and traces on stdin are read as they come."""
    files, profiles = call.many("files"), call.many("ncu")
    kept = [path for path in files if path != "-"]
    if "-" in files:
        from gpuadvise.advisor.evidence.kinds import is_json
        from gpuadvise.advisor.timelines.signatures import is_timeline

        kept += [] if is_json(sys.stdin.buffer) or is_timeline("-") else ["-"]
    return [*kept, *profiles]


def _refuse_unheard(call: Call, output: Output) -> None:
    """Raise BadInput where --with-ncu-rules would change nothing."""
    if not call.given.get("with_ncu_rules"):
        return
    if not call.many("ncu") and not call.many("files"):
        raise BadInput("--with-ncu-rules: there is no --ncu whose rules could be shown.")
    if output.format not in (Format.TEXT, Format.MARKDOWN, Format.HTML, Format.JSON):
        raise BadInput(
            f"--with-ncu-rules: {output.format} has no place for them.",
            hint="Use text, markdown, html or json.",
        )


def _check_run(reports: Sequence[Report], notes: list[str]) -> None:
    """Raise BadInput where --total-time is less than one kernel takes, and note where it is less than all do."""
    together = sum(report.total_seconds or 0.0 for report in reports)
    run = next((report.run_seconds for report in reports if report.run_seconds), None)
    if run and together > _ABOVE * run:
        notes.append(
            f"--total-time: the kernels take {show_seconds(together)} together, more than the run's "
            f"{show_seconds(run)}: their shares hold only if they overlapped."
        )
    for report in reports:
        total, run = report.total_seconds, report.run_seconds
        if total and run and total > run:
            raise BadInput(
                f"--total-time: the run takes {show_seconds(run)}, but a kernel in it takes "
                f"{show_seconds(total)}.",
                hint="Give the time of the whole run from start to end, or leave it out.",
            )


def _notes_once(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return *findings* with advice on how to work once: it is the same for every kernel."""
    said: set[str] = set()
    kept = []
    for finding in findings:
        if not (finding.rule.process and finding.rule.id in said):
            kept.append(finding)
        said.add(finding.rule.id)
    return tuple(kept)


class JudgedKernels(NamedTuple):
    """What was made of each kernel, in the order of the evidence."""

    reports: list[Report]
    profiler: list[tuple[str | None, ProfilerRule]]  # rules of Nsight Compute that ask for a change
    facts: list[Facts]  # of pages, which alone have a place for them
    figures: list[LedgerFigures]  # of ledgers


def _judged(
    evidence: GatheredEvidence, judge: Judge, *, as_ledger: bool, draws: bool
) -> JudgedKernels:
    """Judge every kernel of *evidence*; raises BadInput where a line of it is none, or none is there."""
    judged = JudgedKernels([], [], [], [])
    if as_ledger:
        from gpuadvise.rules.ledger import figures_of
    for kernel in evidence.kernels():
        if isinstance(kernel, BadLine):
            raise kernel.error
        judged.reports.append(judge.report(kernel))
        if draws:
            judged.facts.append(kernel.facts)
        if as_ledger:
            judged.figures.append(figures_of(kernel.facts))
        own = kernel.facts.profile.rules if kernel.facts.profile else ()
        judged.profiler.extend((kernel.facts.kernel, rule) for rule in own if rule.kind in _ASKING)
    if not judged.reports:
        raise _no_kernel(evidence)
    return judged


def _no_kernel(evidence: GatheredEvidence) -> Exception:
    """Return why *evidence* has nothing to advise on."""
    if evidence.passed_over:
        return evidence.unmatched()
    if evidence.reading.damage:
        names = and_list([quoted_path(path) for path in evidence.files], "or")
        return unreadable(names, evidence.reading.damage)
    if evidence.read.sorted.sources:
        return BadInput(
            "The sources show no kernel and no fault.",
            hint="gpuadvise lint says so of host code, and ends 0.",
        )
    return BadInput(
        "The files hold no kernel to advise on.",
        hint=" ".join(evidence.notes) or "gpuadvise kernels FILE says what is in a binary.",
    )


def _whole(
    call: Call,
    evidence: GatheredEvidence,
    judge: Judge,
    limit: FailOn | None,
    *,
    as_ledger: bool = False,
    draws: bool = False,
) -> Answer:
    """Return the answer about all of *evidence* at once."""
    judged = _judged(evidence, judge, as_ledger=as_ledger, draws=draws)
    reports = said_once(judged.reports)
    if call.given.get("total_time") is not None:
        _check_run(reports, evidence.notes)
    check_threshold_reachable(reports, limit)
    beside = sum(evidence.passed_seconds)
    advised = AdviceReports(
        rules=judge.rules,
        reports=reports,
        findings=_notes_once(
            ranked([(report, judge.new_findings(report)) for report in reports], beside)
        ),
        beside=beside,
        damage=tuple(evidence.reading.damage),
        unread=tuple(evidence.reading.unread),
        everything=bool(call.given.get("all_findings")),
        why=bool(call.given.get("why")),
        with_profiler_rules=bool(call.given.get("with_ncu_rules")),
        run_verdicts=evidence.run_verdicts,
        limit=call.given.get("limit"),
        hot=evidence.read.hot_kernels() or tuple(each.kernel for each in reports if each.kernel),
        profiler_rules=tuple(
            sorted(judged.profiler, key=lambda text: -(text[1].estimated_speedup or 0.0))
        ),
    )
    scripts = (path for path in evidence.files if path.endswith(".py"))
    spared = of_tests(filter(is_test_name, scripts))
    notes = (*evidence.notes, *spared, *damage_notes(evidence.reading.damage))
    said = answer(advised, call.shown, limit, notes, source=evidence.read.file_without_places)
    if draws:
        from gpuadvise.cli.advise.pictures import pictures

        return said._replace(pictures=lambda: pictures(evidence.read.runs, judged.facts))
    if not as_ledger:
        return said
    from gpuadvise.cli.advise.ledger import ledger_answer

    return ledger_answer(
        advised,
        judged.figures,
        shares(reports, beside),
        evidence.read.runs,
        inputs=call.shown,
        notes=(*said.notes, *said.failed),
        exit_code=said.exit,
    )


# No program runs a million times as fast; more is a number that nobody wrote.
_MOST_GAIN = 1e30


def _baseline(path: str) -> dict[Key, BaselineFinding]:
    """Return the findings of the saved answer *path*; raises BadInput naming the option."""
    answer = saved_answer(path, command="advise", option="--baseline")
    name = f"--baseline: {quoted(path)}"
    findings_by_key: dict[Key, BaselineFinding] = {}
    try:
        for at, finding in enumerate(answer["findings"]):
            seen = findings_by_key.setdefault(_saved_key(finding), BaselineFinding())
            seen.count += 1
            seen.messages.add(str(finding["message"]))
            if gain := finding.get("gain"):
                place = f"{name}: findings.{at}.gain"
                bound = number_in(gain, "upper_bound", most=_MOST_GAIN, place=place)
                seen.bound = max(seen.bound, bound or 0.0)
    except (KeyError, TypeError, AttributeError):
        raise BadInput(f"{name} is not an answer of `gpuadvise advise --format json`.") from None
    return findings_by_key


def _saved_key(finding: dict[str, Any]) -> Key:
    place = finding["location"] or {}
    report = (finding.get("shape") or {}).get("file")
    file = place.get("file")
    return str(finding["rule"]), place.get("kernel"), None if file == report else file

"""Every check of ``doctor``: the rules about GPUs, links, environment and driver, run over a machine."""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.facts.bag import Facts
from gpuadvise.advisor.facts.derive import completed
from gpuadvise.advisor.telemetry import IDLE_REASON, link_is_idle
from gpuadvise.advisor.topology import links_up
from gpuadvise.rules.engine import run
from gpuadvise.rules.model import Advice, Failed, Kind, Skipped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gpuadvise.advisor.gpu import Gpu, Machine
    from gpuadvise.advisor.telemetry import Telemetry
    from gpuadvise.rules.model import Rule
    from gpuadvise.rules.report import Finding

# These look at the NVLinks of a GPU, which a product without them does not need.
_OF_NVLINKS = frozenset({"inactive-nvlinks", "nvlink-errors"})
# An idle GPU lowers its clocks and its link to save power: these can be judged at work only.
AT_WORK = frozenset({"degraded-link", "throttled-clocks"})
_OF_A_GPU = frozenset({"device", "telemetry", "topology", "mig", "driver"})
_OF_A_MACHINE = frozenset({"environment", "devices"})
_KINDS = frozenset({Kind.DEVICE, Kind.NVML, Kind.BINARY})
# Two rules that see one fault are one finding: see rules/engine.py.
_FOLDED = "another finding says it"
_SILENT = "NVML does not say"
# They are counted only where live readings are taken, for NVML is asked about each link.
_UNREAD = {"topology.nvlinks.replays": "their errors were not counted"}


class CheckStatus(StrEnum):
    """What came of one check."""

    OK = "ok"
    FINDING = "finding"
    IDLE = "idle, not judged"
    UNAVAILABLE = "not available"


class DoctorCheck(NamedTuple):
    """One rule on one GPU, or on the machine where *gpu* is None."""

    rule: Rule
    gpu: int | None
    status: CheckStatus
    findings: tuple[Finding, ...] = ()
    reason: str = ""


def checks(machine: Machine, environment: Mapping[str, str] | None) -> tuple[DoctorCheck, ...]:
    """Return each check of *machine*; *environment* is None where another machine was recorded."""
    from gpuadvise.advisor.facts.live_gpu import gpu_facts

    devices = tuple(gpu.device for gpu in machine.gpus if gpu.identity.mig is None)
    known = Facts(devices=devices or None, environment=environment)
    found = [*_judged(_rules_about(_OF_A_MACHINE), known, None, None)]
    for number, gpu in enumerate(machine.gpus):
        facts = completed(Facts(device=gpu.device, **gpu_facts(gpu, machine)))
        found += _judged(_fitting(_rules_about(_OF_A_GPU), gpu), facts, gpu, number)
    return tuple(found)


@cache  # a fleet asks for each of its machines
def _rules_about(facts: frozenset[str]) -> tuple[Rule, ...]:
    """Return the rules that need some of *facts* and nothing else."""
    from gpuadvise.rules.guide import RULES

    about = (rule for rule in RULES if rule.needs and rule.required <= facts and not rule.either)
    return tuple(
        rule for rule in about if _KINDS.issuperset(rule.kinds) and set(rule.kinds) != {Kind.BINARY}
    )


def _fitting(rules: tuple[Rule, ...], gpu: Gpu) -> tuple[Rule, ...]:
    """Return those of *rules* that a GPU of this product can be judged by."""
    whole = gpu.identity.mig is None
    listed = bool(gpu.topology and gpu.topology.nvlinks)
    has_nvlinks = whole and (listed or gpu.device.nvlink_bandwidth != 0)
    return rules if has_nvlinks else tuple(rule for rule in rules if rule.id not in _OF_NVLINKS)


def _judged(
    rules: tuple[Rule, ...], facts: Facts, gpu: Gpu | None, number: int | None
) -> Iterator[DoctorCheck]:
    report = run(rules, facts)
    outcomes = {line.rule.id: line.outcome for line in report.lines}
    lacking = {rule.id for rule in report.skipped}
    unread = {rule.id: missing[0].fact for rule, missing in report.undecided}
    advice: dict[str, list[Finding]] = {}
    for finding in report.findings:
        advice.setdefault(finding.rule.id, []).append(finding)
    for rule in rules:
        outcome = outcomes.get(rule.id)
        if isinstance(outcome, Advice) or rule.id in advice:
            yield DoctorCheck(rule, number, CheckStatus.FINDING, tuple(advice[rule.id]))
        elif rule.id in unread and gpu:
            yield _unread(rule, gpu, number, unread[rule.id])
        elif outcome is None and rule.id not in lacking:
            yield DoctorCheck(rule, number, CheckStatus.FINDING, reason=_FOLDED)
        elif outcome is None or isinstance(outcome, Skipped):
            yield DoctorCheck(rule, number, CheckStatus.UNAVAILABLE, reason=_why_not(rule, facts))
        elif isinstance(outcome, Failed):
            yield DoctorCheck(rule, number, CheckStatus.UNAVAILABLE, reason=outcome.error)
        else:
            yield _passed(rule, gpu, number)


def _why_not(rule: Rule, facts: Facts) -> str:
    if "environment" in rule.needs and facts.environment is None:
        return "the file does not tell the environment"
    if "telemetry" in rule.needs and facts.telemetry is None:
        return "NVML gave no readings"
    if "topology" in rule.needs and facts.topology is None:
        return "NVML does not tell how this GPU is connected"
    if "driver" in rule.needs and facts.driver is None:
        return "the newest CUDA of the driver is not known"
    return "no GPU answers"


def _passed(rule: Rule, gpu: Gpu | None, number: int | None) -> DoctorCheck:
    """Return the check of a rule that saw nothing wrong, unless it could not have seen it."""
    if gpu and rule.id in _OF_NVLINKS and not (gpu.topology and links_up(gpu.topology)):
        return DoctorCheck(rule, number, CheckStatus.UNAVAILABLE, reason="NVLinks: none is up")
    if rule.id in AT_WORK and gpu and gpu.telemetry and is_idle(gpu.telemetry):
        reason = "--load puts the GPU to work for it"
        return DoctorCheck(rule, number, CheckStatus.IDLE, reason=reason)
    return DoctorCheck(rule, number, CheckStatus.OK)


def _unread(rule: Rule, gpu: Gpu, number: int | None, value: str) -> DoctorCheck:
    """Return the check of a rule for which NVML did not tell *value*."""
    fact, _, name = value.partition(".")
    readings = gpu.topology if fact == "topology" else gpu.telemetry
    reason = (readings.reasons if readings else {}).get(name, _UNREAD.get(value, _SILENT))
    if rule.id in _OF_NVLINKS and "NVLink" not in reason:
        reason = f"NVLinks: {reason}"
    return DoctorCheck(rule, number, CheckStatus.UNAVAILABLE, reason=reason)


def is_idle(telemetry: Telemetry) -> bool:
    """Return whether the GPU rests, so that its clocks and link say nothing of their best."""
    return (
        link_is_idle(telemetry)
        or IDLE_REASON in (telemetry.clock_event_reasons or ())
        or telemetry.gpu_utilisation == 0
    )

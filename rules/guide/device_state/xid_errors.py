"""Errors of the GPU that the driver wrote into the kernel's log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import and_list, plural
from gpuadvise.advisor.thresholds import number
from gpuadvise.advisor.xids import XidKind, counted, meaning_of, of_kind
from gpuadvise.rules.advice import Advice, Verdict
from gpuadvise.rules.evidence import logged, unread
from gpuadvise.rules.guide.device_state.ecc_errors import shows_memory_errors
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Threshold, Topic
from gpuadvise.rules.sources import guide, xid_catalogue

if TYPE_CHECKING:
    from gpuadvise.advisor.telemetry import Telemetry
    from gpuadvise.advisor.topology import Topology

_CONTAINED = number(94, "Xid of a contained error", "", "Xid catalogue")
# What to do about each kind; `gpuadvise explain "Xid 79"` says it, too.
ACTIONS = {
    XidKind.MEMORY: (
        "Distrust what ran at that time; reset the GPU once it is free, run dcgmi diag -r 3, and have "
        "the card replaced if the error returns."
    ),
    XidKind.REPAIR: "Reset the GPU once it is free, so that the replacement takes over.",
    XidKind.LOST: (
        "Take the GPU out of service and restart the machine; if it happens again, check the "
        "card's seat, its power cables and its temperature, and have the card replaced."
    ),
    XidKind.STOPPED: (
        "Reset the GPU (nvidia-smi --gpu-reset) or restart the machine, and update the driver; if "
        "it happens again, send nvidia-bug-report.sh's file to the vendor."
    ),
    XidKind.POWER: "Connect all power cables of the card, each to an output of its own.",
    XidKind.NVLINK: (
        "Reset the GPU; see nvidia-smi nvlink -s and -e; if it happens again, check the "
        "bridge or the baseboard and run dcgmi diag -r 3."
    ),
    XidKind.PROGRAM: (
        "Run that program under compute-sanitizer: as a rule the fault is the program's own. Only if "
        "programs that are known to be right fail on this GPU alone, run dcgmi diag -r 3."
    ),
    XidKind.UNKNOWN: (
        "Look the code up in NVIDIA's Xid catalogue, and read the lines around it: dmesg | grep Xid."
    ),
}
_LOW = frozenset((XidKind.REPAIR, XidKind.PROGRAM, XidKind.UNKNOWN))
# Of these the driver says itself whether anything is left to do.
_RECOVERED = frozenset((XidKind.MEMORY, XidKind.STOPPED, XidKind.NVLINK))


def check(telemetry: Telemetry, topology: Topology | None = None) -> Verdict:
    """Advise for each kind of Xid in the log that no other rule tells of."""
    from gpuadvise.advisor.topology import link_errors

    if telemetry.xids is None:
        return unread(telemetry, "xids")
    kinds = {kind: of_kind(telemetry.xids, kind) for kind in ACTIONS}
    if shows_memory_errors(telemetry):
        kinds[XidKind.MEMORY] = ()
    if kinds[XidKind.MEMORY] or shows_memory_errors(telemetry) or _replaced(telemetry):
        kinds[XidKind.REPAIR] = ()
    if topology is not None and link_errors(topology):
        kinds[XidKind.NVLINK] = ()
    return tuple(_advice(kind, codes, telemetry) for kind, codes in kinds.items() if codes)


def _replaced(telemetry: Telemetry) -> bool:
    """Return whether all that was noted for replacement has been replaced."""
    return False in (telemetry.row_remap_pending, telemetry.page_retirement_pending)


def _advice(kind: XidKind, codes: tuple[int, ...], telemetry: Telemetry) -> Advice:
    counts = counted(codes)
    listed = [
        f"Xid {code} ({plural(count, 'time')}: {meaning_of(code)})"
        for code, count in counts.items()
    ]
    over = _over(kind, telemetry)
    return Advice(
        message=f"The kernel's log holds {and_list(listed)}.{over}",
        action=ACTIONS[kind],
        evidence=tuple(logged(f"Xid {code}", count, "errors") for code, count in counts.items()),
        priority=_priority(kind, codes, over=bool(over)),
    )


def _over(kind: XidKind, telemetry: Telemetry) -> str:
    """Return the sentence that the error is over, empty where nothing says so."""
    from gpuadvise.advisor.telemetry import NO_RECOVERY

    if kind in _RECOVERED and telemetry.recovery_action == NO_RECOVERY:
        return " The driver asks for no recovery now."
    if kind is XidKind.MEMORY and telemetry.ecc_uncorrected == 0:
        return " NVML counts 0 uncorrected errors since the driver was loaded."
    return ""


def _priority(kind: XidKind, codes: tuple[int, ...], *, over: bool) -> Priority | None:
    if kind in _LOW:
        return Priority.LOW
    return Priority.MEDIUM if over or set(codes) == {_CONTAINED} else None


RULE = Rule(
    id="xid-errors",
    title="Look after Xid errors",
    topic=Topic.DEVICE_STATE,
    priority=Priority.HIGH,
    kinds=(Kind.NVML,),
    why="With an Xid the driver reports an error of the GPU, of the driver or of a program.",
    when="The kernel's log holds an Xid that NVIDIA's catalogue does not tell to ignore. Those of memory "
    "that NVML counts too are part of ecc-errors, those of NVLinks that count errors of nvlink-errors; "
    "those of programs are of low priority, and of medium those after which the driver asks for no recovery.",
    thresholds=(Threshold(name="Xid errors", value=0, unit="errors", source="Xid catalogue: any"),),
    correctness=True,
    citations=(*xid_catalogue(), *guide("18.1.1", "16.1.1")),
    check=check,
    examples=Examples(
        fires={"telemetry": {"xids": [79, 119, 31]}},
        quiet={"telemetry": {"xids": [63, 154], "row_remap_pending": False}},
        edges=({"telemetry": {"xids": [79]}}, {"telemetry": {"xids": []}}),
    ),
)

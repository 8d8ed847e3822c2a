"""Memory errors that were not corrected, or repairs that wait for a reset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.xids import XidKind, counted, of_kind
from gpuadvise.rules.advice import Advice, Verdict
from gpuadvise.rules.evidence import logged, measured, unread
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Threshold, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.telemetry import Telemetry
    from gpuadvise.rules.advice import Evidence

# Which of these a GPU has depends on its memory and its age: one is enough.
_TELLING = ("ecc_uncorrected", "row_remap_failed", "page_retirement_pending")


def check(telemetry: Telemetry) -> Verdict:
    """Advise for uncorrected errors, pending or failed repairs, and a pending mode change."""
    faults = (_errors(telemetry), _rows(telemetry), _pages(telemetry), _pending(telemetry))
    if not any(faults) and all(getattr(telemetry, name) is None for name in _TELLING):
        return unread(telemetry, *_TELLING)
    return tuple(advice for advice in faults if advice)


def shows_memory_errors(telemetry: Telemetry) -> bool:
    """Return whether NVML itself tells of errors, so that Xids of the memory say the same."""
    return any((_errors(telemetry), _rows(telemetry), _pages(telemetry)))


def _logged(telemetry: Telemetry) -> tuple[Evidence, ...]:
    """Return the Xid errors of the memory that the kernel's log holds."""
    codes = counted(of_kind(telemetry.xids, XidKind.MEMORY))
    return tuple(logged(f"Xid {code}", count, "errors") for code, count in codes.items())


def _errors(telemetry: Telemetry) -> Advice | None:
    count = telemetry.ecc_uncorrected
    if not count:
        return None
    return Advice(
        message=f"{plural(count, 'memory error')} could not be corrected since the driver was loaded.",
        action=(
            "Distrust results since then, reset the GPU or reboot, run dcgmi diag -r 3, and have "
            "the card replaced if errors return."
        ),
        evidence=(measured("uncorrected errors", count, "errors"), *_logged(telemetry)),
    )


def _rows(telemetry: Telemetry) -> Advice | None:
    if not (telemetry.row_remap_pending or telemetry.row_remap_failed):
        return None
    failed = bool(telemetry.row_remap_failed)
    return Advice(
        message=(
            "At least 1 faulty memory row "
            + ("could not be replaced." if failed else "waits for its replacement.")
        ),
        action=(
            "Have the card replaced."
            if failed
            else "Reset the GPU or reboot, so that the spare row takes over."
        ),
        evidence=(
            measured("row remapping", "failed" if failed else "pending"),
            *(() if telemetry.ecc_uncorrected else _logged(telemetry)),
        ),
    )


def _pages(telemetry: Telemetry) -> Advice | None:
    if not telemetry.page_retirement_pending:
        return None
    return Advice(
        message="At least 1 faulty memory page waits for its retirement.",
        action="Reset the GPU or reboot, so that the page is no longer used.",
        evidence=(measured("page retirement", "pending"),),
    )


def _pending(telemetry: Telemetry) -> Advice | None:
    now, then = telemetry.ecc_enabled, telemetry.ecc_enabled_after_reboot
    if now is None or then is None or now == then:
        return None
    return Advice(
        message=f"ECC is {_word(now)} now and will be {_word(then)} after 1 reboot.",
        priority=Priority.MEDIUM,
        action="Reboot to make the change take effect, or undo it with nvidia-smi -e.",
        evidence=(measured("ECC after the next reboot", _word(then)),),
    )


def _word(on: bool) -> str:
    return "on" if on else "off"


RULE = Rule(
    id="ecc-errors",
    title="Look after memory errors",
    topic=Topic.DEVICE_STATE,
    priority=Priority.HIGH,
    kinds=(Kind.NVML,),
    broken=True,
    why="What ECC cannot correct are wrong data; repairs and changes take effect after a reset only.",
    when="NVML reports uncorrected errors, a pending or failed row replacement, a pending page "
    "retirement, or a pending ECC mode (medium).",
    thresholds=(
        Threshold(name="uncorrected errors", value=0, unit="errors", source="guide 18.1.1: any"),
    ),
    citations=guide("18.1.1", "16.1.1"),
    check=check,
    examples=Examples(
        fires={"telemetry": {"ecc_enabled": True, "ecc_uncorrected": 3, "row_remap_pending": True}},
        quiet={
            "telemetry": {
                "ecc_enabled": True,
                "ecc_enabled_after_reboot": True,
                "ecc_uncorrected": 0,
            }
        },
        edges=({"telemetry": {"ecc_uncorrected": 1}}, {"telemetry": {"ecc_uncorrected": 0}}),
    ),
)

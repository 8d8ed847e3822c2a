"""An environment that hides, reorders or mistypes GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.visibility import first_bad_entry, listed_entries
from gpuadvise.advisor.prose import plural
from gpuadvise.rules.advice import PASSED, Advice, Evidence, Verdict
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpuadvise.advisor.device import Device

VISIBLE = "CUDA_VISIBLE_DEVICES"
ORDER = "CUDA_DEVICE_ORDER"


def check(environment: Mapping[str, str], devices: tuple[Device, ...] | None = None) -> Verdict:
    """Advise for a bad or reordering list of visible devices, and for an unset order."""
    value = environment.get(VISIBLE)
    if value is not None:
        return _listed(value, len(devices) if devices else None)
    unlike = len({device.name for device in devices or ()}) > 1
    if unlike and environment.get(ORDER) != "PCI_BUS_ID":
        return _unordered(len(devices or ()))
    return PASSED


def _listed(value: str, count: int | None) -> Verdict:
    entries = listed_entries(value)
    bad = first_bad_entry(entries, count)
    if bad is not None:
        return Advice(
            message=(
                f'Entry {bad + 1} of {VISIBLE}, "{entries[bad]}", names no GPU: it and all '
                f"entries after it are ignored, which leaves {plural(bad, 'GPU')}."
            ),
            action=f"Correct the entry; {VISIBLE} takes indices from 0, UUIDs or MIG UUIDs.",
            evidence=(Evidence(label=VISIBLE, value=value, unit="", source="environment"),),
        )
    if count is not None and len(entries) < count:
        return Advice(
            message=f"{VISIBLE} shows {len(entries)} of {plural(count, 'GPU')} to the program.",
            action=(
                f"Unset {VISIBLE} if all should be used. In the program the listed GPUs are "
                f"numbered from 0, in the order of the list."
            ),
            evidence=(Evidence(label=VISIBLE, value=value, unit="", source="environment"),),
        )
    return PASSED


def _unordered(count: int) -> Advice:
    return Advice(
        message=(
            f"The {count} GPUs are not alike and {ORDER} is unset: CUDA numbers the fastest one "
            "0, nvidia-smi counts by PCI bus."
        ),
        action=f"Set {ORDER}=PCI_BUS_ID, so that both count alike, or choose GPUs by UUID.",
        evidence=(Evidence(label=ORDER, value="(unset)", unit="", source="environment"),),
    )


RULE = Rule(
    id="device-visibility",
    title="Know which GPUs the program sees",
    topic=Topic.DEPLOYMENT,
    priority=Priority.LOW,
    kinds=(Kind.DEVICE,),
    why="The number of a GPU in a program is not the number that nvidia-smi shows.",
    when=(
        "CUDA_VISIBLE_DEVICES has a bad entry or hides GPUs, or unlike GPUs are numbered without "
        "CUDA_DEVICE_ORDER."
    ),
    citations=guide("18.5", "16.5"),
    check=check,
    examples=Examples(
        fires={"environment": {"CUDA_VISIBLE_DEVICES": "0,x,1"}},
        quiet={"environment": {"CUDA_VISIBLE_DEVICES": "0,1"}},
    ),
)

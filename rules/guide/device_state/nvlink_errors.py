"""NVLinks that send packets again or are trained anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import and_list, plural
from gpuadvise.advisor.xids import XidKind, counted, of_kind
from gpuadvise.rules.advice import PASSED, Advice, Verdict, undecided
from gpuadvise.rules.evidence import logged, measured
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Threshold, Topic
from gpuadvise.rules.sources import dcgm_health

if TYPE_CHECKING:
    from gpuadvise.advisor.telemetry import Telemetry
    from gpuadvise.advisor.topology import Topology


def check(topology: Topology, telemetry: Telemetry | None = None) -> Verdict:
    """Advise when links count replays or recoveries; with an NVLink Xid it is urgent."""
    from gpuadvise.advisor.topology import counts_errors, link_errors, links_up

    if topology.nvlinks is None:
        return undecided("topology.nvlinks", why=topology.reasons.get("nvlinks", ""))
    faulty = link_errors(topology)
    if not faulty:
        up = links_up(topology)
        return (
            PASSED
            if not up or any(map(counts_errors, up))
            else undecided("topology.nvlinks.replays")
        )
    replays = sum(link.replays or 0 for link in faulty)
    recoveries = sum(link.recoveries or 0 for link in faulty)
    damaged = sum(link.crc_errors or 0 for link in faulty)
    codes = counted(of_kind(telemetry.xids, XidKind.NVLINK) if telemetry else ())
    numbers = [str(link.number) for link in faulty]
    beside = (
        f" The kernel's log holds Xid {and_list([str(code) for code in codes])}." if codes else ""
    )
    return Advice(
        message=(
            f"{plural(len(faulty), 'NVLink')} (number {and_list(numbers)}) counted "
            f"{plural(replays, 'replay')} and {plural(recoveries, 'recovery', 'recoveries')} since the "
            f"driver was loaded.{beside}"
        ),
        action=(
            "Look twice at nvidia-smi nvlink -e while GPUs exchange data: if the counts grow, reset the "
            "GPU, check the bridge or the baseboard, and run dcgmi diag -r 3."
        ),
        evidence=(
            measured("replays", replays, "errors"),
            measured("recoveries", recoveries, "errors"),
            measured("damaged packets", damaged, "errors"),
            *(logged(f"Xid {code}", count, "errors") for code, count in codes.items()),
        ),
        priority=Priority.HIGH if codes else None if recoveries else Priority.LOW,
    )


def _link(**errors: int) -> dict[str, object]:
    return {"number": 3, "up": True, "to": "switch", **errors}


RULE = Rule(
    id="nvlink-errors",
    title="Look after NVLinks that err",
    topic=Topic.DEVICE_STATE,
    priority=Priority.MEDIUM,
    kinds=(Kind.NVML,),
    why="A replay costs time and a recovery stops the link for a while; many of them come before its failure.",
    when="An NVLink that is up counts replays or recoveries. Damaged packets alone, which the link mends by itself, "
    "are none: NVIDIA counts them as a fault at 100 per second only. Replays alone are of low priority, an Xid of "
    "an NVLink beside them makes it high.",
    thresholds=(
        Threshold(
            name="replays and recoveries", value=0, unit="errors", source="DCGM health watches: any"
        ),
    ),
    citations=dcgm_health(),
    check=check,
    examples=Examples(
        fires={"topology": {"nvlinks": [_link(replays=12, recoveries=2, crc_errors=40)]}},
        quiet={"topology": {"nvlinks": [_link(replays=0, recoveries=0, crc_errors=3)]}},
        edges=(
            {"topology": {"nvlinks": [_link(replays=1, recoveries=0)]}},
            {"topology": {"nvlinks": [_link(replays=0, recoveries=0)]}},
        ),
    ),
)

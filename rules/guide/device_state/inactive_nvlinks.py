"""NVLinks that are down beside others of the same GPU that work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import and_list, plural
from gpuadvise.advisor.quantity import show_rate
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Gain, GainKind, Verdict, undecided
from gpuadvise.rules.evidence import derived, measured
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import nvlink_checks

if TYPE_CHECKING:
    from gpuadvise.advisor.topology import NvLink, Topology

NONE = number(0, "links down", "links", "NVIDIA Health Validation, nvlink_active")
# Fewer links than this to a single GPU are all that a mesh of more GPUs has between two.
BRIDGED = number(
    0.5,
    "links to the GPU at a bridge",
    "share of all",
    "our judgement: two GPUs of a mesh share a third of their links at most",
    LaunchSet.RECORDED,
)
_ALL = "full"


def check(
    topology: Topology, nvlinks_fitted: int | None = None, sibling_nvlinks: int | None = None
) -> Verdict:
    """Advise when links are down that should be up, by what the others lead to."""
    from gpuadvise.advisor.topology import links_down, links_up

    if topology.nvlinks is None:
        return undecided("topology.nvlinks", why=topology.reasons.get("nvlinks", ""))
    up, down = links_up(topology), links_down(topology)
    count = len(topology.nvlinks)
    fitted = min(count, nvlinks_fitted or count)
    missing = min(len(down), fitted - len(up))
    if not up or missing <= NONE or topology.nvlink_bandwidth_mode not in (None, _ALL):
        return PASSED
    bridged = _bridged(up, fitted)
    whole = sibling_nvlinks is not None and sibling_nvlinks >= fitted
    if not (bridged or whole or "switch" in {link.to for link in up}):
        return PASSED
    return Advice(
        message=(
            f"{len(up)} of {plural(fitted, 'NVLink')} are up"
            f"{_rate(topology)}. Down: {and_list([str(link.number) for link in down])}."
        ),
        action=_action(bridge=bridged),
        evidence=(
            measured("NVLinks up", len(up), "links"),
            measured("NVLinks down", missing, "links"),
            derived("NVLinks of the GPU", fitted, "links"),
        ),
        gain=Gain(
            kind=GainKind.NVLINK_RATE,
            upper_bound=fitted / len(up),
            how=f"links / links up = {fitted} / {len(up)}",
        ),
        priority=Priority.MEDIUM if bridged else None,
    )


def _bridged(up: tuple[NvLink, ...], fitted: int) -> bool:
    """Return whether a bridge joins two boards; links of a mesh may lead out of this machine."""
    to_one = {link.to for link in up} == {"gpu"} and len({link.peer for link in up}) == 1
    return to_one and len(up) >= BRIDGED * fitted


def _rate(topology: Topology) -> str:
    from gpuadvise.advisor.topology import nvlink_rate

    rate = nvlink_rate(topology)
    return f", {show_rate(rate)} both ways together" if rate else ""


def _action(*, bridge: bool) -> str:
    if bridge:
        return (
            "Seat the NVLink bridge anew, or fit the one that is missing; nvidia-smi nvlink -s lists the "
            "links."
        )
    return (
        "Reset the GPU, then restart the machine: links are trained then. Look at systemctl status "
        "nvidia-fabricmanager and for Xid and SXid errors in the kernel's log; have the baseboard "
        "looked at if a link stays down."
    )


def _links(up: int, down: int, to: str) -> list[dict[str, object]]:
    """Return the description of links of which the last are down."""
    numbers = range(up + down)
    return [{"number": n, "up": n < up, **({"to": to} if n < up else {})} for n in numbers]


RULE = Rule(
    id="inactive-nvlinks",
    title="Bring all NVLinks up",
    topic=Topic.DEVICE_STATE,
    priority=Priority.HIGH,
    kinds=(Kind.NVML,),
    why="GPUs exchange data at the rate of the links that are up, and one GPU slows a whole collective.",
    when="Some NVLinks of a GPU are up and others down, and they lead to a switch, to the one GPU of a bridge, or "
    "another GPU of the same product here has all its links up. Links of which none is up, links that rest, "
    "links that the board does not connect and a lowered bandwidth mode are no fault.",
    citations=nvlink_checks("nvlink_active"),
    check=check,
    examples=Examples(
        fires={"topology": {"nvlinks": _links(up=5, down=1, to="switch")}},
        quiet={"topology": {"nvlinks": _links(up=0, down=4, to="gpu")}},
        edges=(
            {"topology": {"nvlinks": _links(up=3, down=1, to="switch")}},
            {"topology": {"nvlinks": _links(up=4, down=0, to="switch")}},
        ),
    ),
)

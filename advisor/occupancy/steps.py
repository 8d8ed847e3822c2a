"""What would win another block: the next step of each resource that limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.occupancy.model import occupancy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.occupancy.answer import Occupancy, Resource
    from gpuadvise.advisor.occupancy.changes import Change, Knob


@dataclass(frozen=True, slots=True, kw_only=True)
class NextStep:
    """One change that raises occupancy, from *start* to *to*, and *how* to make it.

    ``after`` is the model's answer to it. ``together_with`` names the resources that must take
    their step too, because they tie; ``after`` then holds with all of them taken.
    """

    resource: Resource
    knob: Knob
    start: int
    to: int
    how: str
    after: Occupancy
    together_with: tuple[Resource, ...] = ()


def next_steps(result: Occupancy) -> tuple[NextStep, ...]:
    """Return the smallest change of each kind that raises occupancy; () when there is none.

    Each step wins alone. Only where resources tie, so that none does, are the steps that win
    together returned instead.
    """
    if not result.launchable or result.warps_per_sm == result.hardware.max_warps_per_sm:
        return ()
    from gpuadvise.advisor.occupancy.changes import block_size, changes

    found = changes(result)
    steps = [step for change in (*block_size(result), *found) if (step := _step(result, [change]))]
    return tuple(steps or _joint(result, found))


def _joint(result: Occupancy, found: Sequence[Change]) -> list[NextStep]:
    """Return one step per tying resource, if taking all of them wins a block."""
    per_resource = list({change.resource: change for change in reversed(found)}.values())[::-1]
    rotated = [
        [change, *(other for other in per_resource if other is not change)]
        for change in per_resource
    ]
    return [step for together in rotated if (step := _step(result, together))]


def _step(result: Occupancy, together: Sequence[Change]) -> NextStep | None:
    launch = result.launch
    for change in together:
        launch = change.apply(launch)
    after = occupancy(result.hardware, launch)
    if after.warps_per_sm <= result.warps_per_sm:
        return None
    first, *others = together
    return NextStep(
        resource=first.resource,
        knob=first.knob,
        start=first.start,
        to=first.to,
        how=first.how,
        after=after,
        together_with=tuple(other.resource for other in others),
    )

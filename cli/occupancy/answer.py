"""The JSON of an occupancy answer: docs/json-schema.md, ``gpuadvise schema occupancy``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.json_records import named_fields
from gpuadvise.advisor.occupancy.case import OccupancyCase, examined
from gpuadvise.advisor.occupancy.record import record, step_record, waves_record
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.devices import device_block
from gpuadvise.cli.formats import Format
from gpuadvise.cli.occupancy.request import echo, flat, question, question_with_block
from gpuadvise.cli.options import flag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.occupancy.bounds import CompiledBounds
    from gpuadvise.advisor.occupancy.clusters import Clusters
    from gpuadvise.advisor.occupancy.launch import Launch
    from gpuadvise.cli.blocks import Block
    from gpuadvise.cli.occupancy.command import OccupancyRequest
    from gpuadvise.cli.render.svg import Picture


WAVES = ("wave_size", "waves", "tail_efficiency", "fits_cooperative")
_MORE_WAVES = ("waves_are_bounds", "idle_sms")


def result(case: OccupancyCase) -> dict[str, Any]:
    """Return the whole ``result``."""
    occupancy = case.occupancy
    waves = waves_record(case.grid) if case.grid else {}
    clusters = case.clusters and _clusters(case, case.clusters)
    fault = "cause name=failure code=failure.code formerly asked=requested allowed"
    return {
        **record(occupancy),
        "next_steps": [step_record(step) for step in case.next_steps],
        **{name: waves.get(name) for name in WAVES},
        "clusters_upper_bound": clusters and clusters["upper_bound"],
        "runtime_error": occupancy.fault and named_fields(occupancy.fault, fault),
        "fixes": [fix.how for fix in case.fixes],
        "warps_per_block": occupancy.warps_per_block,
        "headroom": named_fields(case.room, "regs=registers dynamic_smem=dynamic_shared"),
        "suggested_blocks": case.suggestion
        and {
            "runtime_helper": named_fields(case.suggestion.helper, _SIZE),
            "guide": [named_fields(size, _SIZE) for size in case.suggestion.guide],
        },
        "launch_bounds": case.bounds and _bounds(case.bounds, occupancy.launch),
        "caveat": occupancy.caveat,
        "extrapolated": case.device.extrapolated,
        "chosen_block": occupancy.launch.threads if case.chosen_block else None,
        "carveout": case.carveout and case.carveout._asdict(),
        "clusters": clusters,
        **{name: waves.get(name) for name in _MORE_WAVES},
    }


_SIZE = "block=launch.threads blocks_per_sm occupancy"


def _clusters(case: OccupancyCase, clusters: Clusters) -> dict[str, Any]:
    from gpuadvise.advisor.occupancy.clusters import clusters_upper_bound

    blocks, size = case.occupancy.blocks_per_sm, case.occupancy.launch.cluster_size
    return {
        **named_fields(clusters, "count source"),
        "blocks_per_sm": blocks,
        "upper_bound": clusters_upper_bound(blocks, size, case.device),
        "largest": clusters.largest,
    }


def _bounds(bounds: CompiledBounds, launch: Launch) -> dict[str, Any]:
    told = named_fields(bounds, "threads blocks register_budget=registers ignored")
    return {**told, "over_budget": bounds.spills(launch.registers or 0)}


def answer(request: OccupancyRequest) -> Answer:
    """Return the answer; raises BadInput or Unavailable."""
    threshold = request.verdict
    if request.texts["block"] is not None:
        question(request.texts, flag)  # what is wrong with it is said before a GPU is asked
    choice = request.gpu.choice()
    launch = question_with_block(request.texts, flag, choice.device.limits)
    case, check, remarks = examined(choice.device, launch), None, choice.notes
    if request.driver_check or (case.clusters and choice.gpu):
        from gpuadvise.advisor.backends.driver_check import (
            driver_check,
            of_driver,
            trusted_clusters,
        )

        driver = of_driver(choice, case.occupancy, always=request.driver_check)
        clusters, said = trusted_clusters(driver, case.occupancy)
        case, remarks = examined(choice.device, launch, clusters), (*remarks, *said)
        if request.driver_check:
            check = driver_check(choice, case.occupancy, driver)
    fields = result(case)
    if check is not None:
        fields["driver_check"] = check

    def blocks() -> Sequence[Block]:
        from gpuadvise.cli.occupancy.text import screen

        return screen(case, check)

    def pictures() -> Sequence[Picture]:
        from gpuadvise.cli.occupancy.sweep import curves

        return curves(choice.device.limits, launch.launch)

    code, notes = threshold([case.occupancy])
    return Answer(
        command="occupancy",
        device=device_block(choice.device),
        input=echo(launch),
        result=fields,
        blocks=blocks,
        rows=[flat(fields)] if request.format == Format.CSV else None,
        notes=remarks,
        failed=notes,
        exit=code,
        pictures=pictures,
    )

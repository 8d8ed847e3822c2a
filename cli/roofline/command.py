"""``gpuadvise roofline``: what limits a kernel, memory or arithmetic, and how far it may go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.json_records import named_fields
from gpuadvise.advisor.prose import inert, plural
from gpuadvise.advisor.roofline_placement import Placed, Roofs, Workload, placed
from gpuadvise.cli import not_judged
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.blocks import Block, Heading
from gpuadvise.cli.calibration import chosen_calibration
from gpuadvise.cli.damage import damage_notes
from gpuadvise.cli.devices import device_block
from gpuadvise.cli.exits import Exit, fails_over, fails_under
from gpuadvise.cli.not_judged import NotJudged
from gpuadvise.cli.options import GpuOptions, Share, Text, pick
from gpuadvise.cli.roofline.answer import blocks, result, row
from gpuadvise.cli.roofline.request import described, known_name, profiled, typed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.device import Device
    from gpuadvise.cli.render.svg import Picture

EXAMPLES = """\
  gpuadvise roofline --flops 2e9 --bytes 24GB --dtype fp32 --gpu h200
  gpuadvise roofline --flops 2TFLOP --bytes 1GB --dtype bf16 --get bound
  gpuadvise roofline --flops 1 --bytes 12 --peak 80TFLOP/s --bandwidth 8TB/s
  gpuadvise roofline --describe kernel.toml --plot roofline.svg
  gpuadvise roofline --ncu report.csv --show
  gpuadvise roofline --flops 1 --bytes 12 --dtype bf16 --calibration own.json"""


def command(
    flops: Annotated[float | None, pick("flops")] = None,
    moved: Annotated[float | None, pick("bytes")] = None,
    time: Annotated[float | None, pick("time")] = None,
    dtype: Annotated[str, pick("dtype")] = "fp32",
    tensor: Annotated[bool | None, pick("tensor")] = None,
    peak: Annotated[float | None, pick("peak")] = None,
    bandwidth: Annotated[float | None, pick("bandwidth")] = None,
    describe: Annotated[Text, pick("describe")] = None,
    ncu: Annotated[Text, pick("ncu", "Launches of an Nsight Compute CSV, page raw.")] = None,
    show: Annotated[bool, pick("show", "Draw the chart in the terminal.")] = False,
    plot: Annotated[Text, pick("plot")] = None,
    calibration: Annotated[
        Text, pick("calibration", "Roofs that were reached: a saved `measure` (JSON), or none.")
    ] = None,
    least: Annotated[Share, pick("fail_under")] = None,
    most: Annotated[Share, pick("fail_over")] = None,
    gpu: GpuOptions = GpuOptions(),
) -> Answer:
    """Print intensity, ridge point, attainable rate and bound."""
    given = Roofs(peak=peak, bandwidth=bandwidth, tensor=tensor)
    notes: tuple[str, ...] = ()
    damaged = False
    if ncu is None:
        workloads = _workloads(describe, flops, moved, dtype, time)
    else:
        if (describe, flops, moved, time) != (None,) * 4:
            raise BadInput(
                "--ncu gives the kernels: leave out --describe, --flops, --bytes, --time."
            )
        report = profiled(ncu)
        workloads, notes = report.workloads, damage_notes(report.damage)
        if report.left_out:
            launches = plural(report.left_out, "launch", "launches")
            notes = (f"{launches} left out: no floating-point operations.", *notes)
        damaged = bool(report.damage)
        if not gpu.given:
            gpu = GpuOptions(gpu=known_name(report.device))
    choice = gpu.choice()
    if ncu is not None:
        from gpuadvise.advisor.evidence.launches import other_gpu_note

        mismatch = other_gpu_note(report.device, choice.device)
        notes = (*notes, mismatch) if mismatch else notes
    reached = chosen_calibration(calibration, choice)
    if reached.calibration:
        from gpuadvise.advisor.calibration import with_roofs

        choice = choice._replace(device=with_roofs(choice.device, reached.calibration))
    kernels = [placed(choice.device, workload, given) for workload in workloads]
    if plot is not None:
        _save_chart(plot, choice.device, kernels)
    uncounted = () if ncu is None else report.uncounted
    left = _without_share(kernels, uncounted)
    code, failed = _gate(kernels, least, most)
    gate = (least, most) != (None, None)
    unjudged = damaged or (gate and left)
    launches = plural(len(uncounted), "launch", "launches")
    lacking = f"{launches} left out: not all of its counters are there."
    said = not_judged.notes(left) if gate else [lacking][: len(uncounted)]
    return Answer(
        command="roofline",
        device=device_block(choice.device),
        input=named_fields(kernels[0].workload, "flops bytes dtype=number_type seconds"),
        result=result(choice.device, kernels) | {"not_judged": not_judged.records(left)},
        rows=list(map(row, kernels)),
        blocks=lambda: _blocks(choice.device, kernels, given, show=show),
        notes=(*choice.notes, *reached.notes, *notes, *said),
        failed=failed,
        exit=Exit.UNAVAILABLE if unjudged and code is Exit.RAN else code,
        pictures=lambda: _pictures(choice.device, kernels),
    )


_UNCOUNTED = "Its operations, DRAM traffic or time are not in the profile."
_UNTIMED = "Its time is not known, so no share of the roof is."


def _without_share(kernels: Sequence[Placed], uncounted: Sequence[str]) -> list[NotJudged]:
    """Return the launches that no gate can judge: those *uncounted* in a profile, and those without a time."""
    return [
        *[NotJudged(path=inert(name), reason=_UNCOUNTED) for name in uncounted],
        *[
            NotJudged(path=inert(kernel.workload.name or "kernel"), reason=_UNTIMED)
            for kernel in kernels
            if kernel.roofline.share is None
        ],
    ]


def _gate(
    kernels: Sequence[Placed], least: float | None, most: float | None
) -> tuple[Exit, list[str]]:
    """Return the exit code under the thresholds *least* and *most*, and why it is not 0."""
    shares = [kernel.roofline.share for kernel in kernels if kernel.roofline.share is not None]
    code, below = fails_under("of the roof", min(shares, default=None), least)
    too_fast, above = fails_over("of the roof", max(shares, default=None), most)
    return max(code, too_fast), [*below, *above]


def _workloads(
    describe: str | None, flops: float | None, moved: float | None, dtype: str, time: float | None
) -> list[Workload]:
    if describe is not None:
        if flops is not None or moved is not None or time is not None:
            raise BadInput("--describe gives the kernels: leave out --flops, --bytes and --time.")
        return described(describe)
    if flops is None or moved is None:
        raise BadInput(
            "A roofline needs --flops and --bytes, --describe or --ncu.",
            hint="Count the work of a launch: --flops 2e12 --bytes 3GB --time 4ms --gpu h100. For a GPU's ridge points any "
            "work does: --flops 1 --bytes 1 --get ridges.",
        )
    return [typed(flops, moved, dtype, time)]


def _save_chart(path: str, device: Device, kernels: list[Placed]) -> None:
    from gpuadvise.cli.render.picture import save
    from gpuadvise.cli.roofline.chart import draw, picture

    name = device.name
    save(path, name, lambda axes: draw(axes, kernels), lambda: picture(kernels, name))


def _blocks(device: Device, kernels: list[Placed], given: Roofs, *, show: bool) -> list[Block]:
    page = blocks(device, kernels, typed=None not in (given.peak, given.bandwidth))
    if show:
        from gpuadvise.cli.roofline.chart import drawn

        page += [Heading("Roofline"), drawn(kernels, device.name)]
    return page


def _pictures(device: Device, kernels: list[Placed]) -> list[Picture]:
    from gpuadvise.cli.roofline.chart import picture

    return [picture(kernels, f"Roofline of {device.name}")]

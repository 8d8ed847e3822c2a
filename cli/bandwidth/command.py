"""``gpuadvise bandwidth``: what memory could deliver, and what a kernel got."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.memory.traffic import KernelTraffic, Peak, device_peak, link_peak, typed_peak
from gpuadvise.advisor.transfers.links import Link
from gpuadvise.advisor.values import CopyAmount
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.bandwidth.answer import BandwidthCase, blocks, input_record, result
from gpuadvise.cli.bandwidth.request import traffic, typed_copy
from gpuadvise.cli.calibration import NONE, ChosenCalibration, chosen_calibration
from gpuadvise.cli.devices import device_block
from gpuadvise.cli.exits import fails_over, fails_under
from gpuadvise.cli.options import GpuOptions, Share, Text, Whole, named, pick

if TYPE_CHECKING:
    from collections.abc import Sequence


EXAMPLES = """\
  gpuadvise bandwidth --gpu h200
  gpuadvise bandwidth --gpu h200 --read 1GiB --write 1GiB --time 550us
  gpuadvise bandwidth --matrix 2048x2048 --copies 2 --time 12us --get ratio
  gpuadvise bandwidth --gpu rtx4090 --pcie 3x8
  gpuadvise bandwidth --gpu h200 --h2d 1GiB --time 20ms     # is this copy normal?
  gpuadvise bandwidth --memory-clock 1.85GHz --bus 384"""


def command(
    read: Annotated[Whole, pick("read")] = None,
    write: Annotated[Whole, pick("write")] = None,
    time: Annotated[float | None, pick("time")] = None,
    matrix: Annotated[Text, pick("matrix")] = None,
    dtype: Annotated[str, pick("dtype")] = "fp32",
    tensor: Annotated[
        bool | None, pick("tensor", "Of --dtype; its elements have the same size either way.")
    ] = None,
    copies: Annotated[int, pick("copies")] = 2,
    clock: Annotated[float | None, pick("memory_clock")] = None,
    bus: Annotated[Whole, pick("bus")] = None,
    data_rate: Annotated[Whole, pick("data_rate")] = None,
    h2d: Annotated[
        CopyAmount | None, pick("h2d", "One copy to the device, judged by its --time: 1GiB.")
    ] = None,
    d2h: Annotated[
        CopyAmount | None, pick("d2h", "One copy to the host, judged by its --time: 1GiB.")
    ] = None,
    pageable: Annotated[bool, pick("pageable")] = False,
    link: Annotated[Link | None, pick("pcie")] = None,
    calibration: Annotated[Text, pick("calibration")] = None,
    least: Annotated[Share, pick("fail_under")] = None,
    most: Annotated[Share, pick("fail_over")] = None,
    gpu: GpuOptions = GpuOptions(),
) -> Answer:
    """Print theoretical and effective bandwidth."""
    copy = typed_copy(h2d=h2d, d2h=d2h, time=time, pageable=pageable)
    if copy is None:
        moved = traffic(
            read=read, write=write, time=time, matrix=matrix, dtype=dtype, copies=copies
        )
    elif (read, write, matrix, clock, bus, data_rate) == (None,) * 6:
        moved = KernelTraffic(read_bytes=copy.bytes, seconds=copy.seconds)
    else:
        raise BadInput(
            f"--{copy.direction} is about the link: leave out what is about device memory."
        )
    typed = _typed(clock, bus, data_rate)
    notes: Sequence[str] = ()
    stored = ChosenCalibration()
    if typed is None:
        choice = gpu.choice()
        chosen, notes = choice.device, choice.notes
        peak = link_peak(chosen, link) if copy else device_peak(chosen)
        stored = chosen_calibration(NONE if calibration else None, choice)
    elif not gpu.given:
        chosen, peak = None, typed
    else:
        raise BadInput("--memory-clock and --bus stand for a device: name none beside them.")
    links = stored.links
    if calibration is not None and calibration != NONE:
        from gpuadvise.advisor.backends.user_files import read_calibration

        links = named("--calibration", read_calibration, calibration)
    case = BandwidthCase(
        device=chosen, peak=peak, traffic=moved, measured=links, slot=link, copy=copy
    )
    what = "of the link" if copy else "of the theoretical bandwidth"
    code, below = fails_under(what, case.ratio, least)
    too_fast, above = fails_over(what, case.ratio, most)
    return Answer(
        command="bandwidth",
        device=device_block(case.device) if case.device else None,
        input=input_record(case),
        result=result(case),
        blocks=lambda: blocks(case),
        notes=(*notes, *(stored.notes if links else ())),
        failed=[*below, *above],
        exit=max(code, too_fast),
    )


def _typed(clock: float | None, bus: int | None, rate: int | None) -> Peak | None:
    """Return the peak of the options' factors, None when there are none; raises BadInput."""
    if (clock, bus, rate) == (None, None, None):
        return None
    if clock is None or bus is None:
        raise BadInput("--memory-clock and --bus go together, and --data-rate with both.")
    return typed_peak(clock, bus, rate or 2)

"""The two answers of ``compat``: for one GPU, and for every GPU of the catalogue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.compatibility.drivers import parse_driver
from gpuadvise.advisor.compatibility.verdict import judge
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.args import named
from gpuadvise.cli.compatibility import screen
from gpuadvise.cli.compatibility.question import driver_for
from gpuadvise.cli.compatibility.result import driver_fields, result
from gpuadvise.cli.devices import device_block, device_line
from gpuadvise.cli.exits import Exit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpuadvise.advisor.backends.choose import Choice
    from gpuadvise.advisor.device import Device
    from gpuadvise.cli.compatibility.question import Held

_WORSE = {"jit": ("jit", "fails"), "fails": ("fails",), None: ()}


def one(held: Held, asked: Mapping[str, Any], choice: Choice) -> Answer:
    """Return what becomes of *held* on the GPU of *choice*."""
    gpu = choice.device
    driver = driver_for(asked["driver"], choice)
    verdict = judge(held.survey, gpu.capability, driver)
    found = result(verdict, held.survey, held.name, _called(gpu))
    return Answer(
        command="compat",
        device=device_block(gpu),
        input=asked,
        result=found,
        rows=found["entries"],
        blocks=lambda: screen.blocks(found, device_line(gpu)),
        notes=(*choice.notes, *held.notes),
        exit=_exit(found["verdict"], asked, held),
    )


def every(held: Held, asked: Mapping[str, Any]) -> Answer:
    """Return what becomes of *held* on each GPU of the catalogue."""
    from gpuadvise.cli.compatibility import matrix

    text = asked["driver"]
    driver = None if text is None else named("--driver", parse_driver, text)
    found = matrix.matrix(held.survey, driver)
    summary = matrix.summary_of(found, held.name)
    best = next(
        word for word in ("runs", "jit", "fails") if any(r["verdict"] == word for r in found)
    )
    return Answer(
        command="compat",
        device=None,
        input=asked,
        result={
            "verdict": best,
            "summary": summary,
            "driver": driver_fields(driver),
            "matrix": found,
        },
        rows=matrix.gpu_rows(found),
        blocks=lambda: matrix.blocks(found, summary),
        notes=held.notes,
        exit=_exit(best, asked, held),
    )


def _exit(verdict: str, asked: Mapping[str, Any], held: Held) -> Exit:
    if verdict in _WORSE[asked["fail_on"]]:
        return Exit.THRESHOLD
    return Exit.UNAVAILABLE if held.damage else Exit.RAN


def _called(gpu: Device) -> str:
    if gpu.name == f"compute capability {gpu.capability}":
        return gpu.name
    return f"{gpu.name} ({gpu.capability})"

"""Which GPU a command is about: the same rules for every command."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.backends.presence import driver_present
from gpuadvise.advisor.errors import BadInput, Unavailable
from gpuadvise.advisor.prose import and_list

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.gpu import Gpu, Machine

VARIABLE = "GPUADVISE_GPU"


class Depth(StrEnum):
    """How much a live GPU is asked before a command goes on."""

    IDENTITY = "identity"  # which it is; the catalogue knows the rest
    FACTS = "facts"
    TELEMETRY = "telemetry"  # facts, and what it does now


class Choice(NamedTuple):
    """The chosen device; *notes* are for stderr.

    *gpu* and *machine* are there if the device is live or recorded.
    """

    device: Device
    gpu: Gpu | None = None
    machine: Machine | None = None
    notes: tuple[str, ...] = ()


def choose(
    *,
    gpu: str | None = None,
    cc: str | None = None,
    device: str | None = None,
    from_file: str | None = None,
    depth: Depth = Depth.IDENTITY,
    environ: Mapping[str, str] = os.environ,
) -> Choice:
    """Return the device that the options name, or the default one.

    ``gpu`` and ``cc`` answer from the catalogue without touching a driver. ``from_file`` is a
    saved ``device`` answer, in which ``device`` picks. Nothing given: the first live GPU that
    CUDA would see, else ``$GPUADVISE_GPU``, else the catalogue's default with a note. Raises BadInput
    for names that lead nowhere and two choices at once, Unavailable if *device* is not there.
    A note says where the limits are those of an older capability. *depth* says how much a live GPU is asked.
    """
    _refuse_two(gpu, cc, device, from_file)
    choice = _chosen(gpu, cc, device, from_file, depth, environ)
    return _warned(choice) if choice.device.extrapolated else choice


def _chosen(
    gpu: str | None,
    cc: str | None,
    device: str | None,
    from_file: str | None,
    depth: Depth,
    environ: Mapping[str, str],
) -> Choice:
    if gpu is not None:
        return Choice(device=_named("--gpu", gpu))
    if cc is not None:
        return Choice(device=_of_capability(cc))
    if from_file is not None:
        return _recorded(from_file, device)
    if device is not None:
        return _live(device, depth, environ)
    return _default(depth, environ)


def _refuse_two(gpu: str | None, cc: str | None, device: str | None, from_file: str | None) -> None:
    given = {"--gpu": gpu, "--cc": cc, "--device": device, "--from": from_file}
    names = [name for name, value in given.items() if value is not None]
    if len(names) > 1 and names != ["--device", "--from"]:
        raise BadInput(f"{and_list(names)} name two devices.", hint="Give one of them.")


def _warned(choice: Choice) -> Choice:
    from gpuadvise.advisor.catalogue import nearest_documented

    capability = choice.device.capability
    said = (
        f"Compute capability {capability} is not known: its limits are taken from "
        f"{nearest_documented(capability)}, the nearest older one."
    )
    return choice._replace(notes=(*choice.notes, said))


def _named(option: str, name: str) -> Device:
    from gpuadvise.advisor.catalogue import find

    try:
        return find(name)
    except BadInput as error:
        other = "--cc takes a compute capability instead of a name."
        raise BadInput(f"{option}: {error.message}", hint=f"{error.hint} {other}") from None


def _of_capability(text: str) -> Device:
    from gpuadvise.advisor.capability import parse_capability
    from gpuadvise.advisor.catalogue import by_capability

    try:
        return by_capability(parse_capability(text))
    except BadInput as error:
        raise BadInput(f"--cc: {error.message}", hint=error.hint) from None


def _recorded(path: str, device: str | None) -> Choice:
    from gpuadvise.advisor.backends.selector import select
    from gpuadvise.advisor.backends.snapshot_file import read_snapshot

    machine = read_snapshot(path)
    gpu = machine.gpus[0] if device is None else select(machine.gpus, device)
    return Choice(device=gpu.device, gpu=gpu, machine=machine)


def _live(device: str, depth: Depth, environ: Mapping[str, str]) -> Choice:
    from gpuadvise.advisor.backends.live import NO_DRIVER
    from gpuadvise.advisor.backends.quick import machine_at
    from gpuadvise.advisor.backends.selector import check_selector, select

    check_selector(device)
    if not driver_present():
        raise Unavailable(f"--device: {NO_DRIVER}", hint="--gpu NAME answers from the catalogue.")
    machine = machine_at(depth, environ)
    try:
        gpu = select(machine.gpus, device)
    except Unavailable as error:
        hint = " ".join(filter(None, (*machine.problems, error.hint)))
        raise Unavailable(error.message, hint=hint) from None
    return Choice(device=gpu.device, gpu=gpu, machine=machine)


def _default(depth: Depth, environ: Mapping[str, str]) -> Choice:
    notes: tuple[str, ...] = ()
    if driver_present():
        from gpuadvise.advisor.backends.quick import first_visible

        gpu, machine, notes = first_visible(depth, environ)
        if gpu:
            return Choice(device=gpu.device, gpu=gpu, machine=machine)
    if name := environ.get(VARIABLE):
        return Choice(device=_named(f"${VARIABLE}", name), notes=notes)
    from gpuadvise.advisor.catalogue import DEFAULT_GPU

    default = _named("default", DEFAULT_GPU)
    said = f"No live GPU: answered for {default.name}; --gpu or ${VARIABLE} names another."
    return Choice(device=default, notes=(*notes, said))

"""Which GPU a command is about: the same rules for every command."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.backends.driver_presence import driver_present
from gpuadvise.advisor.errors import BadInput, Unavailable
from gpuadvise.advisor.prose import and_list, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gpuadvise.advisor.backends.readings import NvmlReport
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.gpu import Gpu, Machine


VARIABLE = "GPUADVISE_GPU"


class Depth(StrEnum):
    """How much a live GPU is asked before a command goes on."""

    IDENTITY = "identity"  # which it is; the catalogue knows the rest
    NVML = "nvml"  # what NVML alone tells: the CUDA driver takes several times as long to start
    NVML_LIVE = "nvml-live"  # that, and what it does now
    FACTS = "facts"  # what NVML and the CUDA driver tell
    TELEMETRY = "telemetry"  # facts, and what it does now


_BY_NVML = (Depth.NVML, Depth.NVML_LIVE)
_LIVE = (Depth.NVML_LIVE, Depth.TELEMETRY)


class Choice(NamedTuple):
    """The chosen device; *notes* are for stderr.

    *gpu* and *machine* are there if the device is live or recorded. *assumed*: nobody named one, and
    none is here.
    """

    device: Device
    gpu: Gpu | None = None
    machine: Machine | None = None
    notes: tuple[str, ...] = ()
    assumed: bool = False


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
        by_capability = "--cc takes a compute capability instead of a name."
        raise BadInput(f"{option}: {error.message}", hint=f"{error.hint} {by_capability}") from None


def _of_capability(text: str) -> Device:
    from gpuadvise.advisor.capability import parse_capability
    from gpuadvise.advisor.catalogue import by_capability

    try:
        return by_capability(parse_capability(text))
    except BadInput as error:
        raise BadInput(f"--cc: {error.message}", hint=error.hint) from None


def _recorded(path: str, device: str | None) -> Choice:
    from gpuadvise.advisor.backends.user_files import read_snapshot

    machine = read_snapshot(path)
    if not machine.gpus:
        raise Unavailable(f"--from: {quoted(path)}: {' '.join(dict.fromkeys(machine.problems))}")
    gpu = machine.gpus[0] if device is None else select(machine.gpus, device)
    return Choice(device=gpu.device, gpu=gpu, machine=machine)


def _live(device: str, depth: Depth, environ: Mapping[str, str]) -> Choice:
    from gpuadvise.advisor.backends.live import NO_DRIVER

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
        gpu, machine, notes = first_visible(depth, environ)
        if gpu:
            return Choice(device=gpu.device, gpu=gpu, machine=machine)
    if name := environ.get(VARIABLE):
        return Choice(device=_named(f"${VARIABLE}", name), notes=notes)
    from gpuadvise.advisor.catalogue import DEFAULT_GPU

    default = _named("default", DEFAULT_GPU)
    said = f"No live GPU: answered for {default.name}; --gpu or ${VARIABLE} names another."
    return Choice(device=default, notes=(*notes, said), assumed=True)


First = tuple["Gpu | None", "Machine | None", tuple[str, ...]]


def machine_at(depth: Depth, environ: Mapping[str, str]) -> Machine:
    """Return the GPUs of this machine; for their identity the CUDA driver is a last resort."""
    from gpuadvise.advisor.backends.live import identities, live_machine, managed
    from gpuadvise.advisor.backends.merge import merged

    if depth is Depth.IDENTITY:
        machine = merged(identities(), None, environ)
        if machine.gpus and all(gpu.device.id or gpu.identity.mig for gpu in machine.gpus):
            return machine
    if depth in _BY_NVML:
        machine = merged(managed(telemetry=depth is Depth.NVML_LIVE), None, environ)
        if machine.gpus:
            return machine
    return live_machine(telemetry=depth in _LIVE, environ=environ)


def first_visible(depth: Depth, environ: Mapping[str, str]) -> First:
    """Return the first GPU that CUDA would see here, its machine, and what kept others away."""
    if depth is Depth.IDENTITY:
        from gpuadvise.advisor.backends import kernel_list

        if first := _first(kernel_list.listed(), environ):
            return first
    from gpuadvise.advisor.backends import live

    if depth is Depth.IDENTITY and (first := _first(live.identities(), environ)):
        return first
    if depth in _BY_NVML and (
        first := _first(live.managed(telemetry=depth is Depth.NVML_LIVE), environ)
    ):
        return first
    return _by_driver(depth, environ)


def _first(report: NvmlReport, environ: Mapping[str, str]) -> First | None:
    """Return the first visible GPU of *report* if it is a known product, None if in doubt."""
    from gpuadvise.advisor.backends.merge import merged
    from gpuadvise.advisor.backends.visible_devices import order_is_known, visible

    seen = visible(report.gpus, environ)
    if report.gpus and not seen:
        return None, None, (_hidden(report, environ),)
    if not seen or not order_is_known(report.gpus, environ):
        return None
    machine = merged(replace(report, gpus=(report.gpus[seen[0]],)), None, environ)
    known = machine.gpus and machine.gpus[0].device.id
    return (machine.gpus[0], machine, ()) if known else None


def _by_driver(depth: Depth, environ: Mapping[str, str]) -> First:
    from gpuadvise.advisor.backends.live import live_machine

    machine = live_machine(telemetry=depth in _LIVE, environ=environ)
    numbered = [gpu for gpu in machine.gpus if gpu.identity.cuda_index is not None]
    first = min(numbered, key=lambda gpu: gpu.identity.cuda_index or 0, default=None)
    gpu = first or next(iter(machine.gpus), None)
    return gpu, machine, () if gpu else machine.problems


def _hidden(report: NvmlReport, environ: Mapping[str, str]) -> str:
    from gpuadvise.advisor.backends.visible_devices import MASK

    lost = [gpu.problem for gpu in report.gpus if gpu.problem]
    if len(lost) == len(report.gpus):
        return f"No GPU of this machine answers: {lost[0]}."
    return f"{MASK}={quoted(environ.get(MASK, ''))} hides every GPU of this machine."


# Compiled on first use: most runs name no GPU of this machine.
_INDEX = r"\d{1,4}"
_UUID = r"(GPU|MIG)-[0-9a-f-]+(/\d+/\d+)?"
_PCI = r"([0-9a-f]{1,8}:)?[0-9a-f]{1,2}:[0-9a-f]{1,2}(\.[0-7])?"


def _has_form(text: str, form: str) -> bool:
    return bool(re.fullmatch(form, text, re.ASCII | re.IGNORECASE))


def check_selector(text: str) -> str:
    """Return *text* without blanks around it if it can name a device; raises BadInput."""
    clean = text.strip()
    if len(clean) <= 64 and any(_has_form(clean, form) for form in (_INDEX, _UUID, _PCI)):
        return clean
    raise BadInput(
        f"--device: {quoted(text)} is not an index, a UUID or a PCI id.",
        hint="Write 0, GPU-3f2a…, MIG-3f2a… or 0000:06:00.0; --gpu takes names.",
    )


def select(gpus: Sequence[Gpu], text: str) -> Gpu:
    """Return the one of *gpus* that *text* names.

    A number counts as nvidia-smi does; where NVML gave no numbers, as CUDA does. A UUID may
    be shortened. Raises BadInput for no possible name, Unavailable if there is no such GPU.
    """
    wanted = check_selector(text)
    numbered = any(gpu.identity.index is not None for gpu in gpus)
    matches = [gpu for gpu in gpus if _names(wanted, gpu, numbered)]
    if len(matches) > 1:
        raise BadInput(
            f"--device: {quoted(wanted)} names {len(matches)} GPUs here.",
            hint="Write more of it, or the number of one; gpuadvise device --all lists them.",
        )
    if not matches:
        raise Unavailable(f"No GPU here is {quoted(wanted)}.", hint=_what_is_there(gpus))
    return matches[0]


def _names(wanted: str, gpu: Gpu, numbered: bool) -> bool:
    """Return whether *wanted* is *gpu*; *numbered*: NVML numbers GPUs here, so CUDA's do not count."""
    own = gpu.identity
    if _has_form(wanted, _INDEX):
        index = own.index if numbered else own.cuda_index
        return own.mig is None and index == int(wanted)
    if _has_form(wanted, _UUID):
        return (own.uuid or "").lower().startswith(wanted.lower())
    return own.mig is None and own.pci_bus_id is not None and _pci(wanted) == _pci(own.pci_bus_id)


def _pci(text: str) -> str:
    from gpuadvise.advisor.backends.pci_tree import pci_id

    return pci_id(text if text.count(":") == 2 else f"0:{text}")


def _what_is_there(gpus: Sequence[Gpu]) -> str:
    if not gpus:
        return "There is no live GPU; --gpu NAME answers from the catalogue."
    return f"There are: {and_list([_short(gpu) for gpu in gpus])}."


def _short(gpu: Gpu) -> str:
    own = gpu.identity
    number = f"CUDA device {own.cuda_index}" if own.index is None else str(own.index)
    named = number if own.mig is None else own.uuid or "a slice without its UUID"
    return f"{named} ({gpu.device.name})"

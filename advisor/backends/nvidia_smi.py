"""The XML of ``nvidia-smi -q -x``: a machine as NVIDIA's own tool saw it, saved in a file."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from gpuadvise.advisor.backends.readings import NvmlGpu, NvmlReport
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.gpu import MigSlice
from gpuadvise.advisor.prose import quoted
from gpuadvise.advisor.telemetry import CLOCK_REASONS, Process, ProcessKind, Telemetry
from gpuadvise.advisor.topology import Topology

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from xml.etree.ElementTree import Element

    from gpuadvise.advisor.gpu import Machine

_FIRST_TAG, _LAST_TAG = b"<nvidia_smi_log", b"</nvidia_smi_log>"
_MOST_GPUS = 1024
# What expat calls a document that stops: no element found, unclosed token, unclosed section.
_CUT_OFF = (3, 5, 20)
_MOST_SLICES = 64
_MIB, _MHZ = 1 << 20, 1_000_000
_NUMBER = re.compile(r"\s*(-?[0-9]+(?:\.[0-9]+)?)")
_MOST_DIGITS = 18
_ABSENT = "nvidia-smi did not list it"
_LINKS = "nvidia-smi -q does not list NVLinks; nvidia-smi nvlink -s does"
_UNREAD = "nvidia-smi could not read it; nvidia-smi and the kernel's log on that machine say why"
# What nvidia-smi writes, at times in brackets, instead of a reading of a GPU that is out of order.
_OUT_OF_ORDER = {
    "GPU requires reset": "nvidia-smi says that it requires a reset: drain it, then nvidia-smi -r "
    "or a reboot",
    "GPU is lost": "nvidia-smi says that it is lost: it fell off the bus; reboot, and see whether "
    "the kernel's log has Xid 79",
}
_NO_READING = ("", "N/A", "Not Active", "Unknown Error", *_OUT_OF_ORDER)
_OPPOSITE = {"Enabled": "Disabled", "Yes": "No"}
_LOGGED = "nvidia-smi does not list Xid errors; the machine's kernel log has them: dmesg | grep Xid"


def machine_from_xml(content: bytes) -> Machine:
    """Return the machine that *content*, the output of ``nvidia-smi -q -x``, describes.

    Raises BadInput for anything else. Entities, which nvidia-smi never writes, are refused.
    """
    from xml.etree import ElementTree

    from gpuadvise.advisor.backends.merge import merged
    from gpuadvise.advisor.snapshot import as_snapshot

    if b"<!ENTITY" in content:
        raise BadInput("It holds XML entities, which nvidia-smi never writes.")
    try:
        root = ElementTree.fromstring(_document(content))
    except ElementTree.ParseError as error:
        if error.code in _CUT_OFF and content.strip():
            raise BadInput(
                f"It ends early, in line {error.position[0]}.", hint="Is the copy complete?"
            ) from None
        raise BadInput(f"It is not XML: {error}.") from None
    except (ValueError, LookupError) as error:
        raise BadInput(f"It is not XML: {error}.") from None
    if root.tag != "nvidia_smi_log":
        raise BadInput("It is XML, but not of nvidia-smi.", hint="Save: nvidia-smi -q -x")
    listed = enumerate(root.findall("gpu")[:_MOST_GPUS])
    # Looking at every element takes as long as parsing them; hardly a machine has such a GPU.
    wide = b"\0" in content  # as PowerShell writes
    sick = wide or any(words.encode() in content for words in _OUT_OF_ORDER)
    gpus = tuple(gpu for index, element in listed for gpu in _gpus(index, element, sick=sick))
    report = NvmlReport(driver_version=_text(root, "driver_version"), gpus=gpus)
    machine = merged(report, None, {})
    return replace(
        machine,
        gpus=tuple(map(as_snapshot, machine.gpus)),
        cuda_version=_text(root, "cuda_version"),
    )


def _document(content: bytes) -> bytes:
    """Return the XML in *content*: nvidia-smi writes warnings before and behind it."""
    begin, end = content.find(_FIRST_TAG), content.rfind(_LAST_TAG)
    return content[begin : end + len(_LAST_TAG)] if 0 <= begin < end else content


def _gpus(index: int, gpu: Element, *, sick: bool) -> Iterator[NvmlGpu]:
    """Yield a GPU and its MIG slices; *sick*: one of the file may be out of order."""
    out_of_order = _why_out_of_order(gpu) if sick else None
    if out_of_order or _text(gpu, "product_name") is None:
        yield NvmlGpu(source="nvidia-smi", index=index, problem=out_of_order or _UNREAD)
        return
    whole = _gpu(index, gpu)
    yield whole
    for number, part in enumerate(gpu.findall("mig_devices/mig_device")[:_MOST_SLICES]):
        yield _slice(whole, number, part)


def _why_out_of_order(gpu: Element) -> str | None:
    """Return why a GPU must be reset before it can be used, or None."""
    readings = (element for element in gpu.iter() if element.tag != "process_name")
    said = {(element.text or "").strip(" []\n\t") for element in readings}
    return next((why for words, why in _OUT_OF_ORDER.items() if words in said), None)


def _slice(whole: NvmlGpu, number: int, part: Element) -> NvmlGpu:
    """Return a MIG slice, whose profile nvidia-smi does not name here."""
    shared = "device_attributes/shared"
    memory = {name: _READINGS[name](part) for name in _MEMORY}
    missing = {name: _ABSENT for name in _READINGS if memory.get(name) is None}
    return NvmlGpu(
        source="nvidia-smi",
        index=whole.index,
        name=f"{whole.name} MIG slice {number}",
        pci_bus_id=whole.pci_bus_id,
        sm_count=_whole(part, f"{shared}/multiprocessor_count"),
        memory_bytes=memory["memory_total_bytes"],  # type: ignore[arg-type]
        mig=MigSlice(
            parent_uuid=whole.uuid,
            parent_name=whole.name,
            gpu_instance=_whole(part, "gpu_instance_id"),
            compute_instance=_whole(part, "compute_instance_id"),
        ),
        telemetry=Telemetry(**memory, reasons={**missing, "xids": _LOGGED}),  # type: ignore[arg-type]
    )


def _gpu(index: int, gpu: Element) -> NvmlGpu:
    now = _telemetry(gpu)
    return NvmlGpu(
        source="nvidia-smi",
        index=index,
        name=_text(gpu, "product_name"),
        uuid=_text(gpu, "uuid"),
        pci_bus_id=_text(gpu, "pci/pci_bus_id"),
        memory_bytes=now.memory_total_bytes,
        sm_clock_hz=now.sm_clock_max_hz,
        memory_clock_hz=now.memory_clock_max_hz,
        pcie_generation=now.pcie_generation_max,
        pcie_lanes=now.pcie_lanes_max,
        power_limit_watts=now.power_limit_watts,
        ecc=now.ecc_enabled,
        minor=_whole(gpu, "minor_number"),
        mig_enabled=_is(gpu, "mig_mode/current_mig", "Enabled"),
        topology=Topology(
            pcie_own_generation=_whole(gpu, f"{_LINK}/pcie_gen/max_device_link_gen"),
            pcie_own_lanes=now.pcie_lanes_max,
            pcie_slot_generation=_whole(gpu, f"{_LINK}/pcie_gen/max_host_link_gen"),
            reasons={"nvlinks": _LINKS},
        ),
        telemetry=now,
    )


def _telemetry(gpu: Element) -> Telemetry:
    readings = {name: read(gpu) for name, read in _READINGS.items()}
    missing = {name: _ABSENT for name, value in readings.items() if value is None}
    return Telemetry(**readings, reasons={**missing, "xids": _LOGGED})  # type: ignore[arg-type]


def _text(element: Element, path: str) -> str | None:
    text = (element.findtext(path) or "").strip()
    return None if text.strip("[]") in _NO_READING else text


def _number(element: Element, *paths: str) -> float | None:
    """Return the number that the first of *paths* with one begins with; its unit is dropped."""
    for path in paths:
        match = _NUMBER.match(_text(element, path) or "")
        if match:
            if len(match[1]) > _MOST_DIGITS:
                raise BadInput(f"{path}: {quoted(match[1])} is more than any counter holds.")
            return float(match[1])
    return None


def _scaled(scale: int, *paths: str) -> Callable[[Element], int | None]:
    def read(gpu: Element) -> int | None:
        number = _number(gpu, *paths)
        return None if number is None else round(number * scale)

    return read


def _whole(gpu: Element, path: str) -> int | None:
    return _scaled(1, path)(gpu)


def _share(path: str) -> Callable[[Element], float | None]:
    def read(gpu: Element) -> float | None:
        number = _number(gpu, path)
        return None if number is None else number / 100

    return read


def _watts(*paths: str) -> Callable[[Element], float | None]:
    return lambda gpu: _number(gpu, *paths)


def _limit(threshold: str, margin: str) -> Callable[[Element], int | None]:
    """Return a reader of a limit: a temperature, or on newer GPUs a distance from "T.Limit".

    ``gpu_temp_tlimit`` is what is left to it now; *margin* counts from there, negative beyond it.
    """

    def read(gpu: Element) -> int | None:
        if (limit := _whole(gpu, f"temperature/{threshold}")) is not None:
            return limit
        parts = [_whole(gpu, f"temperature/{n}") for n in ("gpu_temp", "gpu_temp_tlimit", margin)]
        now, left, beyond = parts
        if now is None or left is None or beyond is None:
            return None
        return now + left - beyond

    return read


def _is(gpu: Element, path: str, word: str) -> bool | None:
    """Return whether *word* is said, False for its opposite, and None for anything else."""
    text = _text(gpu, path)
    return text == word if text in (word, _OPPOSITE[word]) else None


def _flag(path: str, word: str) -> Callable[[Element], bool | None]:
    return lambda gpu: _is(gpu, path, word)


def _errors(counter: str, kind: str) -> Callable[[Element], int | None]:
    """Return a reader of a *counter*'s errors of a *kind*, summed over the memories listed."""

    def read(gpu: Element) -> int | None:
        counted = gpu.find(f"ecc_errors/{counter}")
        if counted is None:
            return None
        counts = [
            _number(counted, memory.tag)
            for memory in counted
            if memory.tag.split("_")[-1] == kind or f"_{kind}_" in memory.tag
        ]
        known = [int(count) for count in counts if count is not None]
        return sum(known) if known else None

    return read


def _clock_events(gpu: Element) -> tuple[str, ...] | None:
    for kind in ("event", "throttle"):  # "throttle" before driver 535
        reasons = gpu.find(f"clocks_{kind}_reasons")
        if reasons is not None:
            prefix = f"clocks_{kind}_reason_"
            active = (reason for reason in reasons if (reason.text or "").strip() == "Active")
            names = [reason.tag.removeprefix(prefix) for reason in active]
            return tuple(CLOCK_REASONS.get(name, name) for name in names)
    return None


# Policies as NVML names them, and the counters of each.
_COUNTERS = {
    "power": ("sw_power_cap",),
    "heat": ("sw_therm_slowdown", "hw_therm_slowdown"),
    "synchronised boost": ("sync_boost",),
}
_MICROSECOND = 1e-6


def _held_back(gpu: Element) -> dict[str, float]:
    counted = gpu.find("clocks_event_reasons_counters")
    if counted is None:
        return {}
    times = {
        policy: [_number(counted, f"{counted.tag}_{name}") for name in names]
        for policy, names in _COUNTERS.items()
    }
    return {
        policy: round(sum(known) * _MICROSECOND, 6)
        for policy, values in times.items()
        if (known := [value for value in values if value is not None])
    }


def _processes(gpu: Element) -> tuple[Process, ...] | None:
    listed = gpu.find("processes")
    if listed is None or (listed.text or "").strip() == "N/A":
        return None
    return tuple(_process(process) for process in listed.findall("process_info"))


def _process(process: Element) -> Process:
    used = _number(process, "used_memory")
    kind = _text(process, "type") or ""
    return Process(
        pid=int(_number(process, "pid") or 0),
        kind=ProcessKind.COMPUTE if "C" in kind else ProcessKind.GRAPHICS,
        name=_text(process, "process_name"),
        memory_bytes=None if used is None else int(used) * _MIB,
    )


def _compute_mode(gpu: Element) -> str | None:
    mode = _text(gpu, "compute_mode")
    return mode.lower().replace("_", " ") if mode else None


def _recovery_action(gpu: Element) -> str | None:
    action = _text(gpu, "gpu_recovery_action")
    return action.lower() if action else None


def _performance_state(gpu: Element) -> int | None:
    state = _text(gpu, "performance_state") or ""
    return int(state[1:]) if re.fullmatch(r"P\d{1,2}", state) else None


_MEMORY = (
    "memory_total_bytes",
    "memory_used_bytes",
    "memory_reserved_bytes",
    "memory_free_bytes",
)
_LINK = "pci/pci_gpu_link_info"
_RETIRED = "retired_pages"
_READINGS: dict[str, Callable[[Element], object]] = {
    "sm_clock_hz": _scaled(_MHZ, "clocks/sm_clock"),
    "sm_clock_max_hz": _scaled(_MHZ, "max_clocks/sm_clock"),
    "memory_clock_hz": _scaled(_MHZ, "clocks/mem_clock"),
    "memory_clock_max_hz": _scaled(_MHZ, "max_clocks/mem_clock"),
    "performance_state": _performance_state,
    "clock_event_reasons": _clock_events,
    "power_watts": _watts(
        "gpu_power_readings/instant_power_draw",
        "gpu_power_readings/power_draw",
        "power_readings/power_draw",
    ),
    "power_limit_watts": _watts(
        "gpu_power_readings/current_power_limit",
        "power_readings/enforced_power_limit",
        "power_readings/power_limit",
    ),
    "power_limit_requested_watts": _watts(
        "gpu_power_readings/requested_power_limit", "power_readings/power_limit"
    ),
    "power_limit_default_watts": _watts(
        "gpu_power_readings/default_power_limit", "power_readings/default_power_limit"
    ),
    "power_limit_min_watts": _watts(
        "gpu_power_readings/min_power_limit", "power_readings/min_power_limit"
    ),
    "power_limit_max_watts": _watts(
        "gpu_power_readings/max_power_limit", "power_readings/max_power_limit"
    ),
    "temperature_celsius": _scaled(1, "temperature/gpu_temp"),
    "memory_temperature_celsius": _scaled(1, "temperature/memory_temp"),
    "temperature_slowdown_celsius": _limit(
        "gpu_temp_slow_threshold", "gpu_temp_slow_tlimit_threshold"
    ),
    "temperature_shutdown_celsius": _limit(
        "gpu_temp_max_threshold", "gpu_temp_max_tlimit_threshold"
    ),
    "gpu_utilisation": _share("utilization/gpu_util"),
    "memory_utilisation": _share("utilization/memory_util"),
    "memory_total_bytes": _scaled(_MIB, "fb_memory_usage/total"),
    "memory_used_bytes": _scaled(_MIB, "fb_memory_usage/used"),
    "memory_reserved_bytes": _scaled(_MIB, "fb_memory_usage/reserved"),
    "memory_free_bytes": _scaled(_MIB, "fb_memory_usage/free"),
    "pcie_generation": _scaled(1, f"{_LINK}/pcie_gen/current_link_gen"),
    "pcie_generation_max": _scaled(1, f"{_LINK}/pcie_gen/max_link_gen"),
    "pcie_lanes": _scaled(1, f"{_LINK}/link_widths/current_link_width"),
    "pcie_lanes_max": _scaled(1, f"{_LINK}/link_widths/max_link_width"),
    "ecc_enabled": _flag("ecc_mode/current_ecc", "Enabled"),
    "ecc_enabled_after_reboot": _flag("ecc_mode/pending_ecc", "Enabled"),
    "ecc_corrected": _errors("volatile", "correctable"),
    "ecc_uncorrected": _errors("volatile", "uncorrectable"),
    "ecc_corrected_lifetime": _errors("aggregate", "correctable"),
    "ecc_uncorrected_lifetime": _errors("aggregate", "uncorrectable"),
    "rows_remapped_corrected": _scaled(1, "remapped_rows/remapped_row_corr"),
    "rows_remapped_uncorrected": _scaled(1, "remapped_rows/remapped_row_unc"),
    "pages_retired_single_bit": _scaled(
        1, f"{_RETIRED}/multiple_single_bit_retirement/retired_count"
    ),
    "pages_retired_double_bit": _scaled(1, f"{_RETIRED}/double_bit_retirement/retired_count"),
    "page_retirement_pending": _flag(f"{_RETIRED}/pending_retirement", "Yes"),
    "row_remap_pending": _flag("remapped_rows/remapped_row_pending", "Yes"),
    "row_remap_failed": _flag("remapped_rows/remapped_row_failure", "Yes"),
    "clock_limit_seconds": _held_back,
    "recovery_action": _recovery_action,
    "persistence_mode": _flag("persistence_mode", "Enabled"),
    "compute_mode": _compute_mode,
    "processes": _processes,
}

"""Live machines: NVML, driver and catalogue merged, on imaginary drivers."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from gpuadvise.advisor.backends import driver_presence, kernel_list, kernel_log
from gpuadvise.advisor.backends.choose import VARIABLE, choose, select
from gpuadvise.advisor.backends.kernel_list import listed
from gpuadvise.advisor.backends.live import (
    NO_DRIVER,
    driver_now,
    driver_report,
    live_machine,
    nvml_report,
)
from gpuadvise.advisor.backends.merge import bandwidth_doubt, known_product, merged
from gpuadvise.advisor.backends.pci_tree import pci_id
from gpuadvise.advisor.backends.probe import ProbeOutcome
from gpuadvise.advisor.backends.readings import DriverGpu, DriverReport, NvmlGpu, NvmlReport
from gpuadvise.advisor.catalogue import find
from gpuadvise.advisor.device import Origin
from gpuadvise.advisor.driver_limits import differences
from gpuadvise.advisor.errors import Unavailable
from gpuadvise.advisor.snapshot import machine_record, read_machine

RECORDED = Path(__file__).parent / "recorded"


def test_each_fact_comes_from_the_best_source_that_has_it(moods) -> None:
    (gpu,) = live_machine().gpus
    device = gpu.device
    assert (device.name, device.origin, device.id) == ("NVIDIA H200", Origin.LIVE, "h200-sxm")
    assert device.memory_bandwidth == pytest.approx(4.814e12, rel=1e-3)
    assert device.peaks == find("h200").peaks
    assert device.limits == find("h200").limits
    wanted = {
        "name": "NVML",
        "capability": "NVML",
        "sm_count": "driver attribute",
        "memory_bytes": "driver",
        "registers_per_sm": "driver attribute",
        "power_limit_watts": "NVML",
        "memory_bandwidth": "derived: memory clock x bus width x data rate",
    }
    assert {name: device.sources[name] for name in wanted} == wanted
    assert device.sources["peaks"] == find("h200").sources["peaks"]
    assert device.sources["limits"] == "catalogue: capability 9.0"
    assert (gpu.identity.index, gpu.identity.cuda_index) == (0, 0)
    assert gpu.identity.pci_bus_id == "00000000:06:00.0"
    assert device.notes == ()
    assert gpu.telemetry is None


def test_unknown_fields_have_reasons(moods) -> None:
    moods("unheard")
    device = live_machine().gpus[0].device
    assert device.name == "NVIDIA Z900"
    assert device.memory_bandwidth == pytest.approx(4.814e12, rel=1e-3)
    assert device.sources["memory_data_rate"] == "derived: double data rate"
    for name in ("peaks", "memory_type", "chip"):
        assert "not in the catalogue" in device.reasons[name]
    assert not device.reasons.keys() & device.sources.keys()


def test_a_live_gpu_has_its_own_links_never_the_products(moods) -> None:
    device = live_machine().gpus[0].device
    assert device.nvlink_bandwidth is None
    assert "need not be connected" in device.reasons["nvlink_bandwidth"]
    moods("linked")
    linked = live_machine().gpus[0].device
    assert linked.nvlink_bandwidth == pytest.approx(6 * 26.562e9)
    assert linked.sources["nvlink_bandwidth"] == "NVML: links that are up"
    moods("linked,parted")
    assert live_machine().gpus[0].device.nvlink_bandwidth == 0


def test_what_programs_may_do_with_peers_the_driver_says(moods) -> None:
    moods("two", "two,linked")
    machine = live_machine()
    (peer,) = machine.gpus[0].topology.peers
    assert (peer.index, peer.path, peer.access, peer.atomics) == (1, "PHB", True, True)
    assert peer.why_not is None
    assert machine.gpus[0].features.texture_alignment_bytes is None
    assert machine.gpus[0].identity.minor == 0


def test_a_lost_gpu_takes_no_number_from_a_healthy_one(moods) -> None:
    moods("two,lost", "two")
    machine = live_machine()
    assert select(machine.gpus, "1").identity.index == 1
    with pytest.raises(Unavailable, match="No GPU here"):
        select(machine.gpus, "0")


def test_xid_errors_come_from_the_kernels_log(moods, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_log, "xids", lambda: {"00000000:06:00": (79, 79)})
    assert live_machine(telemetry=True).gpus[0].telemetry.xids == (79, 79)

    def refuse() -> None:
        raise kernel_log.Unreadable("it may not be read")

    monkeypatch.setattr(kernel_log, "xids", refuse)
    now = live_machine(telemetry=True).gpus[0].telemetry
    assert (now.xids, now.reasons["xids"]) == (None, "it may not be read")


def test_cuda_numbers_are_matched_by_uuid_never_by_index(moods) -> None:
    moods("two", "two")
    machine = live_machine()
    numbers = [(gpu.identity.index, gpu.identity.cuda_index) for gpu in machine.gpus]
    assert numbers == [(0, 1), (1, 0)]
    assert choose(environ={}).gpu.identity.index == 0
    assert machine.cuda_version == "13.0"
    assert machine.driver_version == "580.1"


def test_a_gpu_that_cuda_hides_says_so(moods, monkeypatch: pytest.MonkeyPatch) -> None:
    moods(cuda_moods="nodevice")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    (gpu,) = live_machine().gpus
    assert gpu.identity.cuda_index is None
    assert gpu.identity.visible is False
    assert gpu.identity.hidden_because == 'CUDA_VISIBLE_DEVICES is "7"'
    assert gpu.device.notes == (
        'CUDA programs started here do not see this GPU: CUDA_VISIBLE_DEVICES is "7".',
    )
    assert gpu.device.sm_count == 132
    assert gpu.device.sources["sm_count"].startswith("derived: NVML's core count / 128")
    assert live_machine(environ={}).gpus[0].device.notes[0].endswith("may lack its device file.")


def test_a_lost_gpu_is_a_sentence_and_the_other_answers(moods) -> None:
    moods("two,lost", "two")
    machine = live_machine(telemetry=True)
    assert [gpu.identity.index for gpu in machine.gpus] == [1, None]
    assert len(machine.problems) == 1
    assert machine.problems[0].startswith("GPU 0 does not answer: the GPU has fallen off the bus")
    assert machine.gpus[0].telemetry is not None


@pytest.mark.parametrize(
    ("moodset", "words", "known"),
    [
        (("mismatch", "mismatch"), "different versions", 0),
        (("", "crash"), "crashed", 1),
        (("crash", ""), "crashed", 1),
        (("unloaded", ""), "kernel driver is not loaded", 1),
        (("none", "nodevice"), "it shows no GPU", 0),
        (("shy,unheard", "crash"), "compute capability", 0),
    ],
)
def test_every_sick_part_is_a_sentence(moods, moodset, words: str, known: int) -> None:
    moods(*moodset)
    machine = live_machine()
    assert len(machine.gpus) == known
    assert any(words in problem for problem in machine.problems)
    for problem in machine.problems:
        assert problem.endswith(".")
        assert "\n" not in problem


def test_a_mig_slice_has_its_own_numbers_and_shows_its_parent(moods) -> None:
    moods("mig", "slice")
    parent, first, _ = live_machine().gpus
    assert "MIG is on" in parent.device.notes[0]
    assert first.identity.cuda_index == 0
    assert first.identity.mig is not None
    assert first.identity.mig.parent_name == "NVIDIA H200"
    assert '"NVIDIA H200"' in first.device.notes[0]
    assert first.device.architecture == "Hopper"
    assert first.device.memory_bandwidth == pytest.approx(find("h200").memory_bandwidth / 8)
    assert "MIG" in first.device.sources["memory_bandwidth"]
    for name in ("published_bandwidth", "power_limit_watts", "id"):
        assert getattr(first.device, name) is None
        assert "MIG slice" in first.device.reasons[name]
    moods("mig", "nodevice")
    bare = live_machine().gpus[1].device
    assert (bare.sm_count, bare.memory_bytes) == (16, 16 << 30)


def test_no_driver_costs_nothing_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_presence, "_UNIX", ())
    assert live_machine().problems == (NO_DRIVER,)
    assert driver_now().problem == NO_DRIVER


def test_the_drivers_view_alone(moods) -> None:
    assert driver_now().gpus[0].attributes["warp_size"] == 32


def test_an_unusable_report_is_a_sentence() -> None:
    report = nvml_report(ProbeOutcome(answer={"gpus": 5}))
    assert report.problem is not None
    assert "gpus" in report.problem


def test_a_live_machine_replays_from_its_record(moods) -> None:
    moods("two,busy", "two")
    machine = live_machine(telemetry=True)
    read = read_machine({"result": machine_record(machine)})
    assert read.driver_version == machine.driver_version
    for live, old in zip(machine.gpus, read.gpus, strict=True):
        assert old.identity == live.identity
        assert old.telemetry == live.telemetry
        assert replace(old.device, origin=Origin.LIVE) == live.device


# Choice on a machine with GPUs.


def test_the_first_visible_gpu_is_chosen_by_nvml_alone(moods) -> None:
    moods("two", "crash")  # the driver is not even asked
    choice = choose(environ={})
    assert choice.gpu is not None
    assert choice.gpu.identity.index == 0
    assert (choice.device.id, choice.device.origin) == ("h200-sxm", Origin.LIVE)
    assert choice.device.sm_count == 132
    masked = choose(environ={"CUDA_VISIBLE_DEVICES": "1,0"})
    assert masked.gpu is not None
    assert masked.gpu.identity.index == 1


def test_a_gpu_outside_the_catalogue_needs_the_driver(moods) -> None:
    moods("unheard")
    choice = choose(environ={})
    assert choice.device.name == "NVIDIA Z900"
    assert choice.device.sources["sm_count"] == "driver attribute"


def test_mig_chooses_the_first_slice(moods) -> None:
    moods("mig", "slice")
    choice = choose(environ={})
    assert choice.gpu is not None
    assert choice.gpu.identity.mig is not None


def test_hidden_and_lost_gpus_fall_back_with_a_note(moods) -> None:
    choice = choose(environ={"CUDA_VISIBLE_DEVICES": "", VARIABLE: "l4"})
    assert choice.device.id == "l4"
    assert choice.notes == ('CUDA_VISIBLE_DEVICES="" hides every GPU of this machine.',)
    moods("lost")
    choice = choose(environ={})
    assert "fallen off the bus" in choice.notes[0]
    assert len(choice.notes) == 2


def test_a_dead_driver_falls_back_with_notes(moods) -> None:
    moods("mismatch", "mismatch")
    choice = choose(environ={})
    assert choice.device.origin is Origin.CATALOGUE
    assert any("different versions" in note for note in choice.notes)


def test_the_kernels_list_spares_starting_nvml(
    moods, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    moods("crash", "crash")
    put_listed(tmp_path, 0, "NVIDIA H200")
    put_listed(tmp_path, 1, "NVIDIA H200")
    monkeypatch.setattr(kernel_list, "listed", lambda: listed(str(tmp_path)))
    choice = choose(environ={})
    assert (choice.device.id, choice.device.sources["name"]) == ("h200-sxm", "kernel driver")
    assert choice.device.sources["capability"] == "catalogue"
    assert choice.gpu is not None
    assert choice.gpu.identity.pci_bus_id == "00000000:10:00.0"
    other = choose(environ={"CUDA_VISIBLE_DEVICES": "GPU-1"})
    assert other.gpu is not None
    assert other.gpu.identity.index == 1


def put_listed(root: Path, minor: int, model: str, more: str = "") -> None:
    folder = root / f"proc/driver/nvidia/gpus/0000:1{minor}:00.0"
    folder.mkdir(parents=True)
    text = f"Model: \t\t {model}\nGPU UUID: \t GPU-{minor}\nDevice Minor: \t {minor}\n"
    (folder / "information").write_text(f"{text}Bus Location: \t 0000:1{minor}:00.0\n{more}")
    (root / "dev").mkdir(exist_ok=True)
    (root / "dev" / f"nvidia{minor}").touch()


def test_the_kernels_list_counts_what_this_container_may_use(tmp_path: Path) -> None:
    root = str(tmp_path)
    assert listed(root).gpus == ()
    for minor in range(3):
        put_listed(tmp_path, minor, "NVIDIA L4")
    (tmp_path / "dev/nvidia0").unlink()
    put_listed(tmp_path, 3, "NVIDIA L4", "GPU Excluded:\t Yes\n")
    assert [(gpu.index, gpu.uuid) for gpu in listed(root).gpus] == [(0, "GPU-1"), (1, "GPU-2")]
    (tmp_path / "proc/driver/nvidia/capabilities/gpu0/mig/gi1").mkdir(parents=True)
    assert listed(root).gpus == ()


@pytest.mark.parametrize(
    ("line", "version"),
    [
        (
            "NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023",
            "535.104.05",
        ),
        ("NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build", "580.159.04"),
        ("NVIDIA UNIX x86_64 Kernel Module", None),
        (None, None),
    ],
)
def test_the_kernel_driver_tells_its_version(
    tmp_path: Path, line: str | None, version: str | None
) -> None:
    put_listed(tmp_path, 0, "NVIDIA L4")
    if line is not None:
        text = f"NVRM version: {line}\nGCC version:  gcc version 12.3.0\n"
        (tmp_path / "proc/driver/nvidia/version").write_text(text)
    assert listed(str(tmp_path)).driver_version == version


def test_an_incomplete_list_is_not_used(tmp_path: Path) -> None:
    put_listed(tmp_path, 0, "NVIDIA L4")
    (tmp_path / "proc/driver/nvidia/gpus/0000:10:00.0/information").write_text("Model: x")
    assert listed(str(tmp_path)).gpus == ()
    (tmp_path / "proc/driver/nvidia/gpus/0000:10:00.0/information").unlink()
    (tmp_path / "proc/driver/nvidia/gpus/0000:10:00.0/information").mkdir()
    assert listed(str(tmp_path)).gpus == ()


@pytest.mark.parametrize(
    "selector",
    ["1", "GPU-00000000-0000-0000-0000-000000000002", "gpu-00000000-0000-0000-0000-000000000002",
     "0000:07:00.0", "07:00", "7:0.0"],
)  # fmt: skip
def test_a_live_gpu_by_any_of_its_names(moods, selector: str) -> None:
    moods("two", "two")
    choice = choose(device=selector, environ={})
    assert choice.gpu is not None
    assert choice.gpu.identity.index == 1


def test_an_ambiguous_or_absent_selector(moods) -> None:
    moods("two", "two")
    with pytest.raises(Exception, match="names 2 GPUs"):
        choose(device="GPU-0000", environ={})
    with pytest.raises(Unavailable) as caught:
        choose(device="5", environ={})
    assert caught.value.hint == "There are: 0 (NVIDIA H200) and 1 (NVIDIA H200)."
    moods("lost", "nodevice")
    with pytest.raises(Unavailable) as caught:
        choose(device="0", environ={})
    assert "fallen off the bus" in str(caught.value.hint)


# What a real H200 said; UUID replaced.


def recorded(name: str) -> ProbeOutcome:
    return ProbeOutcome(answer=json.loads((RECORDED / name).read_text()))


def test_a_recorded_h200() -> None:
    nvml = nvml_report(recorded("h200-nvml.json"))
    cuda = driver_report(recorded("h200-driver.json"))
    machine = merged(nvml, cuda, {})
    assert machine.problems == ()
    assert (machine.driver_version, machine.cuda_version) == ("580.159.04", "13.0")
    (gpu,) = machine.gpus
    device = gpu.device
    assert (device.id, device.notes) == ("h200-sxm", ())
    assert (device.sm_count, device.async_engines, device.l2_bytes) == (132, 3, 62_914_560)
    assert device.memory_bandwidth == 4_814_304_000_000.0
    assert (device.memory_bytes, device.persisting_l2_bytes) == (150_109_880_320, 39_321_600)
    assert device.limits == find("h200").limits
    assert gpu.identity.cuda_index == 0
    assert gpu.telemetry is not None
    used = gpu.telemetry.memory_used_bytes + gpu.telemetry.memory_reserved_bytes
    assert used + gpu.telemetry.memory_free_bytes == gpu.telemetry.memory_total_bytes
    assert gpu.telemetry.clock_event_reasons == ("the GPU is idle",)


def test_the_model_agrees_with_the_recorded_driver() -> None:
    cuda = driver_report(recorded("h200-driver.json")).gpus[0]
    assert differences(find("h200").limits, cuda.attributes) == ()


# What the drivers cannot be made to say here.


def integrated(**more: int) -> DriverGpu:
    attributes = {
        "compute_capability_major": 8,
        "compute_capability_minor": 7,
        "multiprocessor_count": 16,
        "integrated": 1,
        "clock_rate": 1_300_000,
        **more,
    }
    return DriverGpu(cuda_index=0, name="Orin", memory_bytes=64 << 30, attributes=attributes)


def test_a_jetson_answers_through_the_driver_alone() -> None:
    nvml = NvmlReport(problem="NVML cannot be used: it is not installed.")
    machine = merged(nvml, DriverReport(gpus=(integrated(),)), {})
    (gpu,) = machine.gpus
    assert (gpu.identity.index, gpu.identity.cuda_index) == (None, 0)
    assert gpu.device.integrated is True
    assert gpu.device.limits.max_threads_per_sm == 1536
    assert any("shares the host's memory" in note for note in gpu.device.notes)
    assert machine.problems == (nvml.problem,)


def test_integrated_memory_has_no_invented_bandwidth() -> None:
    cuda = replace(integrated(memory_clock_rate=1000, global_memory_bus_width=128), name="Zeta")
    (gpu,) = merged(NvmlReport(), DriverReport(gpus=(cuda,)), {}).gpus
    assert gpu.device.memory_bandwidth is None
    assert "host's memory" in gpu.device.reasons["memory_bandwidth"]


def test_a_coherent_link_is_said_so() -> None:
    attributes = {
        "compute_capability_major": 9,
        "pageable_memory_access_uses_host_page_tables": 1,
    }
    cuda = DriverGpu(cuda_index=0, name="NVIDIA GH200 480GB", attributes=attributes)
    (gpu,) = merged(NvmlReport(), DriverReport(gpus=(cuda,)), {}).gpus
    assert gpu.device.coherent_host_memory is True
    assert any("coherent link" in note for note in gpu.device.notes)


def test_pci_ids_match_where_uuids_are_missing() -> None:
    nvml = NvmlGpu(
        index=0, name="NVIDIA L4", pci_bus_id="00000000:0A:00.0", compute_capability=(8, 9)
    )
    cuda = DriverGpu(cuda_index=3, pci_bus_id="0000:0a:00.0")
    (gpu,) = merged(NvmlReport(gpus=(nvml,)), DriverReport(gpus=(cuda,)), {}).gpus
    assert gpu.identity.cuda_index == 3
    assert pci_id("1:a:0.0") == "00000001:0a:00"


def test_the_same_name_with_another_capability_is_another_product() -> None:
    nvml = NvmlGpu(index=0, name="NVIDIA H200", compute_capability=(12, 0))
    (gpu,) = merged(NvmlReport(gpus=(nvml,)), None, {}).gpus
    assert gpu.device.id is None
    assert gpu.device.peaks == {}


def test_a_capability_that_cannot_be_is_a_sentence_and_the_other_gpu_answers() -> None:
    odd = NvmlGpu(index=0, name="NVIDIA Odd", compute_capability=(4, 2))
    well = NvmlGpu(index=1, name="NVIDIA L4", compute_capability=(8, 9))
    machine = merged(NvmlReport(gpus=(odd, well)), None, {})
    assert [gpu.device.name for gpu in machine.gpus] == ["NVIDIA L4"]
    assert machine.problems[0].startswith("NVIDIA Odd: No GPU has compute capability 4.2")


def test_a_newer_capability_is_answered_from_an_older_one() -> None:
    nvml = NvmlGpu(index=0, name="NVIDIA Next", compute_capability=(19, 0), cores=1024)
    (gpu,) = merged(NvmlReport(gpus=(nvml,)), None, {}).gpus
    assert gpu.device.extrapolated
    assert gpu.device.sm_count is None


def test_bandwidth_that_clock_and_width_contradict_cannot_be_confirmed() -> None:
    h200 = find("h200")
    assert bandwidth_doubt(h200) is None
    doubt = bandwidth_doubt(replace(h200, memory_bandwidth=2.4e12))
    assert doubt == (
        "The published memory bandwidth of 4.8 TB/s cannot be confirmed: clock and bus width "
        "give 2.4 TB/s."
    )
    assert bandwidth_doubt(replace(h200, published_bandwidth=None)) is None


def test_a_contradicted_bandwidth_is_noted_beside_the_live_gpu() -> None:
    half = {
        "compute_capability_major": 9,
        "memory_clock_rate": 1_600_500,
        "global_memory_bus_width": 6016,
    }
    cuda = DriverGpu(cuda_index=0, name="NVIDIA H200", memory_bytes=150 << 30, attributes=half)
    (gpu,) = merged(NvmlReport(), DriverReport(gpus=(cuda,)), {}).gpus
    assert gpu.device.memory_bandwidth == 2_407_152_000_000.0
    assert any("cannot be confirmed" in note for note in gpu.device.notes)


@pytest.mark.parametrize(("name", "said"), [("NVIDIA L40S", True), ("NVIDIA H200", False)])
def test_ecc_costs_something_on_gddr_alone(name: str, said: bool) -> None:
    product = known_product(NvmlGpu(index=0, name=name), None)
    assert product is not None
    own = (product.capability.major, product.capability.minor)
    nvml = NvmlGpu(index=0, name=name, compute_capability=own, ecc=True)
    (gpu,) = merged(NvmlReport(gpus=(nvml,)), None, {}).gpus
    assert any("15/16" in note for note in gpu.device.notes) is said


def test_environment_is_read_when_nothing_is_given() -> None:
    assert choose.__kwdefaults__["environ"] is os.environ

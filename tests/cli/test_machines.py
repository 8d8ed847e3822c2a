"""Machines that nobody has at hand, as their drivers would describe them, saved and asked."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator

from gpuadvise.advisor.backends.merge import merged
from gpuadvise.advisor.backends.readings import (
    DriverGpu,
    DriverPeer,
    DriverReport,
    NvmlGpu,
    NvmlReport,
)
from gpuadvise.advisor.gpu import MigSlice
from gpuadvise.advisor.snapshot import machine_record
from gpuadvise.advisor.telemetry import Telemetry
from gpuadvise.advisor.topology import NvLink, Peer, Topology
from gpuadvise.cli.schema import bundled

if TYPE_CHECKING:
    from pathlib import Path

    from gpuadvise.advisor.gpu import Machine

REFUSED = "this GPU or driver does not offer it"
WELL = Telemetry(
    temperature_celsius=40,
    pcie_generation=4,
    pcie_generation_max=4,
    pcie_lanes=16,
    pcie_lanes_max=16,
    gpu_utilisation=0.5,
    clock_event_reasons=(),
    ecc_uncorrected=0,
    row_remap_pending=False,
    row_remap_failed=False,
    persistence_mode=True,
    compute_mode="default",
    processes=(),
    memory_used_bytes=0,
    memory_total_bytes=80 << 30,
)
MUTE = Telemetry(reasons={name: REFUSED for name in Telemetry.__slots__ if name != "reasons"})


def uuid(number: int) -> str:
    return f"GPU-00000000-0000-0000-0000-{number:012d}"


def seen(index: int, name: str, capability: tuple[int, int], **more: object) -> NvmlGpu:
    return NvmlGpu(
        index=index,
        minor=index,
        name=name,
        uuid=uuid(index),
        pci_bus_id=f"00000000:{index + 1:02X}:00.0",
        compute_capability=capability,
        **{"memory_bytes": 80 << 30, "telemetry": WELL, **more},
    )


def used(number: int, index: int, name: str, capability: tuple[int, int], **more: int) -> DriverGpu:
    major, minor = capability
    attributes = {"compute_capability_major": major, "compute_capability_minor": minor}
    return DriverGpu(
        cuda_index=number, name=name, uuid=uuid(index), memory_bytes=80 << 30,
        attributes={**attributes, **more},
    )  # fmt: skip


def eight() -> Machine:
    """Four A100 in the first slots, four H100 behind them, which CUDA numbers first."""
    names = [("NVIDIA A100-SXM4-80GB", (8, 0))] * 4 + [("NVIDIA H100 80GB HBM3", (9, 0))] * 4
    order = [4, 5, 6, 7, 0, 1, 2, 3]  # of CUDA
    nvml, cuda = [], []
    for index, (name, capability) in enumerate(names):
        alike = [n for n in range(8) if n != index and n // 4 == index // 4]
        topology = Topology(
            nvlinks=tuple(NvLink(number=n, up=True, bytes_per_second=25e9, to="switch") for n in range(12)),
            peers=tuple(
                Peer(index=n, path="NV12" if n in alike else "SYS") for n in range(8) if n != index
            ),
            numa_node=index // 4,
        )  # fmt: skip
        nvml.append(seen(index, name, capability, topology=topology))
    for number, index in enumerate(order):
        name, capability = names[index]
        peers = tuple(
            DriverPeer(
                cuda_index=n, access=each // 4 == index // 4, atomics=each // 4 == index // 4
            )
            for n, each in enumerate(order)
            if n != number
        )
        cuda.append(replace(used(number, index, name, capability), peers=peers))
    return merged(
        NvmlReport(gpus=tuple(nvml)), DriverReport(gpus=tuple(cuda), cuda_version="13.0"), {}
    )


def lost() -> Machine:
    """GPU 1 of three has fallen off the bus; the CUDA driver still lists it."""
    nvml = [seen(index, "NVIDIA L4", (8, 9)) for index in (0, 2)]
    gone = NvmlGpu(index=1, problem="the GPU has fallen off the bus")
    cuda = [used(number, number, "NVIDIA L4", (8, 9)) for number in range(3)]
    report = NvmlReport(gpus=(nvml[0], gone, nvml[1]))
    return merged(report, DriverReport(gpus=tuple(cuda)), {})


def hung() -> Machine:
    problem = "NVML did not answer within 30 s and was left alone."
    cuda = used(0, 0, "NVIDIA H200", (9, 0), multiprocessor_count=132)
    return merged(NvmlReport(problem=problem), DriverReport(gpus=(cuda,)), {})


def without_cuda() -> Machine:
    problem = "The CUDA driver crashed when asked (signal 11)."
    return merged(
        NvmlReport(gpus=(seen(0, "NVIDIA L4", (8, 9)),)), DriverReport(problem=problem), {}
    )


def mute() -> Machine:
    gpu = seen(0, "NVIDIA L4", (8, 9), memory_bytes=None, telemetry=MUTE)
    return merged(
        NvmlReport(gpus=(gpu,)), DriverReport(gpus=(used(0, 0, "NVIDIA L4", (8, 9)),)), {}
    )


def jetson() -> Machine:
    cuda = used(0, 0, "Orin", (8, 7), integrated=1, multiprocessor_count=16)
    return merged(
        NvmlReport(problem="NVML cannot be used: there is none."), DriverReport(gpus=(cuda,)), {}
    )


def spark() -> Machine:
    """NVML tells no memory of its own, and the processor's pages are the GPU's."""
    nvml = seen(
        0, "NVIDIA GB10", (12, 1), memory_bytes=None, reasons={"memory_bytes": REFUSED},
        telemetry=replace(MUTE, temperature_celsius=50),
    )  # fmt: skip
    cuda = used(
        0, 0, "NVIDIA GB10", (12, 1), integrated=1, multiprocessor_count=48,
        pageable_memory_access_uses_host_page_tables=1,
    )  # fmt: skip
    return merged(NvmlReport(gpus=(nvml,)), DriverReport(gpus=(cuda,)), {})


def grace() -> Machine:
    name = "NVIDIA GH200 480GB"
    cuda = used(0, 0, name, (9, 0), pageable_memory_access_uses_host_page_tables=1)
    return merged(NvmlReport(gpus=(seen(0, name, (9, 0)),)), DriverReport(gpus=(cuda,)), {})


def slices() -> Machine:
    parent = seen(0, "NVIDIA H100 80GB HBM3", (9, 0), mig_enabled=True)
    parts = [
        NvmlGpu(
            index=0,
            name="NVIDIA H100 80GB HBM3 MIG 1g.10gb",
            uuid=f"MIG-00000000-0000-0000-0000-{number:012d}",
            pci_bus_id=parent.pci_bus_id,
            compute_capability=(9, 0),
            sm_count=16,
            memory_bytes=10 << 30,
            mig=MigSlice(
                parent_uuid=parent.uuid, parent_name=parent.name, gpu_instance=7 + number,
                compute_instance=0,
            ),
            telemetry=MUTE,
        )
        for number in (1, 2)
    ]  # fmt: skip
    cuda = replace(used(0, 0, parts[0].name or "", (9, 0)), uuid=f"GPU-{parts[0].uuid[4:]}")
    return merged(NvmlReport(gpus=(parent, *parts)), DriverReport(gpus=(cuda,)), {})


MACHINES = (eight, lost, hung, without_cuda, mute, jetson, spark, grace, slices)


@pytest.fixture
def saved(tmp_path: Path):
    def save(machine: Machine) -> str:
        place = tmp_path / "box.json"
        place.write_text(json.dumps({"result": machine_record(machine)}))
        return str(place)

    return save


@pytest.mark.parametrize("machine", MACHINES)
def test_every_machine_is_listed_and_judged(cli, saved, machine) -> None:
    box = saved(machine())
    listed = cli("device", "--all", "--from", box, "--format", "json")
    assert listed.code == 0
    Draft202012Validator(json.loads(bundled("device"))).validate(json.loads(listed.out))
    judged = cli("doctor", "--from", box, "--format", "json")
    assert judged.code == (3 if machine().problems else 0)
    Draft202012Validator(json.loads(bundled("doctor"))).validate(json.loads(judged.out))
    for command in ("device --all", "device --all --telemetry", "doctor --all"):
        ran = cli(*command.replace(" --telemetry", "").split(), "--from", box)
        assert "None" not in ran.out
        assert "Traceback" not in ran.err


@pytest.mark.parametrize("machine", MACHINES)
def test_a_healthy_gpu_is_reached_by_its_index(cli, saved, machine) -> None:
    box = saved(machine())
    for gpu in machine().gpus:
        own = gpu.identity
        if own.mig:
            asked = own.uuid
        elif own.index is not None:
            asked = str(own.index)
        elif any(other.identity.index is not None for other in machine().gpus):
            continue  # the lost one, which has no index any more
        else:
            asked = str(own.cuda_index)
        assert (
            cli("device", "--from", box, "--device", asked, "--get", "uuid").out.strip() == own.uuid
        )


def test_eight_gpus_of_two_generations(cli, saved) -> None:
    box = saved(eight())
    devices = json.loads(cli("device", "--all", "--from", box, "--format", "json").out)["result"][
        "devices"
    ]
    assert [device["cuda_index"] for device in devices] == [4, 5, 6, 7, 0, 1, 2, 3]
    assert {device["nvlink_bandwidth"] for device in devices} == {600e9}
    peers = devices[0]["topology"]["peers"]
    assert [(peer["path"], peer["access"]) for peer in peers] == [
        *[("NV12", True)] * 3,
        *[("SYS", False)] * 4,
    ]
    checks = json.loads(cli("doctor", "--from", box, "--format", "json").out)
    assert "mixed-generations" in [finding["rule"] for finding in checks["findings"]]


def test_a_gpu_off_the_bus_is_a_sentence_and_the_verdict(cli, saved) -> None:
    box = saved(lost())
    out = cli("doctor", "--from", box).out
    assert "GPU 1 does not answer: the GPU has fallen off the bus." in out
    assert cli("device", "--from", box, "--device", "2", "--get", "cuda_index").out == "2\n"
    assert cli("device", "--from", box, "--device", "1").code == 3


def test_memory_of_the_host_is_never_zero(cli, saved) -> None:
    for machine in (spark, jetson):
        device = json.loads(cli("device", "--from", saved(machine()), "--format", "json").out)
        assert device["result"]["integrated"] is True
        assert device["result"]["memory_bytes"] == 80 << 30
    out = cli("device", "--from", saved(grace())).out
    assert "coherent link" in out


def test_slices_are_told_apart_from_their_gpu(cli, saved) -> None:
    devices = slices().gpus
    assert [gpu.identity.visible for gpu in devices] == [False, True, False]
    assert devices[0].identity.hidden_because == "MIG is on: programs see its slices"
    assert devices[1].device.sm_count == 16
    whole = devices[0].device.memory_bandwidth or 3.35e12
    assert devices[1].device.memory_bandwidth == pytest.approx(whole / 8, rel=0.01)
    box = saved(slices())
    assert (
        cli("roofline", "--flops", "1", "--bytes", "1", "--from", box, "--device", "MIG-").code == 2
    )
    asked = ("--from", box, "--device", devices[1].identity.uuid)
    assert (
        cli("roofline", "--flops", "1", "--bytes", "1", *asked, "--get", "bound").out == "memory\n"
    )
    out = cli("doctor", "--from", box).out
    assert out.startswith("1 GPU with 2 MIG slices")
    assert "not alike" not in out


def test_findings_name_the_gpu_by_its_own_number(cli, saved) -> None:
    sick = lost()
    last = sick.gpus[1]
    ill = replace(last, telemetry=replace(WELL, ecc_uncorrected=3))
    out = cli("doctor", "--from", saved(replace(sick, gpus=(sick.gpus[0], ill)))).out
    assert "GPU 2: 3 memory errors" in out

"""The XML of nvidia-smi as a machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.backends.choose import select
from gpuadvise.advisor.backends.nvidia_smi import machine_from_xml
from gpuadvise.advisor.device import Origin
from gpuadvise.advisor.errors import BadInput, Unavailable
from gpuadvise.advisor.snapshot import read_machine
from gpuadvise.advisor.telemetry import IDLE_REASON, NO_RECOVERY, ProcessKind, Telemetry

XML = b"""<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
 <timestamp>Sun Nov 22 08:00:00 2026</timestamp>
 <driver_version>580.159.04</driver_version>
 <cuda_version>13.0</cuda_version>
 <attached_gpus>1</attached_gpus>
 <gpu id="00000000:01:00.0">
  <product_name>NVIDIA H200</product_name>
  <persistence_mode>Disabled</persistence_mode>
  <mig_mode><current_mig>Disabled</current_mig></mig_mode>
  <uuid>GPU-00000000-0000-0000-0000-000000000001</uuid>
  <pci>
   <pci_bus_id>00000000:01:00.0</pci_bus_id>
   <pci_gpu_link_info>
    <pcie_gen><max_link_gen>5</max_link_gen><current_link_gen>1</current_link_gen></pcie_gen>
    <link_widths><max_link_width>16x</max_link_width><current_link_width>8x</current_link_width></link_widths>
   </pci_gpu_link_info>
  </pci>
  <performance_state>P0</performance_state>
  <clocks_event_reasons>
   <clocks_event_reason_gpu_idle>Not Active</clocks_event_reason_gpu_idle>
   <clocks_event_reason_sw_power_cap>Active</clocks_event_reason_sw_power_cap>
  </clocks_event_reasons>
  <fb_memory_usage><total>143771 MiB</total><reserved>615 MiB</reserved><used>4 MiB</used><free>143152 MiB</free></fb_memory_usage>
  <compute_mode>Default</compute_mode>
  <utilization><gpu_util>97 %</gpu_util><memory_util>12 %</memory_util></utilization>
  <ecc_mode><current_ecc>Enabled</current_ecc><pending_ecc>Enabled</pending_ecc></ecc_mode>
  <ecc_errors><volatile>
   <sram_correctable>0</sram_correctable><sram_uncorrectable_parity>1</sram_uncorrectable_parity>
   <sram_uncorrectable_secded>0</sram_uncorrectable_secded>
   <dram_correctable>2</dram_correctable><dram_uncorrectable>0</dram_uncorrectable>
  </volatile></ecc_errors>
  <remapped_rows><remapped_row_pending>No</remapped_row_pending><remapped_row_failure>Yes</remapped_row_failure></remapped_rows>
  <temperature><gpu_temp>61 C</gpu_temp><gpu_temp_max_threshold>N/A</gpu_temp_max_threshold></temperature>
  <gpu_power_readings><instant_power_draw>400.50 W</instant_power_draw><current_power_limit>700.00 W</current_power_limit></gpu_power_readings>
  <clocks><sm_clock>1500 MHz</sm_clock><mem_clock>3201 MHz</mem_clock></clocks>
  <max_clocks><sm_clock>1980 MHz</sm_clock><mem_clock>3201 MHz</mem_clock></max_clocks>
  <processes><process_info><pid>7</pid><type>C</type><process_name>train</process_name><used_memory>100 MiB</used_memory></process_info></processes>
 </gpu>
</nvidia_smi_log>
"""


def test_every_reading_has_its_base_unit() -> None:
    machine = machine_from_xml(XML)
    (gpu,) = machine.gpus
    now = gpu.telemetry
    assert now is not None
    assert (machine.driver_version, machine.cuda_version) == ("580.159.04", "13.0")
    assert (gpu.device.id, gpu.device.sm_count) == ("h200-sxm", 132)
    assert now.sm_clock_hz == 1_500_000_000
    assert now.memory_total_bytes == 143_771 << 20
    assert (now.pcie_generation, now.pcie_generation_max) == (1, 5)
    assert (now.pcie_lanes, now.pcie_lanes_max) == (8, 16)
    assert now.clock_event_reasons == ("the power limit is reached",)
    assert (now.ecc_corrected, now.ecc_uncorrected) == (2, 1)
    assert (now.row_remap_pending, now.row_remap_failed) == (False, True)
    assert (now.power_watts, now.gpu_utilisation) == (400.5, 0.97)
    assert now.persistence_mode is False
    assert now.processes is not None
    assert (now.processes[0].kind, now.processes[0].memory_bytes) == (
        ProcessKind.COMPUTE,
        100 << 20,
    )


def test_what_is_not_listed_has_a_reason() -> None:
    (gpu,) = machine_from_xml(XML).gpus
    assert gpu.telemetry is not None
    assert "dmesg" in gpu.telemetry.reasons["xids"]
    assert gpu.telemetry.temperature_shutdown_celsius is None
    assert gpu.telemetry.reasons["temperature_shutdown_celsius"]


def test_a_limit_is_a_temperature_or_counted_from_the_margin() -> None:
    def limits(temperature: bytes) -> tuple[int | None, int | None]:
        old = b"<gpu_temp_max_threshold>N/A</gpu_temp_max_threshold>"
        now = machine_from_xml(XML.replace(old, temperature)).gpus[0].telemetry
        assert now is not None
        return now.temperature_slowdown_celsius, now.temperature_shutdown_celsius

    margin = b"<gpu_temp_tlimit>26 C</gpu_temp_tlimit>"
    slow = b"<gpu_temp_slow_tlimit_threshold>-2 C</gpu_temp_slow_tlimit_threshold>"
    assert limits(margin + slow) == (89, None)
    assert limits(slow) == limits(margin) == (None, None)
    assert limits(b"<gpu_temp_slow_threshold>90 C</gpu_temp_slow_threshold>" + margin + slow) == (
        90,
        None,
    )


@pytest.mark.parametrize(
    "content",
    [
        b"WARNING: infoROM is corrupted at gpu 0000:01:00.0\n" + XML,
        XML + b"WARNING: infoROM is corrupted at gpu 0000:01:00.0\n",
    ],
)
def test_warnings_around_the_xml_are_left_out(content: bytes) -> None:
    assert machine_from_xml(content) == machine_from_xml(XML)


def test_a_gpu_that_cannot_be_read_hides_no_other() -> None:
    dead = b"<gpu><product_name>Unknown Error</product_name></gpu>"
    machine = machine_from_xml(XML.replace(b" <gpu id", dead + b"<gpu id"))
    assert [gpu.identity.index for gpu in machine.gpus] == [1]
    assert machine.problems[0].startswith("GPU 0 does not answer: nvidia-smi could not read it")


def test_a_product_that_the_catalogue_lacks_is_said_once() -> None:
    one = XML[XML.index(b" <gpu id") : XML.index(b"</nvidia_smi_log>")]
    two = XML.replace(b"</nvidia_smi_log>", one + b"</nvidia_smi_log>")
    machine = machine_from_xml(two.replace(b"NVIDIA H200", b"NVIDIA Z900"))
    assert machine.gpus == ()
    (problem,) = machine.problems
    assert "the catalogue lacks the name" in problem


def test_slices_stand_beside_their_gpu() -> None:
    listed = b"""<mig_devices><mig_device><index>0</index>
      <gpu_instance_id>1</gpu_instance_id><compute_instance_id>2</compute_instance_id>
      <device_attributes><shared><multiprocessor_count>60</multiprocessor_count></shared></device_attributes>
      <fb_memory_usage><total>71424 MiB</total><used>44 MiB</used></fb_memory_usage>
    </mig_device></mig_devices>"""
    enabled = XML.replace(
        b"<current_mig>Disabled</current_mig></mig_mode>",
        b"<current_mig>Enabled</current_mig></mig_mode>" + listed,
    )
    whole, part = machine_from_xml(enabled).gpus
    assert whole.device.sm_count == 132
    assert any("MIG is on" in note for note in whole.device.notes)
    assert (part.device.sm_count, part.device.memory_bytes) == (60, 71_424 << 20)
    assert part.identity.mig is not None
    assert (part.identity.mig.gpu_instance, part.identity.mig.compute_instance) == (1, 2)
    assert part.telemetry is not None
    assert part.telemetry.memory_used_bytes == 44 << 20
    assert part.telemetry.reasons["power_watts"]
    with pytest.raises(Unavailable) as caught:
        select((whole, part), "MIG-1")
    assert "a slice without its UUID (NVIDIA H200 MIG slice 0)" in (caught.value.hint or "")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<?xml",
        b"<html></html>",
        b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "c">]><nvidia_smi_log/>',
        b"<a>" * 100_000,
    ],
)
def test_other_xml_is_a_sentence(content: bytes) -> None:
    with pytest.raises(BadInput):
        machine_from_xml(content)


@given(at=st.integers(0, len(XML)), noise=st.binary(max_size=40))
def test_damage_is_a_sentence_or_read(at: int, noise: bytes) -> None:
    try:
        machine_from_xml(XML[:at] + noise + XML[at + len(noise) :])
    except BadInput as error:
        assert error.message


def test_a_recorded_h200_says_what_nvml_said() -> None:
    """What does not move: NVML's answers of the same machine, taken a second apart."""
    recorded = Path(__file__).parent / "recorded" / "nvidia-smi-h200.xml"
    (gpu,) = machine_from_xml(recorded.read_bytes()).gpus
    now = gpu.telemetry
    assert now is not None
    assert (gpu.device.id, gpu.device.name) == ("h200-sxm", "NVIDIA H200")
    assert (now.sm_clock_max_hz, now.memory_clock_max_hz) == (1_980_000_000, 3_201_000_000)
    assert (now.pcie_generation_max, now.pcie_lanes_max) == (5, 16)
    assert now.memory_total_bytes == 150_754_820_096
    assert (now.ecc_enabled, now.ecc_corrected, now.ecc_uncorrected) == (True, 0, 0)
    assert (now.row_remap_pending, now.row_remap_failed) == (False, False)
    assert (now.power_limit_watts, now.persistence_mode, now.compute_mode) == (
        700.0,
        True,
        "default",
    )
    assert now.clock_event_reasons == (IDLE_REASON,)
    assert now.processes == ()
    assert now.recovery_action == NO_RECOVERY


RECORDED = Path(__file__).parent / "recorded" / "nvidia-smi-h200-x2.xml"
X2 = Path(__file__).parents[2] / "cli" / "boxes" / "h200-x2.json"
# What may differ between two readings seconds apart, and what nvidia-smi does not list.
MOVING = {
    "power_watts", "temperature_celsius", "memory_temperature_celsius", "gpu_utilisation",
    "memory_utilisation", "memory_used_bytes", "memory_free_bytes", "memory_reserved_bytes",
    "clock_limit_seconds", "sm_clock_hz", "clock_event_reasons", "reasons", "xids",
    "power_limit_requested_watts", "recovery_action",  # asked only after the machine was recorded
}  # fmt: skip


def test_two_gpus_are_what_nvml_said_of_them() -> None:
    ours = read_machine(json.loads(X2.read_text())).gpus
    theirs = machine_from_xml(RECORDED.read_bytes()).gpus
    assert len(ours) == len(theirs) == 2
    for live, listed in zip(ours, theirs, strict=True):
        assert listed.identity.minor == live.identity.minor
        assert listed.topology.pcie_own_generation == live.topology.pcie_own_generation
        assert listed.topology.pcie_own_lanes == live.topology.pcie_own_lanes == 16
        assert listed.device.origin is live.device.origin is Origin.SNAPSHOT
        assert listed.device.nvlink_bandwidth is None
        assert listed.telemetry.clock_limit_seconds["power"] == pytest.approx(
            live.telemetry.clock_limit_seconds["power"], abs=1
        )
        for name in Telemetry.__slots__:
            if name not in MOVING:
                same = getattr(listed.telemetry, name), getattr(live.telemetry, name)
                assert same[0] == same[1], name


@pytest.mark.parametrize("words", ["GPU requires reset", "[GPU requires reset]", "GPU is lost"])
def test_a_gpu_that_must_be_reset_does_not_answer(words: str) -> None:
    machine = machine_from_xml(XML.replace(b"<gpu_temp>61 C<", f"<gpu_temp>{words}<".encode()))
    assert machine.gpus == ()
    assert machine.problems[0].startswith("GPU 0 does not answer: nvidia-smi says that it ")


@pytest.mark.parametrize("words", [b"Unknown Error", b"[Unknown Error]", b"Timeout", b"N/A"])
def test_a_switch_that_could_not_be_read_is_not_off(words: bytes) -> None:
    xml = XML.replace(b"<persistence_mode>Disabled<", b"<persistence_mode>" + words + b"<")
    (gpu,) = machine_from_xml(xml).gpus
    assert gpu.telemetry is not None
    assert gpu.telemetry.persistence_mode is None


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_a_dump_that_stops_is_said_to_end_early(share: float) -> None:
    cut = XML[: int(len(XML) * share)]
    with pytest.raises(BadInput, match=r"^It ends early, in line \d+\.$") as caught:
        machine_from_xml(cut)
    assert caught.value.hint == "Is the copy complete?"

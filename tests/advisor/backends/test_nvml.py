"""NVML through the real bindings, on an imaginary driver."""

from __future__ import annotations

import os
import subprocess
import sys
import types
from typing import TYPE_CHECKING

import pytest

from gpuadvise.advisor.backends import nvml, nvml_report
from gpuadvise.advisor.backends.nvml_report import CLOCK_EVENTS, clock_events
from gpuadvise.advisor.backends.nvml_topology import ranges
from gpuadvise.advisor.errors import Unavailable
from gpuadvise.advisor.telemetry import IDLE_REASON, Process, ProcessKind, Telemetry, link_is_idle
from gpuadvise.advisor.topology import Peer, link_errors, links_down, nvlink_rate

if TYPE_CHECKING:
    from pathlib import Path


def test_identity_and_product_facts_have_base_units(moods) -> None:
    report = nvml_report.report()
    assert (report.problem, report.driver_version) == (None, "580.1")
    (gpu,) = report.gpus
    assert (gpu.name, gpu.index, gpu.compute_capability) == ("NVIDIA H200", 0, (9, 0))
    assert gpu.pci_bus_id == "00000000:06:00.0"
    assert (gpu.sm_clock_hz, gpu.memory_clock_hz) == (1_980_000_000, 3_201_000_000)
    assert (gpu.power_limit_watts, gpu.ecc, gpu.memory_bus_bits) == (700.0, True, 6016)
    assert gpu.reasons == {}
    assert gpu.telemetry is None


def test_identity_alone_asks_little(moods) -> None:
    (gpu,) = nvml_report.report(everything=False).gpus
    assert (gpu.name, gpu.cores) == ("NVIDIA H200", 16896)
    assert (gpu.memory_bus_bits, gpu.power_limit_watts) == (None, None)


def test_telemetry_in_base_units(moods) -> None:
    moods("busy,hot")
    now = nvml_report.report(live=True).gpus[0].telemetry
    assert now is not None
    assert (now.sm_clock_hz, now.power_watts) == (345_000_000, 76.5)
    assert (now.gpu_utilisation, now.memory_utilisation) == (0.5, 0.25)
    assert (now.temperature_celsius, now.temperature_slowdown_celsius) == (31, 89)
    assert (now.pcie_generation, now.pcie_generation_max) == (1, 5)
    assert (now.ecc_enabled, now.ecc_enabled_after_reboot) == (True, False)
    assert (now.ecc_corrected, now.ecc_uncorrected, now.row_remap_pending) == (3, 0, True)
    assert now.compute_mode == "exclusive process"
    assert now.processes == (
        Process(
            pid=4242, kind=ProcessKind.COMPUTE, name="/opt/\x1b[31mtrain", memory_bytes=1 << 20
        ),
        Process(pid=7, kind=ProcessKind.COMPUTE),
    )
    assert now.clock_event_reasons == (
        CLOCK_EVENTS[0x4],
        CLOCK_EVENTS[0x20],
        "a reason this version does not know (0x20000000)",
    )
    assert now.reasons.keys() == {
        "pages_retired_single_bit",
        "pages_retired_double_bit",
        "page_retirement_pending",
    }
    assert (now.power_limit_default_watts, now.power_limit_min_watts) == (700, 200)
    assert now.memory_temperature_celsius == 38
    assert now.clock_limit_seconds["power"] == 1.5
    assert (now.ecc_corrected_lifetime, now.rows_remapped_uncorrected) == (3, 0)


def test_pages_are_retired_where_rows_are_not_remapped(moods) -> None:
    moods("volta")
    now = nvml_report.report(live=True).gpus[0].telemetry
    assert now is not None
    assert (now.pages_retired_double_bit, now.page_retirement_pending) == (1, True)


def test_links_and_peers(moods) -> None:
    moods("two,linked")
    first, second = nvml_report.report().gpus
    assert (first.minor, second.minor) == (0, 1)
    topology = first.topology
    assert topology is not None
    assert [(link.up, link.bytes_per_second, link.to) for link in topology.nvlinks or ()] == [
        *[(True, 26.562e9, "switch")] * 3,
        (False, None, None),
    ]
    assert nvlink_rate(topology) == pytest.approx(6 * 26.562e9)
    assert topology.peers == (Peer(index=1, path="NV3", access=True, atomics=True),)
    assert (topology.cpu_affinity, topology.numa_node) == ("0-15,65", 0)
    moods("two,linked,direct")
    links = nvml_report.report().gpus[0].topology
    assert links is not None
    assert {link.peer for link in links.nvlinks or () if link.up} == {1}
    assert links.peers[0].path == "NV3"


def test_links_that_are_down_give_no_rate(moods) -> None:
    moods("linked,parted")
    topology = nvml_report.report().gpus[0].topology
    assert topology is not None
    assert nvlink_rate(topology) == 0


@pytest.mark.parametrize(
    ("words", "errors"),
    [
        ("linked", (0, 0, 0)),
        ("linked,erring", (1, 2, 3)),
        ("linked,erring,counted", (1, 2, 7)),  # of flow control and of data
    ],
)
def test_links_count_their_errors(moods, words: str, errors: tuple[int, ...]) -> None:
    moods(words)
    topology = nvml_report.report(live=True).gpus[0].topology
    assert topology is not None
    link = (topology.nvlinks or ())[1]
    assert (link.replays, link.recoveries, link.crc_errors) == errors
    assert [link.number for link in link_errors(topology)] == ([1] if any(errors) else [])


def test_errors_of_links_are_counted_with_the_telemetry_only(moods) -> None:
    moods("linked,erring")
    topology = nvml_report.report().gpus[0].topology
    assert topology is not None
    assert {link.replays for link in topology.nvlinks or ()} == {None}


def test_a_link_may_rest_and_a_chip_may_lack_one(moods) -> None:
    moods("linked,asleep,gapped,halved")
    topology = nvml_report.report().gpus[0].topology
    assert topology is not None
    links = topology.nvlinks or ()
    assert [(link.number, link.up, link.resting) for link in links] == [
        (0, True, False),
        (2, True, False),
        (3, False, True),
    ]
    assert topology.nvlink_bandwidth_mode == "half"
    assert links_down(topology) == ()


def test_gpus_without_a_link_say_how_they_reach_each_other(moods) -> None:
    moods("two")
    topology = nvml_report.report().gpus[1].topology
    assert topology is not None
    assert (topology.nvlinks, nvlink_rate(topology)) == (None, None)
    assert "does not offer" in topology.reasons["nvlinks"]
    assert topology.peers == (
        Peer(
            index=0,
            path="PHB",
            access=False,
            atomics=False,
            why_not="the GPUs hang on different host bridges",
        ),
    )


def test_a_lost_gpu_is_no_peer(moods) -> None:
    moods("two,lost,linked")
    _, well = nvml_report.report().gpus
    assert well.topology is not None
    assert well.topology.peers == ()


@pytest.mark.parametrize(
    ("words", "text"), [([0], ""), ([0xFFFF], "0-15"), ([1 << 63, 3], "63-65"), ([5], "0,2")]
)
def test_sets_of_processors(words: list[int], text: str) -> None:
    assert ranges(words) == text


def test_memory_tells_the_drivers_share_apart_where_it_can(moods) -> None:
    new = nvml_report.report(live=True).gpus[0].telemetry
    moods("old")
    old = nvml_report.report(live=True).gpus[0].telemetry
    assert new is not None
    assert old is not None
    assert (new.memory_reserved_bytes, new.memory_used_bytes) == (600_000_000, 1_154_820_096)
    assert (old.memory_reserved_bytes, old.memory_used_bytes) == (None, 1_754_820_096)
    assert "too old" in old.reasons["memory_reserved_bytes"]


def test_a_gpu_without_memory_of_its_own_says_why(moods) -> None:
    moods("memoryless")
    gpu = nvml_report.report(live=True).gpus[0]
    assert gpu.memory_bytes is None
    assert gpu.telemetry is not None
    for name in ("memory_total_bytes", "memory_free_bytes", "memory_reserved_bytes"):
        assert "does not offer it" in gpu.telemetry.reasons[name]


def test_whatever_is_refused_has_a_reason_and_nothing_else_suffers(moods) -> None:
    moods("modest,stateless,latin1,future")
    (gpu,) = nvml_report.report(live=True).gpus
    assert gpu.telemetry is not None
    assert gpu.name is None
    assert "unusable: 'utf-8' codec can't decode" in gpu.reasons["name"]
    assert gpu.reasons["power_limit_watts"] == "this GPU or driver does not offer it"
    assert gpu.uuid is not None
    assert gpu.telemetry.performance_state is None
    known = {"memory_total_bytes", "memory_used_bytes", "memory_reserved_bytes"}
    for name in Telemetry.__slots__:
        if name not in ("reasons", "performance_state", "memory_free_bytes", "xids", *known):
            assert not getattr(gpu.telemetry, name), name
            assert gpu.telemetry.reasons[name], name


def test_a_number_without_a_word_is_no_crash(moods) -> None:
    moods("future,guest")
    now = nvml_report.report(live=True).gpus[0].telemetry
    assert now is not None
    assert now.compute_mode is None
    assert now.reasons["compute_mode"].endswith("compute mode 9 is not known here")
    assert now.reasons["recovery_action"].endswith("recovery action 12 is not known here")
    assert "administrator" in now.reasons["ecc_corrected"]


def test_a_lost_gpu_does_not_hide_the_other(moods) -> None:
    moods("two,lost")
    lost, well = nvml_report.report().gpus
    assert lost.problem is not None
    assert "fallen off the bus" in lost.problem
    assert (well.problem, well.index, well.name) == (None, 1, "NVIDIA H200")


def test_mig_slices_follow_their_parent_with_their_own_numbers(moods) -> None:
    moods("mig")
    parent, first, second = nvml_report.report(live=True).gpus
    assert (parent.mig_enabled, parent.mig) == (True, None)
    assert (first.sm_count, first.memory_bytes) == (16, 16 << 30)
    assert first.mig is not None
    assert (first.mig.parent_name, first.mig.parent_uuid) == ("NVIDIA H200", parent.uuid)
    assert (first.mig.gpu_slices, first.mig.compute_slices) == (1, 1)
    assert first.telemetry is not None
    assert "does not offer" in first.telemetry.reasons["gpu_utilisation"]
    assert first.uuid != second.uuid


@pytest.mark.parametrize(
    ("mood", "words"),
    [
        ("unloaded", "kernel driver is not loaded"),
        ("mismatch", "different versions"),
        ("uncounted", "Unknown Error"),
    ],
)
def test_a_driver_that_does_not_start_is_one_sentence(moods, mood: str, words: str) -> None:
    moods(mood)
    report = nvml_report.report()
    assert report.gpus == ()
    assert report.problem is not None
    assert words in report.problem


def test_no_library_is_one_sentence() -> None:
    code = "from gpuadvise.advisor.backends import nvml_report; print(nvml_report.report().problem)"
    env = {**os.environ, "LD_LIBRARY_PATH": "", "LD_PRELOAD": ""}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert done.returncode == 0
    assert done.stdout.startswith(("NVML cannot be used: the driver's NVML library", "None"))


def test_an_unknown_error_keeps_nvmls_words(moods) -> None:
    library = nvml.library()
    assert nvml.words(library, library.NVMLError(24)) == "NVML answered stub error"


def test_the_deprecated_namesake_is_told_apart(tmp_path: Path) -> None:
    (tmp_path / "pynvml").mkdir()
    (tmp_path / "pynvml" / "__init__.py").write_text("")
    code = "from gpuadvise.advisor.backends import nvml; nvml.library()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(tmp_path), *sys.path))},
    )
    assert "Unavailable: the deprecated package pynvml hides nvidia-ml-py" in done.stderr


def test_the_namesake_is_a_sentence_in_the_report(moods, monkeypatch: pytest.MonkeyPatch) -> None:
    namesake = types.ModuleType("pynvml")
    namesake.__path__ = []
    monkeypatch.setitem(sys.modules, "pynvml", namesake)
    problem = nvml_report.report().problem
    assert problem is not None
    assert "pip uninstall pynvml" in problem


def test_the_library_starts_once_and_again_after_a_fork(moods) -> None:
    nvml.library()
    assert nvml._owner == os.getpid()
    child = os.fork()
    if not child:
        nvml.library()
        os._exit(0 if nvml._owner == os.getpid() else 1)
    assert os.waitpid(child, 0)[1] == 0
    nvml.library()
    assert nvml._owner == os.getpid()


def test_a_failed_start_is_tried_again(moods) -> None:
    moods("unloaded")
    with pytest.raises(Unavailable):
        nvml.library()
    moods()
    assert nvml.library().nvmlDeviceGetCount() == 1


def test_no_clock_event_is_no_reason() -> None:
    assert clock_events(0) == ()


@pytest.mark.parametrize(
    ("now", "maximum", "events", "use", "idle"),
    [
        (1, 5, (IDLE_REASON,), None, True),
        (1, 5, (), 0.0, True),
        (1, 5, (), 0.7, False),
        (5, 5, (IDLE_REASON,), 0.0, False),
        (None, None, None, None, False),
    ],
)
def test_an_idle_link_is_told_from_a_narrow_one(now, maximum, events, use, idle) -> None:
    telemetry = Telemetry(
        pcie_generation=now,
        pcie_generation_max=maximum,
        clock_event_reasons=events,
        gpu_utilisation=use,
    )
    assert link_is_idle(telemetry) is idle

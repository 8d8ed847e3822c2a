from __future__ import annotations

import json
from dataclasses import replace

import pytest
from jsonschema import Draft202012Validator

from gpuadvise.advisor.backends import live_launch
from gpuadvise.advisor.backends.choose import Choice
from gpuadvise.advisor.backends.driver_check import answer_differences, compared
from gpuadvise.advisor.backends.driver_launch import DriverLaunch
from gpuadvise.advisor.backends.readings import DriverGpu, DriverReport
from gpuadvise.advisor.catalogue import find
from gpuadvise.advisor.device import Origin
from gpuadvise.advisor.errors import Unavailable
from gpuadvise.advisor.gpu import Gpu, Identity
from gpuadvise.advisor.occupancy.launch import Launch
from gpuadvise.advisor.occupancy.model import occupancy
from gpuadvise.cli.occupancy.text import driver_sentence
from gpuadvise.cli.schema import bundled

LIVE = replace(find("h200"), origin=Origin.LIVE)
UUID = "GPU-00000000-0000-0000-0000-000000000000"
# A few attributes as the driver of an H200 tells them.
H200 = {
    "warp_size": 32,
    "max_threads_per_multiprocessor": 2048,
    "max_blocks_per_multiprocessor": 32,
    "max_registers_per_multiprocessor": 65536,
    "max_shared_memory_per_multiprocessor": 233472,
    "reserved_shared_memory_per_block": 1024,
}


def choice(**identity: str) -> Choice:
    return Choice(device=LIVE, gpu=Gpu(device=LIVE, identity=Identity(**identity)))


def report(**more: int) -> DriverReport:
    gpu = DriverGpu(cuda_index=0, uuid=UUID, pci_bus_id="0000:06:00.0", attributes={**H200, **more})
    return DriverReport(gpus=(gpu,))


def test_a_driver_that_agrees() -> None:
    check = compared(choice(uuid=UUID), report())
    assert check["differences"] == []
    assert "agrees with all 7 limits" in driver_sentence(check)


def test_a_driver_that_differs() -> None:
    check = compared(
        choice(pci_bus_id="00000000:06:00.0"), report(max_blocks_per_multiprocessor=24)
    )
    assert check["differences"] == [{"limit": "max_blocks_per_sm", "model": 32, "driver": 24}]
    assert driver_sentence(check).endswith("max_blocks_per_sm is 24, not 32.")


@pytest.mark.parametrize(
    "identity", [{}, {"uuid": UUID.replace("0", "1")}, {"pci_bus_id": "0000:07:00.0"}]
)
def test_a_driver_that_does_not_show_the_gpu(identity: dict[str, str]) -> None:
    with pytest.raises(Unavailable, match="does not show"):
        compared(choice(**identity), report())


def test_a_driver_that_does_not_answer() -> None:
    with pytest.raises(Unavailable, match="no driver here"):
        compared(choice(uuid=UUID), DriverReport(problem="There is no driver here."))


@pytest.mark.gpu
def test_on_a_real_gpu(process) -> None:
    args = ("occupancy", "--regs", "32", "--block", "256", "--driver-check", "--format", "json")
    ran = process(*args)
    assert ran.code == 0
    check = json.loads(ran.out)["result"]["driver_check"]
    assert check["compared"] >= 10
    assert check["differences"] == []


def on_the_stub(cli, *args: str) -> dict:
    ran = cli("occupancy", "--regs", "32", "--block", "256", *args, "--format", "json")
    assert ran.code == 0
    answer = json.loads(ran.out)
    Draft202012Validator(json.loads(bundled("occupancy"))).validate(answer)
    return {**answer["result"], "err": ran.err}


def test_clusters_of_a_live_gpu_are_the_drivers(cli, moods) -> None:
    moods(cuda_moods="lumpy")
    result = on_the_stub(cli, "--cluster", "4", "--grid", "1760")
    assert result["clusters"] == {
        "count": 220, "source": "driver", "blocks_per_sm": 8, "upper_bound": 264, "largest": 8,
    }  # fmt: skip
    assert (result["waves"], result["waves_are_bounds"], result["wave_size"]) == (2, False, 880)
    assert result["clusters_upper_bound"] == 264
    assert result["err"] == ""
    text = cli("occupancy", "--regs", "32", "--block", "256", "--cluster", "4").out
    assert "220 clusters at a time on this GPU, by its driver" in text


def test_without_the_drivers_word_clusters_are_as_offline(cli, moods) -> None:
    moods(cuda_moods="nojit")
    result = on_the_stub(cli, "--cluster", "4", "--grid", "1760")
    assert result["clusters"]["source"] in ("measured", "bound")
    assert "note: Clusters are not the driver's: The CUDA driver cannot be asked" in result["err"]
    moods(cuda_moods="greedy")
    assert "as many blocks per SM" in on_the_stub(cli, "--cluster", "4")["err"]


def test_no_driver_is_asked_for_a_launch_without_clusters(cli, moods, monkeypatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(live_launch, "driver_launch", never)
    assert on_the_stub(cli)["clusters"] is None
    assert on_the_stub(cli, "--cluster", "16")["launchable"] is False


def test_the_answer_is_checked_and_not_only_the_limits(cli, moods) -> None:
    check = on_the_stub(cli, "--driver-check")["driver_check"]
    assert check["compared"] == 13
    assert check["differences"] == []
    assert check["answer"] == {
        "registers": 32, "blocks_per_sm": 8, "clusters": None, "largest_cluster": None,
        "problem": None,
    }  # fmt: skip
    text = cli("occupancy", "--regs", "32", "--block", "256", "--driver-check").out
    assert "and answers 8 blocks per SM for a kernel of 32 registers." in text


def test_an_answer_that_differs() -> None:
    result = occupancy(LIVE.limits, Launch(threads=256, registers=200))
    driver = DriverLaunch(registers=200, blocks_per_sm=2)
    found = list(answer_differences(LIVE, result, driver))
    assert found == [{"limit": "blocks_per_sm", "model": 1, "driver": 2}]


@pytest.mark.parametrize(
    ("gpu", "counted", "differs"),
    [("h200", 30, False), ("h200", 29, True), ("h200", 31, True),
     ("h100-sxm", 30, False), ("h100-sxm", 33, False), ("h100-sxm", 34, True)],
)  # fmt: skip
def test_clusters_differ_from_a_measured_chip_and_beyond_a_bound(
    gpu: str, counted: int, differs: bool
) -> None:
    launch = Launch(threads=1024, registers=64, cluster_dim=(4, 1, 1))
    device = find(gpu)
    driver = DriverLaunch(registers=64, blocks_per_sm=1, clusters=counted)
    found = list(answer_differences(device, occupancy(device.limits, launch), driver))
    assert [each["limit"] for each in found] == ["clusters"] * differs


def test_a_driver_that_says_nothing_of_the_launch(cli, moods) -> None:
    moods(cuda_moods="nojit")
    ran = cli("occupancy", "--regs", "32", "--block", "256", "--driver-check")
    assert "of the launch it said nothing: The CUDA driver cannot be asked" in ran.out

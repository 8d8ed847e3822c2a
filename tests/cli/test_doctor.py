"""``gpuadvise doctor``: checks of recorded machines, and of one without a GPU."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from gpuadvise.advisor.backends import driver_presence
from gpuadvise.cli.schema import bundled
from gpuadvise.rules import machine_checks
from gpuadvise.rules.guide import RULES

BOXES = Path(__file__).parent / "boxes"
IDLE, BUSY = str(BOXES / "h200.json"), str(BOXES / "h200-busy.json")


@pytest.fixture(autouse=True)
def no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_presence, "_UNIX", ())


def document(ran) -> dict:
    """Return the JSON of an answer, which keeps the published schema."""
    answer = json.loads(ran.out)
    Draft202012Validator(json.loads(bundled("doctor"))).validate(answer)
    return answer


def altered(tmp_path: Path, source: str, **telemetry: object) -> str:
    """Return a copy of the recorded machine *source* with other readings."""
    box = json.loads(Path(source).read_text())
    box["result"]["devices"][0]["telemetry"].update(telemetry)
    path = tmp_path / "box.json"
    path.write_text(json.dumps(box))
    return str(path)


def statuses(result: dict) -> dict[str, str]:
    return {check["check"]: check["status"] for check in result["checks"]}


def test_a_busy_machine_is_judged_in_full(cli) -> None:
    answer = document(cli("doctor", "--from", BUSY, "--format", "json"))
    assert answer["result"]["verdict"] == "findings"
    assert [finding["rule"] for finding in answer["findings"]] == ["busy-device"]
    assert statuses(answer["result"])["degraded-link"] == "ok"


def test_the_data_has_what_the_line_of_a_gpu_says(cli) -> None:
    (gpu,) = document(cli("doctor", "--from", BUSY, "--format", "json"))["result"]["gpus"]
    assert (gpu["temperature_celsius"], round(gpu["power_watts"])) == (56, 690)
    assert gpu["memory_used_bytes"] / gpu["memory_total_bytes"] == pytest.approx(0.0061, abs=1e-4)
    assert cli("doctor", "--from", BUSY, "--get", "gpus.gpu_utilisation").out == "0.99\n"


def test_clocks_and_link_of_an_idle_gpu_are_not_judged(cli) -> None:
    result = document(cli("doctor", "--from", IDLE, "--format", "json"))["result"]
    assert result["verdict"] == "healthy"
    idle = {name for name, status in statuses(result).items() if status == "idle, not judged"}
    assert idle == machine_checks.AT_WORK


@pytest.mark.parametrize(
    ("readings", "rule"),
    [
        ({"pcie_lanes": 8}, "degraded-link"),
        ({"clock_event_reasons": ["hardware thermal slowdown: the GPU is far too hot"]}, "throttled-clocks"),
        ({"ecc_uncorrected": 3}, "ecc-errors"),
        ({"persistence_mode": False}, "persistence-mode-off"),
        ({"compute_mode": "prohibited"}, "restricted-compute-mode"),
        ({"xids": [79]}, "xid-errors"),
        ({"power_limit_watts": 500.0}, "lowered-power-limit"),
        ({"recovery_action": "reset"}, "pending-recovery"),
    ],
)  # fmt: skip
def test_each_fault_is_found(cli, tmp_path: Path, readings: dict[str, object], rule: str) -> None:
    box = altered(tmp_path, BUSY, **readings)
    answer = document(cli("doctor", "--from", box, "--format", "json"))
    assert rule in [finding["rule"] for finding in answer["findings"]]


def test_what_nvml_does_not_offer_is_not_called_healthy(cli, tmp_path: Path) -> None:
    box = altered(
        tmp_path, BUSY, ecc_uncorrected=None, row_remap_failed=None, reasons={"ecc_uncorrected": "not supported"}
    )  # fmt: skip
    answer = document(cli("doctor", "--from", box, "--format", "json"))["result"]
    check = next(check for check in answer["checks"] if check["check"] == "ecc-errors")
    assert (check["status"], check["reason"]) == ("not available", "not supported")


def test_a_gpu_that_tells_of_no_memory_at_all_is_not_called_idle(cli, tmp_path: Path) -> None:
    box = altered(tmp_path, BUSY, memory_total_bytes=0, processes=[])
    answer = document(cli("doctor", "--from", box, "--format", "json"))["result"]
    check = next(check for check in answer["checks"] if check["check"] == "busy-device")
    assert (check["status"], check["reason"]) == ("not available", "NVML does not say")


def test_a_fault_that_another_finding_says_is_not_called_unavailable(cli, moods) -> None:
    moods("busy")
    answer = document(cli("doctor", "--format", "json"))
    checks = {check["check"]: check for check in answer["result"]["checks"]}
    assert checks["busy-device"]["status"] == "finding"
    assert checks["busy-device"]["reason"] == "another finding says it"
    assert [finding["rule"] for finding in answer["findings"]].count("competing-contexts") == 1


def test_findings_are_annotations(cli, tmp_path: Path, moods) -> None:
    box = altered(tmp_path, BUSY, ecc_uncorrected=3)
    lines = cli("doctor", "--from", box, "--format", "github").out.splitlines()
    assert lines[0].startswith("::error title=Look after memory errors (ecc-errors)::GPU 0: 3 ")
    assert cli("doctor", "--from", IDLE, "--format", "github").out.startswith("::notice ")
    moods("two,lost", "two")
    assert (
        "::error title=gpuadvise doctor::GPU 0 does not answer"
        in cli("doctor", "--format", "github").out
    )


def test_links_and_xids_stand_in_the_line_of_the_gpu(cli, tmp_path: Path) -> None:
    two = cli("doctor", "--from", str(BOXES / "h200-x2.json")).out
    assert two.count("18 of 18 NVLinks up") == 2
    box = altered(tmp_path, BUSY, xids=[79, 79, 31])
    assert "Xid 79, 31 in the kernel's log" in cli("doctor", "--from", box).out


def linked(tmp_path: Path, **link: object) -> str:
    """Return a copy of the two linked GPUs whose first has another link number 5."""
    box = json.loads((BOXES / "h200-x2.json").read_text())
    box["result"]["devices"][0]["topology"]["nvlinks"][5].update(link)
    path = tmp_path / "box.json"
    path.write_text(json.dumps(box))
    return str(path)


def test_a_link_that_is_down_beside_others_is_found(cli, tmp_path: Path) -> None:
    box = linked(tmp_path, up=False, to=None, bytes_per_second=None)
    answer = document(cli("doctor", "--from", box, "--format", "json"))
    (finding,) = answer["findings"]
    assert finding["rule"] == "inactive-nvlinks"
    assert finding["message"].startswith(
        "17 of 18 NVLinks are up, 903.1 GB/s both ways together. Down: 5."
    )
    assert finding["gain"]["upper_bound"] == pytest.approx(18 / 17)
    assert cli("doctor", "--from", box, "--fail-on", "high").code == 1


def test_errors_of_a_link_count_by_their_kind(cli, tmp_path: Path) -> None:
    found = document(cli("doctor", "--from", linked(tmp_path, replays=3), "--format", "json"))
    assert [(f["rule"], f["priority"]) for f in found["findings"]] == [("nvlink-errors", "low")]
    assert cli("doctor", "--from", linked(tmp_path, replays=3), "--fail-on", "medium").code == 0
    again = linked(tmp_path, replays=3, recoveries=1)
    assert cli("doctor", "--from", again, "--fail-on", "medium").code == 1
    assert "MEDIUM  nvlink-errors" in cli("doctor", "--from", again).out


def test_nvlinks_are_checked_where_a_gpu_can_have_them(cli, moods) -> None:
    def status(rule: str) -> tuple[str, str | None] | None:
        result = document(cli("doctor", "--format", "json"))["result"]
        found = (check for check in result["checks"] if check["check"] == rule)
        return next(((check["status"], check["reason"]) for check in found), None)

    moods("linked,erring")
    assert status("inactive-nvlinks") == ("finding", None)
    assert status("nvlink-errors") == ("finding", None)
    moods("linked,parted")
    assert (
        status("inactive-nvlinks")
        == status("nvlink-errors")
        == ("not available", "NVLinks: none is up")
    )
    moods("linked,asleep")
    assert status("inactive-nvlinks") == ("ok", None)
    moods()
    assert status("inactive-nvlinks") == (
        "not available", "NVLinks: this GPU or driver does not offer it",
    )  # fmt: skip
    moods("mig")
    slices = document(cli("doctor", "--format", "json"))["result"]["checks"]
    assert {check["gpu"] for check in slices if check["check"] == "nvlink-errors"} == {0}


def test_links_whose_errors_were_not_counted_are_not_called_free_of_them(cli) -> None:
    box = str(BOXES / "h200-x2.json")
    checks = document(cli("doctor", "--from", box, "--format", "json"))["result"]["checks"]
    assert {
        (check["status"], check["reason"]) for check in checks if check["check"] == "nvlink-errors"
    } == {("not available", "NVLinks: their errors were not counted")}


def test_a_product_without_nvlinks_is_not_asked_for_them(cli, tmp_path: Path) -> None:
    box = json.loads(Path(IDLE).read_text())
    box["result"]["devices"][0]["nvlink_bandwidth"] = 0
    path = tmp_path / "box.json"
    path.write_text(json.dumps(box))
    checks = document(cli("doctor", "--from", str(path), "--format", "json"))["result"]["checks"]
    assert not [check for check in checks if "nvlink" in check["check"]]


@pytest.mark.parametrize(
    ("mood", "said"), [("capped", "nvidia-smi -pl 700 (as root)"), ("shared", "Nobody set it")]
)
def test_who_lowered_the_power_limit_decides_what_to_do(cli, moods, mood: str, said: str) -> None:
    moods(mood)
    found = document(cli("doctor", "--format", "json"))["findings"]
    (finding,) = [each for each in found if each["rule"] == "lowered-power-limit"]
    assert said in finding["action"]
    assert finding["gain"] is None
    assert finding["priority"] == "low"


def test_what_the_driver_asks_for_is_a_finding(cli, moods) -> None:
    moods("sick")
    found = document(cli("doctor", "--format", "json"))["findings"]
    (finding,) = [each for each in found if each["rule"] == "pending-recovery"]
    assert finding["action"].startswith("Restart the machine")
    moods("modest")
    checks = document(cli("doctor", "--format", "json"))["result"]["checks"]
    assert statuses({"checks": checks})["pending-recovery"] == "not available"


def test_a_log_that_cannot_be_read_is_not_called_free_of_xids(cli, moods, monkeypatch) -> None:
    from gpuadvise.advisor.backends import kernel_log

    def unreadable() -> dict[str, tuple[int, ...]]:
        raise kernel_log.Unreadable("the kernel's log cannot be read")

    monkeypatch.setattr(kernel_log, "xids", unreadable)
    result = document(cli("doctor", "--format", "json"))["result"]
    (check,) = [check for check in result["checks"] if check["check"] == "xid-errors"]
    assert (check["status"], check["reason"]) == (
        "not available",
        "the kernel's log cannot be read",
    )


def test_a_page_that_waits_for_its_retirement_is_found(cli, tmp_path: Path) -> None:
    box = altered(tmp_path, BUSY, page_retirement_pending=True)
    assert "waits for its retirement" in cli("doctor", "--from", box).out


def test_a_threshold_decides_the_exit_code(cli, tmp_path: Path) -> None:
    box = altered(tmp_path, BUSY, ecc_uncorrected=3)
    assert cli("doctor", "--from", box, "--fail-on", "high").code == 1
    assert cli("doctor", "--from", IDLE, "--fail-on", "low").code == 0


def test_a_machine_without_a_driver_is_broken(cli) -> None:
    ran = cli("doctor", "--format", "json")
    answer = document(ran)
    assert (ran.code, answer["result"]["verdict"]) == (3, "broken")
    assert answer["result"]["software"]["python"]


@pytest.mark.parametrize(
    ("processes", "said"),
    [
        ([], ", yet no compute process is listed: a container does not see those of others."),
        (None, "of its memory is in use; its processes are not known."),
    ],
)
def test_full_memory_without_a_process_is_not_called_idle_or_counted(
    cli, tmp_path: Path, processes: list[object] | None, said: str
) -> None:
    saved = json.loads(Path(IDLE).read_text())
    now = saved["result"]["devices"][0]["telemetry"]
    now.update(processes=processes, memory_used_bytes=now["memory_total_bytes"])
    path = tmp_path / "full.json"
    path.write_text(json.dumps(saved))
    out = cli("doctor", "--from", str(path)).out
    assert "MEDIUM  busy-device" in out
    assert said in out
    assert "0 compute processes" not in out


@pytest.mark.parametrize("gate", [(), ("--fail-on", "medium")])
def test_a_saved_machine_without_a_gpu_ends_3_whatever_its_gate(
    cli, tmp_path: Path, gate: tuple[str, ...]
) -> None:
    path = tmp_path / "none.xml"
    path.write_text("<nvidia_smi_log><driver_version>580.1</driver_version></nvidia_smi_log>")
    ran = cli("doctor", "--from", str(path), *gate)
    assert ran.code == 3
    assert "it shows no GPU" in ran.out


def test_a_report_holds_all_checks_and_no_identity(cli) -> None:
    text = cli("doctor", "--from", BUSY, "--report", "markdown").out
    assert "throttled-clocks" in text
    assert "GPU-" not in text
    ids = document(cli("doctor", "--from", BUSY, "--report", "json", "--with-ids"))
    assert "uuid" in ids["result"]["gpus"][0]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--report", "pdf"), '--report: "pdf" is not known here.'),
        (("--fail-on", "urgent"), '--fail-on: "urgent" is not a priority.'),
        (("--watch", "0"), '--watch: "0" is not a time.'),
        (("--load",), "--load needs this machine's GPUs"),
        ((IDLE,), "; a saved answer stands behind --from, as in --from box.json."),
    ],
)
def test_what_cannot_be_is_a_sentence(cli, options: tuple[str, ...], said: str) -> None:
    ran = cli("doctor", "--from", IDLE, *options)
    assert ran.code == 2
    assert said in ran.err


def test_checks_of_a_gpu_at_work_are_rules() -> None:
    assert {rule.id for rule in RULES} >= machine_checks.AT_WORK


@pytest.mark.parametrize("form", [("--format", "json"), ("--report", "json")])
def test_the_path_of_the_file_is_an_id(form: tuple[str, str], cli, tmp_path: Path) -> None:
    box = altered(tmp_path, BUSY)
    assert document(cli("doctor", "--from", box, *form))["input"]["from"] == "box.json"
    assert document(cli("doctor", "--from", box, "--with-ids", *form))["input"]["from"] == box


@pytest.mark.parametrize("unknown", ["temperature_celsius", "temperature_slowdown_celsius"])
def test_heat_without_its_limit_is_not_judged(cli, tmp_path: Path, unknown: str) -> None:
    box = altered(tmp_path, BUSY, **{unknown: None}, reasons={unknown: "not supported"})
    result = document(cli("doctor", "--from", box, "--format", "json"))["result"]
    check = next(check for check in result["checks"] if check["check"] == "hot-device")
    assert (check["status"], check["reason"]) == ("not available", "not supported")


def test_the_documented_line_is_what_the_recorded_machine_says(cli) -> None:
    page = (Path(__file__).parents[2] / "docs" / "doctor.md").read_text()
    for line in cli("doctor", "--from", BUSY).out.splitlines()[:2]:
        assert line in page


def narrowed(tmp_path, **slot: int) -> str:
    """Return a saved machine whose slot gives the GPU less than it can take."""
    saved = json.loads(Path(BUSY).read_text())
    (gpu,) = saved["result"]["devices"]
    telemetry, topology = gpu["telemetry"], gpu["topology"]
    for name, value in slot.items():
        topology[f"pcie_slot_{name}"] = value
        telemetry[f"pcie_{name}"] = telemetry[f"pcie_{name}_max"] = value
    path = tmp_path / "slot.json"
    path.write_text(json.dumps(saved))
    return str(path)


@pytest.mark.parametrize(
    ("slot", "link"), [({"lanes": 8}, "PCIe 5 x8"), ({"generation": 4}, "PCIe 4 x16")]
)
def test_a_slot_that_halves_the_link_is_a_finding(
    cli, tmp_path, slot: dict[str, int], link
) -> None:
    ran = cli("doctor", "--from", narrowed(tmp_path, **slot))
    assert f"The slot holds the GPU to {link}" in ran.out
    assert "50 % of the rate is missing" in ran.out
    whole = cli("doctor", "--from", BUSY).out
    assert "The slot holds" not in whole

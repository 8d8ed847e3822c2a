"""``gpuadvise device`` with GPUs: a recorded H200 and imaginary drivers in every mood."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from gpuadvise.advisor.backends import driver_presence
from gpuadvise.cli.schema import bundled

# Recorded on a real H200, idle and during matrix products; the UUID is replaced.
H200 = str(Path(__file__).parent / "boxes" / "h200.json")
X2 = str(Path(__file__).parent / "boxes" / "h200-x2.json")
BUSY = str(Path(__file__).parent / "boxes" / "h200-busy.json")


def valid(document: dict) -> dict:
    Draft202012Validator(json.loads(bundled("device"))).validate(document)
    return document["result"]


def answer(cli, *args: str, code: int = 0) -> dict:
    ran = cli("device", *args, "--format", "json")
    assert ran.code == code, ran.err
    return valid(json.loads(ran.out))


@pytest.mark.parametrize("box", [H200, BUSY, X2])
def test_a_recording_is_a_valid_answer_and_replays_whole(cli, box: str) -> None:
    recorded = valid(json.loads(Path(box).read_text()))
    again = answer(cli, "--all", "--from", box)
    assert again["devices"][0]["origin"] == "snapshot"
    for device in (*recorded["devices"], *again["devices"]):
        del device["origin"]
    assert _known(again, recorded) == recorded


def _known(answer: object, recorded: object) -> object:
    """Return of *answer* what the older *recorded* one has: fields are only added."""
    if isinstance(answer, dict) and isinstance(recorded, dict):
        return {name: _known(answer[name], value) for name, value in recorded.items()}
    if isinstance(answer, list) and isinstance(recorded, list):
        return [_known(mine, old) for mine, old in zip(answer, recorded, strict=True)]
    return answer


def test_text_of_a_recorded_h200(cli, golden) -> None:
    ran = cli("device", "--from", H200)
    assert (ran.code, ran.err) == (0, "")
    golden("device-h200-recorded.txt", ran.out)
    assert cli("device", "--all", "--from", H200).out == ran.out
    golden("device-h200-recorded.md", cli("device", "--from", H200, "--format", "markdown").out)


def test_text_of_a_busy_h200(cli, golden) -> None:
    out = cli("device", "--from", BUSY).out
    golden("device-h200-busy.txt", out[out.index("\nNow\n") :])


@pytest.mark.parametrize("width", [40, 200])
def test_terminal_of_a_recorded_h200(width: int, golden) -> None:
    from rich.console import Console

    from gpuadvise.advisor.backends.user_files import read_snapshot
    from gpuadvise.cli.device.text import one_gpu
    from gpuadvise.cli.render.terminal import render

    machine = read_snapshot(H200)
    out = io.StringIO()
    console = Console(file=out, width=width, color_system=None)
    console.print(render(one_gpu(machine.gpus[0], machine)))
    text = out.getvalue()
    assert all(len(line) <= width for line in text.splitlines())
    golden(f"device-h200-{width}.txt", "".join(f"{x.rstrip()}\n" for x in text.splitlines()))


def test_a_recording_picks_by_device(cli) -> None:
    assert cli("device", "--from", H200, "--device", "0", "--get", "name").out == "NVIDIA H200\n"
    ran = cli("device", "--from", H200, "--device", "3")
    assert (ran.code, ran.out) == (3, "")
    assert "There are: 0 (NVIDIA H200)." in ran.err


def test_two_recorded_gpus_and_what_joins_them(cli, golden) -> None:
    golden("device-h200-x2.txt", cli("device", "--all", "--from", X2).out)
    assert "1 of 2 GPUs here; --all lists them." in cli("device", "--from", X2).out
    second = answer(cli, "--from", X2, "--device", "1")
    assert second["nvlink_bandwidth"] == pytest.approx(2 * 18 * 26.562e9)
    assert second["topology"]["peers"] == [
        {"index": 0, "path": "NV18", "access": True, "atomics": True, "why_not": None}
    ]


def test_errors_of_links_stand_beside_their_number(cli, moods) -> None:
    moods("linked,erring")
    assert (
        "3 of 4 up at 26.6 GB/s to switch; 1 replay and 2 recoveries so far"
        in cli("device", "--telemetry").out
    )


def test_two_gpus_side_by_side(cli, moods, golden) -> None:
    moods("two,busy,hot", "two")
    ran = cli("device", "--all", "--telemetry")
    assert (ran.code, ran.err) == (0, "")
    golden("device-two.txt", ran.out)
    result = answer(cli, "--all", "--telemetry")
    assert [device["cuda_index"] for device in result["devices"]] == [1, 0]


def test_names_of_processes_cannot_steer_the_terminal(cli, moods) -> None:
    moods("busy")
    ran = cli("device", "--telemetry")
    assert "\x1b" not in ran.out
    assert r"/opt/\x1b[31mtrain" in ran.out
    assert "\x1b" not in cli("device", "--telemetry", "--format", "json").out


def test_live_numbers_in_csv(cli, moods) -> None:
    moods("two", "two")
    out = cli("device", "--all", "--telemetry", "--format", "csv").out
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["uuid"][-1] for row in rows] == ["1", "2"]
    assert rows[0]["telemetry.power_watts"] == "76.5"


def test_a_mig_slice_in_text(cli, moods, golden) -> None:
    moods("mig", "slice")
    golden("device-mig.txt", cli("device", "--all").out)
    uuid = "MIG-00000000-0000-0000-0000-000000000100"
    assert cli("device", "--device", uuid, "--get", "mig.parent_name").out == "NVIDIA H200\n"


def test_a_lost_gpu_is_said_and_the_other_is_answered(cli, moods) -> None:
    moods("two,lost", "two")
    ran = cli("device", "--all")
    assert ran.code == 0
    assert "GPU 0 does not answer: the GPU has fallen off the bus" in ran.out
    assert "NVIDIA H200" in ran.out


def test_everything_refused_is_still_an_answer(cli, moods, golden) -> None:
    moods("modest,unheard,stateless,memoryless", "odd")
    ran = cli("device", "--telemetry")
    golden("device-modest.txt", ran.out)
    result = answer(cli, "--telemetry")
    assert result["sm_count"] is None
    assert "NVML: this GPU or driver does not offer it" in result["reasons"]["power_limit_watts"]


def test_a_driver_that_answers_nothing_is_exit_3_for_all(cli, moods) -> None:
    moods("crash", "crash")
    result = answer(cli, "--all", code=3)
    assert result["devices"] == []
    assert len(result["problems"]) == 2


def test_a_dead_driver_is_said_and_no_other_gpu_answers_for_it(cli, moods) -> None:
    moods("unloaded", "mismatch")
    ran = cli("device", "--format", "json")
    assert (ran.code, ran.out) == (3, "")
    assert "kernel driver is not loaded" in ran.err


def test_telemetry_needs_a_live_gpu(cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(driver_presence, "_UNIX", ())
    ran = cli("device", "--telemetry", "--get", "telemetry")
    assert (ran.code, ran.out) == (3, "")
    assert "no GPU that answers" in ran.err


def test_a_sick_state_is_shown_as_one() -> None:
    from gpuadvise.advisor.telemetry import Telemetry
    from gpuadvise.cli.blocks import LabelledFacts, Tone
    from gpuadvise.cli.device.text import state

    sick = Telemetry(
        row_remap_pending=False,
        row_remap_failed=True,
        ecc_enabled=True,
        ecc_enabled_after_reboot=False,
        ecc_corrected=1,
        ecc_uncorrected=2,
        clock_event_reasons=(),
        pcie_generation=4,
    )
    _, facts = state(sick)
    assert isinstance(facts, LabelledFacts)
    cells = {row.label: row.value for row in facts.rows}
    assert cells["Remapped rows"].tone is Tone.BAD
    assert cells["ECC"].text == "on, off after a restart; 1 corrected, 2 uncorrected errors"
    assert cells["ECC"].tone is Tone.BAD
    assert cells["Clocks held back by"].text == "none"
    assert cells["PCIe link"].text == "generation 4 x?"


def test_what_a_file_does_not_tell_is_not_called_hidden(cli) -> None:
    recorded = Path(__file__).parents[1] / "advisor" / "backends" / "recorded"
    out = cli("device", "--all", "--from", str(recorded / "nvidia-smi-h200-x2.xml")).out
    assert "hidden" not in out
    assert "From GPU to GPU" not in out


def test_a_short_uuid_of_two_gpus_and_an_empty_answer_say_what_to_do(cli, tmp_path: Path) -> None:
    ran = cli("device", "--from", X2, "--device", "GPU-1111")
    assert ran.code == 2
    assert '"GPU-1111" names 2 GPUs here.\nhint: Write more of it, or the number of one' in ran.err
    (tmp_path / "box.json").write_text("\n")
    ran = cli("device", "--from", str(tmp_path / "box.json"))
    assert ran.code == 2
    assert " is empty.\nhint: Did what writes it fail?" in ran.err

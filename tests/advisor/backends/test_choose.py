"""One set of rules for which GPU is meant, on a machine without one."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from gpuadvise.advisor.backends import choose as module
from gpuadvise.advisor.backends.choose import VARIABLE, choose
from gpuadvise.advisor.catalogue import DEFAULT_GPU, find
from gpuadvise.advisor.device import Origin
from gpuadvise.advisor.errors import BadInput, Unavailable
from gpuadvise.advisor.snapshot import device_record


@pytest.fixture(autouse=True)
def no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "driver_present", lambda: False)


def test_a_name_and_a_capability_answer_from_the_catalogue() -> None:
    assert choose(gpu="H200", environ={}).device == find("h200")
    device = choose(cc="sm_90a", environ={}).device
    assert str(device.capability) == "9.0"
    assert device.origin is Origin.CAPABILITY


@pytest.mark.parametrize("asked", [{"cc": "13.0"}, {"gpu": "sm_130"}])
def test_an_unknown_capability_is_answered_with_a_warning(asked: dict[str, str]) -> None:
    choice = choose(**asked, environ={})
    assert choice.device.extrapolated
    (said,) = choice.notes
    assert said == (
        "Compute capability 13.0 is not known: its limits are taken from 12.1, the nearest older one."
    )
    assert choose(cc="12.0", environ={}).notes == ()


def test_nothing_given_is_the_default_with_one_note() -> None:
    choice = choose(environ={})
    assert choice.device == find(DEFAULT_GPU)
    assert len(choice.notes) == 1
    assert choice.device.name in choice.notes[0]
    assert VARIABLE in choice.notes[0]


def test_the_environment_names_the_gpu_silently() -> None:
    choice = choose(environ={VARIABLE: "rtx4090"})
    assert choice.device.id == "rtx-4090"
    assert choice.notes == ()
    assert choose(gpu="h200", environ={VARIABLE: "rtx4090"}).device.id == "h200-sxm"


@pytest.mark.parametrize(
    "two",
    [
        {"gpu": "h100", "cc": "9.0"},
        {"gpu": "h100", "device": "0"},
        {"cc": "9.0", "device": "0"},
        {"gpu": "h100", "from_file": "box.json"},
        {"gpu": "h100", "cc": "9.0", "device": "0", "from_file": "box.json"},
    ],
)
def test_two_choices_are_refused(two: dict[str, str]) -> None:
    with pytest.raises(BadInput, match="two devices"):
        choose(**two, environ={})


@pytest.mark.parametrize(
    ("options", "named"),
    [({"gpu": "nosuch9999"}, "--gpu: "), ({"cc": "0.1"}, "--cc: "), ({"cc": "fast"}, "--cc: ")],
)
def test_unknown_names_say_which_option(options: dict[str, str], named: str) -> None:
    with pytest.raises(BadInput) as caught:
        choose(**options, environ={})
    assert caught.value.message.startswith(named)


def test_a_bad_environment_variable_is_named() -> None:
    with pytest.raises(BadInput, match=VARIABLE):
        choose(environ={VARIABLE: "nosuch9999"})


@pytest.mark.parametrize("device", ["0", "GPU-3f2a", "0000:06:00.0"])
def test_a_live_gpu_that_is_not_there_is_unavailable(device: str) -> None:
    with pytest.raises(Unavailable) as caught:
        choose(device=device, environ={})
    assert caught.value.exit_code == 3


@pytest.mark.parametrize("device", ["", "h100", "-1", "0x0", "1" * 500, "GPU", "1:2:3:4"])
def test_what_cannot_name_a_live_gpu_is_bad_input(device: str) -> None:
    with pytest.raises(BadInput, match="--device"):
        choose(device=device, environ={})


def test_a_snapshot_replays(tmp_path: Path) -> None:
    record = {**device_record(find("h200")), "origin": "live", "index": 1}
    file = tmp_path / "box.json"
    other = {**record, "index": 0, "name": "NVIDIA L4"}
    file.write_text(json.dumps({"result": {"devices": [other, record]}}))
    assert choose(from_file=str(file), environ={}).device.name == "NVIDIA L4"
    choice = choose(from_file=str(file), device="1", environ={})
    assert choice.device.name == find("h200").name
    assert choice.device.origin is Origin.SNAPSHOT
    assert choice.gpu is not None
    with pytest.raises(Unavailable, match='"2"'):
        choose(from_file=str(file), device="2", environ={})


@pytest.mark.parametrize(
    "content", [b"", b"nonsense", b"{}", b"[" * 100_000, b"\xff\xfe", b'{"result":1e999}']
)
def test_a_broken_snapshot_is_bad_input(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "box.json"
    file.write_bytes(content)
    with pytest.raises(BadInput, match="--from: "):
        choose(from_file=str(file), environ={})


H200 = Path(__file__).parent / "recorded" / "nvidia-smi-h200.xml"


@pytest.mark.parametrize("device", [None, "0"])
def test_a_saved_gpu_that_nobody_knows_is_a_sentence(tmp_path: Path, device: str | None) -> None:
    file = tmp_path / "q.xml"
    file.write_text(H200.read_text().replace("NVIDIA H200", "Quux 9000"))
    with pytest.raises(Unavailable, match="Quux 9000 does not tell its compute capability"):
        choose(from_file=str(file), device=device, environ={})


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be"])
def test_a_file_that_a_windows_shell_wrote_is_read(tmp_path: Path, encoding: str) -> None:
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    box = json.dumps({"result": device_record(find("l4"))})
    for text, id in ((H200.read_text(), "h200-sxm"), (box, "l4")):
        file = tmp_path / "saved"
        file.write_bytes((mark + text).encode(encoding))
        assert choose(from_file=str(file), environ={}).device.id == id
    file.write_bytes(b"\xff\xfe\x00\xd8")
    with pytest.raises(BadInput, match="is not JSON"):
        choose(from_file=str(file), environ={})


def test_a_file_that_cannot_be_read_is_bad_input(tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path, "a\0b"):
        with pytest.raises(BadInput, match="--from"):
            choose(from_file=str(path), environ={})


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    file = tmp_path / "huge.json"
    with file.open("wb") as sparse:
        sparse.truncate(1 << 33)
    with pytest.raises(BadInput, match="larger"):
        choose(from_file=str(file), environ={})


def test_a_snapshot_comes_through_stdin() -> None:
    code = (
        "from gpuadvise.advisor.backends.choose import choose\n"
        "print(choose(from_file='-').device.name)"
    )
    record = json.dumps({"result": device_record(find("h200"))})
    done = subprocess.run(
        [sys.executable, "-c", code], input=record, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == find("h200").name


def test_stdin_is_read_as_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    content = json.dumps({"result": device_record(find("l4"))}).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert choose(from_file="-", environ={}).device.id == "l4"


def test_the_catalogue_path_loads_no_driver_code() -> None:
    code = (
        "import sys\n"
        "from gpuadvise.advisor.backends.choose import choose\n"
        "choose(gpu='h100'); choose(cc='9.0')\n"
        "heavy = {'pynvml', 'cuda', 'subprocess', 'ctypes', 'typing_extensions'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    "start", ["| NVIDIA-SMI 580.159.04 ", "==============NVSMI LOG=============="]
)
def test_a_page_of_nvidia_smi_for_people_says_what_to_save(tmp_path: Path, start: str) -> None:
    path = tmp_path / "box.txt"
    path.write_text(f"\n{start}\n")
    with pytest.raises(BadInput, match="a page of nvidia-smi for people") as caught:
        choose(from_file=str(path), environ={})
    assert "nvidia-smi -q -x" in (caught.value.hint or "")

"""``gpuadvise FILE...`` without a command, the first screen, and ``gpuadvise demo``."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from pathlib import Path

import pytest
import traces

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.evidence.kinds import FileContent, content_of
from gpuadvise.cli.default_command import default_command, offer
from gpuadvise.cli.demo.command import RECORDINGS

HERE = Path(__file__).parent
RECORDED = HERE / "recorded"
PROFILES = HERE.parent / "advisor" / "profiles" / "recorded"
CUDA = "__global__ void k(float *x) { x[threadIdx.x] = pow(x[threadIdx.x], 2.0f); }\n"
SCRIPT = "import torch\nfor x in torch.utils.data.DataLoader(d, num_workers=2):\n  x.cuda()\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.json").write_text(traces.kineto([traces.kernel(0, 10)]))
    (tmp_path / "k.cu").write_text(CUDA)
    (tmp_path / "train.py").write_text(SCRIPT)
    shutil.copy(PROFILES / "hand_raw.csv", "report.csv")
    shutil.copy(PROFILES / "ptxas.log", "build.log")
    for name in ("small-1.0-py3-none-any.whl", "80.cubin", "two.ptx", "libsmall.so"):
        shutil.copy(RECORDED / name, name)
    shutil.copy(HERE / "boxes" / "h200.json", "box.json")
    return tmp_path


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ("t.json", "advise t.json"),
        ("report.csv", "advise report.csv"),
        ("report.csv k.cu", "advise report.csv k.cu"),
        ("report.csv build.log 80.cubin", "advise report.csv build.log 80.cubin"),
        ("build.log --gpu h200", "advise build.log --gpu h200"),
        ("k.cu", "lint k.cu"),
        ("k.cu train.py --fail-on high", "lint k.cu train.py --fail-on high"),
        ("small-1.0-py3-none-any.whl", "compat small-1.0-py3-none-any.whl"),
        ("libsmall.so --gpu h100", "compat libsmall.so --gpu h100"),
        ("80.cubin two.ptx", "kernels 80.cubin two.ptx"),
        ("box.json", "doctor --from box.json"),
    ],
)
def test_files_stand_for_a_command(files: str, command: str, folder: Path, cli) -> None:
    ran, typed = cli(*files.split()), cli(*command.split())
    assert ran.out == f"{typed.out}\nSame as: gpuadvise {command}\n"
    assert (ran.code, ran.err) == (typed.code, typed.err)


def test_a_data_format_stays_data(folder: Path, cli) -> None:
    ran = cli("train.py", "--json")
    assert json.loads(ran.out)["schema"] == "gpuadvise.lint/1"
    assert "note: Same as: gpuadvise lint train.py --json" in ran.err


def test_a_commands_name_wins_over_a_file(folder: Path, cli) -> None:
    (folder / "gpus").write_text(CUDA)
    assert "Same as" not in cli("gpus", "h100").out


def test_what_needs_several_commands_is_refused(folder: Path, cli) -> None:
    ran = cli("box.json", "k.cu")
    assert ran.code == 2
    assert 'No one command is for all of these: "box.json" is for doctor and "k.cu" is' in ran.err
    (folder / "inner").mkdir()
    assert "is a folder beside other files" in cli("k.cu", "inner").err


@pytest.mark.parametrize("name", ["nope.json", "folder/nope", "./x"])
def test_a_file_that_is_not_there_is_said_to_be_none(name: str, folder: Path, cli) -> None:
    ran = cli(name)
    assert ran.code == 2
    assert "is no command, and there is no such file." in ran.err


def test_a_mistyped_command_is_still_one(folder: Path, cli) -> None:
    assert "Did you mean occupancy?" in cli("ocupancy").err


def kept(folder: Path, *names: str) -> None:
    for path in folder.iterdir():
        if path.name not in names:
            path.unlink()


def test_a_folder_is_judged_by_what_it_holds(folder: Path, cli) -> None:
    kept(folder, "t.json", "k.cu")
    ran = cli(".")
    assert '"." holds 1 trace and 1 CUDA source: traces are judged.' in ran.err
    assert ran.out.endswith("\nSame as: gpuadvise timeline .\n")


def test_a_folder_of_sources_is_judged_whole(folder: Path, cli) -> None:
    kept(folder, "k.cu")
    (folder / "train.py").write_text("import torch\n")
    ran = cli(".")
    assert "2 files: " in ran.out
    assert "are judged" not in ran.err  # nothing is left


def test_a_report_in_a_folder_is_joined_with_its_sources(folder: Path, cli) -> None:
    kept(folder, "report.csv", "k.cu", "build.log")
    ran = cli(".")
    assert ran.out.endswith("\nSame as: gpuadvise advise build.log k.cu report.csv\n")
    assert "judged together" in ran.err


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("report.csv", "advise ."),
        ("k.cu", "lint ."),
        ("small-1.0-py3-none-any.whl", "compat ."),
        ("80.cubin", "kernels ."),
        ("build.log", "advise build.log"),
        ("box.json", "doctor --from box.json"),
    ],
)
def test_a_folder_of_one_kind(name: str, command: str, folder: Path) -> None:
    kept(folder, name)
    meant = default_command(["."])
    assert meant is not None
    assert meant.words == f"gpuadvise {command}"


def test_pages_about_code_and_settings_are_no_evidence(folder: Path, cli) -> None:
    kept(folder, "k.cu")
    (folder / "README.md").write_text(f"A kernel:\n\n```cuda\n{CUDA}```\n")
    (folder / "notes.md").write_text("import torch\n")
    (folder / "pyproject.toml").write_text('[project]\nname = "k"\n')
    (folder / "package.json").write_text('{"name": "k", "version": "1"}')
    (folder / "host.cpp").write_text("int main() { return 0; }\n")
    ran = cli(".")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.endswith("Same as: gpuadvise lint .\n")
    assert cli().out.endswith("holds 1 CUDA source: gpuadvise . judges CUDA sources with lint.\n")
    ran = cli("README.md")
    assert ran.code == 2
    assert "nothing tells what this file is" in ran.err


def test_a_quoted_kernel_is_not_joined_with_reports(folder: Path, cli) -> None:
    kept(folder, "report.csv", "k.cu")
    (folder / "page.text").write_text(CUDA)
    (folder / "train.py").write_text(SCRIPT)
    ran = cli(".")
    assert ran.code == 0, ran.err
    assert ran.out.endswith("Same as: gpuadvise advise k.cu report.csv\n")
    assert "1 Python source: reports and CUDA sources are judged together." in ran.err


def test_a_folder_of_descriptions_is_judged(folder: Path) -> None:
    kept(folder)
    (folder / "kernel.toml").write_text('[[kernel]]\nname = "k"\nregs = 32\nblock = 256\n')
    meant = default_command(["."])
    assert meant is not None
    assert meant.words == "gpuadvise advise kernel.toml"


def test_the_first_screen_promises_nothing_of_what_is_below(folder: Path, cli) -> None:
    kept(folder, "k.cu")
    (folder / "reports").mkdir()
    shutil.copy(PROFILES / "hand_raw.csv", folder / "reports" / "report.csv")
    assert cli().out.endswith("1 CUDA source: gpuadvise . judges what is here and below.\n")
    assert cli(".").out.endswith("Same as: gpuadvise advise k.cu reports/report.csv\n")


def test_a_folder_of_nothing_is_refused(tmp_path: Path, cli) -> None:
    assert "holds nothing that a command is for" in cli(str(tmp_path)).err


BOX = PROFILES.parents[1] / "backends" / "recorded" / "nvidia-smi-h200.xml"


def test_each_of_several_machines_is_judged(tmp_path: Path, cli) -> None:
    for name in ("a.xml", "b.xml"):
        shutil.copy(BOX, tmp_path / name)
    files = [str(tmp_path / name) for name in ("a.xml", "b.xml")]
    ran = cli(*files)
    assert (ran.code, ran.err) == (0, "")
    assert [ran.out.count(word) for word in (f"{files[0]}\n1 GPU", f"{files[1]}\n1 GPU")] == [1, 1]
    assert ran.out.endswith(
        f"Same as: gpuadvise doctor --from {files[0]}; gpuadvise doctor --from {files[1]}\n"
    )
    folder = cli(str(tmp_path))
    assert folder.out.count("1 GPU") == 2
    assert "holds 2 dumps of machines." in folder.err
    refused = cli(*files, "--format", "csv")
    assert refused.code == 2
    assert "--format: 2 machines make no one document." in refused.err


def test_a_broken_machine_does_not_keep_the_next_from_being_judged(tmp_path: Path, cli) -> None:
    (tmp_path / "a.xml").write_text("<nvidia_smi_log></nvidia_smi_log>")
    shutil.copy(BOX, tmp_path / "b.xml")
    ran = cli(str(tmp_path / "b.xml"), str(tmp_path / "a.xml"), str(tmp_path / "b.xml"))
    assert ran.code == 3
    assert ran.out.count("1 GPU") == 2


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("advise", "As a baseline: gpuadvise advise FILE --baseline"),
        ("timeline", "Give what that answer was made from."),
    ],
)
def test_an_answer_of_its_own_is_told(command: str, said: str, tmp_path: Path, cli) -> None:
    own = tmp_path / "own.json"
    own.write_text(f'{{\n "schema": "gpuadvise.{command}/1", "result": {{}}}}')
    for ran in (cli(str(own)), cli("advise", str(own))):
        assert ran.code == 2
        assert f'own.json" is an answer of gpuadvise {command}, and no evidence.' in ran.err
        assert said in ran.err


def test_an_installed_package_is_for_compat() -> None:
    meant = default_command(["zstandard", "--gpu", "h100"])
    assert meant is not None
    assert meant.words == "gpuadvise compat zstandard --gpu h100"
    assert default_command(["pytest-xdist"]) is None  # holds no code for any machine


def test_the_first_screen_offers_what_is_there(folder: Path, cli) -> None:
    assert cli().out.endswith("gpuadvise . judges reports with advise.\n")
    assert offer(str(folder / "missing")) is None
    kept(folder)
    assert cli().out == cli("--help").out


def test_the_first_screen_shows_one_file_of_each_kind(cli) -> None:
    out = cli("--help").out
    for example in ("trace.json", "report.ncu-rep a.cu", "train.py", "app.whl", "demo"):
        assert f"gpuadvise {example}" in out.replace("dist/", "")


@pytest.mark.parametrize(
    ("name", "content", "hint"),
    [
        ("run.nsys-rep", b"\x01\x02\0", "nsys export --type sqlite"),
        ("stats.csv", b'"Time (%)","Total Time (ns)","Instances"\n1,2,3\n', "nsys export"),
        ("smi.txt", b"==============NVSMI LOG==============\n", "nvidia-smi -q -x"),
        ("smi.xml", b"<?xml?>\n<nvidia_smi_log>\n", "doctor --from"),
        ("notes.txt", b"Nothing of the kind.\n", "told by content"),
        ("noise", bytes(range(256)) * 20, "told by content"),
    ],
)
def test_what_no_command_reads_is_refused_with_a_way(
    name: str, content: bytes, hint: str, tmp_path: Path, cli, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / name
    path.write_bytes(content)
    if name != "smi.xml":
        with pytest.raises(BadInput) as refused:
            content_of(name)
        assert hint in (refused.value.hint or "")
        assert cli(name).code == 2
    if name not in ("notes.txt", "noise"):
        ran = cli("advise", name)
        assert ran.code == 2
        assert hint in ran.err
        assert "not JSON" not in ran.err


def test_contents_are_told_without_their_names(folder: Path) -> None:
    for name, content in {"k.cu": FileContent.CUDA, "train.py": FileContent.PYTHON}.items():
        (folder / "text").write_bytes((folder / name).read_bytes())
        assert content_of("text") is content
    assert content_of(os.fspath(folder)) is FileContent.FOLDER


@pytest.mark.parametrize("name", [*RECORDINGS])
def test_a_demonstration_is_the_answer_of_its_command(name: str, cli) -> None:
    ran = cli("demo", name)
    assert ran.code == 0
    [said] = [line for line in ran.out.splitlines() if line.startswith("Same as: gpuadvise ")]
    answer = cli(*shlex.split(said)[3:]).out
    assert answer in ran.out
    assert "HIGH" in answer or "MEDIUM" in answer


def test_a_demonstration_joins_gain_and_line(cli) -> None:
    out = cli("demo", "profile").out
    [title] = [line for line in out.splitlines() if "[bank-conflicts]" in line]
    assert "kernels.cu:17:65: transpose_conflict" in title


def test_a_recording_that_is_not_there(cli) -> None:
    ran = cli("demo", "film")
    assert ran.code == 2
    assert "Use trace, profile or source." in ran.err


def test_what_ncu_prints_while_it_records_is_no_report(tmp_path: Path, cli) -> None:
    log = tmp_path / "run.txt"
    log.write_text(
        "==PROF== Connected to process 7 (/home/a/app)\n"
        '==PROF== Profiling "turn" - 0: 0%....50%....100% - 40 passes\n'
        "done\n==PROF== Report: /home/a/app.ncu-rep\n"
    )
    for line in ([str(log)], ["advise", str(log)]):
        ran = cli(*line)
        assert ran.code == 2
        assert "is what ncu prints while it records, and has no numbers." in ran.err
        assert "==PROF== Report:" in ran.err
    (tmp_path / "nothing").write_bytes(b"")
    assert "is empty." in cli(str(tmp_path / "nothing")).err

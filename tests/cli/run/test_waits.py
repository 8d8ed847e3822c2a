"""``gpuadvise lint --runtime``: a program runs as it is, and its waits for the GPU are findings.

A torch stands in that warns of waits as PyTorch does: no GPU is here. Where PyTorch itself is installed
the hook is tried on it, too; tests/gpu does so with a GPU.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

STAND_IN = {
    "torch/__init__.py": """
from torch import cuda
class Loss:
    def item(self):
        cuda.wait()
        return 1.0
    def __repr__(self):
        return "Loss(%s)" % self.item()
""",
    "torch/cuda.py": """
import os, warnings
queued, mode = [], "default"
def _lazy_call(then): queued.append(then)
def is_initialized(): return not queued and "NO_USE" not in os.environ
def is_available(): return "NO_GPU" not in os.environ
def set_sync_debug_mode(chosen):
    global mode
    mode = chosen
    warnings.warn("Synchronization debug mode is a prototype feature and does not yet detect all")
def first_use():
    while queued: queued.pop()()
def wait():
    first_use()
    if mode == "warn":
        warnings.warn("called a synchronizing CUDA operation (Triggered internally at x.cpp:1.)")
def synchronize(): wait()
""",
    "library.py": """
def clip(loss): return loss.item()
def call(then): return then()
""",
}
TRAINING = """\
import sys
import torch, library

def train(loss, steps):
    for _ in range(steps):
        total = loss.item()
        library.clip(loss)
    torch.cuda.synchronize()
    print(loss)  # gpuadvise: ignore[hidden-synchronizations] at the end

def main():
    print("out", sys.argv[1:])
    print("err", file=sys.stderr)
    train(torch.Loss(), 4)
    if "twice" in sys.argv:
        train(torch.Loss(), 1)

main()
sys.exit(int(sys.argv[1]))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in STAND_IN.items():
        path = tmp_path / "site-packages" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "tmp").mkdir()
    (tmp_path / "train.py").write_text(TRAINING)
    return tmp_path


def audit(
    folder: Path, *options: str, program: tuple[str, ...] = ("train.py", "0"), **more: str
) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "PYTHONPATH": str(folder / "site-packages"),
        "TMPDIR": str(folder / "tmp"),
        "PATH": os.path.dirname(sys.executable) + ":/usr/bin:/bin",
    } | more  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "gpuadvise", "lint", "--runtime", *options, "--", sys.executable, *program],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert not list((folder / "tmp").iterdir())
    return done


def findings(folder: Path, *options: str, **more: str) -> list[dict[str, object]]:
    saved = folder / "waits.json"
    audit(folder, "--format", "json", "--output", str(saved), *options, **more)
    said = json.loads(saved.read_text())["findings"]
    assert isinstance(said, list)
    return said


def test_waits_are_counted_by_place_and_the_program_stays_as_it_is(folder: Path) -> None:
    done = audit(folder)
    assert (done.returncode, done.stdout) == (0, "out ['0']\nLoss(1.0)\n")
    assert done.stderr.startswith("err\n")
    assert "prototype" not in done.stderr
    assert "train.py:6:9: MEDIUM synchronizing-reads" in done.stderr
    called = "called from main (line 14) in <module> (line 18)."
    assert f"waited here for the GPU 4 times while the program ran through item, {called}" in (
        done.stderr
    )
    assert "4 times while the program ran through clip, called" in done.stderr
    assert "train.py:8:5: LOW synchronizations-in-loops" in done.stderr
    assert "once" in done.stderr
    assert "train.py:9:" not in done.stderr  # the comment of a neighbouring rule accepts it
    assert "10 waits for the GPU at 4 lines" in done.stderr


def test_the_programs_own_exit_code_comes_first(folder: Path) -> None:
    assert audit(folder, "--fail-on", "medium", program=("train.py", "7")).returncode == 7
    assert audit(folder, "--fail-on", "medium").returncode == 1
    assert audit(folder, "--fail-on", "high", "--ignore", "synchronizing-reads").returncode == 0


def test_other_ways_to_a_place_are_counted_with_it(folder: Path) -> None:
    done = audit(folder, program=("train.py", "0", "twice"))
    assert "5 times while the program ran through item, called from main (line 14)" in done.stderr
    assert "and 1 other way." in done.stderr


def test_data_goes_to_a_file(folder: Path) -> None:
    said = findings(folder)
    assert [(f["rule"], f["priority"], f["location"]["line"]) for f in said] == [  # type: ignore[index]
        ("synchronizing-reads", "medium", 6),
        ("synchronizing-reads", "medium", 7),
        ("synchronizations-in-loops", "low", 8),
    ]
    sarif = folder / "waits.sarif"
    audit(folder, "--format", "sarif", "--output", str(sarif))
    results = json.loads(sarif.read_text())["runs"][0]["results"]
    assert len(results) == 4
    assert [bool(result.get("suppressions")) for result in results] == [False, False, False, True]


def test_settings_and_baselines_allow_waits(folder: Path) -> None:
    known = json.dumps({"kept": findings(folder)})
    assert "train.py" in known
    assert findings(folder, "--baseline", str(folder / "waits.json")) == []
    (folder / "gpuadvise.toml").write_text(
        '[per_file_ignores]\n"train.py" = ["synchronizing-reads"]\n'
    )
    assert [f["rule"] for f in findings(folder)] == ["synchronizations-in-loops"]
    (folder / "gpuadvise.toml").write_text('exclude = ["train.py"]\n')
    done = audit(folder)
    assert "No wait for the GPU." in done.stderr


@pytest.mark.parametrize(
    "filters",
    [
        "warnings.simplefilter('ignore')",
        "warnings.simplefilter('error')",
        "warnings.resetwarnings(); warnings.simplefilter('error')",
        "warnings.catch_warnings(record=True).__enter__(); warnings.simplefilter('once')",
        "warnings.filters.insert(0, ('error', None, Warning, None, 0)); warnings.filters[:] = []",
    ],
)
def test_the_programs_own_filters_hide_no_wait(folder: Path, filters: str) -> None:
    (folder / "train.py").write_text(f"import torch, warnings\n{filters}\n{TRAINING}")
    assert len(findings(folder)) == 3


def test_the_programs_own_warnings_stay(folder: Path) -> None:
    program = "import torch, warnings\ntorch.Loss().item()\nwarnings.warn('mind')\n"
    (folder / "train.py").write_text(program)
    assert "train.py:3: UserWarning: mind\n" in audit(folder).stderr


def test_waits_before_a_program_is_killed_are_kept(folder: Path) -> None:
    program = (
        "import os, torch\nfor _ in range(3):\n    torch.Loss().item()\nos.kill(os.getpid(), 9)\n"
    )
    (folder / "train.py").write_text(program)
    done = audit(folder)
    assert done.returncode == 128 + 9
    assert "train.py:3:5: LOW" in done.stderr


def test_forks_and_other_interpreters(folder: Path) -> None:
    """What a fork waits for is not counted twice; another interpreter counts for itself."""
    (folder / "train.py").write_text(
        "import os, subprocess, sys, torch\n"
        "torch.Loss().item()\n"
        "if len(sys.argv) < 3:\n"
        "    if not os.fork():\n"
        "        torch.Loss().item(); sys.exit()\n"
        "    os.wait()\n"
        "    subprocess.run([sys.executable, 'train.py', '0', 'inner'])\n"
    )
    (wait,) = findings(folder)
    assert "twice" in str(wait["message"])


@pytest.mark.parametrize(
    ("program", "more", "words"),
    [
        ("print(1)", {}, "did not import torch"),
        ("import torch", {"NO_USE": "1"}, "never used the GPU"),
        ("import torch", {"NO_GPU": "1", "NO_USE": "1"}, "PyTorch sees no GPU here"),
        ("import os, torch; os._exit(0)", {}, "ended before it could say"),
        ("import torch.cuda", {"OLD": "1"}, "older than 1.10"),
    ],
)
def test_why_nothing_was_counted(
    folder: Path, program: str, more: dict[str, str], words: str
) -> None:
    if more.get("OLD"):
        cuda = folder / "site-packages" / "torch" / "cuda.py"
        cuda.write_text(cuda.read_text().replace("set_sync_debug_mode", "other"))
    (folder / "train.py").write_text(program)
    done = audit(folder, **more)
    assert done.returncode == 3
    assert words in done.stderr
    (folder / "train.py").write_text(f"{program}\nraise SystemExit(5)")
    if "_exit" not in program:
        assert audit(folder, **more).returncode == 5


def test_a_program_that_never_waits(folder: Path) -> None:
    (folder / "train.py").write_text("import torch\ntorch.cuda.first_use()\n")
    done = audit(folder, "--fail-on", "low")
    assert (done.returncode, "No wait for the GPU." in done.stderr) == (0, True)


def test_waits_in_code_without_a_file_and_in_libraries_alone(folder: Path) -> None:
    (folder / "train.py").write_text(
        "import torch, library\nexec(compile('torch.Loss().item()', 'gone.py', 'exec'))\n"
        "library.call(torch.Loss().item)\n"
    )
    places = [f["location"] for f in findings(folder)]
    assert [(p["file"], p["line"]) for p in places] == [("gone.py", 1), ("train.py", 3)]  # type: ignore[index]
    (folder / "site-packages" / "lonely.py").write_text("import torch\ntorch.Loss().item()\n")
    done = audit(folder, program=("-m", "lonely"))
    assert "synchronizing-reads" in done.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--fix",), "--fix is not for --runtime"),
        (("--since", "main"), "--since is not for --runtime"),
        (("--format", "json"), "needs --output FILE"),
        (("--get", "files"), "--get needs --output FILE"),
        (("--output", "no/where"), "is no file that could be written"),
        (("--fail-on", "never"), "is not a priority"),
    ],
)
def test_what_is_refused_before_the_program_runs(
    folder: Path, options: tuple[str, ...], words: str
) -> None:
    done = audit(folder, *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr


def test_programs_that_are_none(folder: Path, process) -> None:
    assert process("lint", "--runtime", "--", "no-such-program").code == 2
    done = process("lint", "--runtime", "--", "true")
    assert (done.code, "starts no Python that has PyTorch" in done.err) == (3, True)
    assert process("lint", "--output", "x", "a.py").code == 2


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
def test_pytorch_itself_without_a_gpu(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import torch\nprint(torch.ones(2).sum().item())\n")
    line = [sys.executable, "-m", "gpuadvise", "lint", "--runtime", "--", sys.executable]
    done = subprocess.run(
        [*line, str(tmp_path / "train.py")],
        env=os.environ | {"CUDA_VISIBLE_DEVICES": ""},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (3, "2.0\n")
    assert "PyTorch sees no GPU here" in done.stderr

"""Where packages, threads and processes are missing the answer is the same, or says what to install."""

from __future__ import annotations

import gzip
import lzma
import re
from pathlib import Path

import pytest
import zstandard
from missing_modules import run_without

RECORDED = Path(__file__).parents[1] / "truth" / "recorded"
# What a Python in a browser lacks, or an install without its packages.
LACKING = (
    "_multiprocessing", "cuda", "lz4", "numpy", "pycxxfilt", "pynvml", "resource", "tree_sitter",
    "tree_sitter_cuda",
)  # fmt: skip
REFUSING = """\
import errno, os, subprocess, threading
def no_thread(*_): raise RuntimeError("can't start new thread")
def no_process(*_, **__): raise OSError(138, "processes are not supported")
threading.Thread.start, os.fork, subprocess.Popen = no_thread, no_process, no_process
del os.sched_getaffinity
"""
PYTHON = """\
import torch


def train(model, loader, optimizer):
    for batch, labels in loader:
        noise = torch.zeros(64).to("cuda")
        loss = model(batch.cuda() + noise, labels)
        loss.backward()
        optimizer.step()
"""
CUDA = "__global__ void k(float *x) { x[threadIdx.x * 2] = 1.0; }\n"
DESCRIBED = '{"gpu": "h200", "regs": 72, "block": 100}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    report = lzma.decompress((RECORDED / "jax-1.ncu-rep.xz").read_bytes())
    (tmp_path / "x.ncu-rep").write_bytes(report)
    (tmp_path / "x.ncu-rep.gz").write_bytes(gzip.compress(report))
    (tmp_path / "x.ncu-repz").write_bytes(zstandard.ZstdCompressor().compress(report))
    (tmp_path / "a.py").write_text(PYTHON)
    (tmp_path / "k.cu").write_text(CUDA)
    (tmp_path / "many.ndjson").write_text(DESCRIBED * 14_000)  # worth processes
    return tmp_path


@pytest.mark.parametrize(
    "line",
    [
        "advise x.ncu-rep",
        "advise x.ncu-rep.gz --format json",
        "kernels x.ncu-rep --format json",
        "advise many.ndjson --format csv",
        "lint a.py --format json",
        "occupancy --regs 72 --block 256 --gpu h100",
    ],
)
def test_without_packages_threads_and_processes_the_answer_is_the_same(
    line: str, folder: Path
) -> None:
    whole = run_without((), *line.split(), folder=folder)
    without = run_without(LACKING, *line.split(), before=REFUSING, folder=folder)
    assert without.stdout == whole.stdout
    assert without.returncode == whole.returncode == 0
    mangled = "note: Names stay mangled: the package pycxxfilt cannot be loaded.\n"
    assert without.stderr.replace(mangled, "") == whole.stderr


@pytest.mark.parametrize("lacking", ["tree_sitter", "tree_sitter_cuda"])
@pytest.mark.parametrize(
    "line", ["lint k.cu", "advise k.cu --gpu h100", "whatif k.cu --arch sm_90", "lint k.cu --fix"]
)
def test_cuda_without_its_parser_says_what_to_install(
    line: str, lacking: str, folder: Path
) -> None:
    ran = run_without((lacking,), *line.split(), folder=folder)
    assert (ran.returncode, ran.stdout) == (3, "")
    package = lacking.replace("_", "-")
    assert f"without their parser: the Python package {package} is not installed." in ran.stderr
    assert "hint: pip install tree-sitter tree-sitter-cuda." in ran.stderr
    assert (folder / "k.cu").read_text() == CUDA


def test_a_grammar_that_does_not_fit_the_parser_is_said(folder: Path) -> None:
    before = "import tree_sitter\ndef misfit(*_): raise ValueError('ABI 99')\ntree_sitter.Language = misfit\n"
    ran = run_without((), "lint", "k.cu", before=before, folder=folder)
    assert ran.returncode == 3
    assert "without their parser: it cannot be loaded: ABI 99." in ran.stderr


@pytest.mark.parametrize(
    "line",
    ["lint k.cu a.py", "lint .", "lint . --format json", "lint . --diff", "lint . --fail-on high"],
)
def test_python_is_linted_without_the_parser_of_cuda(line: str, folder: Path) -> None:
    """And the exit code says that not all was."""
    ran = run_without(("tree_sitter",), *line.split(), folder=folder)
    assert ran.returncode == 3
    assert "host-built-tensors" in ran.stdout or "--diff" in line
    said = re.findall("note: CUDA sources cannot be read without their parser.*\n", ran.stderr)
    assert len(said) == 1
    assert "pip install tree-sitter" in said[0]


def test_a_zstandard_report_that_nothing_reads_says_what_to_install(folder: Path) -> None:
    lacking = ("zstandard", "compression")
    for line in ("advise x.ncu-repz", "kernels x.ncu-repz"):
        ran = run_without(lacking, *line.split(), folder=folder)
        assert (ran.returncode, ran.stdout) == (3, ""), ran.stderr
        assert "x.ncu-repz is packed with Zstandard, and the Python package" in ran.stderr
        assert "hint: pip install zstandard, or use Python 3.14" in ran.stderr

"""The library as its users meet it: the import, threads, types, notebooks, errors."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError
from pathlib import Path

import numpy as np
import pytest

import gpuadvise
from gpuadvise.advisor.backends.live import live_machine
from gpuadvise.advisor.catalogue import find
from gpuadvise.advisor.occupancy.launch import Launch
from gpuadvise.advisor.occupancy.model import occupancy
from gpuadvise.cli.blocks import Cell, Drawing, Fact, LabelledFacts, Line
from gpuadvise.cli.render.html import element

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "tests" / "cli" / "recorded"
CONSUMER = """
import gpuadvise
from gpuadvise import Answer, Finding, GpuAdviseError
from gpuadvise.api.answers.kernels import KernelsResult


def fullest(regs: int) -> float:
    answer = gpuadvise.occupancy(regs=regs, block=(16, 16), smem=16384, gpu="h100")
    step = answer.result.next_steps[0]
    print(step.resource, step.from_, answer.device.memory_bandwidth if answer.device else None)
    limits: int | None = answer.result.limits["registers"]
    return answer.result.occupancy if limits else 0.0


def urgent(path: str) -> tuple[Finding, ...]:
    try:
        findings = gpuadvise.advise(gpuadvise.read(path), gpu="h200").findings
    except GpuAdviseError as error:
        print(error.message, error.hint)
        return ()
    return tuple(f for f in findings if f.priority == "high" and f.gain and f.gain.upper_bound > 1.1)


def runs(path: str) -> bool:
    everywhere = gpuadvise.compat(path, all_gpus=True).result.matrix
    return gpuadvise.compat(path, gpu="l4").result.verdict == "runs" or bool(everywhere)


kernels: Answer[KernelsResult] = gpuadvise.kernels("a.cubin")
rows = kernels.to_rows()
halves = gpuadvise.sweep(regs=[32, 64], block=256, gpu="h100").occupancy
words: str = gpuadvise.occupancy(regs=32, gpu="h100").result.occupancy  # type: ignore[assignment]
"""


def modules_after(code: str) -> set[str]:
    script = f"{code}\nimport sys\nprint(' '.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_the_import_loads_no_submodule() -> None:
    assert modules_after("import gpuadvise") - modules_after("pass") == {"gpuadvise"}


def test_an_answer_loads_neither_the_parser_nor_the_terminal() -> None:
    asked = "import gpuadvise; gpuadvise.occupancy(regs=72, block=256, gpu='h100')"
    assert not modules_after(asked) & {"typer", "rich", "numpy", "gpuadvise.cli.app"}


def test_every_name_is_there_and_listed() -> None:
    for name in gpuadvise.__all__:
        assert getattr(gpuadvise, name) is not None
    assert set(gpuadvise.__all__) <= set(dir(gpuadvise))
    with pytest.raises(AttributeError, match="no attribute 'occupency'"):
        gpuadvise.occupency  # noqa: B018  # type: ignore[attr-defined]


def test_threads_get_their_own_answers(capfd: pytest.CaptureFixture[str]) -> None:
    def ask(regs: int) -> tuple[int, int, str]:
        answer = gpuadvise.occupancy(regs=regs, block=256, gpu="h100")
        advice = gpuadvise.advise(regs=regs, block=256, grid=96, gpu="h200")
        listed = gpuadvise.kernels(RECORDED / "two.fatbin", gpu="h100", block=regs)
        assert listed.to_dict()["input"]["block"] == regs
        return (
            answer.result.blocks_per_sm,
            answer.to_dict()["input"]["regs"],
            advice.findings[0].rule,
        )

    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(ask, range(16, 96)))
    assert together == list(map(ask, range(16, 96)))
    assert capfd.readouterr() == ("", "")


def test_a_program_with_it_passes_strict_types(tmp_path: Path) -> None:
    (tmp_path / "consumer.py").write_text(CONSUMER)
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir", str(tmp_path), "consumer.py"],
        capture_output=True, text=True, cwd=tmp_path, env={"MYPYPATH": str(ROOT / ".typing")},
    )  # fmt: skip
    assert checked.returncode == 0, checked.stdout


def test_records_are_frozen_and_hold_what_the_json_says() -> None:
    answer = gpuadvise.occupancy(regs=72, block=256, grid=4096, gpu="h100")
    with pytest.raises(FrozenInstanceError):
        answer.result.occupancy = 1.0  # type: ignore[misc]
    document = answer.to_dict()
    assert answer.result.next_steps[0].from_ == document["result"]["next_steps"][0]["from"]
    assert dict(answer.input) == document["input"]
    assert answer == gpuadvise.occupancy(regs=72, block=256, grid=4096, gpu="h100")
    assert answer != gpuadvise.occupancy(regs=71, block=256, grid=4096, gpu="h100")
    assert len({answer, answer}) == 1
    document["result"].clear()
    assert answer.to_dict()["result"]


def test_texts_are_those_of_the_command(cli) -> None:
    answer = gpuadvise.occupancy(regs=72, block=256, gpu="h100")
    line = ("occupancy", "--regs", "72", "--block", "256", "--gpu", "h100")
    assert f"{answer}\n" == cli(*line).out
    assert answer._repr_markdown_() == cli(*line, "--format", "markdown").out
    assert repr(answer).startswith("<occupancy: NVIDIA H100")


def test_a_notebook_shows_tables_and_escapes_names(tmp_path: Path) -> None:
    (tmp_path / "k.toml").write_text(
        '[[kernel]]\nname = "<b>bad</b>"\ngpu = "h200"\nregs = 72\nblock = 100\n'
    )
    html = gpuadvise.advise(tmp_path / "k.toml")._repr_html_()
    assert "&lt;b&gt;bad" in html
    assert "<b>" not in html
    table = gpuadvise.gpus("h100", "h200")._repr_html_()
    assert "<table>" in table
    assert "text-align:right" in gpuadvise.occupancy(regs=72, block=256, gpu="h100")._repr_html_()
    facts = gpuadvise.roofline(flops=1e9, bytes=1e9, gpu="h200")._repr_html_()
    assert "<h4>Ridge points</h4>" in facts


def test_answers_are_values_that_other_processes_take() -> None:
    answer = gpuadvise.occupancy(regs=72, block=256, gpu="h100")
    copied = pickle.loads(pickle.dumps(answer))
    assert copied == answer
    assert copied.result == answer.result
    assert str(copied) == str(answer)
    assert copy.deepcopy(answer.result) == answer.result
    as_dict = dataclasses.asdict(answer.result)
    assert json.loads(json.dumps(as_dict["limits"])) == answer.to_dict()["result"]["limits"]
    with pytest.raises(TypeError, match="does not change"):
        answer.result.limits["warps"] = 1  # type: ignore[index]


def test_an_answer_says_where_its_fields_are() -> None:
    answer = gpuadvise.occupancy(regs=72, block=256, gpu="h100")
    with pytest.raises(AttributeError, match=r"it is answer\.result\.limiters$"):
        _ = answer.limiters  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"no attribute 'nothing'$"):
        _ = answer.nothing  # type: ignore[attr-defined]


def test_hints_are_written_as_calls() -> None:
    with pytest.raises(gpuadvise.GpuAdviseError) as raised:
        gpuadvise.roofline(time=1e-3)
    assert raised.value.hint is not None
    assert 'flops=2e12 bytes="3GB" time="4ms" gpu="h100".' in raised.value.hint


def test_errors_name_the_parameter() -> None:
    with pytest.raises(gpuadvise.GpuAdviseError, match=r'^dynamic_smem: "x" is not'):
        gpuadvise.occupancy(regs=32, block=256, dynamic_smem="x", gpu="h100")
    with pytest.raises(gpuadvise.GpuAdviseError, match="No file is named"):
        gpuadvise.lint()
    with pytest.raises(TypeError, match="has no option 'blok'"):
        gpuadvise.advise(regs=32, blok=256)
    with pytest.raises(gpuadvise.GpuAdviseError, match="h1000000"):
        gpuadvise.gpu("h1000000")


def test_numbers_are_read_with_all_their_digits() -> None:
    small = gpuadvise.roofline(flops=1e-7, bytes=3, time=1e-9, gpu="h200").to_dict()["input"]
    assert (small["flops"], small["seconds"]) == (1e-7, 1e-9)


def test_a_sweep_is_the_model_over_arrays() -> None:
    regs, blocks = np.arange(16, 256, 7), np.array([32, 100, 256, 1024])
    swept = gpuadvise.sweep(regs=regs[:, None], block=blocks, dynamic_smem=1024, gpu="h100")
    assert swept.occupancy.shape == (len(regs), len(blocks))
    one = occupancy(
        find("h100").limits, Launch(threads=100, registers=int(regs[5]), dynamic_shared=1024)
    )
    assert swept.blocks_per_sm[5, 1] == one.blocks_per_sm
    with pytest.raises(gpuadvise.GpuAdviseError, match="regs is empty"):
        gpuadvise.sweep(regs=[], block=256, gpu="h100")


def test_evidence_is_read_before_it_is_judged() -> None:
    evidence = gpuadvise.read(RECORDED / "spilling.cubin", gpu="h200")
    assert evidence.kernels[0].gpu == "NVIDIA H200 SXM 141 GB"
    assert evidence.to_rows()[0]["name"] == evidence.kernels[0].name
    assert json.loads(json.dumps(evidence.to_dict()))["paths"] == list(evidence.paths)
    judged = gpuadvise.advise(evidence, gpu="h200")
    assert judged == gpuadvise.advise(RECORDED / "spilling.cubin", gpu="h200")
    assert {finding.rule for finding in judged.findings} >= {"register-spills"}


def test_without_a_gpu_every_gpu_is_judged(capfd: pytest.CaptureFixture[str]) -> None:
    answer = gpuadvise.compat(RECORDED / "two.fatbin")
    assert "matrix" in answer.to_dict()["result"]
    assert "No live GPU" in answer.notes[0]
    assert capfd.readouterr() == ("", "")


def test_what_could_not_be_read_is_said() -> None:
    answer = gpuadvise.kernels(RECORDED / "truncated.cubin", RECORDED / "80.cubin")
    assert not answer.complete
    assert answer.notes
    assert answer.result.not_judged


def test_measuring_needs_a_gpu() -> None:
    if live_machine().gpus:
        pytest.skip("there is one")
    with pytest.raises(gpuadvise.GpuAdviseError, match="Measuring needs a live GPU") as error:
        gpuadvise.measure("copies", quick=True)
    assert error.value.exit_code == 3


def test_drawings_keep_their_shape_in_notebooks() -> None:
    drawn = element(
        [Line("  told", indent=2), Drawing("a < b\n  c"), LabelledFacts((Fact("x", Cell("1")),))]
    )
    assert "<pre>a &lt; b\n  c</pre>" in drawn
    assert "margin-left:2ch" in drawn
    assert "<table><tbody>" in drawn


def test_plain_values_are_written_as_options_take_them() -> None:
    answer = gpuadvise.advise(
        regs=32, block=(16, 16), grid=96, launch_bounds=(256, 2), gpu="h200",
        read=2**30, write=2**30, time=2e-3, reported_rate=1e12, h2d=2**28, kernel_time=0.004, d2h=1e-3,
        syncs=True,
    )  # fmt: skip
    given = answer.to_dict()["input"]
    assert (given["block"], given["launch_bounds"]) == ("16x16", "256,2")
    assert (given["time"], given["h2d"], given["d2h"]) == ("0.002s", "268435456B", "0.001s")
    assert given["reported_rate"] == "1000000000000.0B/s"

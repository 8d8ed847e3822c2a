"""Files told by content, read and joined in one call from Python."""

from __future__ import annotations

from pathlib import Path

import pytest
import traces

from gpuadvise.advisor.catalogue.lookup import find
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.evidence.files import read_evidence
from gpuadvise.advisor.facts.bag import Facts
from gpuadvise.advisor.occupancy.launch import Launch
from gpuadvise.rules.source.lint import lint_file

RECORDED = Path(__file__).parent.parent / "profiles" / "recorded"
RAW, BUILD_LOG = RECORDED / "hand_raw.csv", RECORDED / "ptxas.log"
H200 = find("h200")


def test_a_report_and_its_build_log_are_one_kernel_each() -> None:
    evidence = read_evidence(RAW, BUILD_LOG)
    names = [kernel.facts.kernel for kernel in evidence.kernels]
    assert len(names) == len(set(names)) == 8
    (spilling,) = [k.facts for k in evidence.kernels if (k.facts.kernel or "").startswith("spill")]
    assert spilling.profile is not None
    assert spilling.compiled is not None
    assert spilling.compiled.spill_store_bytes == 948
    assert spilling.device is not None
    assert spilling.device.name.startswith("NVIDIA H200")
    assert (evidence.runs, evidence.notes, evidence.damage) == ((), (), ())


def test_a_trace_is_a_run_and_its_kernels(tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    trace.write_text(traces.kineto([traces.kernel(0, 10), traces.kernel(30, 10)]))
    evidence = read_evidence(trace, device=H200)
    run, kernel = evidence.kernels
    assert run.facts.kernel is None
    assert not run.traced
    assert kernel.traced
    assert kernel.facts.run_share == pytest.approx(0.5)
    assert [case.file for case in evidence.runs] == [str(trace)]


def test_of_code_only_what_the_gpu_would_load_is_taken() -> None:
    assert len(read_evidence(BUILD_LOG, device=H200).kernels) == 8
    other = read_evidence(BUILD_LOG, device=find("t4"))
    assert other.kernels == ()
    assert "would load none of its code, which is for sm_90" in other.notes[0]


def test_code_is_launched_as_the_caller_says() -> None:
    launched = Facts(launch=Launch(threads=1024))
    evidence = read_evidence(BUILD_LOG, device=H200, launched=launched)
    assert {k.facts.launch.threads for k in evidence.kernels if k.facts.launch} == {1024}
    assert not any(k.facts.launch.assumed_threads for k in evidence.kernels if k.facts.launch)


def test_a_script_shows_faults_where_somebody_looks_for_them(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text('import torch\nfor i in range(9):\n    x = torch.zeros(9).to("cuda")\n')
    (judged,) = read_evidence(script, lint=lint_file).kernels
    assert [seen.fault for seen in judged.facts.observations or ()] == ["host-built-tensors"]
    (unjudged,) = read_evidence(script).kernels
    assert not unjudged.facts.observations


def test_what_cannot_be_read_is_kept_or_raised(tmp_path: Path) -> None:
    empty = tmp_path / "report.ncu-rep"
    empty.touch()
    (part,) = read_evidence(RAW, empty).damage
    assert (part.place.path, part.message) == (str(empty), "The file is empty.")
    with pytest.raises(BadInput, match="there is no such file"):
        read_evidence(tmp_path / "absent.csv")
    line = tmp_path / "kernels.ndjson"
    line.write_text('{"regs": "many"}\n')
    with pytest.raises(BadInput, match="regs"):
        read_evidence(line)

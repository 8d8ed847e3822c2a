"""What an answer says it judged is what rules gave a verdict on, and nothing is well that nobody saw."""

from __future__ import annotations

import json
import re
import shlex
import tarfile
from pathlib import Path

import pytest
import traces

from gpuadvise.rules.coverage import FROM_A_PROFILE

RECORDED = Path(__file__).parent.parent / "advisor" / "profiles" / "recorded"
TORCH = Path(__file__).parent.parent / "recordings" / "torch.tar.xz"


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("torch")
    with tarfile.open(TORCH) as archive:
        for name in ("./alloc_once.json.gz", "./gemm_bf16.json.gz"):
            archive.extract(name, folder, filter="data")
    return folder


@pytest.mark.parametrize("trace", ["alloc_once.json.gz", "gemm_bf16.json.gz"])
def test_a_trace_judges_few_rules_and_says_so(recordings: Path, trace: str, cli) -> None:
    path = str(recordings / trace)
    document = json.loads(cli("advise", path, "--json").out)
    lacking = {entry["rule"] for entry in document["not_evaluated"]}
    assert {"bank-conflicts", "uncoalesced-access", "register-spills"} <= lacking
    assert len(lacking) > 90
    words = f"{len(lacking)} lacked evidence"
    assert words in cli("advise", path).out


def test_a_rule_that_nobody_could_ask_is_no_clean_bill(recordings: Path, cli) -> None:
    ran = cli("advise", str(recordings / "alloc_once.json.gz"), "--select", "bank-conflicts")
    assert "nothing was judged: 1 rule lacked evidence" in ran.out
    assert "nothing to change" not in ran.out


def test_the_command_names_the_hot_kernels(recordings: Path, cli) -> None:
    out = cli("advise", str(recordings / "alloc_once.json.gz")).out
    command = "ncu --set full -k regex:'^(vectorized_elementwise_kernel)$' -o report ./app"
    assert out.splitlines()[-1].endswith(f"of them judge: {command}")


MANGLED = "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_T1_"
FUSED = "triton_poi_fused_" + "_unsafe_index_add_mul_sigmoid" * 20


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        ([MANGLED], " -k regex:'^(vectorized_elementwise_kernel)$'"),
        ([FUSED, "add"], f" -k regex:'^({FUSED[:60]}.*|add)$'"),
        (["_ZN7unknownXYZ" + "1" * 900, "add"], " -k regex:'^(add)$'"),
        (["a'; rm -rf $HOME #", "`id`", "größe"], ""),
        (["a", "ns::a<int>(float*)", "b", "c", "d"], " -k regex:'^(a|b|c)$'"),
    ],
)
def test_the_command_is_short_and_safe_in_a_shell(
    cli, tmp_path: Path, names: list[str], chosen: str
) -> None:
    trace = tmp_path / "t.json"
    kernels = [traces.kernel(at * 1000, 900 - 100 * at, name) for at, name in enumerate(names)]
    trace.write_text(traces.kineto(kernels))
    last = cli("advise", str(trace)).out.splitlines()[-1]
    command = last.partition("judge: ")[2]
    assert command == f"ncu --set full{chosen} -o report ./app"
    assert len(command) < 300
    words = shlex.split(command)
    if chosen:
        pattern = re.compile(words[words.index("-k") + 1].removeprefix("regex:"))
        assert any(pattern.fullmatch(name) for name in (*names, "vectorized_elementwise_kernel"))


def test_an_idle_gpu_is_never_well(cli, tmp_path: Path) -> None:
    trace = tmp_path / "t.json"
    trace.write_text(traces.kineto([traces.kernel(at * 1000, 100) for at in range(20)]))
    ran = cli("advise", str(trace), "--select", "pageable-transfers")
    assert "no change found, but the GPU is idle for" in ran.out
    assert "nothing to change" not in ran.out


def test_what_a_profile_makes_known_is_what_a_recorded_one_did() -> None:
    from gpuadvise.advisor.backends.settings_file import read_settings
    from gpuadvise.cli.advise.evaluate import Call

    call = Call.of({"files": [str(RECORDED / "hand_raw.csv")]})
    judge = call.judge(read_settings(Path()))
    known = [judge.report(kernel).known for kernel in call.evidence().kernels()]  # type: ignore[arg-type]
    assert frozenset.intersection(*known) == FROM_A_PROFILE


def test_scripts_are_files_and_need_no_gpu(cli, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    code = "import torch\nfrom torch.utils.data import DataLoader\nfor x in DataLoader(d, num_workers=2):\n  x.cuda()\n"
    Path("a.py").write_text(code)
    Path("b.py").write_text(code)
    both = cli("advise", "a.py", "b.py")
    assert both.out.startswith("2 files: ")
    assert "LOW  a.py:3:10: Let loaders pin" in both.out
    assert "LOW  b.py:3:10: Let loaders pin" in both.out
    assert both.err == ""
    one = cli("advise", "a.py")
    assert one.out.startswith("a.py: ")
    assert "H100" not in one.out + one.err


def test_a_binary_and_its_build_log_are_one_set_of_kernels(cli) -> None:
    log = str(RECORDED / "ptxas.log")
    one = json.loads(cli("advise", log, "--gpu", "h200", "--json").out)
    report = json.loads(cli("advise", str(RECORDED / "hand_raw.csv"), log, log, "--json").out)
    assert len(report["result"]["kernels"]) == 8
    said = cli("advise", str(RECORDED / "hand_raw.csv"), log, log).err
    assert "holds no kernel" not in said
    assert len(one["result"]["kernels"]) == 8


def test_instances_of_a_template_share_what_their_source_shows(cli, tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(
        "template <typename T> __global__ void spilling(const T *in, T *out, int n) {\n"
        "  out[threadIdx.x] = powf(in[threadIdx.x], 2.0f);\n}\n"
    )
    log = tmp_path / "build.log"
    log.write_text(
        "".join(
            f"ptxas info    : Compiling entry function '_Z8spillingI{kind}EvPKT_PS0_i' for 'sm_90'\n"
            "ptxas info    : Function properties for k\n"
            "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
            "ptxas info    : Used 40 registers, used 0 barriers\n"
            for kind in "fd"
        )
    )
    document = json.loads(cli("advise", str(log), str(source), "--gpu", "h200", "--json").out)
    seen = [each for each in document["findings"] if each["rule"] == "general-math-functions"]
    assert len(seen) == 1
    assert len(document["result"]["kernels"]) == 2


def test_of_scripts_alone_a_recording_comes_next(cli, tmp_path: Path) -> None:
    script = tmp_path / "train it.py"
    script.write_text(
        "import torch\nloader = torch.utils.data.DataLoader(data)\n"
        "for x in loader:\n    model(x.cuda()).backward()\n"
    )
    said = cli("advise", str(script)).out.splitlines()
    assert said[-1] == (f"A recording says where the time goes: gpuadvise run -- python '{script}'")
    both = cli("advise", str(script), "--regs", "32", "--block", "256").out
    assert "ncu --set full -o report ./app" in both


def test_host_code_of_several_files_is_counted_by_file(cli, tmp_path: Path) -> None:
    host = "__global__ void {0}(float *x) {{ x[0] = 1; }}\nvoid run(float *x) {{ {0}<<<4, 64>>>(x); }}\n"
    for name in ("a", "b"):
        (tmp_path / f"{name}.cu").write_text(host.format(name))
    report = str(RECORDED / "hand_raw.csv")
    files = [str(tmp_path / f"{name}.cu") for name in ("a", "b")]
    assert cli("advise", report, *files).out.startswith("8 kernels and 2 files: ")
    assert cli("advise", report, files[0]).out.startswith("8 kernels and 1 file: ")


def test_a_script_that_tests_other_code_is_said_to_be_spared(cli, tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    script = tmp_path / "tests" / "train.py"
    script.write_text("import torch\nx = torch.zeros(8).cuda()\n")
    assert (
        "tests other code, or is set aside, by its name: its speed is not judged."
        in cli("advise", str(script)).err
    )

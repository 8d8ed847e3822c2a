"""Commands over many files on the workers of a Dask cluster: what they say is the same byte for byte."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import recordings
from cluster_work import dies_at_marks
from dask_clusters import SUPPORT, DaskProcesses, until
from file_servers import http_server
from missing_modules import run_without

from gpuadvise.advisor.engines import cluster
from gpuadvise.cli.fleet.answer import hashed

distributed = pytest.importorskip("distributed", reason="pip install gpuadvise[fleet]")
pytestmark = pytest.mark.skipif(
    not Path("/proc/self").exists(), reason="processes are looked up in /proc"
)
RECORDED = Path(__file__).parent / "recorded"
CORPUS = Path(__file__).parents[1] / "fuzz" / "corpus"
XML = Path(__file__).parents[1] / "advisor" / "backends" / "recorded" / "nvidia-smi-h200.xml"
# Workers on which the imaginary driver of the tests stands for the real one.
DRIVER = """\
import os
from gpuadvise.advisor.backends import driver_presence, kernel_list, kernel_log, readings
driver_presence._UNIX = (os.environ["LD_LIBRARY_PATH"],)
kernel_list.listed = readings.NvmlReport
kernel_log.xids = dict
"""


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory, stub_folder: Path):
    """Return the options that lead to a scheduler with two workers, whose GPUs are imaginary."""
    folder = tmp_path_factory.mktemp("dask")
    (folder / "sitecustomize.py").write_text(DRIVER)
    started = DaskProcesses(folder)
    started.scheduler()
    started.workers(
        2,
        PYTHONPATH=os.pathsep.join((str(folder), str(SUPPORT))),
        LD_LIBRARY_PATH=str(stub_folder),
        STUB="two",
        STUB_CUDA="two",
    )
    with distributed.Client(started.address, set_as_default=False) as client:
        until(lambda: len(client.nthreads()) == 2)
    yield "--engine", "dask", "--scheduler", str(started.file)
    started.stop()


@pytest.fixture
def same(cli, scheduler):
    """Run a command here and on the cluster, and return what it says where both say the same."""

    def run(*args: str):
        here, there = cli(*args), cli(*args, *scheduler)
        assert there == here
        return here

    return run


def test_a_fleet(same, tmp_path: Path) -> None:
    text = XML.read_text()
    for number in range(30):
        lanes = "8x" if number == 7 else "16x"
        dump = text.replace("<current_link_width>16x", f"<current_link_width>{lanes}")
        (tmp_path / f"node{number:02}.xml").write_text(dump)
    (tmp_path / "other.txt").write_text("no dump")
    ran = same("fleet", str(tmp_path), "--format", "json", "--show-hosts")
    assert json.loads(ran.out)["result"]["counts"]["to_look_at"] == 1
    assert same("fleet", str(tmp_path), "--fail-on", "high").code == 1


def test_timelines_of_a_folder(same, tmp_path: Path) -> None:
    recordings.unpack(tmp_path / "all")
    traces = sorted((tmp_path / "all").rglob("*.sqlite"))[:3]
    traces += sorted((tmp_path / "all").rglob("*.trace.json.gz"))[:3]
    folder = tmp_path / "ranks"
    folder.mkdir()
    for trace in traces:
        shutil.copy(trace, folder)
    (folder / "broken.json").write_text('{"traceEvents": [')
    ran = same("timeline", str(folder), "--format", "json")
    assert len(json.loads(ran.out)["result"]["others"]) >= 5
    assert "broken.json" in ran.err
    assert same("timeline", str(folder), str(tmp_path / "none.json")).code == 2
    same("advise", str(folder), "--format", "json")


def test_kernels_and_code(same, tmp_path: Path) -> None:
    folder = tmp_path / "cubins"
    folder.mkdir()
    for name in ("80.cubin", "90a.cubin", "truncated.cubin", "libsmall.so"):
        shutil.copy(RECORDED / name, folder)
    files = [str(folder), str(RECORDED / "80.cubin"), str(RECORDED / "kernel.toml")]
    for options in ((), ("--list",), ("--format", "json"), ("--format", "csv", "--sort", "stack")):
        assert same("kernels", *files, "--gpu", "a100", *options).code == 3  # one is cut
    same("compat", *files, "--gpu", "l4", "--format", "json")
    same("compat", *files, "--all-gpus")
    same("advise", *files[1:2], str(RECORDED / "libsmall.so"), "--format", "json")


def test_reports(same, tmp_path: Path) -> None:
    report = CORPUS / "report" / "small.ncu-rep"
    for number in range(3):
        shutil.copy(report, tmp_path / f"{number}.ncu-rep")
    (tmp_path / "empty.ncu-rep").write_bytes(b"NVR\0")
    ran = same("advise", str(tmp_path), "--format", "json")
    assert "counted once" in ran.err


def test_files_of_a_server(same, tmp_path: Path) -> None:
    """Workers ask the server themselves, with the signature that nobody is shown."""
    pytest.importorskip("fsspec", reason="pip install gpuadvise[remote]")
    pytest.importorskip("aiohttp", reason="pip install gpuadvise[remote]")
    for number in range(6):
        shutil.copy(XML, tmp_path / f"node{number}.xml")
    shutil.copy(RECORDED / "libsmall.so", tmp_path)
    (tmp_path / "a.cu").write_text("__global__ void f(float* p) { *p = 0; }\n")
    with http_server(tmp_path, secret="X-Sig=hush") as server:
        dumps = [f"{server.address}/node{number}.xml?X-Sig=hush" for number in range(6)]
        ran = same("fleet", *dumps, "--format", "json", "--show-hosts")
        assert json.loads(ran.out)["result"]["counts"]["machines"] == 6
        assert "hush" not in ran.out + ran.err
        before = len(server.asked)
        assert same("fleet", *dumps).code == 0
        assert len(server.asked) == before + 4 * 6  # size and content, here and there
        library = f"{server.address}/libsmall.so?X-Sig=hush"
        same("compat", library, "--gpu", "l4", "--format", "json")
        same("kernels", library, "--format", "json")
        same("advise", library, "--gpu", "h100", "--format", "json")
        same("lint", f"{server.address}/a.cu?X-Sig=hush", "--format", "json")
        assert same("timeline", f"{server.address}/none.json?X-Sig=hush").code == 2


def test_sources(same, tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text("__global__ void f(float *x) { x[threadIdx.x * 2] = 1.0; }\n")
    (tmp_path / "b.py").write_text("import torch\nprint(torch.ones(3, device='cuda').item()\n")
    assert "b.py" in same("lint", str(tmp_path)).err
    same("lint", str(tmp_path), "--format", "sarif", "--fail-on", "low")


def test_the_machines_of_the_workers(cli, scheduler) -> None:
    from socket import gethostname

    ran = cli("fleet", *scheduler, "--format", "json")
    (machine,) = json.loads(ran.out)["result"]["machines"]  # two workers, one host
    assert machine["host"] == hashed(gethostname())
    assert [gpu["model"] for gpu in machine["gpus"]] == ["NVIDIA H200", "NVIDIA H200"]
    assert cli("fleet", *scheduler, "--host", "nobody*").code == 2


def test_what_cannot_be_measured_is_said(cli, scheduler) -> None:
    ran = cli("fleet", *scheduler, "--measure", "--format", "json")
    (machine,) = json.loads(ran.out)["result"]["machines"]
    assert machine["h2d"] is None
    assert "copies were not measured" in machine["problems"][0]


def test_files_that_nobody_could_read_are_named_and_end_3(cli, scheduler, tmp_path: Path) -> None:
    (tmp_path / "node1.xml").write_text(XML.read_text())
    (tmp_path / "a.cu").write_text("__global__ void f() {}\n")
    (tmp_path / "b.py").write_text("import torch\n")
    cubin = str(RECORDED / "80.cubin")
    trace = str(next(iter((CORPUS / "timeline").glob("*.json"))))
    report = str(CORPUS / "report" / "small.ncu-rep")
    hurried = (*scheduler, "--task-time", "1us")
    reason = "took more than 1 us on the worker tcp://127.0.0.1:"
    for command in (
        ("fleet", str(tmp_path)),
        ("lint", str(tmp_path)),
        ("kernels", cubin),
        ("compat", cubin, "--gpu", "a100"),
        ("timeline", trace),
        ("advise", report),
        ("advise", cubin),
    ):
        ran = cli(*command, *hurried)
        assert ran.code == 3, command
        assert "Another worker tries." in ran.err
        assert "No worker could do any of" in ran.err
        assert reason in ran.err


def test_a_file_that_nobody_could_read_leaves_the_others(
    cli, scheduler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "run_batch", dies_at_marks)
    cubin = (RECORDED / "80.cubin").read_bytes()
    trace = next(iter((CORPUS / "timeline").glob("*.json"))).read_text()
    for name in ("fine", "MARK"):
        (tmp_path / f"{name}.xml").write_text(XML.read_text())
        (tmp_path / f"{name}.cu").write_text("__global__ void f() {}\n")
        (tmp_path / f"{name}.cubin").write_bytes(cubin)
        (tmp_path / f"{name}.json").write_text(trace)
        shutil.copy(CORPUS / "report" / "small.ncu-rep", tmp_path / f"{name}.ncu-rep")
    for command, suffix, list_of in (
        ("fleet", "xml", "not_judged"),
        ("lint", "cu", "not_judged"),
        ("kernels", "cubin", "not_judged"),
        ("compat", "cubin", "not_judged"),
        ("timeline", "json", "not_judged"),
        ("advise", "ncu-rep", "not_judged"),
        ("advise", "cubin", "not_judged"),
        ("advise", "json", "not_judged"),
    ):
        files = [str(tmp_path / f"{name}.{suffix}") for name in ("fine", "MARK")]
        options = ("--show-hosts",) if command == "fleet" else ()
        ran = cli(command, *files, *options, *scheduler, "--format", "json")
        assert ran.code == 3, (command, suffix, ran.err)
        ((left, reason),) = (
            (item["path"], item["reason"]) for item in json.loads(ran.out)["result"][list_of]
        )
        assert (left, "Its reader ended with signal 9" in reason) == (files[1], True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "There is no machine to judge."),
        (("--measure",), "--measure is for the machines of a cluster."),
        (("x", "--scheduler", "tcp://h:1"), "--scheduler is for --engine dask"),
        (("x", "--engine", "dask"), "--engine dask needs the address of a scheduler."),
        (("x", "--engine", "spark"), '--engine: "spark" is not known here.'),
        ((".", "--engine", "dask", "--scheduler", "h"), '--scheduler: "h" is no address'),
    ],
)
def test_options_that_do_not_fit_are_said(cli, options, words, tmp_path, monkeypatch) -> None:
    (tmp_path / "a.xml").write_text("x")
    monkeypatch.chdir(tmp_path)
    ran = cli("fleet", *options)
    assert (ran.code, words in ran.err) == (2, True), ran.err


def test_a_scheduler_that_is_not_there_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("x")
    fleet = (sys.executable, "-m", "gpuadvise", "fleet", str(tmp_path), "--engine", "dask")
    ran = subprocess.run(
        [*fleet, "--scheduler", "tcp://127.0.0.1:1"], capture_output=True, text=True, timeout=120
    )
    assert (ran.returncode, "No scheduler of Dask answers" in ran.stderr) == (3, True)


def test_without_the_extra_nothing_asks_for_it_and_the_engine_says_what_to_install(
    tmp_path: Path,
) -> None:
    (tmp_path / "node1.xml").write_text(XML.read_text())
    lacking = ("distributed", "dask", "tornado")
    assert run_without(lacking, "fleet", str(tmp_path)).returncode == 0
    options = ("--engine", "dask", "--scheduler", "tcp://127.0.0.1:8786")
    ran = run_without(lacking, "fleet", str(tmp_path), *options)
    assert ran.returncode == 3
    assert "--engine dask needs the package distributed, which is not installed." in ran.stderr
    assert "pip install 'gpuadvise[fleet]'" in ran.stderr

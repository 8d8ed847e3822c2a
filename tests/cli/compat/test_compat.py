from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from made_fatbins import fatbin_around
from made_fatbins import fatbin_of as made
from nvidia_wheels import LIBRARIES, present

from gpuadvise.advisor.backends import kernel_list
from gpuadvise.advisor.backends.choose import Choice
from gpuadvise.advisor.backends.readings import NvmlGpu, NvmlReport
from gpuadvise.advisor.binaries.model import Content, Entry
from gpuadvise.advisor.binaries.options import ReadOptions
from gpuadvise.advisor.binaries.read import read_stream
from gpuadvise.advisor.capability import parse_capability
from gpuadvise.advisor.catalogue import by_capability
from gpuadvise.advisor.compatibility.drivers import parse_driver
from gpuadvise.advisor.compatibility.releases import show
from gpuadvise.advisor.gpu import Machine
from gpuadvise.cli.compat.request import driver_for
from gpuadvise.cli.schema import bundled

DATA = Path(__file__).parents[2] / "advisor" / "binaries" / "data"
SCHEMA = Draft202012Validator(json.loads(bundled("compat")))


def test_the_first_line_says_why_it_does_not_run(cli, fatbin) -> None:
    ran = cli("compat", fatbin("sass:80 sass:90"), "--gpu", "rtx5090")
    assert ran.code == 0
    assert ran.out.splitlines()[0] == (
        "lib.fatbin does not run on NVIDIA GeForce RTX 5090 (12.0): it holds machine code for "
        "sm_80 and sm_90, and no PTX that a driver could compile."
    )
    assert "-gencode arch=compute_120,code=sm_120" in ran.out
    assert "nvcc 12.8 or later" in ran.out


def test_the_whole_screen(cli, fatbin, golden) -> None:
    path = fatbin("sass:80 sass:90+ ptx:90@8.8 | sass:90a | lto:90")
    golden("compat.text", cli("compat", path, "--gpu", "h100-sxm", "--driver", "560.35.03").out)


@pytest.mark.parametrize(
    ("code", "device", "verdict"),
    [
        ("sass:90", ("--cc", "9.0"), "runs"),
        ("ptx:80@8.0", ("--gpu", "rtx5090"), "jit"),
        ("sass:80", ("--gpu", "l4"), "runs"),
        ("sass:90a ptx:90a@8.0", ("--gpu", "rtx5090"), "fails"),
        ("ptx:80@8.8", ("--gpu", "h100-sxm", "--driver", "12.4"), "fails"),
        ("ptx:80@8.4", ("--gpu", "h100-sxm", "--driver", "12.4"), "jit"),
        ("sass:61", ("--gpu", "gtx1080", "--driver", "590.44.01"), "fails"),
    ],
)
def test_the_verdict_is_one_word(
    cli, fatbin, code: str, device: tuple[str, ...], verdict: str
) -> None:
    ran = cli("compat", fatbin(code), *device, "--get", "verdict")
    assert (ran.code, ran.out, ran.err) == (0, f"{verdict}\n", "")


@pytest.mark.parametrize(
    ("code", "threshold", "exit_code"),
    [
        ("sass:90", "jit", 0),
        ("ptx:80@8.0", "jit", 1),
        ("ptx:80@8.0", "fails", 0),
        ("sass:80", "fails", 1),
        ("sass:90 | sass:80", "fails", 1),  # in part
        ("sass:90 | sass:80", "jit", 1),
        ("ptx:80@8.0 | sass:80", "fails", 1),
        ("sass:90 | ptx:80@8.0", "jit", 1),
        ("sass:90 | ptx:80@8.0", "fails", 0),
        ("sass:80 sass:90", "jit", 0),  # one module for two targets
    ],
)
def test_a_threshold_for_scripts(cli, fatbin, code: str, threshold: str, exit_code: int) -> None:
    ran = cli("compat", fatbin(code), "--cc", "9.0", "--fail-on", threshold, "--get", "verdict")
    assert ran.code == exit_code


def answer(cli, *args: str) -> dict[str, object]:
    ran = cli("compat", *args, "--format", "json")
    assert ran.code == 0
    document = json.loads(ran.out)
    SCHEMA.validate(document)
    return document["result"]


def test_the_fields(cli, fatbin) -> None:
    result = answer(cli, fatbin("sass:80 ptx:90@8.4 | sass:90"), "--cc", "9.0", "--driver", "12.4")
    assert result["modules"] == {"total": 2, "runs": 1, "jit": 1, "fails": 0, "not_loadable": 0}
    assert result["complete"] is False
    assert result["driver"] == {"cuda": "12.4", "version": None}
    assert result["needed_driver"] == {"cuda": "12.4", "branch": 550}
    assert [(e["kind"], e["target"], e["verdict"]) for e in result["entries"]] == [
        ("sass", "sm_80", "fails"),
        ("sass", "sm_90", "runs"),
        ("ptx", "compute_90", "jit"),
    ]
    assert result["fix"]["cmake"] == "-DCMAKE_CUDA_ARCHITECTURES=90"


def test_an_entry_may_name_no_target(cli, fatbin) -> None:
    result = answer(cli, fatbin("sass:90 sass:0"), "--cc", "9.0")
    nameless = next(entry for entry in result["entries"] if entry["target"] is None)
    assert nameless["reason"] == "its target is not recorded"


def test_what_only_a_driver_mends_needs_no_new_build(cli, fatbin) -> None:
    result = answer(cli, fatbin("sass:120+"), "--cc", "12.0", "--driver", "12.4")
    assert (result["verdict"], result["complete"], result["fix"]) == ("fails", False, None)
    assert result["needed_driver"] == {"cuda": "12.8", "branch": 570}


def test_old_gpus_name_the_last_toolkit(cli, fatbin) -> None:
    result = answer(cli, fatbin("sass:80"), "--gpu", "gtx1080")
    assert (result["fix"]["first_toolkit"], result["fix"]["last_toolkit"]) == ("8.0", "12.9")
    assert "nvcc 8.0 to 12.9" in cli("compat", fatbin("sass:80"), "--gpu", "gtx1080").out
    assert "nvcc up to 11.8" in cli("compat", fatbin("sass:80"), "--cc", "3.5").out


def test_every_gpu_of_the_catalogue(cli, fatbin) -> None:
    path = fatbin("sass:80 ptx:80@8.0")
    result = answer(cli, path, "--all-gpus")
    verdicts = {row["compute_capability"]: row["verdict"] for row in result["matrix"]}
    assert (verdicts["8.0"], verdicts["8.9"], verdicts["12.0"], verdicts["7.5"]) == (
        "runs", "runs", "jit", "fails",
    )  # fmt: skip
    assert verdicts["8.7"] == "jit"  # a Tegra part takes the PTX
    text = cli("compat", path, "--all-gpus").out
    assert text.startswith("lib.fatbin runs on ")
    rows = list(
        csv.DictReader(io.StringIO(cli("compat", path, "--all-gpus", "--format", "csv").out))
    )
    assert sum(len(row["gpus"]) for row in result["matrix"]) == len(rows)
    assert {row["verdict"] for row in rows if row["compute_capability"] == "9.0"} == {"jit"}
    gate = cli("compat", path, "--all-gpus", "--driver", "12.4", "--fail-on", "jit")
    assert gate.code == 2
    assert "Name the GPU: --gpu l4." in gate.err
    assert "driver" in answer(cli, path, "--all-gpus", "--driver", "12.4")


def test_members_of_a_wheel_are_told_apart(cli, fatbin, tmp_path: Path) -> None:
    wheel = tmp_path / "package-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(fatbin("sass:80"), "package/old.so")
        archive.write(fatbin("sass:90"), "package/new.so")
        archive.writestr("package/__init__.py", "")
    ran = cli("compat", str(wheel), "--cc", "9.0")
    assert ran.out.splitlines()[0] == (
        "package-1.0-py3-none-any.whl runs on compute capability 9.0 in part: 1 of 2 code modules "
        "has machine code for it and 1 is for other GPUs only (machine code for sm_80)."
    )
    assert "package/old.so" in ran.out
    files = answer(cli, str(wheel), "--cc", "9.0")["files"]
    assert [(each["file"], each["verdict"]) for each in files] == [
        ("package/new.so", "runs"),
        ("package/old.so", "fails"),
    ]


def test_a_wheel_of_many_libraries_is_cut_for_people(cli, fatbin, tmp_path: Path) -> None:
    wheel = tmp_path / "many.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for number in range(50):
            archive.write(fatbin("sass:90"), f"lib{number}.so")
    assert "and 10 more" in cli("compat", str(wheel), "--cc", "9.0").out


def test_of_several_files_the_worst_decides(cli, fatbin) -> None:
    paths = (fatbin("sass:80", "a.fatbin"), fatbin("sass:90", "b.fatbin"))
    ran = cli("compat", *paths, "--cc", "9.0", "--fail-on", "fails", "--format", "json")
    SCHEMA.validate(json.loads(ran.out))
    result = json.loads(ran.out)["result"]
    assert (ran.code, result["verdict"], result["complete"]) == (1, "fails", False)
    assert [each["verdict"] for each in result["answers"]] == ["fails", "runs"]
    assert ran.err == f"note: --fail-on fails: {paths[0]} (fails).\n"
    text = cli("compat", *paths, "--cc", "9.0").out
    assert text.startswith("Of 2 files on compute capability 9.0: 1 not at all and 1 as they are.")


def test_ptx_from_a_pipe(cli, monkeypatch) -> None:
    content = (DATA / "nvrtc-12.9-compute_90a.ptx").read_bytes()

    class Stdin:
        buffer = io.BytesIO(content)

    monkeypatch.setattr("sys.stdin", Stdin())
    ran = cli("compat", "-", "--cc", "9.0")
    assert ran.out.startswith("Standard input runs on compute capability 9.0 only after")


def test_damage_is_said_beside_the_answer(cli, fatbin, tmp_path: Path) -> None:
    path = Path(fatbin("sass:90 | sass:90"))
    path.write_bytes(path.read_bytes()[:-100])
    ran = cli("compat", str(path), "--cc", "9.0")
    assert ran.code == 3  # what could be read is answered, but something could not
    assert ran.out.startswith("What can be read of lib.fatbin runs on")
    assert ran.err.startswith(f"note: {path} at byte ")


def test_a_download_that_broke_off_is_no_library_without_code(cli, tmp_path: Path) -> None:
    path = tmp_path / "libfoo.so"
    path.write_bytes(b"\x7fELF\x02\x01" + bytes(34) + b"\xff\xff" + bytes(200))
    ran = cli("compat", str(path), "--cc", "9.0")
    assert ran.code == 2
    assert ran.err.startswith('error: "libfoo.so" cannot be read. ')
    assert ran.err.endswith("hint: Is the copy or download complete?\n")


def test_conda_packages_are_to_be_unpacked(cli, tmp_path: Path) -> None:
    path = tmp_path / "foo.conda"
    with zipfile.ZipFile(path, "w") as package:
        package.writestr("pkg-foo-1.0.tar.zst", b"\x28\xb5\x2f\xfd" + bytes(200))
    ran = cli("compat", str(path), "--cc", "9.0")
    assert ran.code == 2
    assert "pkg-foo-1.0.tar.zst is packed as a whole: unpack it first." in ran.err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--cc", "9.0", "--fail-on", "never"), '--fail-on: "never" is not a verdict.'),
        (("--cc", "9.0", "--driver", "new"), '--driver: "new" is not a driver version.'),
        (("--all-gpus", "--cc", "9.0"), "--all-gpus is about every GPU."),
    ],
)
def test_bad_options(cli, fatbin, args: tuple[str, ...], message: str) -> None:
    ran = cli("compat", fatbin("sass:90"), *args)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err


def test_files_without_device_code(cli, tmp_path: Path) -> None:
    empty = tmp_path / "data.bin"
    empty.write_bytes(bytes(500))
    ran = cli("compat", str(empty), "--cc", "9.0")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("data.bin holds no device code: there is nothing in it for a driver")
    ran = cli("compat", str(empty), "--cc", "9.0", "--format", "json")
    SCHEMA.validate(json.loads(ran.out))
    assert json.loads(ran.out)["result"]["verdict"] == "none"
    assert cli("compat", str(empty), "--matrix", "--get", "verdict").out == "none\n"
    ran = cli("compat", str(DATA / "ptxas-11.8-sm_75.log"), "--cc", "9.0")
    assert ran.code == 2
    assert "names kernels but holds no device code" in ran.err
    assert cli("compat", str(tmp_path / "none.so"), "--cc", "9.0").code == 2


@pytest.mark.parametrize(
    ("recorded", "driver"),
    [
        ({"cuda_version": "12.8", "driver_version": "570.86.15"}, ("12.8", "570.86.15")),
        ({"cuda_version": None, "driver_version": "550.54.14"}, ("12.4", "550.54.14")),
        ({}, None),
    ],
)
def test_a_live_gpu_brings_its_driver(recorded: dict[str, str], driver) -> None:
    device = by_capability(parse_capability("9.0"))
    choice = Choice(device=device, machine=Machine(**recorded))
    found = driver_for(None, choice)
    assert (found and (show(found.cuda), found.version)) == driver
    assert driver_for("13.0", choice) == parse_driver("13.0")


def test_the_driver_of_this_machine_is_judged(cli, fatbin, moods, monkeypatch) -> None:
    here = NvmlGpu(source="kernel driver", index=0, name="NVIDIA H200", uuid="GPU-1")
    report = NvmlReport(driver_version="535.104.05", gpus=(here,))
    moods("crash", "crash")
    monkeypatch.setattr(kernel_list, "listed", lambda: report)
    ran = cli("compat", fatbin("sass:90=13.0"))
    assert "does not run on NVIDIA H200" in ran.out
    assert "this is driver 535.104.05, CUDA 12.2" in ran.out


@pytest.mark.parametrize("command", ["compat {} --gpu h100", "kernels --list {}"])
def test_a_listing_imports_nothing_that_reads_kernels(fatbin, command: str) -> None:
    args = command.format(fatbin("sass:80 ptx:90@8.4")).split()
    readers = ("binaries.cubin", "binaries.wheel", "binaries.texts", "binaries.ahead")
    names = {f"gpuadvise.advisor.{name}" for name in readers} | {"zipfile", "concurrent.futures"}
    code = (
        f"import sys; from gpuadvise.cli.main import main; main({args!r})\n"
        f"assert not {names!r} & set(sys.modules), {names!r} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("gpu", "code", "said"),
    [
        ("gtx1080", "sass:61 ptx:61@8.0", "to 580, the last for this GPU"),
        ("h100-sxm", "sass:90", "any recent one"),
    ],
)
def test_the_newest_driver_that_a_gpu_still_has(
    cli, fatbin, gpu: str, code: str, said: str
) -> None:
    assert said in cli("compat", fatbin(code), "--gpu", gpu).out


@pytest.mark.parametrize(
    ("code", "gpu", "driver", "verdict", "needed"),
    [
        ("sass:89=12.6", "rtx4090", "11.8", "fails", "12.0"),
        ("sass:89=12.6", "rtx4090", "12.0", "runs", "12.0"),
        ("sass:80=11.8", "rtx3090", "11.4", "runs", "11.1"),
        ("sass:86=12.9", "rtx3090", "11.4", "fails", "12.0"),
        ("sass:61=10.2", "gtx1080", "10.1", "fails", "10.2"),
        ("sass:61=10.2", "gtx1080", "10.2", "runs", "10.2"),
        # The image knows better than the PTX beside it.
        ("sass:80=11.8 ptx:80@8.0", "a100", "11.4", "runs", "11.0"),
    ],
)
def test_the_toolkit_in_an_image_decides_the_driver(
    cli, fatbin, code: str, gpu: str, driver: str, verdict: str, needed: str
) -> None:
    result = answer(cli, fatbin(code), "--gpu", gpu, "--driver", driver)
    assert result["verdict"] == verdict
    assert (result["needed_driver"]["cuda"], result["needed_driver_is"]) == (needed, "exact")


def test_what_no_image_tells_is_a_lower_bound(cli, fatbin) -> None:
    path = fatbin("sass:90 | sass:80=12.6")
    assert answer(cli, path, "--cc", "9.0")["needed_driver_is"] == "lower bound"
    assert "at least CUDA 11.8 " in cli("compat", path, "--cc", "9.0").out
    assert answer(cli, path, "--cc", "8.0")["needed_driver_is"] == "exact"
    assert answer(cli, path, "--cc", "7.0")["needed_driver_is"] is None


@pytest.fixture
def wheel(fatbin, tmp_path: Path):
    """Return a wheel of the members that are named with their code."""

    def write(members: dict[str, str]) -> str:
        path = tmp_path / "package-1.0-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as archive:
            for name, code in members.items():
                archive.write(fatbin(code, "member"), name)
        return str(path)

    return write


def test_of_alternatives_one_is_enough(cli, wheel) -> None:
    codes = {118: "11.8", 121: "12.1", 126: "12.6"}
    members = {f"p/lib_cuda{n}.so": f"sass:90={toolkit}" for n, toolkit in codes.items()}
    path = wheel(members | {"p/lib_cuda128.so": "sass:120=12.8", "p/lib_cuda130.so": "sass:120+"})
    ran = cli("compat", path, "--gpu", "rtx5090")
    assert ran.out.splitlines()[0] == (
        "package-1.0-py3-none-any.whl runs on NVIDIA GeForce RTX 5090 (12.0) with its libraries for "
        "CUDA 12.8 and 13.0; not with those for 11.8 to 12.6."
    )
    assert "-gencode" not in ran.out
    result = answer(cli, path, "--gpu", "rtx5090")
    assert result["needed_driver"]["cuda"] == "12.8"  # of one that runs, not of all
    (only,) = result["answers"]
    assert [(a["cuda"], a["verdict"]) for a in only["alternatives"]] == [
        ("11.8", "fails"), ("12.1", "fails"), ("12.6", "fails"), ("12.8", "runs"), ("13.0", "runs"),
    ]  # fmt: skip
    none = cli("compat", path, "--gpu", "gtx1080")
    assert "does not run on NVIDIA GeForce GTX 1080 (6.1): it holds machine code for" in none.out
    assert "-gencode" in none.out


@pytest.mark.parametrize(
    "members",
    [
        {"p/lib_cuda118.so": "sass:80", "p/other_cuda128.so": "sass:90"},  # not the same library
        {"p/lib_cuda128.so": "sass:80", "p/lib.so": "sass:90"},
        {"p/lib_cuda118.so": "sass:80"},
    ],
)
def test_other_members_are_no_alternatives(cli, wheel, members: dict[str, str]) -> None:
    result = answer(cli, wheel(members), "--cc", "9.0")
    assert result["answers"][0]["alternatives"] == []


def test_alternatives_that_are_compiled_first(cli, wheel) -> None:
    path = wheel({"p/cu118/lib.so": "ptx:80@7.8", "p/cu128/lib.so": "sass:90=12.8"})
    assert cli("compat", path, "--cc", "9.0").out.splitlines()[0].endswith(
        "runs on compute capability 9.0 with its libraries for CUDA 12.8; with those for 11.8 only "
        "after the driver has compiled their PTX."
    )  # fmt: skip


def test_the_row_that_fits_comes_first_and_others_are_no_failures(cli, fatbin) -> None:
    ran = cli("compat", fatbin("sass:80 sass:86 sass:90 ptx:90@8.0"), "--gpu", "l4")
    rows = [line.split() for line in ran.out.splitlines() if line.startswith(("sass", "ptx"))]
    assert [row[1] for row in rows] == ["sm_86", "sm_80", "sm_90", "compute_90"]
    assert "fails" not in ran.out
    assert ran.out.count("other GPU") == 2


def test_a_reason_is_said_once(cli, fatbin) -> None:
    ran = cli("compat", fatbin("sass:80=12.6 sass:86=12.6"), "--gpu", "l4", "--driver", "11.8")
    table = ran.out.partition("Device code")[2]
    assert table.count("machine code of a 12.x toolkit needs CUDA 12.0") == 1


@pytest.mark.parametrize(
    ("code", "gpu", "driver", "toolkits"),
    [
        ("ptx:75@9.0", "RTX 2080 Ti", "12.4", "nvcc 10.0 to 12.4"),
        ("ptx:80@9.0", "h200", "12.4", "nvcc 11.8 to 12.4"),
        ("ptx:80@9.0", "h200", "12.7", "nvcc 11.8 to 12.6"),  # 12.7 was a driver alone
        ("ptx:80@9.0", "h200", None, "nvcc 11.8 or later"),
        ("sass:80", "gtx1080", "13.0", "nvcc 8.0 to 12.9"),
    ],
)
def test_a_new_build_is_one_that_the_driver_takes(
    cli, fatbin, code: str, gpu: str, driver: str | None, toolkits: str
) -> None:
    named = ("--driver", driver) if driver else ()
    assert f"{toolkits}, CMake" in cli("compat", fatbin(code), "--gpu", gpu, *named).out


def test_only_nvidia_builds_its_libraries(cli, fatbin) -> None:
    ran = cli("compat", fatbin("sass:80", "libcufft.so.12"), "--gpu", "h200")
    assert "Only NVIDIA builds this library" in ran.out
    assert "-gencode" not in ran.out
    assert "-gencode" in cli("compat", fatbin("sass:80", "libfoo.so"), "--gpu", "h200").out


def test_what_a_library_asks_the_loader_for(cli, tmp_path: Path) -> None:
    (tmp_path / "libcudart.so.13").write_bytes(b"")
    source = tmp_path / "a.c"
    source.write_text("int f(void) { return 1; }\n")
    for name in ("libcudart.so.13", "libnvidia-none.so.1"):
        command = ["gcc", "-shared", "-fPIC", "-o", tmp_path / name, source, f"-Wl,-soname,{name}"]
        subprocess.run(command, check=True)
    path = tmp_path / "libasks.so"
    needs = [tmp_path / "libcudart.so.13", tmp_path / "libnvidia-none.so.1"]
    flags = ["-Wl,--no-as-needed", "-Wl,-rpath,$ORIGIN/../nvidia/lib:/usr/local/cuda/lib64"]
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", path, source, *flags, *needs], check=True)
    path.write_bytes(path.read_bytes() + bytes(-path.stat().st_size % 8) + made("sass:90=12.6"))
    (library,) = answer(cli, str(path), "--cc", "9.0", "--driver", "12.4")["libraries"]
    assert library["needed"][:2] == ["libcudart.so.13", "libnvidia-none.so.1"]
    assert library["search"] == ["$ORIGIN/../nvidia/lib", "/usr/local/cuda/lib64"]
    assert library["needed_driver"] == {"cuda": "13.0", "branch": 580}
    assert library["driver_is_enough"] is False
    ran = cli("compat", str(path), "--cc", "9.0", "--driver", "12.4")
    asked = "libcudart.so.13 and libnvidia-none.so.1"
    places = "$ORIGIN/../nvidia/lib:/usr/local/cuda/lib64"
    # no row of the facts: the names would widen them all
    assert f"\nAsks for {asked}, to be found in {places}.\n" in ran.out
    assert ran.out.count("Asks for") == 1
    assert "needs CUDA 13.0 (driver 580 or later): the program would not start." in ran.err
    assert cli("compat", str(path), "--cc", "9.0", "--driver", "13.0").err == ""


@pytest.mark.parametrize("formatted", ["text", "json", "csv", "ndjson", "markdown", "github"])
def test_paths_of_the_machine_that_linked_a_library_are_not_shown(
    cli, tmp_path: Path, formatted: str
) -> None:
    source = tmp_path / "a.c"
    source.write_text("int f(void) { return 1; }\n")
    nameless = tmp_path / "libcudart-of-jane.so"  # without a name of its own, its path is needed
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", nameless, source], check=True)
    path = tmp_path / "libasks.so"
    places = (
        "/home/jane/lib:$ORIGIN:/usr/local/cuda/../../../srv/jane:../jane:/usr/lib/jane:/usr/lib64"
    )
    flags = ["-Wl,--no-as-needed", f"-Wl,-rpath,{places}"]
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", path, source, *flags, nameless], check=True)
    path.write_bytes(path.read_bytes() + bytes(-path.stat().st_size % 8) + made("sass:90=12.6"))
    ran = cli("compat", str(path), "--cc", "9.0", "--format", formatted)
    assert "/jane" not in ran.out + ran.err
    assert str(tmp_path) not in ran.out.replace(str(path), "")
    if formatted == "text":
        counted = "$ORIGIN:/usr/lib64, 3 absolute paths and a relative path"
        assert f"Asks for libcudart-of-jane.so, to be found in {counted}.\n" in ran.out
    if formatted == "json":
        (library,) = json.loads(ran.out)["result"]["libraries"]
        hidden = ["an absolute path", "$ORIGIN", "an absolute path", "a relative path"]
        assert library["search"] == [*hidden, "an absolute path", "/usr/lib64"]
        assert library["needed"][0] == "libcudart-of-jane.so"


def installed(tmp_path: Path, monkeypatch, files: dict[str, bytes]) -> None:
    """Install the package ``some.thing`` of *files* where this Python finds it."""
    info = tmp_path / "some_thing-2.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: some-thing\nVersion: 2.1\n")
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_bytes(content)
    (info / "RECORD").write_text("".join(f"{name},,\n" for name in [*files, "gone/lost.so"]))
    monkeypatch.syspath_prepend(str(tmp_path))


def test_an_installed_package_by_name(cli, tmp_path: Path, monkeypatch) -> None:
    code = "raise SystemExit('it was imported')"
    installed(
        tmp_path,
        monkeypatch,
        {
            "some_thing/__init__.py": code.encode(),
            "some_thing/lib/liba.so": made("sass:90"),
            "some_thing/lib/libb.so.12": made("sass:80"),
            "some_thing/readme.txt": made("sass:70"),
        },
    )
    for name in ("some-thing", "some_thing", "Some.Thing"):
        ran = cli("compat", name, "--cc", "9.0")
        assert ran.code == 3
        assert ran.err == f"note: {name}!gone/lost.so: The package lists it, and it is not there.\n"
        assert ran.out.startswith(f"What can be read of {name} 2.1 runs on compute capability 9.0")
    result = json.loads(cli("compat", "some-thing", "--cc", "9.0", "--json").out)["result"]
    assert [left["path"] for left in result["not_judged"]] == ["some-thing!gone/lost.so"]
    files = result["files"]
    assert [(each["file"], each["verdict"]) for each in files] == [
        ("some_thing/lib/liba.so", "runs"),
        ("some_thing/lib/libb.so.12", "fails"),
    ]
    assert str(tmp_path) not in cli("compat", "some-thing", "--cc", "9.0", "--json").out


@pytest.mark.parametrize(
    "listed", [b"\xff.py,,\n", b"a.py,,,,\n", b"a.so,,many\n", b"\x1b[31m,x,1e9\n"]
)
def test_a_package_whose_list_of_files_is_damaged(
    cli, tmp_path: Path, monkeypatch, listed: bytes
) -> None:
    installed(tmp_path, monkeypatch, {"some_thing/liba.so": made("sass:90")})
    (tmp_path / "some_thing-2.1.dist-info" / "RECORD").write_bytes(listed)
    ran = cli("compat", "some-thing", "--cc", "9.0", "--fail-on", "fails")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(
        'error: "some-thing": the metadata of the installed package is damaged ('
    )


def test_what_is_neither_file_nor_package(cli) -> None:
    ran = cli("compat", "no-such-package", "--cc", "9.0")
    assert ran.code == 2
    assert "and no installed package of that name" in ran.err
    assert "package" not in cli("compat", "no/such/file.so", "--cc", "9.0").err
    address = cli("compat", "ftp://example.org/some.whl", "--cc", "9.0")
    assert address.code == 2
    assert "for others download it first." in address.err


def test_without_a_gpu_every_gpu_is_answered_for(cli, fatbin, monkeypatch) -> None:
    monkeypatch.setattr("gpuadvise.advisor.backends.choose.driver_present", lambda: False)
    ran = cli("compat", fatbin("sass:90"))
    assert ran.code == 0
    assert ran.err == (
        "note: No live GPU: answered for every GPU; --gpu or $GPUADVISE_GPU names one.\n"
    )
    assert " of the catalogue" in ran.out.splitlines()[0]
    assert "\n9.0  runs" in ran.out
    assert "Not on compute capability 12.1, 12.0" in ran.out
    gate = cli("compat", fatbin("sass:90"), "--fail-on", "fails")
    assert (gate.code, gate.out) == (2, "")
    assert "--fail-on needs a GPU to judge for" in gate.err
    monkeypatch.setenv("GPUADVISE_GPU", "h100-sxm")
    assert cli("compat", fatbin("sass:90")).out.startswith("lib.fatbin runs on NVIDIA H100 SXM5")


def test_a_tegra_part_says_why_near_code_does_not_fit(cli, fatbin) -> None:
    first = cli("compat", fatbin("sass:80"), "--cc", "8.7").out.splitlines()[0]
    assert first.endswith(
        "(8.7 is a Tegra part: it does not share machine code with 8.0)."
    )  # fmt: skip
    assert "Tegra" not in cli("compat", fatbin("sass:80"), "--cc", "9.0").out.splitlines()[0]


def test_a_number_that_was_changed_is_only_expected_to_run(cli, fatbin) -> None:
    assert "sm_101, its old number, should run on 11.0" in cli(
        "compat", fatbin("sass:101"), "--cc", "11.0"
    ).out  # fmt: skip


@pytest.mark.parametrize("driver", ["999", "999.10.01", "13.9"])
def test_a_driver_that_is_not_out_yet_takes_all_of_the_table(cli, fatbin, driver: str) -> None:
    path = fatbin("ptx:80@9.5")
    assert (
        cli("compat", path, "--gpu", "a100", "--driver", driver, "--get", "verdict").out == "jit\n"
    )


def test_the_open_kernel_modules_have_the_same_number(cli, fatbin) -> None:
    ran = cli("compat", fatbin("sass:80"), "--gpu", "a100", "--driver", "550.54.14-open")
    assert (ran.code, "CUDA 12.4" in ran.out) == (0, True)


def test_an_encrypted_member_is_said_in_words(cli, wheel) -> None:
    path = Path(wheel({"p/lib.so": "sass:80"}))
    data = bytearray(path.read_bytes())
    data[data.find(b"PK\x03\x04") + 6] |= 1
    data[data.find(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    ran = cli("compat", str(path), "--gpu", "a100")
    assert (ran.code, ran.out) == (2, "")
    assert "p/lib.so cannot be unpacked: it is encrypted." in ran.err


def test_a_package_that_runs_may_compile_more_where_it_runs(cli, wheel, fatbin) -> None:
    whole = cli("compat", wheel({"a/libcupti.so": "sass:90"}), "--cc", "9.0").out
    assert "Code that a package compiles where it runs (Triton, NVRTC, Numba)" in whole
    alone = cli("compat", fatbin("sass:90", "libfoo.so"), "--cc", "9.0").out
    assert "compiles where it runs" not in alone


def test_of_several_files_those_that_run_in_part_are_counted_apart(cli, fatbin) -> None:
    part = fatbin("sass:90 | sass:80", "part.fatbin")
    ran = cli("compat", fatbin("sass:90", "whole.fatbin"), part, "--cc", "9.0")
    assert ran.out.startswith("Of 2 files on compute capability 9.0: 1 in part and 1 as they are.")


def test_a_gate_names_the_wheel_that_runs_in_part(cli, wheel) -> None:
    path = wheel({"a/liba.so": "sass:90", "a/libb.so": "sass:80"})
    for limit in ("jit", "fails"):
        ran = cli("compat", path, "--cc", "9.0", "--fail-on", limit)
        assert (ran.code, ran.err) == (1, f"note: --fail-on {limit}: {path} (in part).\n")


@pytest.mark.parametrize("limit", ["jit", "fails"])
def test_of_several_builds_for_cuda_one_is_enough_for_a_gate(cli, wheel, limit: str) -> None:
    path = wheel({"a/libb_cuda118.so": "sass:80", "a/libb_cuda128.so": "sass:90"})
    assert cli("compat", path, "--cc", "9.0", "--fail-on", limit).code == 0


@pytest.mark.parametrize("content", [b"<html>404 Not Found</html>", bytes(range(256)) * 9])
def test_a_download_that_is_no_wheel_is_not_one_without_code(
    cli, fatbin, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "saved.whl"
    path.write_bytes(content)
    ran = cli("compat", str(path), "--cc", "9.0")
    assert (ran.code, ran.out) == (2, "")
    assert "It is no zip archive, as wheels are" in ran.err
    beside = cli("compat", str(path), fatbin("sass:90"), "--cc", "9.0", "--fail-on", "fails")
    assert beside.code == 3
    assert "saved.whl: It is no zip archive" in beside.err


def test_a_field_of_what_is_not_known_is_null(cli, tmp_path: Path) -> None:
    path = tmp_path / "pure.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.py", "")
    asked = ("compat", str(path), "--cc", "9.0", "--get")
    assert cli(*asked, "needed_driver.cuda").out == "null\n"
    wrong = cli(*asked, "needed_driver.cudo")
    assert (wrong.code, wrong.out) == (2, "")


SMALL = Path(__file__).parents[1] / "recorded" / "small-1.0-py3-none-any.whl"
CURAND = (
    LIBRARIES / "libcurand.so.10",
    ("t4", "a100", "h100-sxm", "b200", "rtx5090"),
)


@pytest.fixture(scope="session")
def images() -> dict[str, bytes]:
    """Images of the small wheel: sm_80 with ``scale`` and ``fill``, sm_90 with ``scale`` and ``tile``."""
    cubins = {}
    with zipfile.ZipFile(SMALL) as wheel:
        for member in ("small/two.fatbin", "small/libsmall.so"):
            raw = wheel.read(member)
            for item in read_stream(io.BytesIO(raw), member, ReadOptions(kernels=False)):
                if isinstance(item, Entry) and item.content is Content.SASS:
                    at = item.place.offset + int.from_bytes(
                        raw[item.place.offset + 4 :][:4], "little"
                    )
                    cubins[item.capability.target.removeprefix("sm_")] = raw[at : at + item.size]
    return cubins


@pytest.fixture
def lib(tmp_path: Path, images: dict[str, bytes]):
    """A fatbin with one module for each target, of real images; ``as 80`` gives one another target."""

    def make(*modules: tuple[str, str]) -> str:
        path = tmp_path / "lib.fatbin"
        path.write_bytes(fatbin_around([(target, images[image]) for target, image in modules]))
        return str(path)

    return make


def test_a_module_for_another_gpu_is_no_hole_where_its_kernels_are_in_one_for_this(
    cli, lib
) -> None:
    # The same image under three targets, one module each, as NVIDIA builds its libraries.
    path = lib(("80", "80"), ("90", "80"), ("120", "80"))
    for cc in ("8.0", "9.0", "12.0"):
        result = answer(cli, path, "--cc", cc)
        assert (result["verdict"], result["complete"], result["fix"]) == ("runs", True, None)
        assert result["kernels"] == {"total": 2, "runs": 2, "jit": 0, "fails": 0}
        assert result["modules"]["fails"] == 2
        assert "in part" not in result["summary"]
        assert result["answers"][0]["better_elsewhere"] is False
    rows = answer(cli, path, "--all-gpus")["matrix"]
    assert {row["compute_capability"]: row["complete"] for row in rows}["8.6"] is True


def test_a_kernel_is_missing_when_only_other_targets_have_its_name(cli, lib) -> None:
    path = lib(("80", "80"), ("90", "80"), ("90", "90"))
    assert answer(cli, path, "--cc", "9.0")["complete"] is True
    result = answer(cli, path, "--cc", "8.0")
    assert result["summary"] == (
        "lib.fatbin runs on compute capability 8.0 in part: 2 of 3 kernels have machine code for it "
        "and 1 is for other GPUs only (machine code for sm_90)."
    )
    assert result["fix"]["cmake"] == "-DCMAKE_CUDA_ARCHITECTURES=80"  # a 9.0 has them all
    assert result["answers"][0]["better_elsewhere"] is True
    text = cli("compat", path, "--all-gpus").out
    assert "8.0  in part     2    0      1" in text
    assert "9.0  runs        3    0      0" in text
    assert text.startswith("lib.fatbin runs on 11 of 314 GPUs of the catalogue, on 108 in part, ")
    assert text.endswith("The columns count kernels, each name once.\n")


def test_no_other_version_is_asked_for_where_every_gpu_lacks_kernels(cli, lib, tmp_path) -> None:
    path = lib(("80", "80"), ("90", "90"))
    for cc in ("8.0", "9.0"):
        result = answer(cli, path, "--cc", cc)
        assert (result["complete"], result["fix"]) == (False, None)
        assert result["answers"][0]["better_elsewhere"] is False
    nvidia = tmp_path / "libcusparse.so.12"
    nvidia.write_bytes(Path(path).read_bytes())
    ran = cli("compat", str(nvidia), "--cc", "9.0")
    assert "look for a version" not in ran.out
    assert "No GPU finds machine code for all of it" in ran.out
    assert "look for a version" in cli("compat", str(nvidia), "--cc", "12.0").out


def test_an_image_may_lack_what_its_neighbours_have(cli, tmp_path, images) -> None:
    # One module, as nvcc writes it: the image for 8.0 has no "tile", that for 9.0 no "fill".
    path = tmp_path / "lib.fatbin"
    path.write_bytes(fatbin_around([("80", images["80"]), ("90", images["90"])], modules=1))
    result = answer(cli, str(path), "--cc", "8.0")
    assert (result["modules"]["runs"], result["modules"]["total"]) == (1, 1)
    assert (result["complete"], result["fix"]) == (False, None)
    assert result["kernels"] == {"total": 3, "runs": 2, "jit": 0, "fails": 1}
    ran = cli("compat", str(path), "--cc", "9.0")
    assert "in part: 2 of 3 kernels" in ran.out
    assert "No GPU finds machine code for all of it" in ran.out
    path.write_bytes(
        fatbin_around([("80", images["80"]), ("90", images["90"])], modules=1)
        + fatbin_around([("90", images["80"])])
    )
    assert answer(cli, str(path), "--cc", "9.0")["complete"] is True
    path.write_bytes(fatbin_around([("80", images["90"]), ("90", images["90"])]))
    assert answer(cli, str(path), "--cc", "8.0")["complete"] is True


def test_names_that_cannot_be_read_leave_the_modules_to_count(cli, lib, images) -> None:
    path = Path(lib(("80", "80"), ("90", "80")))
    broken = path.read_bytes().replace(images["80"], bytes(len(images["80"])), 1)
    path.write_bytes(broken)
    result = answer(cli, str(path), "--cc", "9.0")
    assert result["kernels"] is None
    assert "1 of 2 code modules" in result["summary"]


def test_ptx_beside_machine_code_is_one_row(cli, fatbin) -> None:
    ran = cli("compat", fatbin("sass:90 ptx:80@8.0 ptx:90@8.4"), "--cc", "9.0")
    (row,) = [line for line in ran.out.splitlines() if line.startswith("ptx")]
    assert row.split()[:3] == ["ptx", "2", "targets"]
    assert "not needed" in row
    mixed = cli("compat", fatbin("sass:90 | ptx:80@8.0"), "--cc", "9.0").out
    assert "the driver compiles it where machine code is missing" in mixed


def test_nvidias_own_library_runs_where_all_its_kernels_are(cli) -> None:
    path, gpus = CURAND
    for gpu in gpus:
        result = answer(cli, str(present(path)), "--gpu", gpu)
        assert (result["verdict"], result["complete"]) == ("runs", True)
        assert result["kernels"]["runs"] == result["kernels"]["total"] == 29

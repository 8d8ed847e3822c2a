"""Golden files, the command line as a function, what code is tested, and the mark for hardware."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from nvidia_wheels import REQUIRED

if TYPE_CHECKING:
    from collections.abc import Iterator

GOLDEN = "--update-golden"
INSTALLED = "--installed-wheel"
ORACLES = "--require-oracles"
ROOT = Path(__file__).resolve().parent.parent

# How long an example takes is for benchmarks/ to say; a busy machine must not fail a property.
settings.register_profile("untimed", settings(), deadline=None)
# What tests/run judges is the same in every run; a developer's runs look for new examples.
settings.register_profile("repeatable", settings(), deadline=None, derandomize=True)
settings.load_profile("untimed")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(GOLDEN, action="store_true", help="rewrite golden files; read the diff")
    parser.addoption(INSTALLED, action="store_true", help="test the installed wheel (tests/run)")
    parser.addoption(ORACLES, action="store_true", help="fail where NVIDIA's tools are missing")


def pytest_configure(config: pytest.Config) -> None:
    _refuse_other_code(config.getoption(INSTALLED))
    os.environ["GPUADVISE_CACHE"] = (
        os.devnull
    )  # results of lint are kept only where a test asks for it
    if config.getoption(INSTALLED):
        settings.load_profile("repeatable")
    if config.getoption(ORACLES):
        os.environ[REQUIRED] = "1"


def _refuse_other_code(installed: bool) -> None:
    """Stop when ``import gpuadvise`` would not take the code that is meant to be tested."""
    spec = importlib.util.find_spec("gpuadvise")
    if spec is None or spec.origin is None:
        pytest.exit("gpuadvise is not installed here: run `sh tests/dev` once.", returncode=4)
    origin = Path(spec.origin).resolve()
    # .typing/gpuadvise holds links to the sources, wherever they lie.
    of_checkout = origin == (ROOT / ".typing" / "gpuadvise" / "__init__.py").resolve()
    if installed and of_checkout:
        pytest.exit(f"{INSTALLED}: gpuadvise is the checkout here, no wheel.", returncode=4)
    if not installed and not of_checkout:
        pytest.exit(
            f"`import gpuadvise` takes {origin.parent}, not this checkout: your changes would not "
            "be tested. Run `sh tests/dev` once, then .venv/bin/pytest.",
            returncode=4,
        )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if Path("/dev/nvidiactl").exists():
        return
    no_gpu = pytest.mark.skip(reason="no NVIDIA GPU in this machine")
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(no_gpu)


@dataclass(frozen=True)
class Ran:
    """What one run of the program left behind."""

    code: int
    out: str
    err: str


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    """Run the command line in this process: ``cli("occupancy", "--regs", "32")``."""
    from gpuadvise.cli.main import main

    monkeypatch.delenv("GPUADVISE_GPU", raising=False)

    def run(*args: str) -> Ran:
        code = main(list(args))
        out, err = capsys.readouterr()
        return Ran(int(code), out, err)

    return run


@pytest.fixture
def process():
    """Run the installed program as a process of its own, as a shell would."""

    def run(*args: str | bytes, **env: str) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "gpuadvise", *args],
            capture_output=True,
            encoding="utf-8",
            env={**os.environ, **env},
            timeout=120,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def golden(request: pytest.FixtureRequest):
    """Compare a text with ``golden/<name>`` beside the test, or rewrite that file."""

    def check(name: str, text: str) -> None:
        path = Path(request.path).parent / "golden" / name
        if request.config.getoption(GOLDEN):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        assert path.exists(), f"no expected screen yet: run with {GOLDEN} and read it"
        assert text == path.read_text(encoding="utf-8"), f"rerun with {GOLDEN} and read the diff"

    return check


STUBS = Path(__file__).parent / "stub"
LIBRARIES = {"nvml.c": "libnvidia-ml.so.1", "cuda.c": "libcuda.so.1"}


@pytest.fixture(scope="session")
def stub_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build two small C libraries under the names of NVIDIA's.

    The real ones exist only where a GPU is. With these the real Python bindings load, call and
    decode as they do there, and a driver can be made to hang, crash or lose a GPU.
    """
    folder = tmp_path_factory.mktemp("driver")
    for source, name in LIBRARIES.items():
        flags = ["-shared", "-fPIC", "-w", f"-Wl,-soname,{name}"]
        built = ["cc", *flags, "-o", str(folder / name), str(STUBS / source)]
        subprocess.run(built, check=True)
    return folder


@pytest.fixture
def moods(stub_folder: Path, monkeypatch: pytest.MonkeyPatch):
    """Install the imaginary drivers for this test; call it to give them moods."""
    from gpuadvise.advisor.backends import driver_presence, kernel_list, kernel_log, nvml, readings

    for name in LIBRARIES.values():
        # Loaded under its own name once, the bindings of this process find it without a search.
        ctypes.CDLL(str(stub_folder / name), mode=ctypes.RTLD_GLOBAL)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(stub_folder))
    monkeypatch.setattr(driver_presence, "_UNIX", (str(stub_folder),))
    monkeypatch.setattr(kernel_list, "listed", readings.NvmlReport)
    monkeypatch.setattr(kernel_log, "xids", dict)
    monkeypatch.setattr(nvml, "_owner", None)
    for variable in ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "GPUADVISE_GPU"):
        monkeypatch.delenv(variable, raising=False)

    def give(nvml_moods: str = "", cuda_moods: str = "") -> None:
        monkeypatch.setenv("STUB", nvml_moods)
        monkeypatch.setenv("STUB_CUDA", cuda_moods)

    give()
    return give


@pytest.fixture
def default_signals() -> Iterator[None]:
    """Signals as a terminal leaves them: a shell has what it runs in the background ignore some."""
    names = ("SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP")
    ours = [getattr(signal, name) for name in names if hasattr(signal, name)]
    ignored = [number for number in ours if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, signal.SIG_DFL)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)

"""NVIDIA's tools from their wheels, and binaries made with them once per run."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from nvidia_wheels import PTXAS_12, TOOLS, present

if TYPE_CHECKING:
    from collections.abc import Callable

SOURCE = Path(__file__).with_name("kernels.cu")

_PTX_HEAD = re.compile(r"\.version\s+\S+\n\.target\s+\S+")
_USED = re.compile(r"Used (\d+) registers")
_PART = {
    "stack": re.compile(r"(\d+) bytes stack frame"),
    "stores": re.compile(r"(\d+) bytes spill stores"),
    "loads": re.compile(r"(\d+) bytes spill loads"),
    "barriers": re.compile(r"used (\d+) barriers"),
    "smem": re.compile(r"(\d+) bytes smem"),
}


def tool(program: Path, *arguments: object) -> str:
    """Run one of NVIDIA's programs and return all it printed."""
    done = subprocess.run(
        [str(present(program)), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="session")
def cuda() -> Callable[..., str]:
    """Run a tool of the toolkit and return what it prints: ``cuda("cuobjdump", "-lelf", path)``."""
    return lambda name, *arguments: tool(TOOLS / name, *arguments)


@dataclass(frozen=True)
class Assembled:
    """One cubin and what its assembler said about each kernel."""

    path: Path
    log: dict[str, dict[str, int]]
    text: str  # the log itself


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Compile kernels.cu with nvcc: ``build("lib.so", "-shared", "-arch=sm_90")``."""
    folder = tmp_path_factory.mktemp("built")
    done: dict[tuple[str, ...], Path] = {}

    def make(name: str, *options: str) -> Path:
        key = (name, *options)
        if key not in done:
            path = folder / f"{len(done)}-{name}"
            tool(TOOLS / "nvcc", "-w", "-Xcompiler=-fPIC", *options, "-o", path, SOURCE)
            done[key] = path
        return done[key]

    return make


@pytest.fixture(scope="session")
def ptx_source(build: Callable[..., Path]) -> str:
    """PTX of kernels.cu; its head names a version and target that tests replace."""
    return build("kernels.ptx", "-ptx", "-arch=compute_75").read_text()


@pytest.fixture(scope="session")
def assemble(ptx_source: str, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Assembled]:
    """Assemble the PTX: ``assemble("sm_90a")``, with ``old=True`` by toolkit 12.9."""
    folder = tmp_path_factory.mktemp("assembled")
    done: dict[tuple[object, ...], Assembled] = {}

    def make(target: str, *options: str, old: bool = False) -> Assembled:
        key = (target, options, old)
        if key not in done:
            base = folder / f"{len(done)}-{target}"
            virtual = f".version 8.7\n.target {target}" if old else None
            source = _PTX_HEAD.sub(virtual, ptx_source, count=1) if virtual else ptx_source
            base.with_suffix(".ptx").write_text(source)
            cubin = base.with_suffix(".cubin")
            ptxas = PTXAS_12 if old else TOOLS / "ptxas"
            log = tool(
                ptxas, "-v", *options, f"-arch={target}", base.with_suffix(".ptx"), "-o", cubin
            )
            done[key] = Assembled(cubin, _parse(log), log)
        return done[key]

    return make


def _parse(log: str) -> dict[str, dict[str, int]]:
    kernels: dict[str, dict[str, int]] = {}
    for block in log.split("Compiling entry function '")[1:]:
        name = block.split("'", 1)[0]
        used = _USED.search(block)
        assert used
        own = block[: used.end() + 200].split("Function properties for", 2)
        line = block[used.start() :].split("\n", 1)[0]
        kernels[name] = {"registers": int(used[1])}
        for key, pattern in _PART.items():
            found = pattern.search(line if key in ("barriers", "smem") else own[1])
            kernels[name][key] = int(found[1]) if found else 0
    return kernels

"""``pytest --gpuadvise FILE``: the limits of the project's settings, held by each file, as tests.

The limits stand in ``[tool.gpuadvise.limits]``; ``gpuadvise_files`` in pytest's own settings names
files for every run. Nothing of gpuadvise is loaded where neither is given.
"""

from __future__ import annotations

from contextlib import chdir
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the plugin."""
    group = parser.getgroup("gpuadvise", "limits of GPU kernels")
    group.addoption(
        "--gpuadvise",
        nargs="?",
        action="append",
        const="",
        metavar="FILE",
        help="hold the kernels of FILE to [tool.gpuadvise.limits]; without FILE: gpuadvise_files",
    )
    group.addoption("--gpuadvise-gpu", metavar="NAME", help="the GPU that they are judged for")
    parser.addini("gpuadvise_files", "files and patterns that --gpuadvise judges", type="args")
    parser.addini("gpuadvise_gpu", "the GPU that --gpuadvise judges for", default="")


def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add a test for each file that --gpuadvise names."""
    wanted = config.getoption("--gpuadvise")
    if wanted is None:
        return
    folder = config.rootpath
    named = [word for word in wanted if word] or list(config.getini("gpuadvise_files"))
    files = [path for word in named for path in _matching(folder, word)]
    if not files:
        raise pytest.UsageError("--gpuadvise names no file, and gpuadvise_files is not set.")
    _refuse_without_limits(folder)
    gpu = config.getoption("--gpuadvise-gpu") or config.getini("gpuadvise_gpu") or None
    items += [
        KernelLimits.from_parent(session, name=f"gpuadvise: {file}", file=file, gpu=gpu)
        for file in files
    ]


def _matching(folder: Path, word: str) -> Sequence[str]:
    """Return the files below *folder* that the pattern *word* means; itself where it is none."""
    if not any(sign in word for sign in "*?["):
        return [word]
    return sorted(str(path.relative_to(folder)) for path in folder.glob(word))


def _refuse_without_limits(folder: Path) -> None:
    from gpuadvise.advisor.backends.settings_file import limits_are_set

    if not limits_are_set(folder):
        raise pytest.UsageError(f"--gpuadvise: {folder} sets no [tool.gpuadvise.limits].")


class LimitsBroken(Exception):
    """Kernels are over the limits of the settings, or could not be judged."""


class KernelLimits(pytest.Item):
    """The kernels of one file, held to the limits of the settings."""

    def __init__(self, *, file: str, gpu: str | None, **others: object) -> None:
        super().__init__(**others)  # type: ignore[arg-type]  # pytest's own arguments
        self.file = file
        self.gpu = gpu

    def runtest(self) -> None:
        """Raise LimitsBroken where a kernel is over a limit, or something could not be read."""
        from gpuadvise.advisor.errors import GpuAdviseError
        from gpuadvise.api import calls

        with chdir(self.config.rootpath):  # the settings are those of the folder of the call
            try:
                answer = calls.kernels(self.file, gpu=self.gpu)
            except GpuAdviseError as error:
                raise LimitsBroken(" ".join(filter(None, (error.message, error.hint)))) from None
        if answer.failed:
            raise LimitsBroken("\n".join(answer.failed))
        if not answer.complete:
            raise LimitsBroken("\n".join(answer.notes))

    def repr_failure(
        self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None
    ) -> str:
        """Return why, without a traceback of ours."""
        if isinstance(excinfo.value, LimitsBroken):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return the file, and what the test is called."""
        return Path(self.file), None, self.name

"""Our code in a Python of its own that lacks modules, as installs for other machines do."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_REFUSE = """\
import sys

class Refused:
    def find_spec(self, name, path=None, target=None):
        if name in {modules!r} or name.partition(".")[0] in {modules!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Refused())
{before}
from gpuadvise.cli.main import main
sys.exit(main({arguments!r}))
"""


def run_without(
    modules: Sequence[str], *arguments: str, before: str = "", folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Return what the command said without *modules*, after the statements *before*."""
    script = _REFUSE.format(modules=(*modules,), before=before, arguments=[*arguments])
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=folder, timeout=120
    )

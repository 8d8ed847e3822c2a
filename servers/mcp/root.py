"""Which files an agent may name: those below one folder, whatever links say."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import quoted_path

if TYPE_CHECKING:
    from collections.abc import Iterable

# A folder with more is not looked through: its links could not all be checked.
_MOST_ENTRIES = 200_000


def allowed(root: Path, names: Iterable[str]) -> list[str]:
    """Return *names* relative to *root*, links followed; raises BadInput for what lies elsewhere.

    Of a folder everything in it is checked, too. A name that is an option, or a dash, is a file.
    """
    paths = [_allowed(root, name) for name in names]
    if not paths:
        raise BadInput("No file is named.", hint="Give files: a path below the root, or several.")
    return paths


def _allowed(root: Path, name: str) -> str:
    outside = BadInput(
        f"{quoted_path(name)} is not below the root.",
        hint="Name files relative to the root; `gpuadvise mcp --root FOLDER` chooses it.",
    )
    try:
        path = (root / name).resolve()
        if not path.is_relative_to(root):
            raise outside
        mode = path.stat().st_mode
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or "it is no path"
        raise BadInput(f"{quoted_path(name)}: {reason}.") from None
    if stat.S_ISDIR(mode):
        _check_links(root, path, name)
    elif not stat.S_ISREG(mode):
        raise BadInput(f"{quoted_path(name)} is neither a file nor a folder.")
    return os.path.join(os.curdir, path.relative_to(root))


def _check_links(root: Path, folder: Path, name: str) -> None:
    """Raise BadInput where a link in *folder* leads out of *root*, or there is too much to look at."""
    seen = 0
    for parent, folders, files in os.walk(folder):
        for entry in (*folders, *files):
            seen += 1
            path = Path(parent, entry)
            if path.is_symlink() and not path.resolve().is_relative_to(root):
                raise BadInput(
                    f"{quoted_path(name)} holds a link that leads out of the root: "
                    f"{quoted_path(str(path.relative_to(root)))}.",
                    hint="Name the files one by one.",
                )
        if seen > _MOST_ENTRIES:
            raise BadInput(
                f"{quoted_path(name)} holds more than {_MOST_ENTRIES:,} entries.",
                hint="Name a smaller folder, or files.",
            )

"""Files as they were in a commit of git."""

from __future__ import annotations

import os
import subprocess

from gpuadvise.advisor.errors import BadInput, Unavailable
from gpuadvise.advisor.prose import quoted, quoted_path

_MOST_SECONDS = 60.0
# Nothing of a repository's own settings may start a program: only objects are read.
_GIT = ("git", "-c", "core.fsmonitor=false", "--no-optional-locks", "--no-replace-objects")


def content_in(commit: str, path: str) -> bytes | None:
    """Return the content of the file *path* in *commit*, None where it was not there.

    Raises BadInput where *path* lies in no repository, or *commit* is none of it, and Unavailable
    where git is not installed or does not answer.
    """
    folder, name = os.path.split(path)
    folder = folder or "."
    unknown = BadInput(
        f"--since: {quoted(commit)} is no commit of the repository of {quoted_path(path)}.",
        hint="Name a commit, a branch or a tag; a shallow clone has only its newest ones.",
    )
    if commit.startswith("-"):  # git would take it for an option
        raise unknown
    content = _git(folder, "cat-file", "blob", f"{commit}:./{name}")
    if (
        content is None
        and _git(folder, "rev-parse", "--quiet", "--verify", f"{commit}^{{commit}}") is None
    ):
        if _git(folder, "rev-parse", "--git-dir") is None:
            raise BadInput(f"--since: {quoted_path(path)} lies in no repository of git.")
        raise unknown
    return content


def _git(folder: str, *arguments: str) -> bytes | None:
    """Return what git prints, None where it says no; raises Unavailable."""
    try:
        done = subprocess.run(
            [*_GIT, *arguments],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_MOST_SECONDS,
            check=False,
        )
    except FileNotFoundError:
        raise Unavailable("--since needs git, which is not installed.") from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"--since: git does not answer ({type(error).__name__}).") from None
    return done.stdout if done.returncode == 0 else None

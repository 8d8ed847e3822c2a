"""Files as they were in a commit of git."""

from __future__ import annotations

import os
import subprocess

from gpuadvise.advisor.errors import BadInput, Unavailable
from gpuadvise.advisor.prose import quoted, quoted_path

_MOST_SECONDS = 60.0
# Nothing of a repository's own settings may start a program or ask another machine: only objects that
# are here are read. A clone without file contents would fetch them through the command of its settings.
_GIT = ("git", "-c", "core.fsmonitor=false", "--no-optional-locks", "--no-replace-objects")
_ENVIRONMENT = {"GIT_ALLOW_PROTOCOL": "", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}
# What git says of a folder outside of a repository, and of one in another user's.
_OUTSIDE, _OF_ANOTHER_USER = b"not a git repository", b"dubious ownership"


def content_in(commit: str, path: str) -> bytes | None:
    """Return the content of the file *path* in *commit*, None where it was not there.

    Raises BadInput where *path* lies in no repository, or *commit* is none of it, and Unavailable
    where git is not installed or does not answer, or the repository has lost that content.
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
    if content.returncode == 0:
        return content.stdout
    if _git(folder, "rev-parse", "--quiet", "--verify", f"{commit}^{{commit}}").returncode:
        if (repository := _git(folder, "rev-parse", "--git-dir")).returncode == 0:
            raise unknown
        if _OF_ANOTHER_USER in repository.stderr:
            raise BadInput(
                f"--since: git does not read the repository of {quoted_path(path)}, another user's.",
                hint="Allow it: git config --global --add safe.directory FOLDER.",
            )
        if _OUTSIDE in repository.stderr:
            raise BadInput(f"--since: {quoted_path(path)} lies in no repository of git.")
        raise Unavailable(f"--since: git cannot read the repository of {quoted_path(path)}.")
    tree = _git(folder, "ls-tree", "-z", commit, "--", f"./{name}")
    if tree.returncode == 0 and not tree.stdout.startswith((b"100", b"120")):  # a file, or a link
        return None
    raise Unavailable(
        f"--since: the repository lacks the content that {quoted_path(path)} had in {quoted(commit)}.",
        hint="A clone made with --filter lacks it, and nothing is fetched here: clone without.",
    )


def _git(folder: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Return what git says; raises Unavailable where there is none or it does not answer."""
    try:
        return subprocess.run(
            [*_GIT, *arguments],
            cwd=folder,
            env=os.environ | _ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_MOST_SECONDS,
            check=False,
        )
    except FileNotFoundError:
        raise Unavailable("--since needs git, which is not installed.") from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"--since: git does not answer ({type(error).__name__}).") from None

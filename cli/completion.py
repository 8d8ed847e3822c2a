"""``gpuadvise completion SHELL``, and what the shell offers for the values of options.

The functions that offer values import what they list only when the shell asks.
"""

from __future__ import annotations

from typing import Annotated

import typer

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import quoted
from gpuadvise.cli.emit import stream
from gpuadvise.cli.exits import Exit

SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")
EXAMPLES = """\
  gpuadvise completion bash > ~/.local/share/bash-completion/completions/gpuadvise
  gpuadvise completion zsh > "${fpath[1]}/_gpuadvise"
  gpuadvise completion fish > ~/.config/fish/completions/gpuadvise.fish"""


def command(
    shell: Annotated[
        str, typer.Argument(metavar="SHELL", help=", ".join(SHELLS), autocompletion=shell_names)
    ],
) -> Exit:
    """Print the completion script of SHELL."""
    from typer._completion_shared import get_completion_script

    if shell not in SHELLS:
        raise BadInput(f"{quoted(shell)} is not a shell.", hint=f"Use one of {', '.join(SHELLS)}.")
    script = get_completion_script(
        prog_name="gpuadvise", complete_var="_GPUADVISE_COMPLETE", shell=shell
    )
    stream([script + "\n"])
    return Exit.RAN


def gpu_ids(incomplete: str) -> list[str]:
    """Return the catalogue's ids that begin with *incomplete*."""
    from gpuadvise.advisor.catalogue import entries

    return _beginning(incomplete, [entry.id for entry in entries()])


def schema_names(incomplete: str) -> list[str]:
    """Return the names of schemas that begin with *incomplete*."""
    from gpuadvise.cli.schemas import names

    return _beginning(incomplete, names())


def shell_names(incomplete: str) -> list[str]:
    """Return the shells that begin with *incomplete*."""
    return _beginning(incomplete, list(SHELLS))


def rule_ids(incomplete: str) -> list[str]:
    """Return the ids of rules that begin with *incomplete*."""
    from gpuadvise.rules.guide import RULES

    return _beginning(incomplete, [rule.id for rule in RULES])


def selections(incomplete: str) -> list[str]:
    """Return the priorities, topics and ids of rules that begin with *incomplete*."""
    from gpuadvise.rules.model import Priority, Topic

    return _beginning(incomplete, [*Priority, *Topic]) + rule_ids(incomplete)


def priorities(incomplete: str) -> list[str]:
    """Return the priorities that begin with *incomplete*."""
    from gpuadvise.rules.model import Priority

    return _beginning(incomplete, list(Priority))


def _beginning(incomplete: str, words: list[str]) -> list[str]:
    return [word for word in words if word.startswith(incomplete.lower())]

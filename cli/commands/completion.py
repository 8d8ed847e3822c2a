"""``gpuadvise completion SHELL``: the script that completes commands and options."""

from __future__ import annotations

from typing import Annotated

import typer

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import quoted
from gpuadvise.cli import complete
from gpuadvise.cli.emit import stream
from gpuadvise.cli.exits import Exit

SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")
EXAMPLES = """\
  gpuadvise completion bash > ~/.local/share/bash-completion/completions/gpuadvise
  gpuadvise completion zsh > "${fpath[1]}/_gpuadvise"
  gpuadvise completion fish > ~/.config/fish/completions/gpuadvise.fish"""


def command(
    shell: Annotated[
        str, typer.Argument(metavar="SHELL", help=", ".join(SHELLS), autocompletion=complete.shells)
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

"""``gpuadvise mcp``: the commands as tools for agents, over the Model Context Protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from gpuadvise.advisor.errors import BadInput, Unavailable
from gpuadvise.advisor.prose import quoted_path
from gpuadvise.cli.exits import Exit
from gpuadvise.cli.options import Text, pick

EXAMPLES = """\
  gpuadvise mcp
  gpuadvise mcp --root ~/project"""


def command(root: Annotated[Text, pick("root")] = None) -> Exit:
    """Serve an agent on standard input and output; raises Unavailable without the package mcp."""
    folder = Path(root or ".").expanduser().resolve()
    if not folder.is_dir():
        raise BadInput(f"--root: {quoted_path(root or '.')} is no folder.")
    try:
        from gpuadvise.servers.mcp.server import serve
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in _PACKAGES:
            raise
        raise Unavailable(
            "mcp needs the package mcp.", hint='pip install "gpuadvise[mcp]".'
        ) from None
    serve(folder)
    return Exit.RAN


_PACKAGES = ("mcp", "mcp_types", "anyio")

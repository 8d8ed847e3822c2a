"""A tool's answer in a process of its own, which can be killed: ``python -m gpuadvise.servers.mcp.worker``.

One question stands on standard input, as JSON; the answer goes to standard output in the same form.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from gpuadvise.advisor.errors import GpuAdviseError


def answered(tool: str, arguments: dict[str, Any]) -> dict[str, str | None]:
    """Return the ``text`` of *tool*, or the ``message`` and ``hint`` of why there is none."""
    from gpuadvise.servers.mcp.tools import tool_named

    try:
        return {"text": tool_named(tool)(**arguments)}
    except GpuAdviseError as error:
        return {"message": error.message, "hint": error.hint}
    except MemoryError:
        return {"message": "No memory is left.", "hint": None}
    except Exception as fault:  # ours: the client learns its kind, the server goes on
        return {"message": f"gpuadvise itself failed ({type(fault).__name__}).", "hint": None}


def main() -> None:
    """Answer the question on standard input; whatever else is printed goes to standard error."""
    from gpuadvise.advisor.backends.cuda_sources import confine_headers

    confine_headers(Path.cwd())  # the root: a source must not show what headers elsewhere say
    question = json.load(sys.stdin)
    out = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    answer = json.dumps(answered(question["tool"], question["arguments"]))
    with open(out, "w", encoding="utf-8") as stream:
        stream.write(answer)


if __name__ == "__main__":
    main()

"""``gpuadvise tui``: starts the calculator, where there is Textual and a terminal."""

from __future__ import annotations

import sys

from gpuadvise.advisor.errors import Unavailable
from gpuadvise.cli.exits import Exit
from gpuadvise.cli.options import Gpu

EXAMPLES = """\
  gpuadvise tui
  gpuadvise tui --gpu h100-sxm"""


def command(gpu: Gpu = None) -> Exit:
    """Show the occupancy calculator until q; raises Unavailable without Textual or a terminal."""
    try:
        import textual  # noqa: F401
    except ImportError:
        raise Unavailable("tui needs the package textual.", hint="pip install textual.") from None
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Unavailable("tui needs a terminal.", hint="gpuadvise occupancy answers anywhere.")
    from gpuadvise.servers.tui.calculator import Calculator

    Calculator(gpu).run()
    return Exit.RAN

"""The page in the browser: seconds from navigation to its first answer, and those of a processor.

Serves FOLDER (what ``docs/site.py --runtime FOLDER`` wrote) on loopback and visits it three times with an empty
Chromium of its own: on the first visit nothing is kept, later ones have the service worker and what it keeps.
Run ``python benchmarks/browser.py FOLDER``; other Chromiums that run meanwhile are counted in.
"""

from __future__ import annotations

import argparse
import functools
import http.server
import os
import shutil
import tempfile
import threading
import time
from pathlib import Path

_BETWEEN = 12.0  # seconds in which the service worker keeps what was not fetched yet
_LONGEST = 180_000  # milliseconds


class _Handler(http.server.SimpleHTTPRequestHandler):
    def guess_type(self, path: str | os.PathLike[str]) -> str:
        return "text/javascript" if str(path).endswith(".mjs") else super().guess_type(path)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


def processor_seconds() -> float:
    """Return what all processes of Chromium have taken of a processor until now."""
    ticks = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if b"chrom" in (process / "cmdline").read_bytes():
                fields = (process / "stat").read_text().rpartition(")")[2].split()
                ticks += int(fields[11]) + int(fields[12])
        except OSError:  # it ended meanwhile
            continue
    return ticks / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Visit the page and print a line for each visit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    from playwright.sync_api import sync_playwright

    handler = functools.partial(_Handler, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    profile = tempfile.mkdtemp()
    with sync_playwright() as driver:
        context = driver.chromium.launch_persistent_context(
            profile, executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for visit in ("first", "second", "third"):
            page = context.new_page()
            began, taken = time.perf_counter(), processor_seconds()
            page.goto(f"http://127.0.0.1:{server.server_port}/index.html")
            page.locator("#verdict:not(:empty)").wait_for(timeout=_LONGEST)
            seconds, taken = time.perf_counter() - began, processor_seconds() - taken
            print(f"{visit} visit: {seconds:.1f} s, {taken:.1f} s of a processor", flush=True)
            time.sleep(_BETWEEN)
            page.close()
        context.close()
    shutil.rmtree(profile)


if __name__ == "__main__":
    main()

"""A real browser, and the page of docs/browser on a server of this machine.

Skipped without Chromium, Playwright or what docs/site.py fetches.
"""

from __future__ import annotations

import functools
import http.server
import importlib.util
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from playwright.sync_api import Browser, BrowserContext, Page

ROOT = Path(__file__).parents[2]
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
LOADING = 120_000  # milliseconds until the program has answered, on a busy machine


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(item.path).parent == Path(__file__).parent:
            item.add_marker(pytest.mark.browser)


def site_builder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("site_builder", ROOT / "docs" / "site.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the page, made of this checkout; one worker makes it for all."""
    import fcntl

    builder = site_builder()
    archives = [builder.FETCHED / f"{one.name}-{one.version}.tgz" for one in builder.NPM]
    if not all(archive.exists() for archive in archives):
        pytest.skip("python docs/site.py fetches Pyodide")
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if own.name.startswith("popen-") else own
    folder = shared / "site" / "browser"
    with (shared / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "runtime" / "LICENCES.txt").exists():
            command = [sys.executable, ROOT / "docs" / "site.py", "--runtime", folder]
            ran = subprocess.run(command, capture_output=True, text=True, check=False)
            assert ran.returncode == 0, ran.stderr
    return folder


class _Handler(http.server.SimpleHTTPRequestHandler):
    def guess_type(self, path: Any) -> str:
        return "text/javascript" if str(path).endswith(".mjs") else super().guess_type(path)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="session")
def address(built: Path) -> Iterator[str]:
    """Return the address of the page."""
    handler = functools.partial(_Handler, directory=str(built.parent))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/browser/"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Return a headless browser."""
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install --group browser")
    if CHROMIUM is None:
        pytest.skip("no Chromium in this machine")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def context(chromium: Browser) -> Iterator[BrowserContext]:
    """Return a window with an empty cache of its own."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, locale="en-GB")
    yield context
    context.close()


@pytest.fixture(scope="module")
def page(context: BrowserContext, address: str) -> Iterator[Page]:
    """Return the page when it has answered first; what went wrong in it fails the test."""
    page = context.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(address)
    page.wait_for_selector("form[data-answers]", timeout=LOADING)
    page.wait_for_selector("#state:empty", state="attached", timeout=LOADING)
    yield page
    page.close()
    assert not faults, faults

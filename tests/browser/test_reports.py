"""Pages that the program wrote, opened from a file: no name that it read runs, with or without its policy."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import BrowserContext

RUNS = "document.documentElement.dataset.ran=1"
NAMES = (
    f"<script>{RUNS}</script>",
    f"</style></script><script>{RUNS}</script>",
    f"<img src=x onerror={RUNS}>",
    f"\"><svg onload='{RUNS}'>",
    f"'><details open ontoggle={RUNS}>",
    f"</title><iframe srcdoc='<script>parent.{RUNS}</script>'></iframe>",
    f"</text></svg><script>{RUNS}</script>",
    f"<a href=javascript:{RUNS} autofocus onfocus={RUNS}>click</a>",
    "<link rel=stylesheet href=https://example.org/x.css>",
    "<meta http-equiv=refresh content='0;url=https://example.org/'>",
    f"&lt;script&gt;{RUNS}&lt;/script&gt;",
    f"\x00<script>{RUNS}</script>",
)


def written(cli, folder: Path, name: str) -> list[Path]:
    """Return a page of each command that shows names which it read."""
    events = [
        {
            "ph": "X", "cat": "kernel", "name": name, "ts": 100 * at, "dur": 50, "pid": 0, "tid": 7,
            "args": {"device": 0, "stream": 7, "grid": [96, 1, 1], "block": [128, 1, 1],
                     "registers per thread": 40},
        }
        for at in range(4)
    ]  # fmt: skip
    trace = folder / "run.json"
    trace.write_text(
        json.dumps({"deviceProperties": [{"id": 0, "name": name}], "traceEvents": events})
    )
    kernel = folder / "kernel.toml"
    kernel.write_text(
        f"[[kernel]]\nname = {json.dumps(name)}\ngpu = 'h100'\nregs = 72\nblock = 100\n"
        "work = { flops = 1e9, bytes = 1e9, dtype = 'fp32', time = '1ms' }\n"
    )
    source = folder / (name.replace("/", "_").replace("\0", "_") + ".py")
    source.write_text(f"import torch\nx = torch.zeros(4).cuda()  # {name!r}\n")
    lines = (
        ("advise", trace), ("timeline", trace), ("diff", trace, trace, "--all"), ("advise", kernel),
        ("roofline", "--describe", kernel), ("lint", source),
    )  # fmt: skip
    pages = []
    for at, line in enumerate(lines):
        ran = cli(*map(str, line), "--format", "html")
        assert ran.code == 0, ran.err
        page = folder / f"{at}.html"
        page.write_text(ran.out, encoding="utf-8")
        bare = folder / f"{at}-bare.html"
        bare.write_text(re.sub(r"<meta http-equiv[^>]*>", "", ran.out), encoding="utf-8")
        pages += [page, bare]
    return pages


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_no_name_runs_or_fetches(cli, context: BrowserContext, tmp_path: Path, name: str) -> None:
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    for path in written(cli, tmp_path, name):
        asked.clear()
        page.goto(path.as_uri())
        page.keyboard.press("Tab")
        for summary in page.locator("summary").all():
            summary.click()
        assert asked == [path.as_uri()]
        assert page.get_attribute("html", "data-ran") is None
        found = page.locator("script, img, iframe, link, a[href^=javascript], [onload], [onfocus]")
        assert found.count() == 0
    page.close()
